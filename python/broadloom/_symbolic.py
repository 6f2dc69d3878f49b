"""Plans of specs for tensors of PyTorch whose sizes are symbols, as `torch.export` and `bl.shapes_of` have them.

A plan is made for numbers, and asking a symbol for its number would fix it. So the plan is made for numbers that stand in for the
symbols, three times with different ones, and each number in it that is not the same every time is read as a product of symbols, or as a
multiple of one and a constant: `(h d)` for `d` is `d = size // h`, a window has `size - 2` places. What is neither is left to the caller.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

__all__ = ["has_symbols", "hint", "symbolic_plan"]

#: Numbers for symbols: for each, one of every round. They are prime, so that a product tells its factors.
_PRIMES = (
    (1009, 1013, 1019, 1021, 1031, 1033),
    (1039, 1049, 1051, 1061, 1063, 1069),
    (1087, 1091, 1093, 1097, 1103, 1109),
)


def has_symbols(shapes: tuple[tuple[Any, ...], ...], sizes: dict[str, Any]) -> bool:
    """True if some size is neither a number nor a row of numbers."""
    for shape in shapes:
        for size in shape:
            if type(size) is not int and hasattr(size, "node"):
                return True
    return bool(sizes) and any(hasattr(size, "node") for size in sizes.values())


def symbolic_plan(
    plan: Callable[[tuple[tuple[Any, ...], ...], dict[str, Any]], list[Any]],
    spec: str,
    shapes: tuple[tuple[Any, ...], ...],
    sizes: dict[str, Any],
) -> list[Any] | None:
    """The plan with expressions over the symbols in it, or nothing if it has none for all sizes."""
    made = _plan_by_symbols(plan, spec, shapes, sizes)
    if made is None and _unified([size for shape in shapes for size in shape if hasattr(size, "node")]):
        made = _plan_by_symbols(plan, spec, shapes, sizes)
    return made


def _unified(sizes: list[Any]) -> bool:
    """Tells PyTorch that sizes with one number are one size, as the plan needs it: two axes of one name are two symbols until then."""
    first: dict[int, Any] = {}
    others = [(first.setdefault(hint(size), size), size) for size in sizes]
    others = [(own, size) for own, size in others if own.node.expr != size.node.expr]
    return bool(others) and all([bool(own == size) for own, size in others])


def _plan_by_symbols(
    plan: Callable[[tuple[tuple[Any, ...], ...], dict[str, Any]], list[Any]],
    spec: str,
    shapes: tuple[tuple[Any, ...], ...],
    sizes: dict[str, Any],
) -> list[Any] | None:
    expressions = [size.node for shape in shapes for size in shape if hasattr(size, "node")]
    expressions += [size.node for size in sizes.values() if hasattr(size, "node")]
    symbols = sorted({symbol for node in expressions for symbol in node.expr.free_symbols}, key=str)
    if len(symbols) > len(_PRIMES[0]):
        return None
    # Parts of a composed axis divide it.
    parts = [size for size in sizes.values() if type(size) is int] + [int(number) for number in re.findall(r"\d+", spec)]
    whole = math.prod(part for part in parts if part > 0)
    try:
        plans = []
        for primes in _PRIMES:
            numbers = {symbol: whole * prime for symbol, prime in zip(symbols, primes)}
            plans.append(
                plan(
                    tuple(tuple(_stood_in(size, numbers) for size in shape) for shape in shapes),
                    {name: _stood_in(size, numbers) for name, size in sizes.items()},
                )
            )
        made: list[Any] = _Reading(symbols, whole, expressions[0].shape_env).read(plans)
        return made
    except (ValueError, OverflowError):
        return None


def _stood_in(size: Any, numbers: dict[Any, int]) -> Any:
    return int(size.node.expr.xreplace(numbers)) if hasattr(size, "node") else size


class _Reading:
    """Reads one plan from several, which differ in the numbers that stand in for symbols."""

    def __init__(self, symbols: list[Any], whole: int, environment: Any) -> None:
        self.symbols = symbols
        #: The numbers of a round are this one, times a prime.
        self.whole = whole
        self.environment = environment

    def read(self, plans: list[Any]) -> Any:
        first = plans[0]
        if isinstance(first, (list, tuple)):
            if any(len(each) != len(first) for each in plans):
                raise ValueError("the plan depends on sizes")
            return type(first)(self.read([each[at] for each in plans]) for at in range(len(first)))
        if isinstance(first, slice):
            return slice(*self.read([(each.start, each.stop, each.step) for each in plans]))
        if all(each == first for each in plans):
            return first
        if not all(type(each) is int for each in plans):
            raise ValueError("the plan depends on sizes")
        return self.expression(plans)

    def expression(self, numbers: list[int]) -> Any:
        """The size that has these numbers, one for each round."""
        factors = [self.factors(number, primes) for number, primes in zip(numbers, _PRIMES)]
        powers, factor = factors[0]
        if any(powers) and all(other == factors[0] for other in factors):
            return self.size(math.prod(symbol**power for symbol, power in zip(self.symbols, powers)), factor)
        for at, symbol in enumerate(self.symbols):
            stood = [self.whole * primes[at] for primes in _PRIMES]
            slope = Fraction(numbers[1] - numbers[0], stood[1] - stood[0])
            constant = numbers[0] - slope * stood[0]
            if constant.denominator == 1 and slope * stood[2] + constant == numbers[2]:
                return self.size(symbol, slope) + constant.numerator
        raise ValueError("the plan depends on sizes")

    def size(self, expression: Any, factor: Fraction) -> Any:
        """A multiple or a part of an expression, as a size of PyTorch. A part has to be whole."""
        size = self.environment.create_symintnode(expression * factor.numerator, hint=None)
        if factor.denominator == 1:
            return size
        if size % factor.denominator != 0:
            raise ValueError("it does not divide")
        return size // factor.denominator

    def factors(self, number: int, primes: tuple[int, ...]) -> tuple[list[int], Fraction]:
        """The number of times that each symbol is in a product, and what else is."""
        powers, rest = [0] * len(self.symbols), number
        for at, prime in enumerate(primes[: len(powers)]):
            while rest and rest % prime == 0:
                rest, powers[at] = rest // prime, powers[at] + 1
        return powers, Fraction(rest, self.whole ** sum(powers))


def hint(size: Any) -> Any:
    """The number at which a symbol is traced, without fixing it."""
    if not hasattr(size, "node"):
        return size
    number = size.node.hint
    return int(size) if number is None else int(number)
