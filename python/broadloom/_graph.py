"""Graphs that are built in Python, with operators."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _broadloom
from ._arrays import arranged
from ._errors import Error, not_copied
from ._initial import Initial, dtype_name
from ._places import Written, here, source
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

    Numbers are 32-bit floats where nothing else decides it; `Graph(dtype="f64")` has others.
    """

    def __init__(self, *, dtype: Any = None) -> None:
        self._graph = _broadloom.Graph()
        #: Where each named size was declared, and each tensor with values from outside.
        self._sizes: dict[str, tuple[str, int]] = {}
        self._leaves: dict[str, tuple[str, int]] = {}
        #: The names of the open scopes.
        self._scopes: list[str] = []
        dtype = dtype_name(dtype)
        if dtype is not None:
            self._graph.precision(None, dtype, here())

    def dim(self, name: str, least: int = 1, most: int | None = None, *, usual: int | None = None) -> None:
        """Declares a size with a name and a range. Arrays decide it, or it is as usual."""
        place = self._new(self._sizes, name, "a size", "declare it once, before the data that has it")
        self._graph.dim(name, least, most, usual, here())
        self._sizes[name] = place

    def data(self, name: str, shape: str, *, dtype: Any = None) -> Expr:
        """Data from outside, with its shape: `batch | input -> output`. Names that are not declared yet are sizes from 1 on.

        Args:
            name: The name by which a run is given an array.
            shape: The shape.
            dtype: The type of the numbers, if it is not that of the array: `"i64"`, `np.int64`, `torch.int64`.

        >>> import broadloom as bl
        >>> bl.Graph().data("x", "batch | 28, 28").shape
        'batch | 28, 28'
        """
        dtype = dtype_name(dtype)
        place = self._new(self._leaves, name, "a tensor", shape=shape)
        for size in dict.fromkeys(_NAME.findall(shape)):
            if size not in self._sizes:
                self.dim(size)
        return self._leaf(name, place, self._graph.data(name, shape, here()), dtype)

    def array(self, name: str, shape: str, values: Any) -> Expr:
        """Data with values of its own.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> g.session().run(2 * g.array("x", "3", [0.5, 1, 1.5]))
        array([1., 2., 3.])
        """
        place = self._new(self._leaves, name, "a tensor", shape=shape)
        return self._leaf(name, place, self._graph.array(name, shape, arranged(name, values).array, here()))

    def param(self, name: str, shape: str | None = None, *, initial: Any = None, dtype: Any = None) -> Expr:
        """A parameter. Its shape follows from its uses, as far as it is not stated.

        Args:
            name: The name, by which a session has its values.
            shape: The shape, or a part of it: `... -> 10`.
            initial: The first values: a number, an array, or a distribution such as `bl.Initial.normal(0, 0.02)`.
            dtype: The type of the numbers.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> y = g.param("w", "... -> 10", initial=0) @ g.data("x", "batch | 3")
        >>> g.shapes["w"], float(g.session()["w"].max())
        ('3 -> 10', 0.0)
        """
        name, dtype = self._scoped(name), dtype_name(dtype)
        place = self._new(self._leaves, name, "a tensor", shape="" if shape is None else shape)
        return self._leaf(name, place, self._graph.param(name, shape, here()), dtype, initial)

    def state(self, name: str, shape: str | None = None, *, initial: Any = None, dtype: Any = None) -> Expr:
        """A tensor that lasts from run to run and is not trained. It begins at 0, and `assign` changes it.

        Args:
            name: The name, by which a session has its values.
            shape: The shape; without one it is that of what is assigned.
            initial: The first values, as for `param`.
            dtype: The type of the numbers.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> seen = g.state("seen", "", dtype="i64")
        >>> count = g.assign(seen, seen + 1)
        >>> s = g.session()
        >>> [s.run(count).item() for _ in range(3)]
        [1, 2, 3]
        """
        name, dtype = self._scoped(name), dtype_name(dtype)
        place = self._new(self._leaves, name, "a tensor", shape="" if shape is None else shape)
        return self._leaf(name, place, self._graph.state(name, shape, here()), dtype, initial)

    def number(self, value: float) -> Expr:
        """A number: a tensor without axes."""
        return Expr(self, self._graph.number(float(value), here()))

    def constant(self, value: float) -> Expr:
        """A tensor that is filled with a number, in the shape that its context asks for.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> g.session().run(g.data("x", "2") + g.constant(1), x=[1, 2])
        array([2., 3.], dtype=float32)
        """
        return Expr(self, self._graph.constant(float(value), here()))

    def range(self, name: str, shape: str) -> Expr:
        """The numbers 0, 1, 2, … in a shape, in the order of memory.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> g.session().run(2 * g.range("position", "4"))
        array([0., 2., 4., 6.], dtype=float32)
        """
        place = self._new(self._leaves, name, "a tensor", shape=shape)
        return self._leaf(name, place, self._graph.range(name, shape, here()))

    def uniform(self, name: str) -> Expr:
        """Random numbers from 0 to 1 in the shape that the context asks for, new ones in each run. The name and the seed decide them.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> noisy = g.data("x", "3") + g.uniform("noise")
        >>> s = g.session(seed=1)
        >>> bool((s.run(noisy, x=[0, 0, 0]) != s.run(noisy, x=[0, 0, 0])).all())
        True
        """
        return self._random(name, normal=False)

    def normal(self, name: str) -> Expr:
        """Random numbers around 0 with the standard deviation 1, otherwise like `uniform`."""
        return self._random(name, normal=True)

    def _random(self, name: str, *, normal: bool) -> Expr:
        name = self._scoped(name)
        place = self._new(self._leaves, name, "a tensor")
        return self._leaf(name, place, self._graph.random(name, normal, here()))

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Puts a name before those of the parameters, states and random numbers that are made inside.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> with g.scope("encoder"):
        ...     w = g.param("w", "3")
        >>> list(g.shapes)
        ['encoder.w']
        """
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

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

    def split(self, spec: str, *operands: Operand, **sizes: int) -> list[Expr]:
        """An operation by a spec with several results; `broadloom.split` is the same.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> most, last = g.split("a^b => a; b", g.data("x", "5"), b=1)
        >>> most.shape, last.shape
        ('4', '1')
        """
        made = self._graph.split(spec, self._all(operands), list(sizes.items()), here())
        return [Expr(self, number) for number in made]

    def gradients(self, loss: Expr, *of: Expr) -> Routine:
        """Plans the gradients of a number with respect to some tensors. A session runs the plan, and gives a tuple of arrays.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> x = g.data("x", "3")
        >>> slope = g.gradients(bl.square(x).sum(), x)
        >>> g.session().run(slope, x=[1, 2, 3])
        (array([2., 4., 6.], dtype=float32),)
        """
        return Routine(self, self._graph.gradients(self._own(loss), self._all(of), here()), "gradients")

    def assign(self, target: Expr, value: Operand) -> Routine:
        """Plans that a state, or a parameter, gets a new value. A session runs the plan, and gives the new value.

        Within a step of training, `minimise` takes such assignments, too.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> x, mean = g.data("x", "batch | 2"), g.state("mean", "2")
        >>> follow = g.assign(mean, 0.5 * mean + 0.5 * bl.mean("b | i => i", x))
        >>> s = g.session()
        >>> s.run(follow, x=[[0, 2], [4, 6]])
        array([1., 2.], dtype=float32)
        >>> s["mean"]
        array([1., 2.], dtype=float32)
        """
        return Routine(self, self._graph.assign(self._pairs([(target, value)]), here()), "assignment")

    def minimise(
        self,
        loss: Expr,
        by: Sgd | Adam,
        *,
        of: Sequence[Expr] | None = None,
        assign: Sequence[tuple[Expr, Operand]] = (),
    ) -> Routine:
        """Plans a step of training: parameters change so that a number becomes smaller. A session runs the step, and gives the number before.

        Args:
            loss: A tensor of one number.
            by: An optimiser.
            of: The parameters that change; by default all of them.
            assign: States that get a new value in each step, each with the value, such as running statistics.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> a, steps = g.param("a", "", initial=3), g.state("steps", "")
        >>> step = g.minimise(bl.square(a), bl.Sgd(0.25), assign=[(steps, steps + 1)])
        >>> s = g.session()
        >>> [s.run(step) for _ in range(3)]
        [9.0, 2.25, 0.5625]
        >>> s["steps"].item()
        3.0
        """
        place = here()
        if not hasattr(by, "_settings"):
            raise TypeError(f"an optimiser is `bl.Sgd(0.1)` or `bl.Adam(0.001)`, not {type(by).__name__}")
        numbers = [number for _, number in self._graph.parameters()] if of is None else self._all(of)
        rate = self._own(by.rate)
        minimise = self._graph.minimise_by_sgd if by._kind == "sgd" else self._graph.minimise_by_adam
        number = minimise(self._own(loss), numbers, rate, by._settings(), self._pairs(assign), place)
        return Routine(self, number, "step of training")

    def session(self, *, seed: int = 0, backend: str = "auto", threads: int | None = None) -> Session:
        """The numbers of the graph: a session runs it. The arguments are those of `program`."""
        from ._session import Session

        return Session(self, seed=seed, backend=backend, threads=threads)

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shapes of data, parameters and states, by name."""
        leaves = self._graph.leaves() + self._graph.parameters()
        leaves += [(name, number) for name, number in self._graph.states() if name in self._leaves]
        return {name: Expr(self, number).shape for name, number in leaves}

    def _leaf(
        self, name: str, place: tuple[str, int], number: int, dtype: str | None = None, initial: Any = None
    ) -> Expr:
        """A new leaf, with the type and the first values that were stated."""
        made, written = Expr(self, number), here()
        if dtype is not None:
            self._graph.precision(number, dtype, written)
        if initial is not None:
            self._begin(name, number, initial, written)
        self._leaves[name] = place
        return made

    def _begin(self, name: str, number: int, initial: Any, written: Written) -> None:
        """Sets the first values of a parameter or a state."""
        if isinstance(initial, Initial):
            self._graph.initial(number, initial._how, initial._numbers, written)
        elif isinstance(initial, str):
            raise TypeError(f"the first values of `{name}` are a number, an array, or such as `bl.Initial.normal(0, 0.02)`, not {initial!r}")
        elif isinstance(initial, (bool, int, float)):
            self._graph.initial(number, "constant", (float(initial), 0.0), written)
        else:
            self._graph.initial_values(number, arranged(name, initial).array, written)

    def _scoped(self, name: str) -> str:
        return ".".join([*self._scopes, name]) if isinstance(name, str) else name

    def _pairs(self, assigned: Sequence[tuple[Expr, Operand]]) -> list[tuple[int, int]]:
        """Targets of assignments, each with its value."""
        for target, _ in assigned:
            if not isinstance(target, Expr):
                raise TypeError(f"a value is assigned to a state, `graph.state(name)`, not to {type(target).__name__}")
        return [(self._own(target), self._own(value)) for target, value in assigned]

    def _new(
        self, known: dict[str, tuple[str, int]], name: str, what: str, help: str = "", *, shape: str = ""
    ) -> tuple[str, int]:
        """The place of a new name. Refuses one that there is already, because arrays are given by name."""
        file, line, _ = here()
        if not isinstance(name, str):
            raise TypeError(f"the name of {what} is a text, not {type(name).__name__}: `\"x\"`")
        if not isinstance(shape, str):
            raise _no_shape(f"the shape of `{name}`", shape)
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


