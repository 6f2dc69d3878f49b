"""The graph of Broadloom that is built beside the operations of a traced module: shapes come from it.

Every axis is an output axis, in the order of PyTorch. The graph is never run: what an operation computes is left out, and how
its axes relate is kept. The steps are written down, so that a step that turns out to be wrong later can be taken back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _broadloom
from ._dims import Dim
from ._errors import Error
from ._places import Written

__all__ = ["Size", "Tensor", "TracedGraph", "Unknown", "is_one", "text_of"]

#: A size: a number, or an expression of SymPy over the names.
Size = Any


class Unknown(Exception):  # noqa: N818
    """An operation, or the way in which it is used, that the rules do not cover."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of the graph, with its sizes as they were inferred when it was made."""

    number: int
    sizes: tuple[Size, ...]
    label: str
    place: Written

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.sizes)


class TracedGraph:
    """Builds the graph. ``place`` is the line of Python that the next steps are written at, ``label`` their name."""

    def __init__(self, names: dict[str, Dim]) -> None:
        import sympy

        self._sympy = sympy
        self.names = names
        self.symbols = {name: sympy.Symbol(name, integer=True, positive=True) for name in names}
        # Expressions that a declared shape cannot have, each with a name of its own.
        self.aliases: dict[str, Size] = {}
        self.place: Written = ("<unknown>", 1, None)
        self.label = ""
        self._steps: list[tuple[str, tuple[Any, ...]]] = []
        self._graph = _broadloom.Graph()
        self._leaves = 0
        for name, dim in names.items():
            self._do("dim", name, dim.least if dim.least is not None else 1, dim.greatest, dim.sample, self.place)

    def _do(self, method: str, *arguments: Any) -> Any:
        made = getattr(self._graph, method)(*arguments)
        self._steps.append((method, arguments))
        return made

    def attempt(self, make: Callable[[], Any]) -> Any:
        """The tensor that is made, or the exception, after which the graph is as it was before."""
        before = len(self._steps), self._leaves, dict(self.aliases)
        try:
            return make()
        except Exception:
            kept, self._leaves, self.aliases = self._steps[: before[0]], before[1], before[2]
            self._graph, self._steps = _broadloom.Graph(), []
            for method, arguments in kept:
                self._do(method, *arguments)
            raise

    # Tensors.

    def sizes(self, number: int) -> tuple[Size, ...]:
        """The sizes of a tensor as they are known by now."""
        return tuple(map(self._size, self._graph.sizes(number, self.place)))

    def _size(self, size: Any) -> Size:
        """A number, or an expression: products of names with their factors, added, and divided by a number."""
        if isinstance(size, int):
            return size
        terms, denominator = size
        total = sum(factor * math.prod(map(self._named, names)) for factor, names in terms)
        made = self._sympy.sympify(total) / denominator
        return int(made) if made.is_Integer else made

    def _named(self, name: str) -> Size:
        """The expression that a name stands for, which may be one that a declared shape cannot have."""
        return self.aliases[name] if name in self.aliases else self.symbols[name]

    def leaf(self, sizes: Sequence[Size], label: str | None = None) -> Tensor:
        """A tensor with given sizes."""
        self._leaves += 1
        multiples = [self._multiple(size) for size in sizes]
        shape = ", ".join(self._written(name) for _, name in multiples)
        number = self._do("data", f"data{self._leaves}", shape, self.place)
        if any(factor > 1 for factor, _ in multiples):
            # The solver knows `4*h` as what it is if an operation makes it of `h`: each element stands for four of them.
            left = [f"a{axis}" for axis in range(len(sizes))]
            right = [f"{factor}*a{axis}<+f{axis}" if factor > 1 else f"a{axis}" for axis, (factor, _) in enumerate(multiples)]
            given = [(f"f{axis}", factor) for axis, (factor, _) in enumerate(multiples) if factor > 1]
            spec = f"{', '.join(left)} => {', '.join(right)}"
            number = self._do("einsum", spec, [number], "sum", "*", None, given, self.place)
        return self._finished(number, label if label is not None else self.label)

    def _multiple(self, size: Size) -> tuple[int, Size]:
        """A size as a number of times a name; other sizes are one times themselves."""
        if not isinstance(size, int):
            factor, rest = size.as_coeff_Mul()
            if factor.is_Integer and factor > 1 and rest.is_Symbol and rest.name in self.names:
                return int(factor), rest
        return 1, size

    def _written(self, size: Size) -> str:
        """A size in a declared shape: an expression gets a name of its own."""
        if isinstance(size, int):
            return str(size)
        if getattr(size, "is_Symbol", False) and size.name in self.names:
            return str(size.name)
        for name, known in self.aliases.items():
            if known == size:
                return name
        name = f"size{len(self.aliases) + 1}"
        self._do("dim", name, 1, None, self.sample(size), self.place)
        self.aliases[name] = size
        return name

    def sample(self, size: Size) -> int:
        """The number that a size is in the trace; at least one, as every size is here."""
        if isinstance(size, int):
            return size
        values = {symbol: self.names[name].sample for name, symbol in self.symbols.items()}
        number = size.subs(values)
        return max(int(number), 1) if number.is_number else 1

    def least(self, size: Size) -> int:
        """The least number that a size can be, as far as it is known."""
        if isinstance(size, int):
            return size
        dim = self.names.get(getattr(size, "name", ""))
        return dim.least if dim is not None and dim.least is not None else 1

    def _finished(self, number: int, label: str | None = None) -> Tensor:
        """A made tensor: with its name, and explicit ones where an axis makes no claim, as PyTorch has it."""
        _, rows = self._graph.shape(number, self.place)
        axes = rows["output"]
        if "_" in axes:
            left = ", ".join("0" if axis == "_" else f"a{n}" for n, axis in enumerate(axes))
            right = ", ".join(f"a{n}" for n in range(len(axes)))
            ones = [(f"a{n}", 1) for n, axis in enumerate(axes) if axis == "_"]
            number = self._do("einsum", f"{left} => {right}", [number], "sum", "*", None, ones, self.place)
        named = self.label if label is None else label
        self._do("name", number, named, self.place)
        return Tensor(number, self.sizes(number), named, self.place)

    def einsum(self, spec: str, *tensors: Tensor, reduce: str = "sum", **sizes: int) -> Tensor:
        """An operation by a spec."""
        given = list(sizes.items())
        number = self._do("einsum", spec, [each.number for each in tensors], reduce, "*", None, given, self.place)
        return self._finished(number)

    def pointwise(self, *tensors: Tensor) -> Tensor:
        """A pointwise operation in which axes of one element broadcast."""
        made = self._open(tensors[0])
        for other in tensors[1:]:
            made = self._do("apply", "+", [made, self._open(other)], self.place)
        return self._finished(made)

    def _open(self, tensor: Tensor) -> int:
        """The tensor with axes that broadcast in place of ones."""
        if not any(is_one(size) for size in tensor.sizes):
            return tensor.number
        axes = ", ".join("0" if is_one(size) else f"a{n}" for n, size in enumerate(tensor.sizes))
        made: int = self._do("einsum", f"{axes} => {axes}", [tensor.number], "sum", "*", None, [], self.place)
        self._do("name", made, self._graph.label(tensor.number), self.place)
        return made

    def reshape(self, tensor: Tensor, sizes: Sequence[Size]) -> Tensor:
        """Another shape. One size may be -1 or an expression: it follows from the number of elements."""
        wanted = [size if _is_simple(size) else None for size in sizes]
        if wanted.count(None) > 1:
            raise Unknown("a shape with two sizes that are expressions")
        self._count(tensor, sizes)
        found = self._scratch(tensor, wanted)
        for asked, size in zip(sizes, found):
            if not isinstance(asked, int) and asked != size and (asked - size).simplify() != 0:
                raise Unknown(f"a size that is {text_of([asked])} where the number of elements says {text_of([size])}")
        # What follows from the number of elements is stated, so that later messages are about it and not about the count.
        wanted = [size if _is_simple(size) else None for size in found]
        return self._finished(self._do("reshape", tensor.number, self._declared(wanted), self.place))

    def _declared(self, sizes: Sequence[Size | None]) -> str:
        return ", ".join(f"open{axis}" if size is None else self._written(size) for axis, size in enumerate(sizes))

    def _scratch(self, tensor: Tensor, sizes: Sequence[Size | None]) -> tuple[Size, ...]:
        """The sizes of a reshape, inferred in a graph of its own."""
        graph = TracedGraph(self.names)
        graph.place, graph.label = tensor.place, tensor.label
        given = graph.leaf(tensor.sizes, tensor.label)
        graph.place, graph.label = self.place, self.label
        number = graph._do("reshape", given.number, graph._declared(sizes), graph.place)
        return graph.sizes(number)

    def _count(self, tensor: Tensor, sizes: Sequence[Size]) -> None:
        """Refuses a shape of numbers and names that has another number of elements."""
        rest = [size for size in sizes if not isinstance(size, int) or size != -1]
        have, asked = math.prod(tensor.sizes), math.prod(rest)
        ratio = self._sympy.cancel(self._sympy.sympify(have) / asked) if asked != 0 else 0
        fits = ratio == 1 if len(rest) == len(sizes) else self._sympy.fraction(ratio)[1] == 1
        if not fits:
            shape = text_of([-1 if isinstance(size, int) and size == -1 else size for size in sizes])
            raise _other_count(tensor, have, shape, asked, self.place)


