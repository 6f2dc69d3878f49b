"""Random specs beside numpy.einsum and einops: the same numbers, on NumPy, PyTorch and JAX."""

from __future__ import annotations

import random

import numpy as np
import pytest
from needed import needed

import broadloom as bl

LETTERS = "abcdefgh"


def random_einsum(rng: random.Random) -> tuple[str, str, list[tuple[int, ...]]]:
    """A spec, the same for NumPy, and the shapes of its operands."""
    sizes = {letter: rng.randint(1, 4) for letter in LETTERS}
    operands = ["".join(rng.choices(LETTERS[:5], k=rng.randint(0, 4))) for _ in range(rng.randint(1, 3))]
    used = sorted(set("".join(operands)))
    result = "".join(rng.sample(used, rng.randint(0, len(used))))
    shapes = [tuple(sizes[letter] for letter in operand) for operand in operands]
    row = ()
    ours, theirs = list(operands), list(operands)
    if rng.random() < 0.3:  # any number of axes in front
        row = tuple(rng.choices((1, 2, 3), k=rng.randint(0, 2)))
        chosen = [rng.random() < 0.7 for _ in operands]
        chosen[0] = True
        for position, has_row in enumerate(chosen):
            if has_row:
                ours[position], theirs[position] = "..." + ours[position], "..." + theirs[position]
                shapes[position] = row + shapes[position]
        return "; ".join(ours) + " => ..." + result, ",".join(theirs) + "->..." + result, shapes
    if rng.random() < 0.5:  # batch axes, and output axes before input axes in memory
        for position, operand in enumerate(operands):
            first, second = sorted(rng.choices(range(len(operand) + 1), k=2))
            ours[position] = f"{operand[:first]} | {operand[second:]} -> {operand[first:second]}"
    return "; ".join(ours) + " => " + result, ",".join(theirs) + "->" + result, shapes


def test_random_specs_are_those_of_numpy() -> None:
    rng, generator = random.Random(1), np.random.default_rng(1)
    for _ in range(1500):
        ours, theirs, shapes = random_einsum(rng)
        arrays = [generator.normal(size=shape) for shape in shapes]
        expected = np.einsum(theirs, *arrays)
        result = bl.einsum(ours, *arrays)
        assert result.shape == expected.shape, (ours, theirs, shapes)
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9, err_msg=f"{ours}  {theirs}  {shapes}")


@pytest.mark.parametrize("kind", ["torch", "jax"])
def test_random_specs_on_torch_and_jax(kind: str) -> None:
    library = needed("torch" if kind == "torch" else "jax.numpy")
    rng, generator = random.Random(2), np.random.default_rng(2)
    for _ in range(300 if kind == "torch" else 60):
        ours, theirs, shapes = random_einsum(rng)
        arrays = [generator.normal(size=shape).astype(np.float32) for shape in shapes]
        result = bl.einsum(ours, *[library.asarray(array) for array in arrays])
        expected = np.einsum(theirs, *arrays)
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-3, atol=1e-3, err_msg=f"{ours} {shapes}")


def composed(rng: random.Random, letters: list[str]) -> str:
    """Letters in a random order, some of them in parentheses."""
    letters, pieces = rng.sample(letters, len(letters)), []
    while letters:
        count = rng.choice((1, 1, 2, 3))
        group, letters = letters[:count], letters[count:]
        pieces.append("(" + " ".join(group) + ")" if len(group) > 1 or rng.random() < 0.1 else group[0])
        if rng.random() < 0.1:
            pieces.append("()")
    return " ".join(pieces)


def shape_of(pattern: str, sizes: dict[str, int]) -> tuple[int, ...]:
    shape, inside = [], None
    for sign in pattern.replace(" ", ""):
        if sign == "(":
            inside = 1
        elif sign == ")":
            shape.append(inside)
            inside = None
        elif inside is None:
            shape.append(sizes[sign])
        else:
            inside *= sizes[sign]
    return tuple(shape)


