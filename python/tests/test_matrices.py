"""Linear algebra on graphs, compared with NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import broadloom as bl
import numpy as np
import pytest
from needed import needed

RANDOM = np.random.default_rng(3)
#: Matrices that are far from singular, symmetric ones among them.
SQUARE = RANDOM.normal(size=(6, 4, 4)) + 4 * np.eye(4)
SYMMETRIC = SQUARE @ SQUARE.transpose(0, 2, 1)
TALL = RANDOM.normal(size=(6, 5, 3))
SIDES = RANDOM.normal(size=(6, 4))


def run(shape: str, values: np.ndarray[Any, Any], of: Callable[[bl.Expr], Any]) -> Any:
    g = bl.Graph()
    made = of(g.data("a", shape))
    return g.session().run(*(made if isinstance(made, tuple) else (made,)), a=values.astype("float32"))


@pytest.mark.parametrize(
    ("ours", "theirs", "values"),
    [
        (bl.inverse, np.linalg.inv, SQUARE),
        (bl.det, np.linalg.det, SQUARE),
        (bl.logdet, lambda a: np.linalg.slogdet(a)[1], SQUARE),
        (bl.cholesky, np.linalg.cholesky, SYMMETRIC),
        (lambda a: bl.qr(a)[1], lambda a: np.linalg.qr(a)[1], TALL),
        (lambda a: bl.eigh(a)[0], np.linalg.eigvalsh, SYMMETRIC),
        (lambda a: bl.svd(a)[1], lambda a: np.linalg.svd(a)[1], TALL),
    ],
)
def test_like_numpy(ours: Any, theirs: Any, values: np.ndarray[Any, Any]) -> None:
    _, rows, columns = values.shape
    made = run(f"n | {columns} -> {rows}", values, ours)
    np.testing.assert_allclose(made, theirs(values), rtol=1e-4, atol=1e-4)


def test_parts_put_together_again() -> None:
    q, r = run("n | 3 -> 5", TALL, bl.qr)
    np.testing.assert_allclose(q @ r, TALL, atol=1e-5)
    values, vectors = run("n | 4 -> 4", SYMMETRIC, bl.eigh)
    np.testing.assert_allclose((vectors * values[:, None]) @ vectors.transpose(0, 2, 1), SYMMETRIC, atol=1e-3)
    u, s, v = run("n | 3 -> 5", TALL, bl.svd)
    np.testing.assert_allclose((u * s[:, None]) @ v.transpose(0, 2, 1), TALL, atol=1e-5)


def test_equations() -> None:
    g = bl.Graph()
    a, b, tall, sides = g.data("a", "n | 4 -> 4"), g.data("b", "n | 4"), g.data("tall", "3 -> 5"), g.data("sides", "n | 5")
    given = {"a": SQUARE, "b": SIDES, "tall": TALL[0], "sides": TALL[..., 0]}
    solved, nearest = g.session().run(bl.solve(a, b), bl.lstsq(tall, sides), **given)
    np.testing.assert_allclose(solved, np.linalg.solve(SQUARE, SIDES[..., None])[..., 0], atol=1e-4)
    np.testing.assert_allclose(nearest, np.linalg.lstsq(TALL[0], TALL[..., 0].T, rcond=None)[0].T, atol=1e-4)


def test_gradients_like_torch() -> None:
    torch = needed("torch")
    g = bl.Graph()
    a, b = g.data("a", "6 | 4 -> 4"), g.data("b", "6 | 4")
    loss = bl.square(bl.solve(a, b)).sum() + bl.logdet(a).sum()
    by_a, by_b = g.session().run(g.gradients(loss, a, b), a=SQUARE.astype("float32"), b=SIDES.astype("float32"))
    matrix, sides = torch.tensor(SQUARE, requires_grad=True), torch.tensor(SIDES, requires_grad=True)
    solved = torch.linalg.solve(matrix, sides[..., None])
    ((solved**2).sum() + torch.linalg.slogdet(matrix)[1].sum()).backward()
    np.testing.assert_allclose(by_a, matrix.grad.numpy(), atol=1e-4)
    np.testing.assert_allclose(by_b, sides.grad.numpy(), atol=1e-4)


def test_mistakes() -> None:
    g = bl.Graph()
    b = g.data("b", "n | 3")
    with pytest.raises(bl.Error, match="`a` has no input axis: it is `3, 3`") as flat:
        bl.solve(g.data("a", "3, 3"), b)
    assert "declare it as `3 -> 3`" in flat.value.help[0] and "=> ... | j -> i" in flat.value.help[0]
    data = g.data("lopsided", "5 -> 3")
    with pytest.raises(bl.Error, match="5 and 3 do not agree") as lopsided:
        bl.inverse(data)
    assert "lopsided" in str(lopsided.value) and len(lopsided.value.ends) > 1
    with pytest.raises(bl.Error, match="4 and 3 do not agree"):
        bl.solve(g.data("large", "4 -> 4"), b)
    with pytest.raises(TypeError, match="numpy.linalg"):
        bl.det(np.eye(3))  # type: ignore[arg-type]


def test_wide_matrices() -> None:
    wide = TALL.transpose(0, 2, 1)
    q, r = run("n | 5 -> 3", wide, bl.qr)
    theirs_q, theirs_r = np.linalg.qr(wide)
    np.testing.assert_allclose(q, theirs_q, atol=1e-5)
    np.testing.assert_allclose(r, theirs_r, atol=1e-5)
    u, s, v = run("n | 5 -> 3", wide, bl.svd)
    assert u.shape == (6, 3, 3) and s.shape == (6, 3) and v.shape == (6, 5, 3)
    np.testing.assert_allclose((u * s[:, None]) @ v.transpose(0, 2, 1), wide, atol=1e-5)
    g = bl.Graph()
    a, b = g.data("a", "n | 5 -> 3"), g.data("b", "n | 3")
    (shortest,) = [g.session().run(bl.lstsq(a, b), a=wide, b=SIDES[:, :3])]
    np.testing.assert_allclose(shortest, (np.linalg.pinv(wide) @ SIDES[:, :3, None])[..., 0], atol=1e-4)


def test_a_matrix_that_is_found_to_be_wide() -> None:
    g = bl.Graph()
    a = g.param("a")
    q, _ = bl.qr(a)
    made = a + g.data("b", "5 -> 3")
    with pytest.raises(bl.Error, match="more columns than rows") as wide:
        g.session().run(q, made, b=np.ones((3, 5)))
    assert wide.value.help == ("write the sizes where the matrix is made: `5 -> 3`",)


def test_an_inverse_exchanges_what_axes_count() -> None:
    assert bl.inverse(bl.Graph().data("a", "3:rgb -> 3:xyz")).shape == "3:xyz -> 3:rgb"
