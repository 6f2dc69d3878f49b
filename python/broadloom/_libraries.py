"""The steps of a plan in terms of NumPy, PyTorch and JAX.

A plan (made in Rust) is a list of steps that all three libraries can take. Each library is one class whose methods are
named after the steps, so that what runs is the library's own operations: PyTorch and JAX can differentiate it, JAX
can trace it, and arrays stay on their device.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from typing import Any

import numpy as np

from ._shape_errors import DTypeError

__all__ = ["JaxSteps", "NumPySteps", "TorchSteps", "library_of"]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(labels: tuple[tuple[int, ...], ...], kept: tuple[int, ...]) -> str:
    """The subscripts of ``einsum`` for these labels.

    >>> letters(((7, 3), (3, 5)), (7, 5))
    'ab,bc->ac'
    """
    numbers = dict.fromkeys(label for operand in labels for label in operand)
    if len(numbers) > len(_LETTERS):
        raise ValueError(f"{len(numbers)} labels are more than the {len(_LETTERS)} that einsum can tell apart")
    letter = dict(zip(numbers, _LETTERS))
    operands = ",".join("".join(letter[label] for label in operand) for operand in labels)
    return operands + "->" + "".join(letter[label] for label in kept)


class Steps:
    """The operations that the libraries have in common: arrays have ``reshape``, slices and arithmetic."""

    name: str
    combine = {"*": operator.mul, "+": operator.add}

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.reshape(shape)

    def index(self, x: Any, picks: tuple[Any, ...]) -> Any:
        return x[picks]

    def fold(self, x: Any, axis: int, stride: int, dilation: int) -> Any:
        """Adds up windows where they overlap: ``y[stride*o + dilation*k] += x[o, k]``."""
        over, kernel = x.shape[axis], x.shape[axis + 1]
        before = (slice(None),) * axis
        rest = x.ndim - axis - 2
        none = ((0, 0),) * axis
        span = stride * (over - 1) + dilation * (kernel - 1) + 1
        total = None
        for tap in range(kernel):
            piece = x[before + (slice(None), slice(tap, tap + 1))]
            piece = self.pad(piece, none + ((0, 0), (0, stride - 1)) + ((0, 0),) * rest, "sum")
            piece = piece.reshape(tuple(x.shape[:axis]) + (over * stride,) + tuple(x.shape[axis + 2 :]))
            piece = piece[before + (slice(0, stride * (over - 1) + 1),)]
            start = tap * dilation
            margins = none + ((start, span - start - piece.shape[axis]),) + ((0, 0),) * rest
            piece = self.pad(piece, margins, "sum")
            total = piece if total is None else total + piece
        return total

    def pad(self, x: Any, margins: tuple[tuple[int, int], ...], fill: str) -> Any:
        raise NotImplementedError

    def zeros(self, shape: tuple[int, ...], like: Any) -> Any:
        raise NotImplementedError

    def concat(self, pieces: list[Any], axis: int) -> Any:
        raise NotImplementedError

    def contract(self, labels: tuple[tuple[int, ...], ...], kept: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def reduced(self, facing: list[Any], both: Any, name: str, axes: tuple[int, ...]) -> Any:
        """Arrays whose axes face each other, combined and then reduced over some axes."""
        made = functools.reduce(both, facing)
        return self.reduce(made, name, axes) if axes else made

    def accumulate(self, name: Any, pieces: list[Any]) -> Any:
        """Pieces of the same shape, accumulated."""
        stacked = self.stack(pieces)
        return self.reduce(stacked, name, (0,))

    def stack(self, pieces: list[Any]) -> Any:
        raise NotImplementedError

    def aligned(self, x: Any, labels: tuple[int, ...], all_labels: tuple[int, ...]) -> Any:
        """``x`` with one axis for each of ``all_labels``, of one element where it has none."""
        order = sorted(range(len(labels)), key=lambda axis: all_labels.index(labels[axis]))
        x = self.permute(x, tuple(order))
        key = tuple(slice(None) if label in labels else None for label in all_labels)
        return x[key]

    def permute(self, x: Any, order: tuple[int, ...]) -> Any:
        raise NotImplementedError


class NumPySteps(Steps):
    """Plans on NumPy arrays."""

    name = "NumPy"
    _reductions: dict[str, Any] = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "any": np.any, "all": np.all}

    def permute(self, x: Any, order: tuple[int, ...]) -> Any:
        return x.transpose(order)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        # A copy, because a broadcast view cannot be written to.
        return np.broadcast_to(x, shape).copy()

    def diagonal(self, x: Any, first: int, second: int) -> Any:
        return np.diagonal(x, 0, first, second)

    def embed(self, x: Any, axis: int) -> Any:
        y = np.zeros(x.shape + (x.shape[axis],), x.dtype)
        np.einsum(y, [*range(x.ndim), axis], list(range(x.ndim)))[...] = x
        return y

    def pad(self, x: Any, margins: tuple[tuple[int, int], ...], fill: str) -> Any:
        return np.pad(x, margins, constant_values=_neutral(fill, x.dtype))

    def window(self, x: Any, axis: int, start: int, over: int, kernel: int, stride: int, dilation: int) -> Any:
        strides = x.strides[:axis] + (x.strides[axis] * stride, x.strides[axis] * dilation) + x.strides[axis + 1 :]
        shape = x.shape[:axis] + (over, kernel) + x.shape[axis + 1 :]
        return np.lib.stride_tricks.as_strided(x[(slice(None),) * axis + (slice(start, None),)], shape, strides, writeable=False)

    def reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        if name == "mean":
            return np.mean(x, axis=axes)
        return self._reductions[name](x, axis=axes)

    def reduced(self, facing: list[Any], both: Any, name: str, axes: tuple[int, ...]) -> Any:
        best = {"max": np.maximum, "min": np.minimum}.get(name)
        if best is None or len(facing) < 2 or not axes:
            return super().reduced(facing, both, name, axes)
        # One place of the first axis after the other: all of them at once would need as much memory as there are combinations.
        count, rest = max(x.shape[axes[0]] for x in facing), tuple(axis - 1 for axis in axes[1:])
        before = (slice(None),) * axes[0]
        made: Any = None
        for place in range(count):
            piece = functools.reduce(both, [x[(*before, place if x.shape[axes[0]] > 1 else 0)] for x in facing])
            piece = self.reduce(piece, name, rest) if rest else piece
            made = piece if made is None else best(made, piece, out=made if isinstance(made, np.ndarray) else None)
        return super().reduced(facing, both, name, axes) if made is None else made

    def contract(self, labels: tuple[tuple[int, ...], ...], kept: tuple[int, ...]) -> Any:
        """A function of the operands: their product, summed over labels that are not kept."""
        if len(labels) == 2:
            return _Product(labels[0], labels[1], kept)
        subscripts = letters(labels, kept)
        return lambda *arrays: np.einsum(subscripts, *arrays, optimize=True)

    def zeros(self, shape: tuple[int, ...], like: Any) -> Any:
        return np.zeros(shape, like.dtype)

    def concat(self, pieces: list[Any], axis: int) -> Any:
        return np.concatenate(pieces, axis)

    def stack(self, pieces: list[Any]) -> Any:
        return np.stack(pieces)


class _Product:
    """The product of two NumPy arrays by labels, as one matrix product, which is what NumPy does fastest."""

    def __init__(self, left: tuple[int, ...], right: tuple[int, ...], kept: tuple[int, ...]) -> None:
        self.lonely = tuple(
            tuple(axis for axis, label in enumerate(own) if label not in other and label not in kept)
            for own, other in ((left, right), (right, left))
        )
        left = tuple(label for label in left if label in right or label in kept)
        right = tuple(label for label in right if label in left or label in kept)
        both = [label for label in left if label in right]
        batch = [label for label in both if label in kept]
        inner = [label for label in both if label not in kept]
        rows = [label for label in left if label not in right]
        columns = [label for label in right if label not in left]
        self.pointwise = not inner
        self.left_order = tuple(map(left.index, batch + rows + inner))
        self.right_order = tuple(map(right.index, batch + inner + columns))
        self.counts = len(batch), len(rows), len(inner), len(columns)
        made = batch + rows + columns
        self.order = tuple(map(made.index, kept))

    def __call__(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        if self.lonely[0]:
            left = left.sum(self.lonely[0])
        if self.lonely[1]:
            right = right.sum(self.lonely[1])
        left, right = left.transpose(self.left_order), right.transpose(self.right_order)
        batch, rows, inner, columns = self.counts
        batch_shape, row_shape = left.shape[:batch], left.shape[batch : batch + rows]
        column_shape = right.shape[batch + inner :]
        if self.pointwise:
            made = left.reshape(batch_shape + row_shape + (1,) * columns) * right.reshape(
                batch_shape + (1,) * rows + column_shape
            )
        else:
            size = math.prod(left.shape[batch + rows :])
            left = left.reshape(batch_shape + (math.prod(row_shape), size))
            right = right.reshape(batch_shape + (size, math.prod(column_shape)))
            made = np.matmul(left, right).reshape(batch_shape + row_shape + column_shape)
        whole: np.ndarray[Any, Any] = made.transpose(self.order)
        return whole


class TorchSteps(Steps):
    """Plans on PyTorch tensors."""

    name = "PyTorch"

    def __init__(self) -> None:
        self.torch = sys.modules["torch"]

    def permute(self, x: Any, order: tuple[int, ...]) -> Any:
        return x.permute(order)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.expand(shape)

    def diagonal(self, x: Any, first: int, second: int) -> Any:
        return x.diagonal(0, first, second)

    def embed(self, x: Any, axis: int) -> Any:
        last = x.movedim(axis, -1)
        return self.torch.diag_embed(last).movedim(-2, axis)

    def pad(self, x: Any, margins: tuple[tuple[int, int], ...], fill: str) -> Any:
        flat = [number for margin in reversed(margins) for number in margin]
        return self.torch.nn.functional.pad(x, flat, value=self._neutral(fill, x.dtype))

    def _neutral(self, fill: str, dtype: Any) -> Any:
        if fill in ("max", "min") and not dtype.is_floating_point:
            limits = self.torch.iinfo(dtype)
            return limits.min if fill == "max" else limits.max
        return _NEUTRAL[fill]

    def window(self, x: Any, axis: int, start: int, over: int, kernel: int, stride: int, dilation: int) -> Any:
        span = dilation * (kernel - 1) + 1
        length = stride * (over - 1) + span
        if start != 0 or length != x.shape[axis]:
            x = x.narrow(axis, start, length)
        x = x.unfold(axis, span, stride)
        return x[..., ::dilation].movedim(-1, axis + 1)

    def reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        torch = self.torch
        if name == "sum":
            return x.sum(axes)
        if name == "mean":
            return x.sum(axes) / math.prod(x.shape[axis] for axis in axes)
        if name in ("max", "min"):
            return (torch.amax if name == "max" else torch.amin)(x, axes)
        one = {"prod": torch.prod, "any": torch.any, "all": torch.all}[name]
        for axis in sorted(axes, reverse=True):
            x = one(x, axis)
        return x

    def contract(self, labels: tuple[tuple[int, ...], ...], kept: tuple[int, ...]) -> Any:
        subscripts = letters(labels, kept)
        einsum = self.torch.einsum

        def contract(*arrays: Any) -> Any:
            for position, array in enumerate(arrays):
                if array.dtype != arrays[0].dtype:
                    raise DTypeError(
                        f"a product is of elements of one type: operand 1 has {arrays[0].dtype}, and operand {position + 1} "
                        f"{array.dtype}",
                        help=f"convert one of them, as in `x.to({array.dtype})`",
                    )
            return einsum(subscripts, *arrays)

        return contract

    def zeros(self, shape: tuple[int, ...], like: Any) -> Any:
        return like.new_zeros(shape)

    def concat(self, pieces: list[Any], axis: int) -> Any:
        return self.torch.cat(pieces, axis)

    def stack(self, pieces: list[Any]) -> Any:
        return self.torch.stack(pieces)


class JaxSteps(Steps):
    """Plans on JAX arrays and tracers."""

    name = "JAX"

    def __init__(self) -> None:
        import jax.numpy

        self.jnp = jax.numpy

    def permute(self, x: Any, order: tuple[int, ...]) -> Any:
        return x.transpose(order)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return self.jnp.broadcast_to(x, shape)

    def diagonal(self, x: Any, first: int, second: int) -> Any:
        return self.jnp.diagonal(x, 0, first, second)

    def embed(self, x: Any, axis: int) -> Any:
        y = self.jnp.zeros(x.shape + (x.shape[axis],), x.dtype)
        y = self.jnp.moveaxis(y, (axis, -1), (0, 1))
        places = np.arange(x.shape[axis])
        y = y.at[places, places].set(self.jnp.moveaxis(x, axis, 0))
        return self.jnp.moveaxis(y, (0, 1), (axis, -1))

    def pad(self, x: Any, margins: tuple[tuple[int, int], ...], fill: str) -> Any:
        return self.jnp.pad(x, margins, constant_values=_neutral(fill, np.dtype(x.dtype)))

    def window(self, x: Any, axis: int, start: int, over: int, kernel: int, stride: int, dilation: int) -> Any:
        places = start + stride * np.arange(over)[:, None] + dilation * np.arange(kernel)
        return self.jnp.take(x, places, axis=axis, mode="clip")

    def reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        return getattr(self.jnp, name)(x, axis=axes)

    def contract(self, labels: tuple[tuple[int, ...], ...], kept: tuple[int, ...]) -> Any:
        return functools.partial(self.jnp.einsum, letters(labels, kept))

    def zeros(self, shape: tuple[int, ...], like: Any) -> Any:
        return self.jnp.zeros(shape, like.dtype)

    def concat(self, pieces: list[Any], axis: int) -> Any:
        return self.jnp.concatenate(pieces, axis)

    def stack(self, pieces: list[Any]) -> Any:
        return self.jnp.stack(pieces)


_NEUTRAL = {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf, "any": 0, "all": 1}


def _neutral(fill: str, dtype: np.dtype) -> Any:
    """The value that changes nothing in a reduction of this kind."""
    if fill in ("max", "min") and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if fill == "max" else limits.max
    return _NEUTRAL[fill]


_known: dict[type, Steps] = {np.ndarray: NumPySteps()}


def library_of(value: Any) -> Steps | None:
    """The library that an array belongs to, or None if it is no array."""
    kind = type(value)
    known = _known.get(kind)
    if known is None:
        known = _find(value)
        if known is not None:
            _known[kind] = known
    return known


def _find(value: Any) -> Steps | None:
    if isinstance(value, (np.ndarray, np.generic)):
        return _known[np.ndarray]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _one(TorchSteps)
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.Array):
        return _one(JaxSteps)
    return None


@functools.cache
def _one(kind: type[Steps]) -> Steps:
    return kind()
