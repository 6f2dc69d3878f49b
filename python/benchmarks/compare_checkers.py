"""What jaxtyping with beartype, beartype alone and Broadloom find in the same faulty functions.

    python python/benchmarks/compare_checkers.py

Each fault is one call. The same function is annotated for each tool, as well as its notation allows; a tool finds the fault if
the call raises the tool's own error. The output is the table of docs/arrays.md.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from beartype import beartype
from beartype.roar import BeartypeException
from jaxtyping import Float, Int, TypeCheckError, jaxtyped

import broadloom as bl

A = np.ndarray
checked = jaxtyped(typechecker=beartype)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


@dataclasses.dataclass
class Fault:
    """A mistake, and calls that make it: by jaxtyping, by beartype alone, by Broadloom."""

    what: str
    jaxtyping: Callable[[], Any]
    beartype: Callable[[], Any]
    broadloom: Callable[[], Any]


def two_arguments() -> Fault:


    @checked
    def j(x: Float[A, "n d"], w: Float[A, "h d"]): ...

    @beartype
    def b(x: A, w: A): ...

    @bl.shaped
    def s(x: bl.Float[A, "n | d"], w: bl.Float[A, "d -> h"]): ...

    arguments = ones(2, 3), ones(4, 5)
    return Fault("two arguments disagree in a size", lambda: j(*arguments), lambda: b(*arguments), lambda: s(*arguments))


def result() -> Fault:
    @checked
    def j(x: Float[A, "n d"]) -> Float[A, "d"]:
        return x.sum(1)

    @beartype
    def b(x: A) -> A:
        return x.sum(1)

    @bl.shaped
    def s(x: bl.Float[A, "n, d"]) -> bl.Float[A, "d"]:
        return x.sum(1)

    x = ones(2, 3)
    return Fault("the result was summed over the wrong axis", lambda: j(x), lambda: b(x), lambda: s(x))


def rank() -> Fault:
    @checked
    def j(x: Float[A, "n d"]): ...

    @beartype
    def b(x: A): ...

    @bl.shaped
    def s(x: bl.Float[A, "n, d"]): ...

    x = ones(2)
    return Fault("an axis is missing", lambda: j(x), lambda: b(x), lambda: s(x))


def dtype() -> Fault:
    @checked
    def j(x: Float[A, "n"]): ...

    @beartype
    def b(x: A): ...

    @bl.shaped
    def s(x: bl.Float[A, "n"]): ...

    x = np.arange(3)
    return Fault("whole numbers where floating point numbers are meant", lambda: j(x), lambda: b(x), lambda: s(x))


def no_array() -> Fault:
    @checked
    def j(x: Float[A, "n"]): ...

    @beartype
    def b(x: A): ...

    @bl.shaped
    def s(x: bl.Float[A, "n"]): ...

    return Fault("a list in place of an array", lambda: j([1.0]), lambda: b([1.0]), lambda: s([1.0]))


def plain_argument() -> Fault:
    @checked
    def j(x: Float[A, "n"], times: int): ...

    @beartype
    def b(x: A, times: int): ...

    @bl.shaped
    def s(x: bl.Float[A, "n"], times: int): ...

    arguments = ones(3), "twice"
    return Fault("text for an `int` beside an array", lambda: j(*arguments), lambda: b(*arguments), lambda: s(*arguments))


def rows() -> Fault:
    @checked
    def j(x: Float[A, "*b n"], y: Float[A, "*b m"]): ...

    @beartype
    def b(x: A, y: A): ...

    @bl.shaped
    def s(x: bl.Float[A, "..b.. | n"], y: bl.Float[A, "..b.. | m"]): ...

    arguments = ones(2, 3, 4), ones(3, 2, 4)
    return Fault("batch axes of two arguments differ", lambda: j(*arguments), lambda: b(*arguments), lambda: s(*arguments))


def two_rows() -> Fault:
    @checked
    def j(x: Float[A, "..."], y: Float[A, "*r"]): ...  # one `*` or `...` for each array

    @beartype
    def b(x: A, y: A): ...

    @bl.shaped
    def s(x: bl.Float[A, "..b.. | ..r.."], y: bl.Float[A, "..r.."]): ...

    arguments = ones(2, 3, 4), ones(5, 4)
    return Fault("an array of two groups of axes, one of which is another array's", lambda: j(*arguments), lambda: b(*arguments), lambda: s(*arguments))


def arithmetic_later() -> Fault:
    @checked
    def j(x: Float[A, "a*b"], y: Float[A, "a"], z: Float[A, "b"]): ...

    @beartype
    def b(x: A, y: A, z: A): ...

    @bl.shaped
    def s(x: bl.Float[A, "a*b"], y: bl.Float[A, "a"], z: bl.Float[A, "b"]): ...

    arguments = ones(7), ones(2), ones(3)
    return Fault("`a*b` stands before the arguments that say what `a` and `b` are", lambda: j(*arguments), lambda: b(*arguments), lambda: s(*arguments))


def ranges() -> Fault:
    @checked
    def j(x: Float[A, "n"]): ...  # no ranges

    @beartype
    def b(x: A): ...

    @bl.shaped
    def s(x: bl.Float[A, "n in 1..64"]): ...

    x = ones(65)
    return Fault("a size outside its range", lambda: j(x), lambda: b(x), lambda: s(x))


def nested() -> Fault:
    @checked
    def j(xs: list[Float[A, "n"]]): ...

    @beartype
    def b(xs: list[A]): ...

    @bl.shaped
    def s(xs: list[bl.Float[A, "n"]]): ...

    xs = [ones(3) for _ in range(50)]
    xs[25] = ones(4)
    return Fault("one of 50 arrays in a list is longer", lambda: j(xs), lambda: b(xs), lambda: s(xs))


def generator() -> Fault:
    def values(x: np.ndarray) -> Iterator[np.ndarray]:
        yield x[1:]

    @checked
    def j(x: Float[A, "n"]) -> Iterator[Float[A, "n"]]:
        yield from values(x)

    @beartype
    def b(x: A) -> Iterator[A]:
        yield from values(x)

    @bl.shaped
    def s(x: bl.Float[A, "n"]) -> Iterator[bl.Float[A, "n"]]:
        yield from values(x)

    x = ones(3)
    return Fault("a generator yields an array that is too short", lambda: list(j(x)), lambda: list(b(x)), lambda: list(s(x)))


def field() -> Fault:
    @checked
    @dataclasses.dataclass
    class J:
        x: Float[A, "n"]
        y: Int[A, "n"]

    @beartype
    @dataclasses.dataclass
    class B:
        x: A
        y: A

    @bl.shaped
    @dataclasses.dataclass
    class S:
        x: bl.Float[A, "n"]
        y: bl.Int[A, "n"]

    arguments = ones(3), np.arange(4)
    return Fault("two fields of a dataclass disagree", lambda: J(*arguments), lambda: B(*arguments), lambda: S(*arguments))


FAULTS = [
    two_arguments, result, rank, dtype, no_array, plain_argument, rows, two_rows, arithmetic_later, ranges, nested, generator, field,
]  # fmt: skip


def finds(call: Callable[[], Any]) -> str:
    try:
        call()
    except (TypeCheckError, BeartypeException, bl.ShapeError):
        return "found"
    except Exception as error:  # the tool refuses the annotation itself
        return f"{type(error).__name__}, which is about the annotation"
    return "–"


def table() -> str:
    lines = ["| fault | beartype | jaxtyping + beartype | Broadloom |", "|---|---|---|---|"]
    for make in FAULTS:
        fault = make()
        row = [fault.what, finds(fault.beartype), finds(fault.jaxtyping), finds(fault.broadloom)]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def messages() -> str:
    """What the tools say of the first fault."""
    fault = two_arguments()
    shown = []
    for name in ("jaxtyping", "broadloom"):
        try:
            getattr(fault, name)()
        except Exception as error:
            shown.append(f"{name}:\n{error}\n")
    return "\n".join(shown)


if __name__ == "__main__":
    print(table())
    print()
    print(messages())
