"""Concatenation and stacking of expressions."""

from __future__ import annotations

from ._graph import Expr

__all__ = ["concat", "stack"]


def concat(*parts: Expr, along: str = "output") -> Expr:
    """Puts tensors of a graph together along an axis. All other axes are the same.

    Args:
        parts: The tensors.
        along: The axis: the first of a kind, `"batch"`, `"input"` or `"output"`, or the one that a shape names, such as
            `"... | ..., t"`.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> x, y = g.data("x", "8 | 3"), g.data("y", "8 | 4")
    >>> bl.concat(x, y).shape
    '8 | 7'
    """
    return _first("concat", parts)._along("concat", along, *parts)


def stack(*parts: Expr, along: str = "output") -> Expr:
    """Puts tensors of one shape together along a new axis.

    Args:
        parts: The tensors.
        along: The place of the new axis, as for `concat`.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> x, y = g.data("x", "8 | 3"), g.data("y", "8 | 3")
    >>> bl.stack(x, y, along="batch").shape
    '2, 8 | 3'
    """
    return _first("stack", parts)._along("stack", along, *parts)


def _first(name: str, parts: tuple[Expr, ...]) -> Expr:
    """The first of some expressions, whose graph does the rest."""
    for part in parts:
        if not isinstance(part, Expr):
            raise TypeError(f"`bl.{name}` is for expressions of a graph, not for {type(part).__name__}: `bl.{name}(x, y)`")
    if not parts:
        raise TypeError(f"there is nothing to put together: `bl.{name}(x, y)`")
    return parts[0]
