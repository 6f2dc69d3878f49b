"""Sizes with names and ranges (*Tensor Dimension Inference*), as people write them. What two of them have in common is inferred by the extension."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Union

from . import _broadloom
from ._shape_errors import ShapeError, SpecError

__all__ = ["Dim"]


@dataclass(frozen=True)
class Dim:
    """The size of an axis: a number, or a name with a range, or any size.

    >>> Dim(64), Dim("batch", 32), Dim("batch", 32, 1, 64), Dim(None, 5)
    (64, batch, batch in 1..64, _)

    A name alone is any size; ``sample`` is the one that tensors are made with.
    """

    name: str | int | None
    sample: int = 1
    least: int | None = None
    greatest: int | None = None
    #: The sizes that this one is the sum of, after a concatenation.
    parts: tuple[Dim, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.name, int):
            for field in ("sample", "least", "greatest"):
                object.__setattr__(self, field, self.name)
            object.__setattr__(self, "name", None)
        if not self.holds(self.sample):
            raise ShapeError(f"the sample {self.sample} of `{self.name}` lies outside its range {self.range}")

    @property
    def size(self) -> int | None:
        """The number, if it is one."""
        return self.least if self.name is None and self.least is not None and self.least == self.greatest else None

    @property
    def range(self) -> str:
        """The range as text."""
        return f"{self.least if self.least is not None else 1}..{'' if self.greatest is None else self.greatest}"

    def holds(self, size: int) -> bool:
        """True if the size lies in the range."""
        return (self.least is None or size >= self.least) and (self.greatest is None or size <= self.greatest)

    @property
    def _declared(self) -> tuple[str | None, int | None, int | None]:
        """It, as inference takes it: the sample is no part of it."""
        return None if self.name is None else str(self.name), self.least, self.greatest

    def __repr__(self) -> str:
        if self.size is not None:
            return str(self.size)
        if self.name is None:
            return "_"
        name = str(self.name)
        return name if self.least is self.greatest is None else f"{name} in {self.range}"


Axis = Union[int, str, Dim]
Dims = tuple[Dim, ...]


# A size in a text: a number, `_`, or a name with the size that tensors are made with and a range, as in `batch=32 in 1..64`.
_SIZE = re.compile(
    r"(?P<number>\d+)|_(?!\w)|(?P<name>[^\W\d]\w*)(?:\s*=\s*(?P<sample>\d+))?(?:\s+in\s+(?P<least>\d*)\s*\.\.\s*(?P<greatest>\d*))?"
)


def as_dims(axes: Sequence[Axis]) -> Dims:
    """Numbers, names and sizes as sizes; or a text with all of them.

    >>> as_dims([Dim("batch", 32), 784]), as_dims("batch=32 in 1..64, 784"), as_dims("n 3")
    ((batch, 784), (batch in 1..64, 784), (n, 3))
    """
    if isinstance(axes, str):
        return tuple(_read(axes))
    return tuple(axis if isinstance(axis, Dim) else Dim(axis) for axis in axes)


def _read(text: str) -> Iterator[Dim]:
    """The sizes of a text, which blanks or commas separate."""
    at = 0
    while rest := text[at:].lstrip(" ,"):
        at = len(text) - len(rest)
        fits = _SIZE.match(text, at)
        if fits is None:
            raise SpecError(
                f"`{rest[0]}` in \"{text}\" is no size: the axes of a TypedTensor are one row of numbers and names, "
                "as in \"batch in 1..64, 784\""
            )
        at = fits.end()
        least, greatest = (int(fits[end]) if fits[end] else None for end in ("least", "greatest"))
        sample = int(fits["sample"]) if fits["sample"] else least or 1
        yield Dim(int(fits["number"])) if fits["number"] else Dim(fits["name"], sample, least, greatest)


class Facing(NamedTuple):
    """Two sizes that meet, and what they are in a message. Where it broadcasts, a 1 takes the other size."""

    left: Dim
    right: Dim
    what: str
    broadcasts: bool = False


def met(pairs: Sequence[Facing]) -> Dims:
    """The sizes that pairs have in common, as Broadloom infers them: all together, so that a name has one size in all of them.

    >>> batch = Dim("batch", 8, 1, 64)
    >>> met([Facing(batch, Dim("batch", 8, 4, None), "the first axis")])
    (batch in 4..64,)
    >>> met([Facing(batch, batch, "the first axis"), Facing(Dim(8), batch, "the second axis")])
    (8, 8)
    """
    sizes, misfit = _broadloom.meet_sizes([(pair.left._declared, pair.right._declared, pair.broadcasts) for pair in pairs])
    if misfit is not None:
        at, why = misfit
        raise ShapeError(f"{pairs[at].what} {why}")
    return tuple(_same(pair, *size) for pair, size in zip(pairs, sizes))


def _same(pair: Facing, name: str | None, least: int | None, greatest: int | None) -> Dim:
    """A size that a pair has in common, with the sample and the parts that the one of them has whose size it is."""
    own = pair.left if name == pair.left.name and pair.left.size != 1 else pair.right
    if name is None and least is not None:
        return Dim(least)
    sample = own.sample if (least or 0) <= own.sample <= (own.sample if greatest is None else greatest) else least or 1
    return Dim(name, sample, least, greatest, own.parts if name is not None else ())


def concatenated(dims: Sequence[Dim]) -> Dim:
    """The size of a concatenation: the sum, as Broadloom writes it.

    >>> concatenated([Dim(2), Dim(4)]), concatenated([Dim("a", 2), Dim("b", 3), Dim("a", 2)]), concatenated([Dim("n", 2, 1, 8), Dim(1)])
    (6, 2*a + b, n + 1 in 2..9)
    """
    parts = [part for dim in dims for part in (dim.parts or (dim,))]
    sample = sum(part.sample for part in parts)
    least = sum(part.least if part.least is not None else 1 for part in parts)
    greatest = sum(part.greatest or 0 for part in parts) if all(part.greatest is not None for part in parts) else None
    if all(part.size is not None for part in parts):
        return Dim(sample)
    if any(part.name is None and part.size is None for part in parts):
        return Dim(None, sample)  # a part of any size makes a sum of any size
    ranged = any(part.name is not None and (part.least, part.greatest) != (None, None) for part in parts)
    return Dim(_sum(parts), sample, least if ranged else None, greatest, tuple(parts))


def _sum(parts: Sequence[Dim]) -> str:
    """The sum of sizes as an expression, from the inference of a concatenation."""
    graph, place = _broadloom.Graph(), ("<concatenation>", 1, None)
    for name in sorted({str(part.name) for part in parts if part.name is not None}):  # one order, one text
        graph.dim(name, 1, None, None, place)
    axes = [str(part.name) if part.name is not None else str(part.size) for part in parts]
    tensors = [graph.data(f"part{number}", axis, place) for number, axis in enumerate(axes)]
    labels = [f"p{number}" for number in range(len(parts))]
    made = graph.einsum(f"{'; '.join(labels)} => {'^'.join(labels)}", tensors, "sum", "*", None, [], place)
    return graph.shape(made, place)[0]


def broadcast(left: Dims, right: Dims) -> list[Facing]:
    """The axes of two operands that meet in a pointwise operation: from the last, and what one of them lacks is a 1.

    >>> met(broadcast(as_dims([2, 3, 4]), as_dims([4])))
    (2, 3, 4)
    """
    rank = max(len(left), len(right))
    left, right = (Dim(1),) * (rank - len(left)) + left, (Dim(1),) * (rank - len(right)) + right
    return [Facing(one, other, f"axis {axis} of a pointwise operation", True) for axis, (one, other) in enumerate(zip(left, right))]
