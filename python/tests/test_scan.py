"""Recurrences in graphs: their values and gradients beside loops of NumPy and of PyTorch, and their mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import broadloom as bl
import numpy as np
import pytest
from needed import needed

BACKENDS = ["native", "reference"]


def floats(*sizes: int) -> np.ndarray:
    """Numbers between -1 and 1, others in each place."""
    count = int(np.prod(sizes))
    return (np.arange(count) * 7 % 11 / 11 - np.arange(count) * 3 % 5 / 7).astype("float32").reshape(sizes)


def written_out(turn: Callable[..., Any], first: list[Any], *over: np.ndarray) -> tuple[list[list[Any]], list[Any]]:
    """What all turns of a function of NumPy arrays make, one after another, and what the last one carries."""
    carried, made = list(first), []
    for elements in zip(*over):
        results = list(turn(*elements, *carried))
        carried = results[: len(first)]
        made.append(results)
    return made, carried


@pytest.mark.parametrize("backend", BACKENDS)
def test_values(backend: str) -> None:
    g = bl.Graph()
    g.dim("n", 1, 9)
    x, w = g.data("x", "2, n | 3"), g.param("w", "4 -> 4", initial=floats(4, 4))
    read, b = g.param("read", "3 -> 4", initial=floats(4, 3)), g.param("b", "4", initial=floats(4))
    states = bl.scan(lambda x, h: bl.tanh(read @ x + w @ h + b), 0, x)
    last = bl.fold(lambda x, h: bl.tanh(read @ x + w @ h + b), 0, x)
    assert (states.shape, last.shape) == ("2, n | 4", "2 | 4")
    s = g.session(backend=backend)
    for turns in (5, 1):
        values = floats(2, turns, 3)
        h, wanted = np.zeros((2, 4), "float32"), []
        for t in range(turns):
            h = np.tanh(values[:, t] @ floats(4, 3).T + h @ floats(4, 4).T + floats(4))
            wanted.append(h)
        found, end = s.run(states, last, x=values)
        np.testing.assert_allclose(found, np.stack(wanted, 1), rtol=2e-5, atol=1e-6)
        np.testing.assert_array_equal(end, found[:, -1])


@pytest.mark.parametrize("every", [None, 1, 2, 50])
def test_gradients_are_those_of_torch(every: int | None) -> None:
    torch = needed("torch")
    g = bl.Graph(dtype="f64")
    x, first = g.data("x", "7, 2 | 3", dtype="f64"), g.data("first", "4", dtype="f64")
    w, read = g.param("w", "4 -> 4", initial=floats(4, 4)), g.param("read", "3 -> 4", initial=floats(4, 3))
    every_h = bl.scan(lambda x, h: bl.tanh(read @ x + w @ h), first, x, along="batch", checkpoint_every=every)
    loss = bl.square(every_h).sum()
    s = g.session()
    given = {"x": floats(7, 2, 3).astype("float64"), "first": floats(4).astype("float64")}
    found = s.run(g.gradients(loss, w, read, x, first), **given)

    tw, tread = (torch.tensor(s[name], requires_grad=True) for name in ("w", "read"))
    tx, tfirst = (torch.tensor(given[name], requires_grad=True) for name in ("x", "first"))
    h, total = tfirst.expand(2, 4), 0
    for t in range(7):
        h = torch.tanh(tx[t] @ tread.T + h @ tw.T)
        total = total + (h**2).sum()
    total.backward()
    assert s.run(loss, **given) == pytest.approx(total.item(), rel=1e-12)
    for ours, theirs in zip(found, (tw, tread, tx, tfirst)):
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_at_once(backend: str) -> None:
    """Two tensors are gone through, two are carried, and one result is neither of them."""

    def turn(x: Any, y: Any, a: Any, b: Any) -> list[Any]:
        return [a + x, b * y + a, x - b]

    g = bl.Graph()
    x, y, first = g.data("x", "4 | 3"), g.data("y", "4 | 3"), g.data("first", "3")
    s = g.session(backend=backend)
    every = bl.scan(turn, [first, 1], x, y)
    last = bl.fold(turn, (first, 1), x, y)
    assert [each.shape for each in every] == ["4 | 3"] * 3 and [each.shape for each in last] == ["3", "3", "4 | 3"]
    given = {"x": floats(4, 3), "y": 2 * floats(4, 3)[::-1].copy(), "first": floats(3)}
    made, end = written_out(turn, [given["first"], np.ones(3, "float32")], given["x"], given["y"])
    wanted = [np.stack(each) for each in zip(*made)]
    for ours, theirs in zip(s.run(*every, *last, **given), [*wanted, *end, wanted[2]]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(("along", "axis"), [("batch", 0), ("..., t | ...", 1), ("... | t, ...", 2), ("output", 2), ("... | ..., t", 3)])
def test_along_an_axis(along: str, axis: int) -> None:
    g = bl.Graph()
    x, values = g.data("x", "2, 3 | 4, 5"), floats(2, 3, 4, 5)
    sums, total = (function(lambda x, s: s + x, 0, x, along=along) for function in (bl.scan, bl.fold))
    found, last = g.session().run(sums, total, x=values)
    np.testing.assert_allclose(found, values.cumsum(axis), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, values.sum(axis), rtol=1e-5, atol=1e-6)


def test_a_scan_inside_of_a_turn() -> None:
    g = bl.Graph()
    x, values = g.data("x", "3, 4 | 2"), floats(3, 4, 2)

    def turn(row: bl.Expr, s: bl.Expr) -> bl.Expr:
        return s + bl.fold(lambda x, c: bl.maximum(c, x + s), -100, row)

    found = g.session().run(bl.scan(turn, 0, x, along="batch"), x=values)
    s, wanted = np.zeros(2, "float32"), []
    for row in values:
        s = s + (row + s).max(0)
        wanted.append(s)
    np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-5)


def test_training_and_parameters_of_a_turn() -> None:
    """A parameter that the function of a turn makes is one for all turns; an optimiser of the graph trains it."""
    g = bl.Graph()
    x = g.data("x", "6 |")

    def turn(x: bl.Expr, h: bl.Expr) -> bl.Expr:
        with g.scope("cell"):
            return g.param("decay", "", initial=0.2) * h + x

    loss = bl.square(bl.fold(turn, 0, x) - 3.0)
    step = g.minimise(loss, bl.Adam(0.05))
    s = g.session()
    assert list(g.shapes) == ["x", "cell.decay"]
    losses = [s.run(step, x=np.ones(6, "float32")) for _ in range(200)]
    decay = float(s["cell.decay"])
    assert losses[-1] < 1e-5 < losses[0] and sum(decay**k for k in range(6)) == pytest.approx(3, rel=1e-3)


def test_every_turn_draws_its_own_numbers() -> None:
    g = bl.Graph()
    x = g.data("x", "50 | 2")
    walk, drawn = bl.scan(lambda x, at: [at + (step := g.normal("steps")) + x, step], 0, x)
    s = g.session(seed=3)
    zeros = np.zeros((50, 2), "float32")
    where, steps = s.run(walk, drawn, x=zeros)
    np.testing.assert_allclose(where, steps.cumsum(0), rtol=1e-4, atol=1e-5)
    assert len(np.unique(steps)) == 100 and not np.array_equal(steps, s.run(drawn, x=zeros))


def test_the_same_on_jax() -> None:
    needed("jax")
    g = bl.Graph()
    x = g.data("x", "5 | 2")
    assert "stablehlo.while" in g.session().stablehlo(bl.scan(lambda x, s: bl.maximum(0.5 * s, x), 0, x))


# Mistakes.


def test_what_belongs_to_a_turn() -> None:
    """Nothing of a turn has a value outside of it, and what a scan gives back has."""
    g = bl.Graph()
    x = g.data("x", "4 | 2")
    leaked: list[bl.Expr] = []

    def turn(x: bl.Expr, s: bl.Expr) -> bl.Expr:
        leaked.extend([x, s, s + x])
        return leaked[-1]

    sums = bl.scan(turn, 0, x)
    s, ones = g.session(), np.ones((4, 2), "float32")
    for each in leaked:
        for use in (lambda each=each: each + 1, lambda each=each: s.run(each, x=ones), lambda each=each: g.gradients(each.sum(), x)):
            with pytest.raises(bl.Error, match="belongs to one turn of a scan, and has no value outside of it") as caught:
                use()
            assert "behind what is carried" in caught.value.help[0]
    assert s.run(2 * sums, x=ones)[-1].tolist() == [8, 8]


def test_nothing_runs_amidst_a_turn() -> None:
    g = bl.Graph()
    x, a = g.data("x", "4 | 2"), g.param("a", "")
    s = g.session()
    for use in (lambda e: s.run(x.sum(), x=np.ones((4, 2))), lambda e: g.gradients(x.sum(), x), lambda e: g.minimise(bl.square(a), bl.Sgd(0.1))):
        with pytest.raises(bl.Error, match="nothing can be run in the function of a turn"):
            bl.scan(lambda x, c, use=use: use(x), 0, x)
    assert s.run(bl.fold(lambda x, c: c + x, 0, x), x=np.ones((4, 2), "float32")).tolist() == [4, 4]


def test_a_turn_with_a_mistake() -> None:
    """It is refused at its line, and the graph goes on."""
    g = bl.Graph()
    x, w = g.data("x", "n | 3"), g.param("w", "4 -> 4")
    kept: list[bl.Expr] = []

    def wrong(x: bl.Expr, h: bl.Expr) -> bl.Expr:
        kept.append(x + h)
        return w @ x

    with pytest.raises(bl.Error) as caught:
        bl.scan(wrong, 0, x)
    places = {(Path(end.file or "").name, (end.line or 0) - wrong.__code__.co_firstlineno) for end in caught.value.ends}
    assert ("test_scan.py", 2) in places
    with pytest.raises(ZeroDivisionError):
        bl.scan(lambda x, h: x + 1 / 0, 0, x)
    with pytest.raises(bl.Error, match="was made in a turn of a scan that had a mistake"):
        kept[0] + 1
    s = g.session()
    assert s.run(bl.fold(lambda x, h: h + x, 0, x), x=np.ones((5, 3), "float32")).tolist() == [5, 5, 5]
    assert s.run(2 * x, x=np.ones((1, 3), "float32")).tolist() == [[2, 2, 2]]


def test_what_is_carried_has_one_shape() -> None:
    g = bl.Graph()
    x = g.data("x", "4 | 3")
    with pytest.raises(bl.Error) as caught:
        bl.scan(lambda x, joined: bl.concat(joined, x), g.array("first", "3", np.zeros(3, "float32")), x)
    assert any("one shape in all turns" in each for each in caught.value.help)
    assert any(Path(end.file or "").name == "test_scan.py" for end in caught.value.ends)


def test_different_numbers_of_turns() -> None:
    g = bl.Graph()
    x, y = g.data("x", "4 | 3"), g.data("y", "5 | 3")
    with pytest.raises(bl.Error, match=r"goes through `x` \(4 elements\) and `y` \(5\): lengths must match") as caught:
        bl.scan(lambda x, y, s: s + x * y, 0, x, y)
    assert [end.text for end in caught.value.ends if end.text] == ["4 turns", "5 turns"]
    z = g.data("z", "n | 3")
    sums = bl.scan(lambda x, z, s: s + x * z, 0, x, z)
    with pytest.raises(bl.Error, match="makes `n` 6|should be 4"):
        g.session().run(sums, x=np.ones((4, 3)), z=np.ones((6, 3)))


def test_arguments_that_are_no_recurrence() -> None:
    g = bl.Graph()
    x = g.data("x", "4 | 3")
    with pytest.raises(TypeError, match="the first argument of `bl.scan` is the function of a turn, not Expr"):
        bl.scan(x, 0, x)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="`bl.fold` has nothing to go through"):
        bl.fold(lambda x, s: s, 0)
    with pytest.raises(TypeError, match="goes through expressions of a graph, not through ndarray"):
        bl.scan(lambda x, s: s, 0, np.ones(3))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="`checkpoint_every` is a number of turns from 1 on, not 0"):
        bl.scan(lambda x, s: s + x, 0, x, checkpoint_every=0)
    with pytest.raises(bl.Error, match="gives 1 value, and `bl.scan` carries 2"):
        bl.scan(lambda x, a, b: a + x, [0, 0], x)
    with pytest.raises(bl.Error, match="does not name one axis"):
        bl.scan(lambda x, s: s + x, 0, x, along="time")
    with pytest.raises(bl.Error, match="`y` has no batch axis to go through: it is `3`"):
        bl.scan(lambda x, s: s + x, 0, g.data("y", "3"))
