"""Tensors of PyTorch that know the names and ranges of their sizes: shapes are inferred first, and computed after.

The class follows *Tensor Dimension Inference*: a mismatch is found from the declared sizes, before PyTorch runs, also where
the sizes at hand happen to be equal.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _broadloom
from ._dims import Axis, Dim, Dims, Facing, as_dims, broadcast, concatenated, met
from ._shape_errors import ShapeError

if TYPE_CHECKING:
    import torch

__all__ = ["TypedTensor"]

_Reduced = Union[int, str, Sequence[Union[int, str]], None]


class TypedTensor:
    """A tensor of PyTorch with declared sizes: numbers, names, or :class:`Dim` with a range; or a text with all of them.

    >>> import broadloom as bl  # doctest: +SKIP
    >>> x = bl.TypedTensor.zeros([bl.Dim("batch", 32, 1, 64), 784])  # doctest: +SKIP
    >>> w = bl.TypedTensor.randn([784, 10])  # doctest: +SKIP
    >>> (x @ w).dims  # doctest: +SKIP
    (batch in 1..64, 10)
    """

    def __init__(self, tensor: torch.Tensor, dims: Sequence[Axis] | None = None) -> None:
        self.tensor = tensor
        self.dims: Dims = as_dims(tuple(tensor.shape) if dims is None else dims)
        self.verify()

    @classmethod
    def zeros(cls, dims: Sequence[Axis], **options: Any) -> TypedTensor:
        """Zeros, each axis of the size of its sample; options such as ``dtype`` and ``device`` are those of PyTorch."""
        return cls._made("zeros", dims, options)

    @classmethod
    def ones(cls, dims: Sequence[Axis], **options: Any) -> TypedTensor:
        """Ones."""
        return cls._made("ones", dims, options)

    @classmethod
    def randn(cls, dims: Sequence[Axis], **options: Any) -> TypedTensor:
        """Normally distributed numbers."""
        return cls._made("randn", dims, options)

    @classmethod
    def from_data(cls, data: Any, dims: Sequence[Axis] | None = None, **options: Any) -> TypedTensor:
        """A tensor from numbers, compared with the declared sizes."""
        import torch

        return cls(torch.as_tensor(data, **options), dims)

    @classmethod
    def _made(cls, name: str, dims: Sequence[Axis], options: dict[str, Any]) -> TypedTensor:
        import torch

        made = as_dims(dims)
        return cls(getattr(torch, name)([dim.sample for dim in made], **options), made)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes at hand."""
        return tuple(self.tensor.shape)

    def verify(self) -> None:
        """Compare the tensor with its declared sizes; raises ``ShapeError`` where it does not fit."""
        if len(self.shape) != len(self.dims):
            raise ShapeError(f"a tensor of shape {self.shape} has {len(self.shape)} axes, and {self.dims} are declared")
        for axis, (size, dim) in enumerate(zip(self.shape, self.dims)):
            if not dim.holds(size):
                declared = dim if dim.size is not None else f"`{dim.name}` in {dim.range}"
                raise ShapeError(f"axis {axis} of a tensor of shape {self.shape} is {size}, and {declared} is declared")

    def memory(self) -> tuple[int, int | None]:
        """The least and the greatest number of bytes over all sizes in their ranges; None if there is no greatest."""
        return _broadloom.memory_range([dim._declared for dim in self.dims], self.tensor.element_size())

    def matmul(self, other: TypedTensor) -> TypedTensor:
        """The matrix product over the last two axes; axes before them broadcast."""
        if min(len(self.dims), len(other.dims)) < 2:
            raise ShapeError(f"a matrix product is of matrices, and these are {self.dims} and {other.dims}")
        (rows, inner), (second, columns) = self.dims[-2:], other.dims[-2:]
        ends = [Facing(dim, dim, "an axis") for dim in (rows, columns)]
        contracted = Facing(inner, second, f"the inner axis of {self.dims} @ {other.dims}")
        *batch, rows, columns, _ = met([*broadcast(self.dims[:-2], other.dims[:-2]), *ends, contracted])
        if self.shape[-1] != other.shape[-2]:
            what = f"`{inner.name}`" if inner.name else "the inner axis"
            sizes = f"{what} is {self.shape[-1]} on the left and {other.shape[-2]} on the right"
            raise ShapeError(f"the declared sizes of {self.dims} @ {other.dims} agree, and those at hand do not: {sizes}")
        return TypedTensor(_computed(lambda a, b: a @ b, self, other), (*batch, rows, columns))

    def __matmul__(self, other: Any) -> TypedTensor:
        return self.matmul(self._typed(other))

    def __rmatmul__(self, other: Any) -> TypedTensor:
        return self._typed(other).matmul(self)

    # NumPy asks the other operand then, instead of taking it for a number.
    __array_ufunc__ = None

    def _typed(self, other: Any) -> TypedTensor:
        """Numbers, arrays and plain tensors as a tensor with the sizes that they have."""
        if isinstance(other, TypedTensor):
            return other
        return TypedTensor.from_data(other, dtype=self.tensor.dtype, device=self.tensor.device)

    def _pointwise(self, other: Any, compute: Callable[[Any, Any], Any], reflected: bool = False) -> TypedTensor:
        left, right = (self._typed(other), self) if reflected else (self, self._typed(other))
        dims = met(broadcast(left.dims, right.dims))
        return TypedTensor(_computed(compute, left, right), dims)

    def __add__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.add)

    def __radd__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.add, reflected=True)

    def __sub__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.sub)

    def __rsub__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.sub, reflected=True)

    def __mul__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.mul)

    def __rmul__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.mul, reflected=True)

    def __truediv__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.truediv, reflected=True)

    def __pow__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.pow)

    def __rpow__(self, other: Any) -> TypedTensor:
        return self._pointwise(other, operator.pow, reflected=True)

    def __neg__(self) -> TypedTensor:
        return TypedTensor(-self.tensor, self.dims)

    def __pos__(self) -> TypedTensor:
        return self

    def __abs__(self) -> TypedTensor:
        return TypedTensor(abs(self.tensor), self.dims)

    def reshape(self, dims: Sequence[Axis]) -> TypedTensor:
        """Another shape with as many elements; names that are on both sides cancel."""
        made = as_dims(dims)
        # A name that the tensor has too keeps its range and its size at hand.
        own = {dim.name: (dim, size) for dim, size in zip(self.dims, self.shape) if dim.name is not None}
        made = met([Facing(own[dim.name][0] if dim.name in own else dim, dim, "an axis") for dim in made])
        sizes = [own[dim.name][1] if dim.name in own else dim.sample for dim in made]
        count = math.prod(sizes)
        if count != self.tensor.numel():
            raise ShapeError(f"{self.dims} has {self.tensor.numel()} elements and {made} has {count}")
        if not _broadloom.can_reshape([dim._declared for dim in self.dims], [dim._declared for dim in made]):
            raise ShapeError(f"{self.dims} and {made} have different numbers of elements for all sizes in their ranges")
        return TypedTensor(self.tensor.reshape(sizes), made)

    def transpose(self, first: int | str, second: int | str) -> TypedTensor:
        """Two axes changed for each other."""
        dims = list(self.dims)
        first, second = self._axis(first), self._axis(second)
        dims[first], dims[second] = dims[second], dims[first]
        return TypedTensor(self.tensor.transpose(first, second), dims)

    def _axis(self, axis: int | str) -> int:
        """The number of an axis, from the front; a text is the name of its size."""
        if isinstance(axis, str):
            named = [at for at, dim in enumerate(self.dims) if dim.name == axis]
            if len(named) != 1:
                raise ShapeError(f"{'no' if not named else 'more than one'} axis of {self.dims} is called `{axis}`")
            return named[0]
        if not -len(self.dims) <= axis < len(self.dims):
            raise ShapeError(f"there is no axis {axis} in {self.dims}")
        return axis % len(self.dims)

    def _reduce(self, name: str, axis: _Reduced, keepdim: bool) -> TypedTensor:
        wanted = range(len(self.dims)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = [self._axis(each) for each in wanted]
        twice = next((each for each in axes if axes.count(each) > 1), None)
        if twice is not None:
            raise ShapeError(f"axis {twice} of {self.dims} is reduced twice")
        if not axes:
            return self
        dims = [Dim(1) if at in axes else dim for at, dim in enumerate(self.dims) if keepdim or at not in axes]
        return TypedTensor(getattr(self.tensor, name)(axes, keepdim=keepdim), dims)

    def sum(self, axis: _Reduced = None, keepdim: bool = False) -> TypedTensor:
        """The sum over an axis, by its number or by the name of its size, over several, or over all."""
        return self._reduce("sum", axis, keepdim)

    def mean(self, axis: _Reduced = None, keepdim: bool = False) -> TypedTensor:
        """The mean over an axis, over several, or over all."""
        return self._reduce("mean", axis, keepdim)

    @staticmethod
    def cat(tensors: Sequence[TypedTensor], axis: int | str = 0) -> TypedTensor:
        """Tensors one after another along an axis, whose sizes add up; all other axes are one size."""
        import torch

        if not tensors:
            raise ShapeError("a concatenation is of at least one tensor")
        first = tensors[0]
        axis = first._axis(axis)
        dims = first.dims
        for other in tensors[1:]:
            if len(other.dims) != len(dims):
                raise ShapeError(f"{first.dims} and {other.dims} do not have the same number of axes")
            # Along the axis they have sizes of their own.
            facing = zip(dims, (*other.dims[:axis], dims[axis], *other.dims[axis + 1 :]))
            dims = met([Facing(one, two, f"axis {at} of a concatenation") for at, (one, two) in enumerate(facing)])
        joined = concatenated([tensor.dims[axis] for tensor in tensors])
        dims = (*dims[:axis], joined, *dims[axis + 1 :])
        return TypedTensor(torch.cat([tensor.tensor for tensor in tensors], axis), dims)

    def __repr__(self) -> str:
        return f"TypedTensor({', '.join(map(repr, self.dims))}; {self.tensor.dtype}, {self.tensor.device})"


def _computed(compute: Callable[[Any, Any], Any], left: TypedTensor, right: TypedTensor) -> Any:
    """The tensor, after its shape was inferred: what is still wrong is one name with two sizes at hand."""
    try:
        return compute(left.tensor, right.tensor)
    except RuntimeError as error:
        shapes = f"{left.dims} is {left.shape} on the left and {right.dims} is {right.shape} on the right"
        raise ShapeError(f"the declared sizes agree, and those at hand do not: {shapes}") from error
