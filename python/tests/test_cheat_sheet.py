"""Both sides of the cheat sheet in docs/arrays.md are run, and give the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needed import needed

import broadloom as bl

PAGE = Path(__file__).parents[2] / "docs" / "arrays.md"
GENERATOR = np.random.default_rng(7)


def rows() -> list[tuple[str, str]]:
    """The rows of the table, without backticks; where the left side has several ways, the first."""
    if not PAGE.exists():
        return []  # the tests run beside a wheel, without the documents
    section = PAGE.read_text(encoding="utf-8").split("### From einops and einsum")[1].split("\n## ")[0]
    found = []
    for line in section.splitlines():
        if line.startswith("| `"):
            left, right = line.strip("| ").split(" | ", 1)
            found.append((left.split("`")[1], right.split("`")[1]))
    return found


def array(*shape: int) -> np.ndarray:
    return GENERATOR.normal(size=shape)


IMAGES, MATRIX = array(2, 4, 6, 8), array(4, 6)
OPERANDS: dict[str, dict[str, Any]] = {
    "b, i^j =>": {"z": array(2, 7)},
    "bl.unpack": {"z": array(2, 7)},
    "bl.pack": {"x": array(2, 3), "y": array(2, 4, 5)},
    "ij; jk": {"a": array(2, 3), "b": array(3, 4)},
    "bhsd; bhtd": {"q": array(2, 3, 4, 5), "k": array(2, 3, 6, 5)},
    "b d; h d": {"x": array(2, 3), "w": array(4, 3)},
    "b s (h d)": {"x": array(2, 3, 16)},
    "batch, (heads size)": {"x": array(2, 16)},
    "b () d => b d": {"x": array(2, 1, 3)},
    "b d => b () d": {"x": array(2, 3)},
    "repeat(": {"x": MATRIX},
    "k b d => b k d": {"x": MATRIX, "y": MATRIX + 1},
    "b, i; b, j": {"x": array(2, 3), "y": array(2, 4)},
    "..., j": {"x": MATRIX},
    "2*j": {"x": MATRIX},
    "o<+k; k": {"x": array(9), "k": array(3)},
    "2*y~+i": {"x": array(2, 8, 7, 3), "k": array(5, 3, 3, 3)},
    "3*o~+k": {"x": array(2, 3, 10)},
    "combine=": {"d": array(4, 4)},
}


def conv2d(x: np.ndarray, k: np.ndarray, stride: int) -> np.ndarray:
    torch = needed("torch")
    image, kernel = torch.from_numpy(x).permute(0, 3, 1, 2), torch.from_numpy(k).permute(0, 3, 1, 2)
    return torch.nn.functional.conv2d(image, kernel, stride=stride).permute(0, 2, 3, 1).numpy()


def max_pool1d(x: np.ndarray, size: int) -> np.ndarray:
    torch = needed("torch")
    return torch.nn.functional.max_pool1d(torch.from_numpy(x), size).numpy()


@pytest.mark.parametrize(("theirs", "ours"), rows(), ids=[row[1] for row in rows()])
def test_both_sides_are_equal(theirs: str, ours: str) -> None:
    einops = needed("einops")
    names: dict[str, Any] = next((value for key, value in OPERANDS.items() if key in ours), {"x": IMAGES})
    tools = {
        "bl": bl, "np": np, "einops": einops, "rearrange": einops.rearrange, "reduce": einops.reduce, "repeat": einops.repeat,
        "einsum": np.einsum, "pack": einops.pack, "unpack": einops.unpack, "parse_shape": einops.parse_shape, "conv2d": conv2d, "max_pool1d": max_pool1d,
        "sliding_window_view": np.lib.stride_tricks.sliding_window_view,
    }  # fmt: skip
    result = eval(ours, {**tools, **names})
    if "…" in theirs:
        expected: Any = (names["z"][:, :3], names["z"][:, 3:])
    else:
        expected = eval(theirs, {**tools, **names})
    if theirs.startswith("pack"):  # the shapes, which unpack needs, are compared in test_packing.py
        expected, result = expected[0], result[0] if isinstance(result, tuple) else result
    if isinstance(expected, dict):
        assert result == expected
        return
    several = isinstance(expected, (list, tuple))
    for ours_, theirs_ in zip(result, expected, strict=True) if several else [(result, expected)]:
        assert ours_.shape == theirs_.shape
        np.testing.assert_allclose(ours_, theirs_, rtol=1e-6, atol=1e-9)


@pytest.mark.skipif(not PAGE.exists(), reason="the tests run beside a wheel, without the documents")
def test_the_table_is_read() -> None:
    assert len(rows()) > 20