def _is_simple(size: Size) -> bool:
    """True of a number and of a name."""
    return size >= 0 if isinstance(size, int) else bool(getattr(size, "is_Symbol", False))


def _other_count(tensor: Tensor, have: Size, shape: str, asked: Size, place: Written) -> Error:
    summary = (
        f"`{tensor.label}` has {have} elements, and ({shape}) is for a multiple of {asked}"
        if "-1" in shape.split(", ")
        else (f"`{tensor.label}` has {have} elements, and ({shape}) has {asked}")
    )
    found = _broadloom.mistake(
        "E0302",
        summary,
        [(place, f"asks for ({shape})"), (tensor.place, f"`{tensor.label}` is ({text_of(tensor.sizes)})")],
        [],
        ["change a size so that both have the same number of elements"],
    )
    # Like the mistakes of operations: a report has several of them, and counts none.
    return Error(found.messages[0].shown, found.messages)


def is_one(size: Size) -> bool:
    """True of the number one, which broadcasts in PyTorch."""
    return isinstance(size, int) and size == 1


def text_of(sizes: Sequence[Size]) -> str:
    """Sizes as they are printed.

    >>> text_of([3, 4]), text_of([])
    ('3, 4', '()')
    """
    return ", ".join(map(_text, sizes)) or "()"


def _text(size: Size) -> str:
    """One size; the expressions of PyTorch have more parentheses than they need."""
    text = str(size)
    while (less := re.sub(r"\(\((\([^()]*\)//\d+|[^()]*)\)\)", r"(\1)", text)) != text:
        text = less
    return re.sub(r"(?<!\w)\((\([^()]*\)//\d+|\w+//\d+)\)(?= [+-]|$)", r"\1", text)
