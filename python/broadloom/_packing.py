"""Arrays with different numbers of axes in one array, and back: ``bl.pack`` and ``bl.unpack``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ._broadloom import spec_sizes
from ._libraries import Steps, library_of
from ._shape_errors import ShapeError, SpecError
from ._symbolic import hint
from ._specs import Array

__all__ = ["pack", "unpack"]


def pack(spec: str, arrays: Sequence[Array], /) -> tuple[Array, list[tuple[int, ...]]]:
    """Put arrays with different numbers of axes one after another, along one axis.

    ``...`` in the spec stands for the axes that each array has of its own, and becomes that axis. The labels are axes that all
    have. The second result is what `unpack` needs to take them apart again: the sizes in the place of ``...`` for each.

    >>> import broadloom as bl, numpy as np
    >>> tokens, image, mark = np.zeros((8, 5, 3)), np.zeros((8, 4, 4, 3)), np.zeros((8, 3))
    >>> together, shapes = bl.pack("b ... c", [mark, tokens, image])
    >>> together.shape, shapes
    ((8, 22, 3), [(), (5,), (4, 4)])
    >>> [array.shape for array in bl.unpack("b ... c", together, shapes)]
    [(8, 3), (8, 5, 3), (8, 4, 4, 3)]
    """
    (axis, shape), library = _read("pack", spec), None
    every: list[Any] = list(arrays)
    for position, array in enumerate(every, 1):
        library = _of_one_library("pack", position, array, library)
    if library is None:
        raise TypeError("bl.pack takes a spec and a list of at least one array")
    found = [_sizes(shape, tuple(array.shape), f"array {position}") for position, array in enumerate(every, 1)]
    for position, sizes in enumerate(found[1:], 2):
        for label, size in sizes.items():
            if label != "packed" and size != found[0][label]:
                raise ShapeError(
                    f"bl.pack: `{label}` is {found[0][label]} in array 1, which has shape {tuple(every[0].shape)}, and {size} in "
                    f"array {position}, which has shape {tuple(every[position - 1].shape)}",
                    help=f"only the axes in the place of `...` may differ in \"{spec}\"",
                )
    own = [sizes["packed"] for sizes in found]
    flat = [_joined(library, array, axis, len(sizes)) for array, sizes in zip(every, own)]
    together: Array = library.concat(flat, axis)
    return together, own


def unpack(spec: str, array: Array, shapes: Sequence[Sequence[int]], /) -> list[Array]:
    """Take apart what `pack` put together. One size may be -1: it is what is left.

    >>> import broadloom as bl, numpy as np
    >>> first, rest = bl.unpack("i ...", np.arange(8).reshape(2, 4), [(), (-1,)])
    >>> first, rest
    (array([0, 4]), array([[1, 2, 3],
           [5, 6, 7]]))
    """
    axis, text = _read("unpack", spec)
    library = _of_one_library("unpack", 1, array, None)
    shape: tuple[int, ...] = tuple(array.shape)  # type: ignore[attr-defined]
    packed = _sizes(text, shape, "the array")["packed"]
    if len(packed) != 1:
        raise ShapeError(f"bl.unpack: the array has shape {shape}, and `...` in \"{spec}\" is {len(packed)} of its axes, not one")
    whole = _filled([tuple(own) for own in shapes], packed[0], shape, axis)
    pieces, start = [], 0
    for own in whole:
        stop = start + math.prod(own)
        piece = library.index(array, (*[slice(None)] * axis, slice(start, stop)))
        pieces.append(library.reshape(piece, shape[:axis] + own + shape[axis + 1 :]))
        start = stop
    return pieces


def _read(function: str, spec: str) -> tuple[int, str]:
    """The position of ``...`` among the axes of a spec, and the spec with words for labels and ``..packed..`` in that place."""
    if not isinstance(spec, str):
        raise TypeError(f'bl.{function}: the spec comes first: bl.{function}("b ... c", …)')
    fits = re.fullmatch(r"([\w\s,]*)\.\.\.([\w\s,]*)", spec)
    if fits is None:
        help = "; `*` of einops is `...` here" if "*" in spec else ""
        raise SpecError(f'bl.{function}: "{spec}" is not labels with `...` among them, as in "b ... c"{help}')
    label = r"\w+" if "," in spec else r"\w"
    before, behind = (re.findall(label, side) for side in fits.groups())
    return len(before), ", ".join([*before, "..packed..", *behind]) + ","


def _of_one_library(function: str, position: int, array: Any, before: Steps | None) -> Steps:
    library = library_of(array)
    if library is None:
        raise TypeError(f"bl.{function}: array {position} is {type(array).__name__}, and no array of NumPy, PyTorch or JAX")
    if before is not None and library is not before:
        raise TypeError(f"bl.{function}: array {position} is of {library.name}, and those before it of {before.name}")
    return library


def _sizes(text: str, shape: tuple[int, ...], which: str) -> dict[str, Any]:
    """The sizes of the labels, and of what is packed, for an array of this shape."""
    try:
        found = spec_sizes(text, tuple(map(hint, shape)), which)
        # Sizes that PyTorch traces stay symbols.
        axis = text.rstrip(",").split(", ").index("..packed..")
        return {**found, "packed": shape[axis : axis + len(found["packed"])]}
    except ShapeError as error:
        raise ShapeError(f"{error.summary}; it has shape {shape}") from None


def _joined(library: Steps, array: Any, axis: int, count: int) -> Any:
    """The array with ``count`` axes from ``axis`` on joined to one."""
    shape = tuple(array.shape)
    return library.reshape(array, (*shape[:axis], math.prod(shape[axis : axis + count]), *shape[axis + count :]))


def _filled(shapes: list[tuple[int, ...]], size: int, shape: tuple[int, ...], axis: int) -> list[tuple[int, ...]]:
    """The shapes with the size that is left in the place of -1; together they fill the packed axis."""
    open_ = [own for own in shapes if -1 in own]
    if len(open_) > 1 or any(own.count(-1) > 1 for own in open_):
        raise ShapeError("bl.unpack: only one size can be -1, which is what is left")
    if any(each < -1 for own in shapes for each in own):
        raise ShapeError(f"bl.unpack: a size is at least 0, or -1 for what is left, and these are {shapes}")
    taken = sum(math.prod(own) for own in shapes if -1 not in own)
    if open_:
        unit = math.prod(each for each in open_[0] if each != -1)
        if taken <= size and unit and (size - taken) % unit == 0:
            rest = (size - taken) // unit
            return [tuple(rest if each == -1 else each for each in own) for own in shapes]
        wanted = f"{taken} elements and a multiple of {unit}"
    else:
        if taken == size:
            return shapes
        wanted = f"{taken} elements"
    raise ShapeError(f"bl.unpack: the shapes {shapes} need {wanted}, and axis {axis} of the array, which has shape {shape}, has {size}")