def test_random_rearrangements_are_those_of_einops() -> None:
    einops = needed("einops")
    rng, generator = random.Random(3), np.random.default_rng(3)
    for _ in range(1000):
        letters = list(LETTERS[: rng.randint(1, 6)])
        sizes = {letter: rng.randint(1, 3) for letter in letters}
        left, right = composed(rng, letters), composed(rng, letters)
        array = generator.normal(size=shape_of(left, sizes))
        expected = einops.rearrange(array, f"{left} -> {right}", **sizes)
        np.testing.assert_array_equal(bl.rearrange(f"{left} => {right}", array, **sizes), expected, err_msg=f"{left} {right}")
        # Sizes are inferred where one part of each composed axis is unknown.
        known = {letter: size for letter, size in sizes.items() if f"({letter}" not in left}
        np.testing.assert_array_equal(bl.rearrange(f"{left} => {right}", array, **known), expected)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_random_reductions_are_those_of_einops(name: str) -> None:
    einops = needed("einops")
    rng, generator = random.Random(4), np.random.default_rng(4)
    for _ in range(200):
        letters = list(LETTERS[: rng.randint(1, 6)])
        sizes = {letter: rng.randint(1, 3) for letter in letters}
        left, right = composed(rng, letters), composed(rng, rng.sample(letters, rng.randint(0, len(letters))))
        array = generator.normal(size=shape_of(left, sizes))
        expected = einops.reduce(array, f"{left} -> {right}", name, **sizes)
        np.testing.assert_allclose(getattr(bl, name)(f"{left} => {right}", array, **sizes), expected, err_msg=f"{left} {right}")


def test_random_repeats_are_those_of_einops() -> None:
    einops = needed("einops")
    rng, generator = random.Random(5), np.random.default_rng(5)
    for _ in range(200):
        letters = list(LETTERS[: rng.randint(2, 6)])
        sizes = {letter: rng.randint(1, 3) for letter in letters}
        left = composed(rng, letters[: rng.randint(0, len(letters))])
        right = composed(rng, letters)
        array = generator.normal(size=shape_of(left, sizes))
        expected = einops.repeat(array, f"{left} -> {right}", **sizes)
        np.testing.assert_array_equal(bl.repeat(f"{left} => {right}", array, **sizes), expected, err_msg=f"{left} {right}")


def test_random_composed_axes_in_graphs_are_those_of_arrays() -> None:
    rng, generator = random.Random(7), np.random.default_rng(7)
    for _ in range(40):
        letters = list(LETTERS[: rng.randint(1, 5)])
        sizes = {letter: rng.randint(1, 3) for letter in letters}
        left, right = composed(rng, letters), composed(rng, rng.sample(letters, rng.randint(0, len(letters))))
        array = generator.normal(size=shape_of(left, sizes)).astype(np.float32)
        g = bl.Graph()
        x = g.data("x", ", ".join(str(size) for size in array.shape) or "()")
        made = bl.einsum(f"{left} => {right}", x, sizes=sizes)
        expected = bl.einsum(f"{left} => {right}", array, sizes=sizes)
        result = np.asarray(g.session().run(made, x=array))
        assert result.shape == expected.shape, (left, right, sizes)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5, err_msg=f"{left} {right}")


def test_random_windows_are_as_the_sum_says() -> None:
    rng, generator = random.Random(6), np.random.default_rng(6)
    for _ in range(300):
        stride, dilation, offset = rng.randint(1, 3), rng.randint(1, 3), rng.randint(0, 2)
        over, kernel, mark = rng.randint(1, 5), rng.randint(1, 4), rng.choice("<=~")
        span = dilation * (kernel - 1) + 1
        left = span // 2 if mark == "=" else 0
        size = stride * over if mark == "=" else stride * (over - 1) + span + offset
        extra = rng.randint(0, stride - 1) if mark == "~" else 0
        axis = f"{stride}*o{mark}+{dilation}*k" + (f"+{offset}" if offset else "")
        x, taps = generator.normal(size=size + extra), generator.normal(size=kernel)
        expected, written = np.zeros(over), np.zeros(size)
        y = generator.normal(size=over)
        for o in range(over):
            for k in range(kernel):
                place = stride * o + dilation * k + offset - left
                if 0 <= place < size:
                    expected[o] += x[place] * taps[k]
                    written[place] += y[o] * taps[k]
        np.testing.assert_allclose(bl.einsum(f"{axis}; k => o", x, taps), expected, err_msg=f"{axis} {size}")
        np.testing.assert_allclose(bl.einsum(f"o; k => {axis}", y, taps), written, err_msg=f"{axis} {size}")
