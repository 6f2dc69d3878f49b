"""Reductions by a spec: ``bl.sum("b s d => b d", x)``, and the same for the mean, the greatest, the least and so on.

Each takes a spec and an array; or a shape without ``=>``, whose names are reduced, each to an axis of one element; or an
array alone, which is reduced to a number. The functions have the names that NumPy gives them, so this module must not
use the builtin ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ._specs import Array, Size, call, named_sizes

__all__ = ["all", "any", "max", "mean", "min", "prod", "sum"]


def _reduce(
    name: str,
    spec: str | Array,
    array: Array | None,
    padding: str | None,
    sizes: Mapping[str, Size] | None,
    named: dict[str, Size],
) -> Array:
    if array is None and not isinstance(spec, str):
        text, of = "..r.. =>", spec
    else:
        text, of = cast(str, spec), cast(Array, array)
    made: Array = call(name, text, (of,), name, "*", padding, named_sizes(sizes, named))[0]
    return made


def sum(
    spec: str | Array,
    array: Array | None = None,
    /,
    *,
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Add up the elements over what the result leaves out.

    >>> import broadloom as bl, numpy as np
    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> bl.sum("i j => j", x)
    array([5, 7, 9])
    >>> bl.sum("..., j", x)
    array([[ 6],
           [15]])
    >>> bl.sum(x)
    np.int64(21)
    """
    return _reduce("sum", spec, array, padding, sizes, named)


def mean(
    spec: str | Array,
    array: Array | None = None,
    /,
    *,
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Average over what the result leaves out.

    >>> import broadloom as bl, numpy as np
    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> bl.mean("i j => j", x)
    array([2.5, 3.5, 4.5])
    >>> bl.mean("..., j", x)
    array([[2.],
           [5.]])
    >>> bl.mean(x)
    np.float64(3.5)
    """
    return _reduce("mean", spec, array, padding, sizes, named)


def max(
    spec: str | Array,
    array: Array | None = None,
    /,
    *,
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Take the greatest element over what the result leaves out.

    >>> import broadloom as bl, numpy as np
    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> bl.max("i j => j", x)
    array([4, 5, 6])
    >>> bl.max("..., j", x)
    array([[3],
           [6]])
    >>> bl.max(x)
    np.int64(6)

    Windows at the ends of an axis are padded with what changes nothing:

    >>> bl.max("i, o=+k => i, o", x, k=3)
    array([[2, 3, 3],
           [5, 6, 6]])
    """
    return _reduce("max", spec, array, padding, sizes, named)


def min(
    spec: str | Array,
    array: Array | None = None,
    /,
    *,
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Take the least element over what the result leaves out.

    >>> import broadloom as bl, numpy as np
    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> bl.min("i j => j", x)
    array([1, 2, 3])
    >>> bl.min("..., j", x)
    array([[1],
           [4]])
    >>> bl.min(x)
    np.int64(1)
    """
    return _reduce("min", spec, array, padding, sizes, named)


def prod(
    spec: str | Array,
    array: Array | None = None,
    /,
    *,
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Multiply the elements over what the result leaves out.

    >>> import broadloom as bl, numpy as np
    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> bl.prod("i j => j", x)
    array([ 4, 10, 18])
    >>> bl.prod("..., j", x)
    array([[  6],
           [120]])
    >>> bl.prod(x)
    np.int64(720)
    """
    return _reduce("prod", spec, array, padding, sizes, named)


def any(
    spec: str | Array,
    array: Array | None = None,
    /,
    *,
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Say where any element is true, over what the result leaves out.

    >>> import broadloom as bl, numpy as np
    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> bl.any("i j => j", x)
    array([ True,  True,  True])
    >>> bl.any("..., j", x)
    array([[ True],
           [ True]])
    >>> bl.any(x)
    np.True_
    """
    return _reduce("any", spec, array, padding, sizes, named)


def all(
    spec: str | Array,
    array: Array | None = None,
    /,
    *,
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Say where all elements are true, over what the result leaves out.

    >>> import broadloom as bl, numpy as np
    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> bl.all("i j => j", x)
    array([ True,  True,  True])
    >>> bl.all("..., j", x)
    array([[ True],
           [ True]])
    >>> bl.all(x)
    np.True_
    """
    return _reduce("all", spec, array, padding, sizes, named)
