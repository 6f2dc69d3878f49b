"""Graphs that are built in Python."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

import broadloom as bl
import numpy as np
import pytest
from broadloom import _broadloom, _operations


def floats(*sizes: int) -> np.ndarray:
    return np.arange(1, np.prod(sizes) + 1, dtype="float32").reshape(sizes)


def value(make, **arrays: np.ndarray) -> np.ndarray:
    """The value of an expression over data of these arrays."""
    g = bl.Graph()
    data = {name: g.data(name, ", ".join(map(str, array.shape))) for name, array in arrays.items()}
    return g.session().run(make(**data), **arrays)


def test_shapes() -> None:
    g = bl.Graph()
    x = g.data("x", "32 | 784")
    y = bl.relu(g.param("w") @ x + g.param("b", "64"))
    assert (y.shape, g.shapes) == ("32 | 64", {"x": "32 | 784", "w": "784 -> 64", "b": "64"})
    assert y.shape.batch == (32,) and y.shape.elements == 32 * 64
    assert repr(y.named("y")) == "<broadloom expression y>"


def test_operators() -> None:
    a, b = floats(2, 3), floats(2, 3)[::-1].copy()
    cases = {
        "a + b": a + b, "a - b": a - b, "a * b": a * b, "a / b": a / b, "a ** b": a**b, "a % b": a % b, "-a": -a,
        "abs(-a)": a, "2 + a": 2 + a, "2 - a": 2 - a, "2 * a": 2 * a, "2 / a": 2 / a, "2 ** a": 2**a, "20 % a": 20 % a,
        "a + 1.5": a + 1.5, "a < b": a < b, "a <= b": a <= b, "a > b": a > b, "a >= 3": a >= 3,
    }  # fmt: skip
    for text, expected in cases.items():
        got = value(lambda a, b, text=text: eval(text, {"a": a, "b": b, "abs": abs}), a=a, b=b)
        np.testing.assert_allclose(got, expected, rtol=1e-5, err_msg=text)


def test_functions() -> None:
    a = floats(2, 3) / 4
    for name in ("exp", "log", "log1p", "sqrt", "sin", "cos", "tanh", "sign", "square", "floor", "ceil"):
        np.testing.assert_allclose(value(getattr(bl, name), a=a), getattr(np, name)(a), rtol=1e-5, atol=1e-6)
    small = np.tanh(a - 0.6).astype(np.float32)
    others = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "atanh": np.arctanh}
    others |= {"expm1": np.expm1, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh}
    for name, function in others.items():
        np.testing.assert_allclose(value(getattr(bl, name), a=small), function(small), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(value(bl.acosh, a=a + 1), np.arccosh(a + 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(value(bl.lgamma, a=a), np.vectorize(math.lgamma)(a), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(value(bl.digamma, a=np.array([1, 2], "float32")), [-0.5772157, 0.4227843], rtol=1e-5)
    np.testing.assert_allclose(value(lambda a: bl.atan2(a, 0.5), a=small), np.arctan2(small, 0.5), rtol=1e-5)
    np.testing.assert_allclose(value(bl.round_, a=a), np.round(a))
    np.testing.assert_allclose(value(bl.recip, a=a), 1 / a, rtol=1e-6)
    np.testing.assert_allclose(value(bl.sigmoid, a=a), 1 / (1 + np.exp(-a)), rtol=1e-5)
    np.testing.assert_allclose(value(lambda a: bl.maximum(a, 1), a=a), np.maximum(a, 1))
    np.testing.assert_allclose(value(lambda a: bl.where(a > 1, a, 0), a=a), np.where(a > 1, a, 0))


def test_casts_and_bits() -> None:
    a = np.array([-300.7, -1.5, 0, 0.4, 2.9, 300], "float32")
    clipped = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "i32": None, "i64": None}
    for name, limits in clipped.items():
        wanted = np.trunc(a) if limits is None else np.clip(np.trunc(a), *limits)
        got = value(getattr(bl, f"to_{name}"), a=a)
        assert got.dtype == np.dtype({"u": "uint", "i": "int"}[name[0]] + name[1:])
        assert got.tolist() == wanted.tolist(), name
    assert value(bl.to_bool, a=a).tolist() == (a != 0).tolist()
    assert value(bl.to_bool, a=a).dtype == np.dtype("bool")
    for name, dtype in {"f16": "float16", "f32": "float32", "f64": "float64"}.items():
        got = value(getattr(bl, f"to_{name}"), a=a)
        assert got.dtype == np.dtype(dtype) and got.tolist() == a.astype(dtype).tolist()
    np.testing.assert_array_equal(value(lambda a: a // 0.7, a=a), a // np.float32(0.7))
    whole = np.array([-7, 7, 12], "float32")
    for name, wanted in {"bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor}.items():
        got = value(lambda a, name=name: getattr(bl, name)(bl.to_i64(a), 10), a=whole)
        assert got.tolist() == wanted(whole.astype("int64"), 10).tolist(), name
    for name, wanted in {"shift_left": np.left_shift, "shift_right": np.right_shift}.items():
        got = value(lambda a, name=name: getattr(bl, name)(bl.to_i64(a), 2), a=whole)
        assert got.tolist() == wanted(whole.astype("int64"), 2).tolist(), name
    with pytest.raises(bl.Error, match="is for integers"):
        value(lambda a: bl.bit_and(a, 3), a=a)


def test_every_operation_has_a_name_here() -> None:
    """The table of operations decides what there is."""
    text = Path(_operations.__file__).read_text(encoding="utf-8")
    here = set(re.findall(r'_apply\("([^"]+)"', text))
    operators = {"+", "-", "*", "/", "floor_div", "**", "mod", "<", "<=", ">", ">=", "neg"}
    assert here | operators == {name for name, _ in _broadloom.operations()}


def test_specs() -> None:
    g = bl.Graph()
    a, b = g.data("a", "2, 3"), g.data("b", "3, 4")
    s = g.session()
    x, y = floats(2, 3), floats(3, 4)
    np.testing.assert_allclose(s.run(g.einsum("i j; j k => i k", a, b), a=x, b=y), x @ y)
    np.testing.assert_allclose(s.run(a.max("i j => i"), a=x), x.max(axis=1))
    np.testing.assert_allclose(s.run(a.sum("i j => j"), a=x), x.sum(axis=0))
    np.testing.assert_allclose(s.run(a.mean("i j => i", "j"), a=x), x.mean(axis=1))
    np.testing.assert_allclose(s.run(a.T, a=x).shape, (2, 3))
    first, second = g.split("a^b => a; b", g.data("c", "5"))
    with pytest.raises(bl.Error, match="`reduce` is \"sum\", \"prod\", \"max\" or \"min\""):
        g.einsum("i j => i", a, reduce="mean")
    assert isinstance(first, bl.Expr) and isinstance(second, bl.Expr)


def test_composed_axes() -> None:
    g = bl.Graph()
    a, b = g.data("a", "2 | 12"), g.data("b", "3, 4")
    s = g.session()
    x, y = floats(2, 12), floats(3, 4)
    np.testing.assert_array_equal(s.run(bl.einsum("b | (h w) => b | w h", a, h=4), a=x), x.reshape(2, 4, 3).swapaxes(1, 2))
    np.testing.assert_array_equal(s.run(bl.einsum("h w => (w h)", b), b=y), y.T.reshape(-1))
    np.testing.assert_allclose(s.run(bl.einsum("b | (h w); h w => b |", a, b), a=x, b=y), x @ y.reshape(-1), rtol=1e-5)
    np.testing.assert_array_equal(s.run(bl.max("b | (h 2) => b | h", a), a=x), x.reshape(2, 6, 2).max(-1))
    np.testing.assert_allclose(s.run(bl.mean("b | (h 2) => b | h", a), a=x), x.reshape(2, 6, 2).mean(-1), rtol=1e-6)
    np.testing.assert_allclose(s.run(bl.mean("b | (h w) => b | w", a, h=3), a=x), x.reshape(2, 3, 4).mean(1), rtol=1e-6)
    np.testing.assert_array_equal(s.run(bl.einsum("... | ... => (...)", b), b=y), y.reshape(-1))
    with pytest.raises(bl.Error, match="does not fit `\\(h w\\)` with h = 5"):
        bl.einsum("b | (h w) => b | w h", a, h=5)


def test_functions_of_specs_take_expressions() -> None:
    g = bl.Graph()
    a, b = g.data("a", "2, 3"), g.data("b", "3, 4")
    s = g.session()
    x, y = floats(2, 3), floats(3, 4)
    least = bl.einsum("i j; j k => i k", a, b, combine="+", reduce="min")
    np.testing.assert_allclose(s.run(least, a=x, b=y), (x[:, :, None] + y).min(axis=1), rtol=1e-6)
    np.testing.assert_allclose(s.run(bl.prod("i j => i", a), a=x), x.prod(axis=1), rtol=1e-6)
    np.testing.assert_allclose(s.run(bl.max("i, j<+k => i, j", a, k=2), a=x), np.maximum(x[:, :-1], x[:, 1:]))
    with pytest.raises(TypeError, match="`broadloom.any` is for arrays"):
        bl.any("i j => i", a)


def test_a_mistake_shows_lines_of_python() -> None:
    g = bl.Graph()
    x = g.data("x", "32 | 3")
    target = g.data("target", "32 | 4")
    with pytest.raises(bl.Error) as caught:
        x - target
    error = caught.value
    first = test_a_mistake_shows_lines_of_python.__code__.co_firstlineno
    assert error.code == "E0301"
    assert {(Path(end.file or "").name, (end.line or 0) - first) for end in error.ends} == {
        ("test_graph.py", 2), ("test_graph.py", 3), ("test_graph.py", 5)
    }  # fmt: skip
    text = str(error)
    assert 'x = g.data("x", "32 | 3")' in text and 'target = g.data("target", "32 | 4")' in text
    if sys.version_info >= (3, 11):
        assert "        x - target\n" in text and " ^^^^^^^^^^\n" in text
    assert (x + 1).shape == "32 | 3", "a refused step leaves no trace"


def test_advice_is_python() -> None:
    g = bl.Graph()
    x = g.data("x", "3")
    with pytest.raises(bl.Error) as caught:
        g.session().run(x + 1)
    assert "`x` has no values" in str(caught.value)
    assert caught.value.help == ("give the values by the name of the data: `session.run(y, x=array)`",)
    loss = bl.square(g.param("w", "3") - x)
    with pytest.raises(bl.Error) as caught:
        g.session().run(g.minimise(loss, bl.Sgd(0.1)), x=floats(3))
    assert "Session::" not in str(caught.value) and "::" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*compiled for each size")
def test_a_loss_of_several_numbers_is_refused_where_it_is_minimised() -> None:
    g = bl.Graph()
    x = g.data("x", "batch | 3")
    loss = (g.param("w", "3 -> 2") @ x) ** 2
    with pytest.raises(bl.Error, match="gradients are of one number") as caught:
        g.minimise(loss, bl.Sgd(0.1))
    assert len(caught.value.ends) == 2 and "loss.mean()" in str(caught.value)
    with pytest.raises(bl.Error, match="gradients are of one number"):
        g.gradients(loss, x)
    # A batch of one example is one number: the run knows.
    each = g.einsum("... | i => ... |", loss)
    g.session().run(g.minimise(each, bl.Sgd(0.1)), x=floats(1, 3))
    with pytest.raises(bl.Error, match="gradients are of one number"):
        g.session().run(g.minimise(each, bl.Sgd(0.1)), x=floats(4, 3))


def test_gradients() -> None:
    g = bl.Graph()
    x, w = g.data("x", "4 | 3"), g.param("w", "... -> 2")
    loss = bl.square(w @ x).sum("... | ... => 0")
    gradients = g.gradients(loss, w)
    s = g.session()
    numbers = floats(4, 3)
    (grad,) = s.run(gradients, x=numbers)
    expected = 2 * (numbers @ s["w"].T).T @ numbers
    np.testing.assert_allclose(grad, expected, rtol=1e-4)


@pytest.mark.parametrize("by", [bl.Sgd(0.05), bl.Sgd(0.02, momentum=0.9), bl.Adam(0.1), bl.Adam(0.1, weight_decay=1e-4, decoupled=True)])
def test_training(by: bl.Sgd | bl.Adam) -> None:
    g = bl.Graph()
    g.dim("batch", 1)
    x, target = g.data("x", "batch | 2"), g.data("target", "batch | 1")
    loss = bl.square(g.param("w") @ x + g.param("b", "1") - target).mean("..b.. | o => ", "b", "o")
    step = g.minimise(loss, by)
    s = g.session(seed=3)
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((16, 2)).astype("float32")
    wanted = numbers @ np.array([[1.0], [-2.0]], "float32") + 0.5
    losses = [s.run(step, x=numbers, target=wanted) for _ in range(300)]
    assert losses[-1] < 1e-2 < losses[0]
    np.testing.assert_allclose(s["w"], [[1, -2]], atol=0.1)
    assert s.run(loss, x=numbers[:3], target=wanted[:3]) < 1e-2, "other sizes, same parameters"


def test_a_session_follows_its_graph() -> None:
    g = bl.Graph()
    x = g.data("x", "3")
    y = g.param("w", "... -> 2") @ x
    s = g.session()
    before = s.run(y, x=floats(3))
    w = s["w"]
    z = y + 1
    np.testing.assert_allclose(s.run(z, x=floats(3)), before + 1)
    assert np.array_equal(s["w"], w)


def test_parameters_and_files(tmp_path: Path) -> None:
    g = bl.Graph()
    y = g.param("w", "... -> 2") @ g.data("x", "3")
    s = g.session(seed=1)
    s["w"] = np.ones((2, 3))
    assert s.run(y, x=floats(3)).tolist() == [6, 6]
    s.save(tmp_path / "a.safetensors")
    other = g.session(seed=2)
    other.load(tmp_path / "a.safetensors")
    assert np.array_equal(other["w"], np.ones((2, 3)))
    with pytest.raises(bl.Error, match="no data, parameter or state called `v`"):
        s["v"]
    with pytest.raises(bl.Error, match=r"sizes \[3, 2\]"):
        s["w"] = np.ones((3, 2))


def test_copies_and_results() -> None:
    g = bl.Graph()
    x = g.data("x", "3")
    s = g.session()
    first = s.run(2 * x, x=floats(3))
    s.run(2 * x, x=np.zeros(3))
    assert first.tolist() == [2, 4, 6] and first.ctypes.data % 64 == 0
    assert "f64" in (s.copies["x"] or "")
    s.run(2 * x, x=floats(3))
    assert s.copies == {"x": None}


def test_what_is_not_part_of_a_graph() -> None:
    g, other = bl.Graph(), bl.Graph()
    x = g.data("x", "3")
    with pytest.raises(TypeError, match="make data of an array"):
        x + floats(3)
    with pytest.raises(TypeError, match="make data of an array"):
        floats(3) * x
    with pytest.raises(bl.Error, match="another graph"):
        x + other.data("x", "3")
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x)
    with pytest.raises(TypeError, match="cannot be iterated"):
        list(x)
    with pytest.raises(TypeError, match="`bl.relu` works on expressions of a graph, and got float"):
        bl.relu(1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        g.session().run()
    for convert in (np.asarray, float, int):
        with pytest.raises(TypeError, match="when a session runs it"):
            convert(x)
    with pytest.raises(TypeError, match="`shape` has its axes"):
        len(x)
    with pytest.raises(TypeError, match="an optimiser is `bl.Sgd"):
        g.minimise(x.sum(), "adam")  # type: ignore[arg-type]


def test_equality_is_pointwise() -> None:
    g = bl.Graph()
    x, y = g.data("x", "3"), g.data("y", "3")
    given = {"x": np.array([1, 2, 3], "float32"), "y": np.array([1, 0, 3], "float32")}
    same, other, two = g.session().run(x == y, x != y, x == 2, **given)
    assert (same.tolist(), other.tolist(), two.tolist()) == ([1, 0, 1], [0, 1, 0], [0, 1, 0])
    with pytest.raises(TypeError, match="neither true nor false"):
        assert x == y
    assert len({x, y}) == 2 and (x is not None) and not (x == None) and x != "x"  # noqa: E711


def test_a_mistake_leaves_its_name_free() -> None:
    g = bl.Graph()
    with pytest.raises(bl.Error, match="only one"):
        g.data("x", "3 | 4 | 5")
    with pytest.raises(TypeError, match='the shape of `x` is a text, not tuple: `"3, 4"`'):
        g.data("x", (3, 4))  # type: ignore[arg-type]
    with pytest.raises(bl.Error):
        g.dim("n", 5, 2)
    g.dim("n", 2, 5)
    assert g.data("x", "n | 3").shape == "n | 3"


def test_names_of_sizes_come_from_data() -> None:
    """The start of the guide: no size is declared, and arrays decide it."""
    g = bl.Graph()
    x = g.data("x", "batch | 4")
    y = g.param("w") @ x + g.param("b", "2")
    assert y.shape == "batch | 2"
    s = g.session()
    assert [s.run(y, x=floats(n, 4)).shape for n in (3, 5)] == [(3, 2), (5, 2)]
    other = g.data("other", "batch | 2")
    with pytest.raises(bl.Error, match="axis 0 of `x` makes `batch` 3, axis 0 of `other` makes it 5") as caught:
        s.run(y + other, x=floats(3, 4), other=floats(5, 2))
    assert [end.text for end in caught.value.ends] == ["`x` is declared `batch | 4`", "`other` is declared `batch | 2`"]
    assert all("test_graph.py" in (end.file or "") for end in caught.value.ends)
    with pytest.raises(bl.Error, match="makes a size called `batch`, and so does line"):
        g.dim("batch", 1, 64)


def test_names_are_unique() -> None:
    g = bl.Graph()
    g.data("x", "3")
    for make in (g.data, g.param, g.state):
        with pytest.raises(bl.Error, match="makes a tensor called `x`, and so does line"):
            make("x", "3")


def test_everything_is_reduced() -> None:
    g = bl.Graph()
    numbers = np.arange(6, dtype="float32").reshape(2, 3)
    x = g.data("x", "2 | 3")
    made = g.session().run(bl.sum(x), x.sum(), bl.mean(x), x.mean(), bl.max(x), x.min(), x=numbers)
    assert [float(each) for each in made] == [15, 15, 2.5, 2.5, 5, 0]
    with pytest.raises(TypeError, match="as in `run\\(y, loss\\)`"):
        g.session().run([x], x=numbers)
    assert "x : 2 | 3" in repr(g) and "training" in repr(g.minimise(x.sum() * g.param("a", ""), bl.Sgd(0.1)))


def test_arrays_hold_for_one_run() -> None:
    g = bl.Graph()
    x, t = g.data("x", "n | 3"), g.data("t", "n | 3")
    difference, session = x - t, g.session()
    zeros = np.zeros((1, 3), "float32")
    for dtype in ("float32", "float64"):
        session.run(difference, x=np.full((1, 3), 7, dtype), t=zeros)
        with pytest.raises(bl.Error, match="`x` has no values"):
            session.run(difference, t=zeros)
    # What was set comes back after a run with something else, also of another size.
    session["x"] = np.full((1, 3), 2, "float32")
    for rows, dtype in ((1, "float32"), (1, "float64"), (4, "float32"), (4, "float64")):
        given = session.run(difference, x=np.ones((rows, 3), dtype), t=np.zeros((rows, 3), dtype))
        assert given.tolist() == [[1.0] * 3] * rows
        assert session.run(difference, t=zeros).tolist() == [[2.0] * 3]
        assert session["x"].tolist() == [[2.0] * 3]
    with pytest.raises(bl.Error, match=r"`x`, whose values have sizes \[1, 3\]"):
        session.run(difference, t=np.zeros((4, 3)))
    assert session.run(difference, t=zeros).tolist() == [[2.0] * 3]


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_states(backend: str, tmp_path: Path) -> None:
    g = bl.Graph()
    x, mean, seen = g.data("x", "n | 2"), g.state("mean", initial=1), g.state("seen", "", dtype=np.int64)
    now = bl.mean("n | i => i", x)
    follow, count = g.assign(mean, 0.5 * mean + 0.5 * now), g.assign(seen, seen + 2)
    assert mean.shape == "2" and repr(follow) == "<broadloom assignment>"
    s = g.session(backend=backend)
    assert s["mean"].tolist() == [1, 1] and s["seen"] == 0 and s["seen"].dtype == np.int64
    assert s.run(follow, x=floats(2, 2)).tolist() == [1.5, 2]
    assert s.run(x - mean, x=floats(1, 2)).tolist() == [[-0.5, 0]], "a state is read like any other tensor"
    assert [s.run(count).item(), s.run(count).item(), s["seen"].item()] == [2, 4, 4]
    s["mean"] = np.array([5, 6])
    assert s.run(follow, x=floats(1, 2)).tolist() == [3, 4]
    with pytest.raises(bl.Error, match=r"sizes \[3\]"):
        s["mean"] = np.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        s["mean"][0] = 9
    s.save(tmp_path / "s.safetensors")
    other = g.session(backend=backend)
    other.load(tmp_path / "s.safetensors")
    assert other["mean"].tolist() == [3, 4] and other["seen"] == 4
    with pytest.raises(bl.Error, match="`mean` is a state, which lasts from run to run") as caught:
        s.run(x - mean, x=floats(1, 2), mean=np.ones(2))
    assert caught.value.help == ("set it: `session['mean'] = array`",)


def test_states_in_a_step_of_training() -> None:
    g = bl.Graph()
    a, before = g.param("a", "", initial=3), g.state("before", "")
    step = g.minimise(bl.square(a), bl.Adam(0.5), assign=[(before, a)])
    s = g.session()
    assert s.run(step) == 9 and s["a"] < 3
    assert s["minimise0.step"] == 1, "states of optimisers can be read"
    assert set(g.shapes) == {"a", "before"}, "states of optimisers are not listed"


def test_what_cannot_be_assigned() -> None:
    g = bl.Graph()
    x, s = g.data("x", "3"), g.state("s", "2")
    for target in (x, x + 1):
        with pytest.raises(bl.Error, match="does not last from run to run") as caught:
            g.assign(target, x)
    assert caught.value.help == ('make a state: `graph.state("total", "3")`',)
    with pytest.raises(bl.Error, match="3 and 2 do not agree|2 and 3 do not agree") as caught:
        g.assign(s, x)
    assert any(Path(end.file or "").name == "test_graph.py" for end in caught.value.ends)
    with pytest.raises(TypeError, match="a value is assigned to a state"):
        g.assign(1, x)  # type: ignore[arg-type]
    g.assign(s, s + 1)


def test_files_that_lack_states(tmp_path: Path) -> None:
    with_state, without = bl.Graph(), bl.Graph()
    for g in (with_state, without):
        g.param("w", "2")
    with_state.state("s", "2")
    without.session().save(tmp_path / "a.safetensors")
    with pytest.warns(RuntimeWarning, match="has no `s`"):
        with_state.session().load(tmp_path / "a.safetensors")


def test_first_values_and_types() -> None:
    g = bl.Graph(dtype="f64")
    kinds = {
        "a": g.param("a", "3", initial=2),
        "b": g.param("b", "2", initial=[1, 2], dtype=np.float16),
        "c": g.param("c", "300", initial=bl.Initial.uniform(2, 3)),
        "d": g.param("d", "300", initial=bl.Initial.normal(5, 0.1), dtype="bfloat16"),
        "e": g.param("e", "75 -> 40", initial=bl.Initial.kaiming()),
        "f": g.param("f", "75 -> 25", initial=bl.Initial.xavier(normal=True)),
    }
    s = g.session(seed=7)
    assert s["a"].tolist() == [2, 2, 2] and s["a"].dtype == np.float64
    assert s["b"].tolist() == [1, 2] and s["b"].dtype == np.float16
    assert 2 <= s["c"].min() < 2.1 and 2.9 < s["c"].max() <= 3
    assert abs(s["d"].mean() - 5) < 0.1
    assert np.abs(s["e"]).max() <= 0.2 and abs(s["e"].std() * 75**0.5 - 1) < 0.1
    assert abs(s["f"].std() * 50**0.5 - 1) < 0.1
    assert s.run(kinds["a"] + g.data("i", "3", dtype="i32"), i=[1, 2, 3]).tolist() == [3, 4, 5]
    for wrong in ("f31", object, np.complex64):
        with pytest.raises(TypeError, match="is not a type of numbers in a graph: bool, u8"):
            g.data("wrong", "3", dtype=wrong)
    g.data("wrong", "3")


def test_filled_and_random_tensors() -> None:
    g = bl.Graph()
    x = g.data("x", "4")
    with g.scope("a"), g.scope("b"):
        w, noise = g.param("w", "4", initial=1), g.normal("noise")
    s = g.session(seed=1)
    zeros = np.zeros(4, "float32")
    assert s.run(x + g.constant(3), x=zeros).tolist() == [3] * 4
    assert s.run(x + g.range("places", "4"), x=zeros).tolist() == [0, 1, 2, 3]
    first, second = s.run(x + noise, x=zeros), s.run(x + noise, x=zeros)
    assert not np.array_equal(first, second)
    drawn = [g.session(seed=seed).run(x + noise, x=zeros) for seed in (5, 5, 6)]
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    uniform = s.run(x + g.uniform("u"), x=zeros)
    assert ((0 <= uniform) & (uniform < 1)).all()
    assert "a.b.w" in g.shapes and s["a.b.w"].tolist() == [1] * 4 and w.shape == "4"
    with pytest.raises(bl.Error, match="makes a tensor called `u`, and so does line"):
        g.uniform("u")


def test_along_an_axis() -> None:
    g = bl.Graph()
    x, y, ids = g.data("x", "2 | 3"), g.data("y", "2 | 3"), g.data("ids", "2 |")
    s = g.session()
    a, b, at = floats(2, 3), -floats(2, 3), np.array([1, 0])
    given = {"x": a, "y": b}
    for along, axis in {"batch": 0, "output": 1, "... | ..., t": 1}.items():
        np.testing.assert_array_equal(s.run(bl.concat(x, y, along=along), **given), np.concatenate([a, b], axis))
    for along, axis in {"batch": 0, "output": 1}.items():
        np.testing.assert_array_equal(s.run(bl.stack(x, y, along=along), **given), np.stack([a, b], axis))
        np.testing.assert_array_equal(s.run(x.take(ids, along), x=a, ids=at), np.take(a, at, axis))
        for descending in (False, True):
            order = y.argsort(along, descending=descending)
            wanted = np.argsort(-b if descending else b, axis)
            np.testing.assert_array_equal(s.run(order, y=b), wanted)
            np.testing.assert_array_equal(s.run(y.take_along(order, along), y=b), np.take_along_axis(b, wanted, axis))
    np.testing.assert_array_equal(s.run(x[ids], x=a, ids=at), a[at])
    assert s.run(x.scatter(ids, 3, reduce="max"), x=a, ids=np.array([2, 2]))[2].tolist() == [4, 5, 6]
    with pytest.raises(bl.Error, match="does not name one axis, first or last of its kind"):
        x.take(ids, "columns")
    with pytest.raises(TypeError, match="nothing to put together"):
        bl.concat()
    with pytest.raises(TypeError, match="is for expressions of a graph, not for ndarray"):
        bl.concat(x, a)  # type: ignore[arg-type]


def test_means_and_parts_of_expressions() -> None:
    g = bl.Graph()
    x, numbers = g.data("x", "2, 6"), floats(2, 6)
    s = g.session()
    np.testing.assert_allclose(s.run(bl.mean("i j => i", x), x=numbers), numbers.mean(axis=1))
    np.testing.assert_allclose(s.run(x.mean("i j => j"), x=numbers), numbers.mean(axis=0))
    windows = bl.mean("i, 2*o<+k => i, o", x, k=2)
    np.testing.assert_allclose(s.run(windows, x=numbers), numbers.reshape(2, 3, 2).mean(axis=2))
    first, second = bl.split("i, a^b => i, a; i, b", x, b=2)
    assert [each.tolist() for each in s.run(first, second, x=numbers)] == [numbers[:, :4].tolist(), numbers[:, 4:].tolist()]
    with pytest.raises(bl.Error):
        bl.mean("i j -> i", x)


def test_rearranging_expressions() -> None:
    g = bl.Graph()
    x, numbers = g.data("x", "2, 12"), floats(2, 12)
    s = g.session()
    np.testing.assert_array_equal(s.run(bl.rearrange("b (h w) => b w h", x, h=4), x=numbers), numbers.reshape(2, 4, 3).swapaxes(1, 2))
    np.testing.assert_array_equal(s.run(bl.repeat("b i => b i j", x, j=3), x=numbers), np.repeat(numbers[:, :, None], 3, 2))
    with pytest.raises(bl.SpecError, match="`i` is not in the result, and `bl.rearrange` keeps every element"):
        bl.rearrange("b i => b", x)
    with pytest.raises(bl.SpecError, match="`j` stands only in the result"):
        bl.rearrange("b i => b i j", x, j=3)


def test_arguments_that_are_no_texts() -> None:
    """Sizes and axes as NumPy and PyTorch have them are refused in words."""
    g = bl.Graph()
    x = g.data("x", "2, 3")
    with pytest.raises(TypeError, match='the shape to reshape to is a text, not tuple: `"3, 2"`'):
        x.reshape((3, 2))  # type: ignore[arg-type]
    for use in (lambda: x.take(x, 0), lambda: x.argsort(0), lambda: bl.concat(x, x, along=1)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="an axis is named by a text, not by int"):
            use()
    with pytest.raises(TypeError, match=r"the first values of `w` are a number, an array, or such as `bl.Initial.normal"):
        g.param("w", "3", initial="zeros")


@pytest.mark.parametrize(
    ("make", "message", "help"),
    [
        (lambda: bl.Sgd(-1), "`rate` of `bl.Sgd` is -1, and must not be negative", "`bl.Sgd(0.01)`"),
        (lambda: bl.Sgd(float("nan")), "`rate` of `bl.Sgd` is nan, and must not be negative", "`bl.Sgd(0.01)`"),
        (lambda: bl.Adam(0.1, beta2=1.0), "`beta2` of `bl.Adam` is 1.0, and must be at least 0 and below 1", "`beta2=0.999` is usual"),
        (lambda: bl.Adam(0.1, epsilon=0), "`epsilon` of `bl.Adam` is 0, and must be positive", "`epsilon=1e-08` is usual"),
    ],
)
def test_numbers_that_no_optimiser_has(make: Callable[[], object], message: str, help: str) -> None:
    with pytest.raises(bl.Error, match=re.escape(message)) as caught:
        make()
    assert caught.value.help == (help,)
