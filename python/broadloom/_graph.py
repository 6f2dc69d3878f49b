"""Graphs that are built in Python, with operators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _broadloom
from ._arrays import arranged
from ._errors import Error, not_copied
from ._places import here, source
from ._shapes import Shape

if TYPE_CHECKING:
    from ._optimisers import Adam, Sgd
    from ._session import Session

__all__ = ["Expr", "Graph", "Routine"]

Operand = Union["Expr", int, float]

#: The spec that reduces an expression to a number.
_EVERYTHING = "..b.. | ..i.. -> ..o.. => "
#: Names of sizes in a shape, and not those of rows such as `..b..`.
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?![\w.])")


class Graph:
    """A graph of tensors. Shapes are inferred as it grows, and a mistake is an `Error` at the line that makes it.

    >>> import broadloom as bl
    >>> import numpy as np
    >>> g = bl.Graph()
    >>> g.dim("batch", 1, 64)
    >>> x = g.data("x", "batch | 3")
    >>> y = bl.relu(g.param("w") @ x + g.param("b", "2"))
    >>> y.shape, g.shapes["w"]
    ('batch | 2', '3 -> 2')
    >>> g.session().run(y, x=np.ones((5, 3), "float32")).shape
    (5, 2)
    """

    def __init__(self) -> None:
        self._graph = _broadloom.Graph()
        #: Where each named size was declared, and each tensor with values from outside.
        self._sizes: dict[str, tuple[str, int]] = {}
        self._leaves: dict[str, tuple[str, int]] = {}

    def dim(self, name: str, least: int = 1, most: int | None = None, *, usual: int | None = None) -> None:
        """Declares a size with a name and a range. Arrays decide it, or it is as usual."""
        place = self._new(self._sizes, name, "a size", "declare it once, before the data that has it")
        self._graph.dim(name, least, most, usual, here())
        self._sizes[name] = place

    def data(self, name: str, shape: str) -> Expr:
        """Data from outside, with its shape: `batch | input -> output`. Names that are not declared yet are sizes from 1 on."""
        place = self._new(self._leaves, name, "a tensor", shape=shape)
        for size in dict.fromkeys(_NAME.findall(shape)):
            if size not in self._sizes:
                self.dim(size)
        made = Expr(self, self._graph.data(name, shape, here()))
        self._leaves[name] = place
        return made

    def array(self, name: str, shape: str, values: Any) -> Expr:
        """Data with values of its own."""
        place = self._new(self._leaves, name, "a tensor", shape=shape)
        made = Expr(self, self._graph.array(name, shape, arranged(name, values).array, here()))
        self._leaves[name] = place
        return made

    def param(self, name: str, shape: str | None = None) -> Expr:
        """A parameter. Its shape follows from its uses, as far as it is not stated."""
        place = self._new(self._leaves, name, "a tensor", shape="" if shape is None else shape)
        made = Expr(self, self._graph.param(name, shape, here()))
        self._leaves[name] = place
        return made

    def state(self, name: str, shape: str) -> Expr:
        """A tensor that lasts from run to run and is not trained."""
        place = self._new(self._leaves, name, "a tensor", shape=shape)
        made = Expr(self, self._graph.state(name, shape, here()))
        self._leaves[name] = place
        return made

    def number(self, value: float) -> Expr:
        """A number: a tensor without axes."""
        return Expr(self, self._graph.number(float(value), here()))

    def einsum(
        self,
        spec: str,
        *operands: Operand,
        reduce: str = "sum",
        combine: str = "*",
        padding: str | None = None,
        **sizes: int,
    ) -> Expr:
        """An operation by a spec, such as `"... | j; j -> k => ... | k"`; `broadloom.einsum` is the same.

        Args:
            spec: How the axes of the operands and of the result relate.
            reduce: How values that meet are combined: `"sum"`, `"prod"`, `"max"` or `"min"`.
            combine: How operands are combined: `"*"` or `"+"`.
            padding: What windows such as `o+k` do at the ends of an axis: `"same"`, `"valid"` or `"drop"`.
            sizes: The sizes of labels that nothing else determines.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> a, b = g.data("a", "2, 3"), g.data("b", "3, 4")
        >>> g.einsum("i j; j k => i k", a, b).shape
        '2, 4'
        >>> bl.max("i, 2*o<+k => i, o", g.data("c", "3, 8"), k=2).shape
        '3, 4'
        """
        given = [(name, size) for name, size in sizes.items()]
        return Expr(self, self._graph.einsum(spec, self._all(operands), reduce, combine, padding, given, here()))

    def split(self, spec: str, *operands: Operand) -> list[Expr]:
        """An operation by a spec with several results: `"a^b => a; b"`."""
        return [Expr(self, number) for number in self._graph.split(spec, self._all(operands), here())]

    def gradients(self, loss: Expr, *of: Expr) -> Routine:
        """What computes the gradients of a number with respect to some tensors, when it is run."""
        return Routine(self, self._graph.gradients(self._own(loss), self._all(of), here()))

    def minimise(self, loss: Expr, by: Sgd | Adam, *, of: Sequence[Expr] | None = None) -> Routine:
        """What makes a number smaller when it is run, once for each run, and gives the number before.

        Args:
            loss: A tensor of one number.
            by: An optimiser.
            of: The parameters that change; by default all of them.
        """
        place = here()
        if not hasattr(by, "_settings"):
            raise TypeError(f"an optimiser is `bl.Sgd(0.1)` or `bl.Adam(0.001)`, not {type(by).__name__}")
        numbers = [number for _, number in self._graph.parameters()] if of is None else self._all(of)
        rate = self._own(by.rate)
        minimise = self._graph.minimise_by_sgd if by._kind == "sgd" else self._graph.minimise_by_adam
        return Routine(self, minimise(self._own(loss), numbers, rate, by._settings(), place), is_number=True)

    def session(self, *, seed: int = 0, backend: str = "auto", threads: int | None = None) -> Session:
        """The numbers of the graph: a session runs it. The arguments are those of `program`."""
        from ._session import Session

        return Session(self, seed=seed, backend=backend, threads=threads)

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shapes of data and parameters, by name."""
        leaves = self._graph.leaves() + self._graph.parameters()
        return {name: Expr(self, number).shape for name, number in leaves}

    def _new(
        self, known: dict[str, tuple[str, int]], name: str, what: str, help: str = "", *, shape: str = ""
    ) -> tuple[str, int]:
        """The place of a new name. Refuses one that there is already, because arrays are given by name."""
        file, line, _ = here()
        if not isinstance(name, str):
            raise TypeError(f"the name of {what} is a text, not {type(name).__name__}: `\"x\"`")
        if not isinstance(shape, str):
            axes = ", ".join(map(str, shape)) if isinstance(shape, (tuple, list)) else "batch | 784"
            raise TypeError(f"the shape of `{name}` is a text, not {type(shape).__name__}: `\"{axes}\"`")
        if name in known:
            where, before = known[name]
            raise Error._plain(
                f"line {line} of {source(file)[0]} makes {what} called `{name}`, and so does line {before} of {source(where)[0]}",
                help or "give it another name; an expression can be used as often as you like",
            )
        return file, line

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_copied("a graph", "build it again, by a function that returns it; `session.save(path)` and `load(path)` transfer what was learned")

    def __repr__(self) -> str:
        rows = "".join(f"\n  {name} : {shape}" for name, shape in self.shapes.items())
        return f"<broadloom graph of {len(self.shapes)} tensors from outside>{rows}"

    def _own(self, operand: Operand) -> int:
        """The number of a tensor of this graph."""
        if isinstance(operand, Expr):
            if operand._of is not self:
                raise Error._plain("an expression of another graph is used here", "an expression belongs to one graph")
            return operand._number
        if isinstance(operand, (int, float)):
            return self._graph.number(float(operand), here())
        raise TypeError(
            f"{type(operand).__name__} is not part of a graph: use an expression or a number, or make data of an array: "
            "`graph.array(name, shape, values)`"
        )

    def _all(self, operands: Sequence[Operand]) -> list[int]:
        return [self._own(operand) for operand in operands]

    def _apply(self, name: str, *operands: Operand) -> Expr:
        return Expr(self, self._graph.apply(name, self._all(operands), here()))


