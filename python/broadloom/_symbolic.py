"""Specs for tensors of PyTorch whose sizes are symbols, as `torch.export` and `bl.shapes_of` have them.

Asking a symbol for its number would fix it. So sizes are handed over as expressions over symbols, plans are made with these, and their
sizes become sizes of PyTorch again. What a plan relies on, such as a window that fits, is asked of PyTorch, which keeps it as a guard.
A plan that has no expression for all sizes is left to the caller.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

__all__ = ["Tracer", "has_symbols", "hint", "symbolic"]

Made = TypeVar("Made")
#: A sum of products: each with its factor, and the places of its symbols.
Terms = list[tuple[int, list[int]]]


def has_symbols(shapes: tuple[tuple[Any, ...], ...], sizes: dict[str, Any]) -> bool:
    """True if some size is neither a number nor a row of numbers."""
    for shape in shapes:
        for size in shape:
            if type(size) is not int and hasattr(size, "node"):
                return True
    return bool(sizes) and any(hasattr(size, "node") for size in sizes.values())


def symbolic(
    make: Callable[[list[Any], dict[str, Any], Tracer], Made],
    spec: str,
    shapes: tuple[tuple[Any, ...], ...],
    sizes: dict[str, Any],
) -> Made | None:
    """The plan or the sizes that a spec has, with expressions over the symbols in them, or nothing if there are none for all sizes."""
    symbols = [size for shape in shapes for size in shape if hasattr(size, "node")]
    symbols += [size for size in sizes.values() if hasattr(size, "node")]
    # Parts of a composed axis divide it.
    parts = [size for size in sizes.values() if type(size) is int] + [int(number) for number in re.findall(r"\d+", spec)]
    tracer = Tracer(symbols, math.prod(part for part in parts if part > 0))

    def once() -> Made | None:
        try:
            return make(
                [tuple(tracer.terms(size) for size in shape) for shape in shapes],
                {name: tracer.terms(size) for name, size in sizes.items()},
                tracer,
            )
        except (ValueError, OverflowError):
            return None

    made = once()
    if made is None and _unified(symbols):
        made = once()
    return made


def _unified(sizes: list[Any]) -> bool:
    """Tells PyTorch that sizes with one number are one size, as the plan needs it: two axes of one name are two symbols until then."""
    first: dict[int, Any] = {}
    others = [(first.setdefault(hint(size), size), size) for size in sizes]
    others = [(own, size) for own, size in others if own.node.expr != size.node.expr]
    return bool(others) and all([bool(own == size) for own, size in others])


class Tracer:
    """Sizes of PyTorch as sums of products, and the other way round.

    A symbol is `whole` times what stands for it in a product, so that the parts of a composed axis divide it. That they do is asked of PyTorch
    where a size is made of such a part.
    """

    def __init__(self, sizes: list[Any], whole: int) -> None:
        self.whole = whole
        self.environment = sizes[0].node.shape_env
        #: The symbols, and the expressions that are no sums of products of them, by their places.
        self.places: dict[Any, int] = {}

    def terms(self, size: Any) -> Any:
        """A size as it is handed over: a number, or a sum of products."""
        return self._terms(size.node.expr) if hasattr(size, "node") else size

    def _terms(self, expression: Any) -> Terms:
        symbols = sorted(expression.free_symbols, key=str)
        if expression.is_polynomial(*symbols):
            found = expression.as_poly(*symbols).terms() if symbols else [((), expression)]
            factors = [factor * self.whole ** sum(powers) for powers, factor in found]
            if all(factor.is_integer for factor in factors):
                places = [self._place(symbol) for symbol in symbols]
                products = [[place for place, power in zip(places, powers) for _ in range(power)] for powers, _ in found]
                return [(int(factor), product) for factor, product in zip(factors, products)]
        return [(self.whole, [self._place(expression)])]

    def _place(self, expression: Any) -> int:
        return self.places.setdefault(expression, len(self.places))

    def size(self, terms: Terms) -> Any:
        """The size of PyTorch that is a sum of products. Where it has a denominator, it has to be whole."""
        expression, denominator = self._expression(terms)
        size = self.environment.create_symintnode(expression, hint=None)
        if denominator == 1:
            return size
        if size % denominator != 0:
            raise ValueError("it does not divide")
        return size // denominator

    def holds(self, terms: Terms) -> bool:
        """True if a sum of products is not negative, which PyTorch takes down as a condition of what it traces."""
        expression, _ = self._expression(terms)
        return bool(self.environment.create_symintnode(expression, hint=None) >= 0)

    def _expression(self, terms: Terms) -> tuple[Any, int]:
        """A sum of products as an expression with whole factors, and what it has to be divided by."""
        factors = [Fraction(factor, self.whole ** len(product)) for factor, product in terms]
        denominator = math.lcm(*[factor.denominator for factor in factors])
        known = list(self.places)
        products = [math.prod((known[place] for place in product), start=1) for _, product in terms]
        total = sum(int(factor * denominator) * product for factor, product in zip(factors, products))
        return total, denominator


def hint(size: Any) -> Any:
    """The number at which a symbol is traced, without fixing it."""
    if not hasattr(size, "node"):
        return size
    number = size.node.hint
    return int(size) if number is None else int(number)
