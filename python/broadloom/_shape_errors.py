"""The exceptions of specs on arrays and of checked functions."""

from __future__ import annotations

__all__ = ["ArrayTypeError", "DTypeError", "ShapeError", "SpecError"]


class SpecError(ValueError):
    """The text of a spec or of a shape is not well written, or a function is not for it.

    >>> import broadloom as bl, numpy as np
    >>> bl.rearrange("i j -> j i", np.ones((2, 3)))
    Traceback (most recent call last):
        ...
    broadloom.SpecError: the result follows `=>`, not `->`
      |
    1 | i j -> j i
      |     ^^ expected `=>`, found `->`
      |
      = help: write `i j => j i`; `->` stands between the input axes and the output axes of one tensor
    """

    __module__ = "broadloom"


class ShapeError(ValueError):
    """Arrays do not have the shapes that a spec or an annotation asks for.

    Errors of checked functions say where: ``function`` and ``argument`` are names, ``places`` are pairs of a file
    and a line, first that of the annotation that was not met, then that of the other end.
    """

    __module__ = "broadloom"
    function: str | None = None
    argument: str | None = None
    places: tuple[tuple[str, int], ...] = ()


class DTypeError(ShapeError, TypeError):
    """An array has elements of another type than its annotation says."""

    __module__ = "broadloom"


class ArrayTypeError(ShapeError, TypeError):
    """A value is not the kind of array that its annotation says."""

    __module__ = "broadloom"
