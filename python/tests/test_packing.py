"""Arrays with different numbers of axes in one, beside einops."""

from __future__ import annotations

import random

import numpy as np
import pytest
from needed import needed

import broadloom as bl

ROWS = np.arange(6.0).reshape(2, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)


def test_random_packs_are_those_of_einops() -> None:
    einops = needed("einops")
    rng, generator = random.Random(3), np.random.default_rng(3)
    for _ in range(200):
        before, behind = "ab"[: rng.randint(0, 2)], "cd"[: rng.randint(0, 2)]
        shared = {letter: rng.randint(1, 3) for letter in "abcd"}
        own = [tuple(rng.choices((1, 2, 3), k=rng.randint(0, 3))) for _ in range(rng.randint(1, 4))]
        outer = [tuple(shared[letter] for letter in side) for side in (before, behind)]
        arrays = [generator.normal(size=outer[0] + each + outer[1]) for each in own]
        expected, shapes = einops.pack(arrays, " ".join([*before, "*", *behind]))
        spec = " ".join([*before, "...", *behind])
        result, found = bl.pack(spec, arrays)
        assert found == [tuple(shape) for shape in shapes] == own
        np.testing.assert_array_equal(result, expected, err_msg=spec)
        for array, back in zip(arrays, bl.unpack(spec, result, found)):
            np.testing.assert_array_equal(back, array)


def test_words_and_what_is_left() -> None:
    packed, shapes = bl.pack("batch, ..., ", [ROWS, CUBE])
    assert packed.shape == (2, 15) and shapes == [(3,), (3, 4)]
    first, rest = bl.unpack("batch, ...", packed, [(3,), (-1, 4)])
    np.testing.assert_array_equal(first, ROWS)
    np.testing.assert_array_equal(rest, CUBE)


def test_gradients_go_through() -> None:
    torch, jax = needed("torch"), needed("jax")
    x = torch.ones(2, 3, requires_grad=True)
    packed, shapes = bl.pack("b ...", [x, 2 * torch.ones(2)])
    bl.unpack("b ...", packed, shapes)[0].sum().backward()
    assert x.grad.tolist() == [[1.0] * 3] * 2
    gradient = jax.grad(lambda y: (bl.pack("b ...", [y, y])[0] ** 2).sum())(jax.numpy.ones((2, 3)))
    assert gradient.tolist() == [[4.0] * 3] * 2


MISTAKES = [
    (lambda: bl.pack("b *", [ROWS]), bl.SpecError, "`*` of einops is `...` here"),
    (lambda: bl.pack("b (c d) ...", [ROWS]), bl.SpecError, "is not labels with `...` among them"),
    (lambda: bl.pack("b ...", [ROWS, np.ones((3, 2))]), bl.ShapeError, "`b` is 2 in array 1, which has shape (2, 3), and 3 in array 2"),
    (lambda: bl.pack("b c ...", [ROWS, np.ones(2)]), bl.ShapeError, "array 2 has 1 axis, and the spec is for at least 2 axes"),
    (lambda: bl.pack("b ...", []), TypeError, "at least one array"),
    (lambda: bl.pack("b ...", [ROWS, [1]]), TypeError, "array 2 is list"),
    (lambda: bl.pack([ROWS], "b ..."), TypeError, "the spec comes first"),
    (lambda: bl.unpack("b ...", ROWS, [(4,)]), bl.ShapeError, "need 4 elements, and axis 1 of the array, which has shape (2, 3), has 3"),
    (lambda: bl.unpack("b ...", ROWS, [(2, -1)]), bl.ShapeError, "0 elements and a multiple of 2"),
    (lambda: bl.unpack("b ...", ROWS, [(-1,), (-1,)]), bl.ShapeError, "only one size can be -1"),
    (lambda: bl.unpack("b ...", ROWS, [(-2,)]), bl.ShapeError, "at least 0"),
    (lambda: bl.unpack("b ...", CUBE, [(3,)]), bl.ShapeError, "is 2 of its axes, not one"),
]


@pytest.mark.parametrize(("call", "kind", "part"), MISTAKES, ids=[row[2] for row in MISTAKES])
def test_mistakes(call, kind: type[Exception], part: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert part in str(caught.value), str(caught.value)