def _no_shape(what: str, given: Any) -> TypeError:
    """The exception for a shape that is no text."""
    axes = ", ".join(map(str, given)) if isinstance(given, (tuple, list)) else "batch | 784"
    return TypeError(f"{what} is a text, not {type(given).__name__}: `\"{axes}\"`")


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
    ) -> Expr | list[Expr]:
        """Carries out `broadloom.einsum`, `broadloom.max` and the like in the graph of the operands."""
        first = next(operand for operand in operands if isinstance(operand, Expr))
        graph = first._of
        if spec == "..r.. =>":  # everything: an expression has three rows
            spec = _EVERYTHING
            if function == "mean":
                return first.mean()
        if function == "mean":
            number = graph._graph.mean(spec, graph._all(operands), None, list(sizes.items()), here())
            return Expr(graph, number)
        if function == "split":
            return graph.split(spec, *operands, **sizes)
        if function in ("rearrange", "repeat"):
            _broadloom.check_spec(spec, function)
        elif function not in ("einsum", "sum", "max", "min", "prod"):
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
        """The mean over labels and rows of a spec, those that the result leaves out or those that are named: their sum, divided by
        their sizes. Without a spec, the mean of everything.

        >>> import broadloom as bl
        >>> x = bl.Graph().data("x", "8 | 3")
        >>> x.mean("... | o => ... | 0").shape, x.mean().shape
        ('8 | _', '()')
        """
        if spec is None:
            spec, over = _EVERYTHING, ("b", "i", "o")
        return Expr(self._of, self._of._graph.mean(spec, [self._number], list(over) or None, [], here()))

    def reshape(self, shape: str | None = None) -> Expr:
        """The same elements in another shape: as stated, or as the context asks for."""
        if shape is not None and not isinstance(shape, str):
            raise _no_shape("the shape to reshape to", shape)
        return Expr(self._of, self._of._graph.reshape(self._number, shape, here()))

    def gather(self, rows: Expr) -> Expr:
        """The rows of this table that integers count."""
        return self._of._apply("gather", self, rows)

    def take(self, ids: Expr, along: str = "batch") -> Expr:
        """The elements at whole numbers along an axis: `ids` has only batch axes, which come in the place of that axis.

        Args:
            ids: Whole numbers from 0 on, in batch axes.
            along: The axis: the first of a kind, `"batch"`, `"input"` or `"output"`, or the one that a shape names, such as
                `"... | ..., t"`.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> x, ids = g.data("x", "2 | 3"), g.data("ids", "2 |")
        >>> g.session().run(x.take(ids, "output"), x=[[1, 2, 3], [4, 5, 6]], ids=[2, 0])
        array([[3., 1.],
               [6., 4.]], dtype=float32)
        """
        return self._along("take", along, self, ids)

    def take_along(self, ids: Expr, along: str = "batch") -> Expr:
        """The elements at whole numbers along an axis, others in each row: `ids` has all other axes of this tensor, too."""
        return self._along("take_along", along, self, ids)

    def argsort(self, along: str = "output", *, descending: bool = False) -> Expr:
        """The positions of the elements along an axis, in the order of the elements; `x.take_along(x.argsort(a), a)` is sorted.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> x = g.data("x", "3")
        >>> order = x.argsort()
        >>> [each.tolist() for each in g.session().run(order, x.take_along(order, "output"), x=[3, 1, 2])]
        [[1, 2, 0], [1.0, 2.0, 3.0]]
        """
        return self._along("argsort_descending" if descending else "argsort", along, self)

    def scatter(self, ids: Expr, size: int, *, reduce: str = "sum") -> Expr:
        """Puts the elements at whole numbers along a new first batch axis of a size. Those with equal numbers are combined.

        Args:
            ids: A whole number below `size` for each element of the batch axes.
            size: The size of the new axis.
            reduce: How elements are combined: `"sum"`, `"prod"`, `"max"` or `"min"`.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> x, ids = g.data("x", "3 |"), g.data("ids", "3 |")
        >>> g.session().run(x.scatter(ids, 2), x=[1, 2, 4], ids=[0, 1, 0])
        array([5., 2.], dtype=float32)
        """
        graph = self._of
        return Expr(graph, graph._graph.scatter(self._number, graph._own(ids), size, reduce, here()))

    def _along(self, name: str, along: str, *operands: Operand) -> Expr:
        """An operation along an axis."""
        if not isinstance(along, str):
            raise TypeError(f"an axis is named by a text, not by {type(along).__name__}: `\"batch\"`, `\"output\"`, `\"... | ..., t\"`")
        graph = self._of
        return Expr(graph, graph._graph.along(name, graph._all(operands), along, here()))

    def __getitem__(self, at: int | Expr) -> Expr:
        """One element of the leading batch axis; or several, at the whole numbers of another expression."""
        if isinstance(at, Expr):
            return self.take(at)
        if not isinstance(at, int) or at < 0:
            raise TypeError("an expression is indexed by a position from 0, or by an expression, along its first batch axis")
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
    """A plan that a session carries out: gradients, an assignment, or a step of training."""

    def __init__(self, of: Graph, number: int, kind: str) -> None:
        self._of = of
        self._number = number
        self._kind = kind

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_copied("a routine", "it belongs to its graph: build the graph again")

    def __repr__(self) -> str:
        return f"<broadloom {self._kind}>"
