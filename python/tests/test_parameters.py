"""Parameters as named arrays, and in files."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import broadloom as bl
import numpy as np
import pytest

TEXT = "data x : 3\nlet y = {w} @ x + {b : 2}\nlet z = {v : ... -> 1} @ y\n"


def test_reading_and_setting() -> None:
    p = bl.program(TEXT)
    assert {name: array.shape for name, array in p.parameters.items()} == {"w": (2, 3), "b": (2,), "v": (1, 2)}
    with pytest.raises(ValueError, match="read-only"):
        p.parameters["w"][:] = 9  # it would be lost: reading copies
    w = p.parameters["w"].copy()
    w[:] = 9
    assert not np.array_equal(p.parameters["w"], w), "reading copies"
    p.parameters["w"] = w
    assert np.array_equal(p.parameters["w"], w)
    p.parameters["w"] = np.ones((3, 2)).T
    assert np.array_equal(p.parameters["w"], np.ones((2, 3)))
    assert "w: float32, [2, 3]" in repr(p.parameters)


def test_what_does_not_fit() -> None:
    parameters = bl.program(TEXT, name="a.loom").parameters
    with pytest.raises(bl.Error, match=r"sizes \[3, 2\]") as caught:
        parameters["w"] = np.ones((3, 2))
    assert "784" not in str(caught.value)
    with pytest.raises(bl.Error, match="no parameter `ww`"):
        parameters["ww"]
    with pytest.raises(KeyError):
        parameters["ww"] = np.ones(3)
    with pytest.raises(bl.Error, match="cannot be deleted"):
        del parameters["w"]


def test_files(tmp_path: Path) -> None:
    p, q = bl.program(TEXT, seed=1), bl.program(TEXT, seed=2)
    p.parameters.save(tmp_path / "p.safetensors")
    assert not np.array_equal(p.parameters["w"], q.parameters["w"])
    assert q.parameters.load(tmp_path / "p.safetensors") == ["w", "b", "v"]
    for name in p.parameters:
        assert np.array_equal(p.parameters[name], q.parameters[name])
    with pytest.raises(bl.Error, match="nowhere"):
        q.parameters.load(tmp_path / "nowhere.safetensors")


def test_parts_of_files(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    bl.program(TEXT, seed=1).parameters.save(path)
    other = bl.program("data x : 3\nlet y = {weight : ... -> 2} @ x + {bias}\nlet z = {extra : ... -> 5} @ y\n", seed=2)
    extra = other.parameters["extra"]
    with pytest.raises(bl.Error, match="has no `bias`, `extra`"):
        other.parameters.load(path, names={"w": "weight"})
    found = other.parameters.load(path, names={"w": "weight", "b": "bias"}, partly=True)
    assert sorted(found) == ["bias", "weight"]
    assert np.array_equal(other.parameters["weight"], bl.program(TEXT, seed=1).parameters["w"])
    assert np.array_equal(other.parameters["extra"], extra)
    assert other.parameters.load(path, names=lambda name: {"w": "weight"}.get(name), partly=True) == ["weight"]


def test_a_file_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    bl.program("data x : 4\nlet y = {w} @ x + {b : 2}\n").parameters.save(path)
    p = bl.program(TEXT)
    before = {name: array for name, array in p.parameters.items()}
    with pytest.raises(bl.Error):
        p.parameters.load(path, partly=True)
    assert all(np.array_equal(p.parameters[name], array) for name, array in before.items())


def test_weights_of_other_programs() -> None:
    root = Path(__file__).parents[2]
    model, file = root / "examples/models/gpt2.loom", root / "crates/broadloom-lang/tests/models/gpt2.safetensors"
    if not model.exists():
        pytest.skip("the tests run beside a wheel, without the examples")
    p = bl.load(model, weights=file)
    gain = p.parameters["gpt2.norm.gain"]
    assert not np.array_equal(gain, bl.load(model).parameters["gpt2.norm.gain"])
    assert np.array_equal(pickle.loads(pickle.dumps(p)).parameters["gpt2.norm.gain"], gain)
    with pytest.raises(bl.Error, match="which do not make"):
        bl.load(model, weights=file, sizes={"width": 48})


def test_names_that_the_file_lacks(tmp_path: Path) -> None:
    p = bl.program("data x : 3\nlet y = {w : 3} * x\n")
    p.parameters.save(tmp_path / "p.safetensors")
    with pytest.raises(bl.Error, match="has no array called `typo`"):
        p.parameters.load(tmp_path / "p.safetensors", names={"typo": "w"}, partly=True)


def test_names_in_the_program_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    bl.program(TEXT, seed=1).parameters.save(path)
    p = bl.program(TEXT, seed=2)
    before = dict(p.parameters)
    for names in ({"w": "wv"}, lambda name: "wv" if name == "w" else name):
        with pytest.raises(bl.Error, match="the program has no parameter `wv`") as caught:
            p.parameters.load(path, names=names, partly=True)
        assert caught.value.help[0] in ("did you mean `w`?", "did you mean `v`?")
    with pytest.raises(bl.Error, match="`b` and `w` of .* are both to be the parameter `b`") as caught:
        p.parameters.load(path, names={"w": "b"}, partly=True)
    assert caught.value.help == ('leave one of them out: `names={"w": None, …}`',)
    assert all(np.array_equal(p.parameters[name], array) for name, array in before.items())
    with pytest.raises(bl.Error, match="has none of the parameters: it has `"):
        bl.program("data x : 3\nlet y = {u : 3} * x\n").parameters.load(path, partly=True)
    assert p.parameters.load(path, names={"w": None}, partly=True) == ["b", "v"]


def test_what_a_file_lacks_or_has_too_much_is_said(tmp_path: Path) -> None:
    text = "data x : 3 = [1, 2, 3]\nlet loss = sum(square({w : 3} * x))\nrepeat 3:\n  minimise loss by %s\n"
    adam, sgd = bl.program(text % "adam(0.1)"), bl.program(text % "sgd(0.1)")
    adam.run()
    adam.parameters.save(tmp_path / "adam.safetensors")
    sgd.parameters.save(tmp_path / "sgd.safetensors")
    with pytest.warns(RuntimeWarning, match="which the program has no use for") as told:
        assert sgd.parameters.load(tmp_path / "adam.safetensors") == ["w"]
    assert [Path(each.filename).name for each in told] == ["test_parameters.py"]
    with pytest.warns(RuntimeWarning, match="they begin anew"):
        adam.parameters.load(tmp_path / "sgd.safetensors")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adam.parameters.load(tmp_path / "sgd.safetensors", partly=True)  # parameters alone, as it says
        copy = pickle.loads(pickle.dumps(adam))
    assert np.array_equal(copy.parameters["w"], adam.parameters["w"])
