"""Recurrences over an axis of expressions: `scan` and `fold`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Union, overload

from ._errors import Error
from ._graph import Expr, Operand
from ._places import here

__all__ = ["fold", "scan"]

#: The last batch axis: the positions of a sequence.
_POSITIONS = "..., t | ..."

Firsts = Union[Operand, Sequence[Operand]]


@overload
def scan(
    turn: Callable[..., Expr],
    first: Operand,
    *over: Expr,
    along: str = ...,
    checkpoint_every: int | None = ...,
) -> Expr: ...


@overload
def scan(
    turn: Callable[..., Any],
    first: Firsts,
    *over: Expr,
    along: str = ...,
    checkpoint_every: int | None = ...,
) -> Any: ...


def scan(
    turn: Callable[..., Any],
    first: Firsts,
    *over: Expr,
    along: str = _POSITIONS,
    checkpoint_every: int | None = None,
) -> Any:
    """Goes through an axis of expressions, one element after another. Each turn is given what the turn before made.

    `turn` is called once, with the element of each tensor that is gone through and then what is carried, and returns the next
    value of what is carried. So its graph has one turn, whatever the number of turns. Gradients go back through all of them.

    Args:
        turn: A function `turn(x, carried)` of expressions.
        first: What is carried into the first turn: an expression or a number; or a list of several, for which `turn` takes as
            many arguments, and returns a list that begins with as many next values.
        over: The tensors that are gone through, all with the same number of elements along the axis.
        along: The axis. By default it is the last batch axis; others are named as for `take`, `"batch"` or `"... | t, ..."`.
        checkpoint_every: The number of turns after which gradients note what is carried; the other turns are computed again. By
            default it is the root of the number of turns, which takes the least memory.

    Returns:
        What all turns made, along the same axis: one expression, or a tuple if `first` or the result of `turn` is a list.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> x = g.data("x", "time | 2")
    >>> sums = bl.scan(lambda x, total: total + x, 0, x)
    >>> sums.shape
    'time | 2'
    >>> g.session().run(sums, x=[[1, 2], [3, 4], [5, 6]])
    array([[ 1.,  2.],
           [ 4.,  6.],
           [ 9., 12.]], dtype=float32)
    """
    return _recurrence("scan", turn, first, over, along, checkpoint_every)


@overload
def fold(
    turn: Callable[..., Expr],
    first: Operand,
    *over: Expr,
    along: str = ...,
    checkpoint_every: int | None = ...,
) -> Expr: ...


@overload
def fold(
    turn: Callable[..., Any],
    first: Firsts,
    *over: Expr,
    along: str = ...,
    checkpoint_every: int | None = ...,
) -> Any: ...


def fold(
    turn: Callable[..., Any],
    first: Firsts,
    *over: Expr,
    along: str = _POSITIONS,
    checkpoint_every: int | None = None,
) -> Any:
    """Like `scan`, and gives what the last turn made. What `turn` returns behind what is carried is still that of all turns.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> x = g.data("x", "time | 2")
    >>> decayed = bl.fold(lambda x, h: 0.5 * h + x, 0, x)
    >>> decayed.shape
    '2'
    >>> g.session().run(decayed, x=[[1, 2], [3, 4], [5, 6]])
    array([6.75, 8.5 ], dtype=float32)
    """
    return _recurrence("fold", turn, first, over, along, checkpoint_every)


def _recurrence(
    name: str, turn: Callable[..., Any], first: Firsts, over: tuple[Expr, ...], along: str, every: int | None
) -> Any:
    firsts: list[Any] = list(first) if isinstance(first, (list, tuple)) else [first]
    _refuse(name, turn, over, along, every)
    graph, place = over[0]._of, here()
    named = list(zip(_names(turn, len(over), len(firsts)), graph._all(firsts)))
    elements, carried = graph._graph.begin_scan(named, graph._all(over), along, every, place)
    try:
        given = turn(*(Expr(graph, number) for number in [*elements, *carried]))
        listed = isinstance(given, (list, tuple))
        made = graph._all(given if listed else [given])
        if len(made) < len(carried):
            raise Error._plain(
                f"the function of a turn gives {len(made)} value{'s' * (len(made) != 1)}, and `bl.{name}` carries {len(carried)}",
                f"let it return a list: the next value of each of the {len(carried)}, in order",
            )
    except BaseException:
        graph._graph.give_up_scan()
        raise
    collected, last = graph._graph.end_scan(made, made if name == "scan" else made[len(carried) :], place)
    results = tuple(Expr(graph, number) for number in (last if name == "fold" else []) + collected)
    return results if listed or len(results) > 1 or isinstance(first, (list, tuple)) else results[0]


def _refuse(name: str, turn: Any, over: Sequence[Any], along: Any, every: Any) -> None:
    """Refuses arguments that are no recurrence."""
    example = f"`bl.{name}(lambda x, carried: carried + x, 0, x)`"
    if not callable(turn):
        raise TypeError(f"the first argument of `bl.{name}` is the function of a turn, not {type(turn).__name__}: {example}")
    if not over:
        raise TypeError(f"`bl.{name}` has nothing to go through: {example}")
    for each in over:
        if not isinstance(each, Expr):
            raise TypeError(f"`bl.{name}` goes through expressions of a graph, not through {type(each).__name__}: {example}")
    if not isinstance(along, str):
        raise TypeError(f"an axis is named by a text, not by {type(along).__name__}: `along=\"batch\"`")
    if every is not None and (not isinstance(every, int) or every < 1):
        raise TypeError(f"`checkpoint_every` is a number of turns from 1 on, not {every!r}")


def _names(turn: Callable[..., Any], elements: int, carried: int) -> list[str]:
    """The names of what is carried, for messages: those of the arguments behind the elements."""
    try:
        arguments = list(inspect.signature(turn).parameters.values())
    except (TypeError, ValueError):
        arguments = []
    plain = [each.name for each in arguments if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    names = plain[elements : elements + carried]
    return names + ["carried"] * (carried - len(names))
