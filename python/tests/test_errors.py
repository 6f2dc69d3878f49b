"""Mistakes are exceptions that say everything the command says."""

from __future__ import annotations

import pickle
from pathlib import Path

import broadloom as bl
import numpy as np
import pytest

MISTAKE = """\
data x : 32 | 784
data target : 32 | 12
def dense(size)(x) = relu({w} @ x + {b : size})
let y = x |> dense(64) |> dense(10)
let loss = mean(square(y - target))
"""


def caught(text: str) -> bl.Error:
    with pytest.raises(bl.Error) as raised:
        bl.program(text, name="model.loom")
    return raised.value


def test_both_ends() -> None:
    error = caught(MISTAKE)
    assert error.code == "E0301"
    assert error.summary == "the last output axis of the result cannot be both 10 and 12"
    assert error.ends[0].line == 5
    assert {(end.file, end.line) for end in error.ends} == {("model.loom", line) for line in (2, 3, 4, 5)}
    assert {end.text for end in error.ends if end.text} == {
        "12 because of the output axis of `target`",
        "10 because of the output axis of `dense2.b`",
        "`size` is 10 here",
    }
    assert len(error.chain) == 3
    assert error.help and "broadcast" in error.help[0]


def test_it_reads_like_the_command() -> None:
    text = str(caught(MISTAKE))
    assert text.startswith("error[E0301]: the last output axis of the result cannot be both 10 and 12\n --> model.loom:5:24\n")
    assert "5 | let loss = mean(square(y - target))\n" in text
    assert "--chain" not in text, "no option of the command is advised"
    assert text == caught(MISTAKE).message


def test_all_mistakes_at_once() -> None:
    error = caught("let a = b\nlet c = d\n")
    assert [message.ends[0].line for message in error.messages] == [1, 2]
    assert error.summary == error.messages[0].summary
    assert "2 errors" in str(error)


def test_it_can_be_pickled() -> None:
    error = caught(MISTAKE)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.ends, again.code) == (str(error), error.ends, error.code)


def test_its_name() -> None:
    assert f"{bl.Error.__module__}.{bl.Error.__qualname__}" == "broadloom.Error"


def misfits() -> list[bl.Error]:
    """A mistake of each front on arrays."""

    @bl.shaped
    def twice(x: bl.Float[np.ndarray, "n"], y: bl.Float[np.ndarray, "n"]) -> bl.Float[np.ndarray, "n"]:
        return x + y

    caught = []
    for call in (
        lambda: bl.einsum("i j; j k => i k", np.ones((2, 3)), np.ones((2, 3))),
        lambda: bl.rearrange("i j -> j i", np.ones((2, 3))),
        lambda: twice(np.ones(3), np.ones(4)),
        lambda: twice(np.ones(3), np.ones(3, "int64")),
        lambda: twice(np.ones(3), [1.0]),
    ):
        with pytest.raises(bl.Error) as error:
            call()
        caught.append(error.value)
    return caught


def test_errors_on_arrays_are_of_one_family() -> None:
    found = misfits()
    assert [type(error) for error in found] == [bl.ShapeError, bl.SpecError, bl.ShapeError, bl.DTypeError, bl.ArrayTypeError]
    assert [error.code for error in found] == ["E0301", "E0304", "E0301", "E0401", "E0203"]
    for error in found:
        assert isinstance(error, ValueError) and error.summary and "\n" not in error.summary
        assert error.ends and error.chain == () and str(error).startswith(error.summary)
    assert [end.text for end in found[0].ends] == [
        "2: axis 0 of operand 2, which has shape (2, 3)",
        "3: axis 1 of operand 1, which has shape (2, 3)",
    ]
    assert len(found[2].ends) == 2 and found[2].help == ("pass an array of shape (3,) as `y`, or change the annotation",)
    assert all(Path(end.file or "").name == "test_errors.py" for end in found[2].ends)


def test_errors_on_arrays_are_pickled_with_their_parts() -> None:
    for error in misfits():
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert (again.code, again.ends, again.help) == (error.code, error.ends, error.help)
        assert getattr(again, "argument", None) == getattr(error, "argument", None)


FITTING = """\
dim n in 1..64
data x : n | 3, 4
data t : n |
let y = x + 1
let z = t + 1
"""


@pytest.mark.parametrize(
    ("arrays", "summary", "ends"),
    [
        ({"x": (8, 3, 5)}, "the array for `x` has sizes [8, 3, 5], its shape is `n | 3, 4`: axis 2 (`x.output.1`) is 5 and should be 4", [2]),
        ({"x": (8, 12)}, "the array for `x` has sizes [8, 12], its shape is `n | 3, 4`: 2 axes in place of 3", [2]),
        ({"x": (8, 3, 4), "t": (9,)}, "axis 0 of `x` makes `n` 8, axis 0 of `t` makes it 9", [2, 3]),
        ({"x": (65, 3, 4)}, "axis 0 of `x` makes `n` 65, its range is 1..64", [2]),
    ],
)
def test_arrays_of_other_sizes(arrays: dict[str, tuple[int, ...]], summary: str, ends: list[int]) -> None:
    p = bl.program(FITTING, name="fitting.loom")
    given = {name: np.zeros(shape, "float32") for name, shape in arrays.items()}
    for call in (p, p.run, p.verify, p.only("y")):
        with pytest.raises(bl.Error) as error:
            call(**given)
        assert error.value.summary == summary
        assert [end.line for end in error.value.ends] == ends and error.value.help
    assert p(x=np.zeros((8, 3, 4)))["y"].shape == (8, 3, 4), "what was refused left nothing behind"


def test_arrays_of_other_sizes_in_a_graph() -> None:
    g = bl.Graph()
    x = g.data("x", "batch | 3")
    y = g.param("w") @ x + g.param("b", "2")
    session = g.session()
    with pytest.raises(bl.Error, match=r"axis 1 \(`x.output.0`\) is 4 and should be 3") as error:
        session.run(y, x=np.zeros((8, 4)))
    assert [(Path(end.file or "").name, end.text) for end in error.value.ends] == [("test_errors.py", "`x` is declared `batch | 3`")]
    with pytest.raises(bl.Error, match=r"axis 0 \(`w.output.0`\) is 3 and should be 2"):
        session["w"] = np.zeros((3, 3))
    with pytest.raises(bl.Error, match="`batch` needs a value") as error:
        session.run(y)
    assert "give an array" in error.value.help[0] and error.value.ends[0].text == "`x` is declared `batch | 3`"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([[1, 2], [3]], "its rows have different lengths"),
        ({"a": 1}, "`x` is dict, and no array of numbers"),
        ("abc", "`x` is str, and no array of numbers"),
        (None, "`x` is None"),
        (np.zeros(3, "complex64"), "its type is complex64"),
        (np.array(["a"]), "its type is <U1"),
    ],
)
def test_what_is_no_array_of_numbers(value: object, says: str) -> None:
    with pytest.raises(bl.Error) as error:
        bl.program("data x : 3\nlet y = 2 * x\n")(x=value)
    assert says in error.value.summary and error.value.help