class Expr:
    """A tensor of a graph, to be used with operators: `@` composes linear maps, everything else is pointwise and broadcasts."""

    __slots__ = ("_number", "_of")
    # NumPy leaves operators with arrays to this class, which says what to do instead.
    __array_ufunc__ = None

    def __init__(self, of: Graph, number: int) -> None:
        self._of = of
        self._number = number

    @property
    def shape(self) -> Shape:
        """The shape, in which nothing is open any more."""
        text, rows = self._of._graph.shape(self._number, here())
        return Shape._plain(text, rows)

    @property
    def T(self) -> Expr:  # noqa: N802
        """The same with input and output swapped."""
        return self._of._apply("T", self)

    def named(self, name: str) -> Expr:
        """The same, with a name for messages."""
        self._of._graph.name(self._number, name, here())
        return self

    @staticmethod
    def __broadloom_spec__(
        function: str,
        spec: str,
        operands: tuple[Operand, ...],
        *,
        reduce: str,
        combine: str,
        padding: str | None,
        sizes: dict[str, int],
    ) -> Expr:
        """Carries out `broadloom.einsum`, `broadloom.max` and the like in the graph of the operands."""
        first = next(operand for operand in operands if isinstance(operand, Expr))
        graph = first._of
        if spec == "..r.. =>":  # everything: an expression has three rows
            spec = _EVERYTHING
            if function == "mean":
                return first.mean()
        if function not in ("einsum", "sum", "max", "min", "prod"):
            raise TypeError(f"`broadloom.{function}` is for arrays; an expression of a graph has `einsum`, `mean`, `reshape`")
        return graph.einsum(spec, *operands, reduce=reduce, combine=combine, padding=padding, **sizes)

    def sum(self, spec: str = _EVERYTHING) -> Expr:
        """Sums by a spec: `"... | v => ... | 0"`; without one, everything."""
        return self._of.einsum(spec, self)

    def max(self, spec: str = _EVERYTHING) -> Expr:
        """The maximum by a spec; without one, of everything."""
        return self._of.einsum(spec, self, reduce="max")

    def min(self, spec: str = _EVERYTHING) -> Expr:
        """The minimum by a spec; without one, of everything."""
        return self._of.einsum(spec, self, reduce="min")

    def product(self, spec: str) -> Expr:
        """The product by a spec."""
        return self._of.einsum(spec, self, reduce="prod")

    def mean(self, spec: str | None = None, *over: str) -> Expr:
        """The mean over labels and rows of a spec: its sum, divided by their sizes. Without a spec, the mean of everything.

        >>> import broadloom as bl
        >>> bl.Graph().data("x", "8 | 3").mean("..b.. | o => ", "b", "o").shape
        '()'
        """
        if spec is None:
            spec, over = _EVERYTHING, ("b", "i", "o")
        return Expr(self._of, self._of._graph.mean(spec, [self._number], list(over), here()))

    def reshape(self, shape: str | None = None) -> Expr:
        """The same elements in another shape: as stated, or as the context asks for."""
        return Expr(self._of, self._of._graph.reshape(self._number, shape, here()))

    def gather(self, rows: Expr) -> Expr:
        """The rows of this table that integers count."""
        return self._of._apply("gather", self, rows)

    def __getitem__(self, at: int) -> Expr:
        """One element of the leading batch axis."""
        if not isinstance(at, int) or at < 0:
            raise TypeError("an expression is indexed by one position from 0, along its first batch axis")
        return Expr(self._of, self._of._graph.slice(self._number, at, here()))

    def __iter__(self) -> Any:
        raise TypeError("an expression cannot be iterated over: its values are known when a session runs it")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self._no_numbers("an array")

    def __float__(self) -> float:
        raise self._no_numbers("a number")

    def __int__(self) -> int:
        raise self._no_numbers("a number")

    def __len__(self) -> int:
        raise TypeError("an expression has no length: `shape` has its axes")

    def _no_numbers(self, what: str) -> TypeError:
        return TypeError(f"an expression is not {what}: it has values when a session runs it, `graph.session().run(y, x=array)`")

    def __bool__(self) -> bool:
        raise TypeError("an expression is neither true nor false: use `broadloom.where`")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_copied("an expression", "it belongs to its graph, and can be used as often as you like: build the graph again")

    def __repr__(self) -> str:
        return f"<broadloom expression {self._of._graph.label(self._number)}>"

    def __matmul__(self, other: Expr) -> Expr:
        return self._of._apply("@", self, other)

    def __add__(self, other: Operand) -> Expr:
        return self._of._apply("+", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return self._of._apply("+", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return self._of._apply("-", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return self._of._apply("-", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return self._of._apply("*", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return self._of._apply("*", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return self._of._apply("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return self._of._apply("/", other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return self._of._apply("floor_div", self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return self._of._apply("floor_div", other, self)

    def __pow__(self, other: Operand) -> Expr:
        return self._of._apply("**", self, other)

    def __rpow__(self, other: Operand) -> Expr:
        return self._of._apply("**", other, self)

    def __mod__(self, other: Operand) -> Expr:
        return self._of._apply("mod", self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return self._of._apply("mod", other, self)

    def __neg__(self) -> Expr:
        return self._of._apply("neg", self)

    def __abs__(self) -> Expr:
        return self._of._apply("abs", self)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self._of._apply("==", self, other) if isinstance(other, (Expr, int, float)) else NotImplemented

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self._of._apply("!=", self, other) if isinstance(other, (Expr, int, float)) else NotImplemented

    __hash__ = object.__hash__

    def __lt__(self, other: Operand) -> Expr:
        return self._of._apply("<", self, other)

    def __le__(self, other: Operand) -> Expr:
        return self._of._apply("<=", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return self._of._apply(">", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return self._of._apply(">=", self, other)


class Routine:
    """Something that a session can run: gradients, or a step of training."""

    def __init__(self, of: Graph, number: int, *, is_number: bool = False) -> None:
        self._of = of
        self._number = number
        self._is_number = is_number

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_copied("a routine", "it belongs to its graph: build the graph again")

    def __repr__(self) -> str:
        return "<broadloom step of training>" if self._is_number else "<broadloom gradients>"
