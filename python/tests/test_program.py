"""Programs and the questions that they answer."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import broadloom as bl
import numpy as np
import pytest

LAYER = "data x : 32 | 784\nlet y = relu({w} @ x + {b : 64})\n"
RANGED = "dim n in 1..64 = 32\ndata x : n | 784\nlet y = x |> linear(10)\nlet loss = sum(square(y))\n"


def test_a_text_may_be_indented_like_the_function_around_it() -> None:
    p = bl.program("""
        data x : 4 | 3
        def twice(x) =
            2 * x
        let y = twice(x)
    """)
    assert p.shapes["y"] == "4 | 3"


def test_shapes_are_a_mapping() -> None:
    shapes = bl.program(LAYER).shapes
    assert dict(shapes) == {"x": "32 | 784", "w": "784 -> 64", "b": "64", "y": "32 | 64"}
    assert len(shapes) == 4 and "w" in shapes and "q" not in shapes
    w = shapes["w"]
    assert (w.batch, w.input, w.output, w.sizes) == ((), (784,), (64,), (64, 784))
    assert (w.elements, w.kind, w.line) == (784 * 64, "parameter", 2)


def test_shapes_are_tables() -> None:
    shapes = bl.program(LAYER).shapes
    assert str(shapes).splitlines()[0].split() == ["tensor", "shape", "elements", "how", "it", "is", "known"]
    page = shapes._repr_html_()
    assert "<code>784 -&gt; 64</code></td>" in page and "inferred from its use" in page
    halved = bl.program('dim n in 2..64 = 8\ndata x : n\nlet y = einsum("2*i => i", {w : n} * x)\n').shapes._repr_html_()
    assert "2..64" in halved and "<p>1 parameter with 8 elements</p><p>relies on: `n` is a multiple of 2</p>" in halved


def test_names_of_sizes_stay() -> None:
    shape = bl.program(RANGED).shapes["x"]
    assert (str(shape), shape.batch) == ("n | 784", ("n",))
    assert bl.program(RANGED, sizes={"n": 8}).shapes["x"] == "8 | 784"


def test_an_unknown_tensor() -> None:
    with pytest.raises(bl.Error, match="there is no tensor called `ww`"):
        bl.program(LAYER).shapes["ww"]
    with pytest.raises(KeyError):
        bl.program(LAYER).shapes["ww"]


def test_warnings() -> None:
    text = 'data a : 2, 3\ndata b : 3, 4\nlet y = einsum("i j; j k => i", a, b)\n'
    warnings = bl.program(text, name="a.loom").check()
    assert [(each.code, each.severity, each.ends[0].line) for each in warnings] == [("W0505", "warning", 3)]
    assert str(warnings[0]).startswith("warning[W0505]: ")
    assert bl.program("data x : 3\nprint x\n").check() == []


def test_signatures() -> None:
    p = bl.program("def twice(x : ..b.. | n) = x + x\n")
    assert str(p.signature("twice")) == "twice(x : ..b.. | n) -> ..b.. | n"
    assert p.signature("twice").data["result"] == "..b.. | n"
    assert "heads = 8" in p.signature("attention(8)")
    with pytest.raises(bl.Error, match="thrice"):
        p.signature("thrice")


def test_explanations() -> None:
    answer = bl.program(LAYER).explain("w.input.0")
    assert str(answer).startswith("w.input.0 is 784, forced\n1 | data x : 32 | 784")
    explanation = answer.data["explanations"][0]
    assert (explanation["size"], explanation["forced"]) == ("784", True)
    with pytest.raises(bl.Error, match="nothing is called `z.output.0`"):
        bl.program(LAYER).explain("z.output.0")


def test_loops() -> None:
    p = bl.program("data x : 32 | 784\nlet y = {w : ... -> 10} @ x\n")
    loops = p.loops("y")
    assert "y[i, j] += w[j, k] * x[i, k]" in loops
    assert "w.grad[j, k] += y.grad[i, j] * x[i, k]" in loops
    assert "w.grad" not in p.loops("y", forward=True)
    assert loops.data["operations"][0]["tensor"] == "y"
    assert "routine" in p.loops(optimised=True)
    with pytest.raises(bl.Error, match="there is no tensor called `q`"):
        p.loops("q")


def test_pictures(tmp_path: Path) -> None:
    picture = bl.program(LAYER).graph()
    assert picture._repr_svg_().startswith("<svg ") and "784" in picture
    picture.save(str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == picture
    with pytest.raises(bl.Error, match="there is no tensor called `q`"):
        bl.program(LAYER).graph(of="q")


def test_memory() -> None:
    p = bl.program(RANGED)
    assert p.memory().fits is None
    assert p.memory(fits="8GiB").fits is True
    small = p.memory(fits="200kB")
    assert (small.fits, small.largest) == (False, {"n": 53})
    assert "the largest n that fits is 53" in small
    assert p.memory(train="loss").peak > p.memory().peak
    assert p.memory(train="loss", optimiser="sgd").lasting < p.memory(train="loss").lasting
    with pytest.raises(bl.Error, match="is not a size"):
        p.memory(fits="many")
    with pytest.raises(bl.Error, match="no optimiser `lion`"):
        p.memory(train="loss", optimiser="lion")


def test_verify() -> None:
    p = bl.program("dim n in 1..64\ndata x : n | 3\ndata t : n | 3\nlet loss = sum(x - t)\n", name="a.loom")
    x, t = np.zeros((8, 3), "float32"), np.zeros((8, 3), "float32")
    assert p.verify(x=x, t=t).data["fits"] is True
    with pytest.raises(bl.Error) as caught:
        p.verify(x=x)
    assert "there is no array for `t`" in str(caught.value)
    assert caught.value.help == ("give an array `t` with sizes [n, 3]: `t=array`",)
    with pytest.raises(bl.Error) as caught:
        p.verify(x=x, t=np.zeros((9, 3), "float32"))
    assert {end.line for end in caught.value.ends} == {2, 3}


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3, dtype="float32"))
    (tmp_path / "model.loom").write_text('data x : 3 = load("x.npy")\nlet y = x + 1\n', encoding="utf-8")
    p = bl.load(tmp_path / "model.loom")
    assert p()["y"].tolist() == [1, 2, 3]
    assert p.name == str(tmp_path / "model.loom")
    with pytest.raises(FileNotFoundError):
        bl.load(tmp_path / "other.loom")
    (tmp_path / "bytes.loom").write_bytes(b"data \xff")
    with pytest.raises(bl.Error, match="is not a text"):
        bl.load(tmp_path / "bytes.loom")


def test_a_file_is_no_program() -> None:
    with pytest.raises(bl.Error, match="`bl.load` reads a program from a file"):
        bl.program("models/mlp.loom")
    with pytest.raises(TypeError, match="a program is a text, not bytes"):
        bl.program(b"data x : 3")  # type: ignore[arg-type]


def test_states_of_optimisers_are_pickled() -> None:
    text = "data x : 4 | 2 = [[0, 1], [1, 0], [1, 1], [2, 1]]\nlet loss = mean(square({w} * x - 1))\nrepeat 3:\n  minimise loss by adam(0.1)\n"
    p = bl.program(text)
    p.run(progress=False)
    again = pickle.loads(pickle.dumps(p))
    assert again.run(progress=False).losses == p.run(progress=False).losses


def test_pickling() -> None:
    p = bl.program(RANGED, name="a.loom", sizes={"n": 4}, seed=7)
    again = pickle.loads(pickle.dumps(p))
    assert (again.text, again.name, again.shapes["x"]) == (p.text, "a.loom", "4 | 784")
    assert np.array_equal(again.parameters["linear.weight"], p.parameters["linear.weight"])
    p.parameters["linear.weight"] = np.ones_like(p.parameters["linear.weight"])
    for other in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert np.all(other.parameters["linear.weight"] == 1), "what was learned stays"
    shape = p.shapes["x"]
    assert pickle.loads(pickle.dumps(shape)).batch == shape.batch


def test_notebooks() -> None:
    p = bl.program(LAYER)
    assert p._repr_html_().startswith("<table>") and "parameters with" in p._repr_html_()
    assert "1..64" in bl.program(RANGED)._repr_html_()
    assert p.explain("w")._repr_html_().startswith("<pre>")


def test_memory_of_what_is_no_number() -> None:
    with pytest.raises(bl.Error, match="gradients are of one number, but `y` has shape `2`") as caught:
        bl.program("data x : 2\nlet y = {w : 2} * x\n").memory(train="y")
    assert "\ufffd" not in str(caught.value) and "\n" not in caught.value.summary
    assert any("sum it up first" in help for help in caught.value.help)


def test_copies_do_not_depend_on_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    np.save(tmp_path / "sub" / "d.npy", np.ones(3, "float32"))
    (tmp_path / "sub" / "k.loom").write_text('data x : 3 = load("d.npy")\nlet y = 2 * x\n')
    monkeypatch.chdir(tmp_path)
    p = bl.load("sub/k.loom")
    monkeypatch.chdir("/")
    for each in (p, copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert each()["y"].tolist() == [2, 2, 2] and each.name == "sub/k.loom"


def test_arguments_that_are_no_numbers() -> None:
    text = "dim n in 1..64\ndata x : n\nlet y = 2 * x\n"
    for wrong in ({"seed": -1}, {"threads": 0}, {"threads": "2"}, {"sizes": {"n": "8"}}):
        with pytest.raises(bl.Error, match="is a whole number from . on, not"):
            bl.program(text, **wrong)  # type: ignore[arg-type]
    assert bl.program(text, sizes={"n": np.int64(8)}, seed=np.int32(3)).shapes["y"] == "8"  # type: ignore[dict-item, arg-type]


def test_data_of_any_name_is_verified() -> None:
    p = bl.program("data self : 3\nlet y = 2 * self\n")
    assert "1 array" in str(p.verify(**{"self": np.zeros(3, "float32")}))
