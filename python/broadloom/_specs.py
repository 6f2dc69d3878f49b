"""Specs on arrays: ``bl.einsum``, ``bl.sum``, ``bl.rearrange`` and the rest, on NumPy, PyTorch and JAX arrays.

A spec says how the axes of arrays relate to those of the result, in the notation of docs/notation.md. The
result is the same kind of array as the operands. PyTorch and JAX arrays go through operations of their own library,
so gradients, devices and ``jax.jit`` work as usual.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ._broadloom import plan_spec
from ._libraries import Steps, library_of
from ._shape_errors import ShapeError
from ._symbolic import has_symbols, hint, symbolic

__all__ = ["einsum", "rearrange", "reduce", "repeat", "split"]

Array = TypeVar("Array")
Size = int | tuple[int, ...]
_Run = Callable[..., Any]

# A plan is made for exact shapes; this many are kept, and all of them forgotten when there are more.
_KEPT = 4096
_plans: dict[Any, list[_Run]] = {}


def einsum(
    spec: str,
    /,
    *operands: Array,
    combine: str = "*",
    reduce: str = "sum",
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Combine arrays by a spec, and reduce over what the result leaves out.

    A label is one axis wherever it stands; sizes are never broadcast. Sizes that the arrays leave open are
    given by name. With ``combine="+"`` operands are added, and ``reduce`` is ``"sum"``, ``"max"``, ``"min"``,
    ``"prod"``, ``"any"`` or ``"all"``.

    >>> import broadloom as bl, numpy as np
    >>> a, b = np.ones((2, 3)), np.ones((3, 4))
    >>> bl.einsum("i j; j k => i k", a, b).shape
    (2, 4)

    Labels are letters, or words if there is a comma somewhere:

    >>> bl.einsum("row, column => column, row", a).shape
    (3, 2)

    In memory, input axes come last: ``d -> h`` is an array ``(h, d)``, like ``nn.Linear.weight``.

    >>> weight, x = np.ones((5, 3)), np.ones((2, 3))
    >>> bl.einsum("d -> h; b | d => b | h", weight, x).shape
    (2, 5)

    Windows, concatenation and shortest ways:

    >>> bl.einsum("o<+k; k => o", np.arange(5.0), np.array([1.0, 1.0]))
    array([1., 3., 5., 7.])
    >>> bl.einsum("a; b => a^b", np.array([1, 2]), np.array([3]))
    array([1, 2, 3])
    >>> d = np.array([[0, 2, 9], [2, 0, 3], [9, 3, 0]])
    >>> bl.einsum("i j; j k => i k", d, d, combine="+", reduce="min")
    array([[0, 2, 5],
           [2, 0, 3],
           [5, 3, 0]])
    """
    made: Array = call("einsum", spec, operands, reduce, combine, padding, named_sizes(sizes, named))[0]
    return made


def split(
    spec: str,
    /,
    *operands: Array,
    padding: str | None = None,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> tuple[Array, ...]:
    """Take arrays apart: a spec with several results.

    >>> import broadloom as bl, numpy as np
    >>> most, last = bl.split("a^b => a; b", np.arange(5), b=1)
    >>> most, last
    (array([0, 1, 2, 3]), array([4]))
    """
    return tuple(call("split", spec, operands, "sum", "*", padding, named_sizes(sizes, named)))


def reduce(
    spec: str,
    array: Array,
    how: str | Callable[[Array, tuple[int, ...]], Array],
    /,
    *,
    sizes: Mapping[str, Size] | None = None,
    **named: Size,
) -> Array:
    """Reduce over what the result leaves out: by a name such as ``"max"``, or by a function of an array and some of its axes.

    >>> import broadloom as bl, numpy as np
    >>> x = np.array([[1, 2, 9], [4, 5, 6]])
    >>> bl.reduce("i j => i", x, "max")
    array([9, 6])
    >>> bl.reduce("i j => i", x, np.median)
    array([2., 5.])
    """
    given = named_sizes(sizes, named)
    if isinstance(how, str) or not callable(how):
        made: Array = call("reduce", spec, (array,), how, "*", None, given)[0]
        return made
    if not isinstance(spec, str):
        raise _no_spec("reduce", spec)
    library, operands = _one_kind("reduce", (array,))
    if not isinstance(library, Steps):
        raise TypeError("bl.reduce by a function is for arrays")
    # The plan is not kept: it would keep the function, and whatever that holds.
    plan = _plan(library, "reduce", spec, (tuple(operands[0].shape),), how, "*", None, given)
    made = plan[0](*operands)
    return made


def rearrange(spec: str, array: Array, /, *, sizes: Mapping[str, Size] | None = None, **named: Size) -> Array:
    """Move, split, join and drop axes; every element stays.

    >>> import broadloom as bl, numpy as np
    >>> images = np.zeros((8, 28, 28, 3))
    >>> bl.rearrange("b h w c => b c h w", images).shape
    (8, 3, 28, 28)
    >>> bl.rearrange("b (h y) (w x) c => b (h w) (y x c)", images, y=4, x=4).shape
    (8, 49, 48)
    """
    made: Array = call("rearrange", spec, (array,), "sum", "*", None, named_sizes(sizes, named))[0]
    return made


def repeat(spec: str, array: Array, /, *, sizes: Mapping[str, Size] | None = None, **named: Size) -> Array:
    """Rearrange, and repeat along axes that only the result has.

    >>> import broadloom as bl, numpy as np
    >>> bl.repeat("i => i (k)", np.array([1, 2]), k=3)
    array([[1, 1, 1],
           [2, 2, 2]])
    >>> bl.repeat("i => (i 2)", np.array([1, 2]))
    array([1, 1, 2, 2])
    """
    made: Array = call("repeat", spec, (array,), "sum", "*", None, named_sizes(sizes, named))[0]
    return made


def named_sizes(sizes: Mapping[str, Size] | None, named: dict[str, Size]) -> dict[str, Size]:
    """Sizes by name, from the keyword arguments and from the mapping for names that those cannot have."""
    return named if sizes is None else {**sizes, **named}


def call(
    function: str,
    spec: str,
    operands: tuple[Any, ...],
    reduce: str,
    combine: str,
    padding: str | None,
    sizes: dict[str, Size],
) -> Any:
    """Carry out a spec for the function of this name; a list of results."""
    if type(spec) is not str:
        raise _no_spec(function, spec)
    library = library_of(operands[0]) if operands else None
    if library is None or len(operands) > 1:
        library, operands = _one_kind(function, operands)
        if isinstance(library, _Foreign):
            return library(function, spec, operands, reduce=reduce, combine=combine, padding=padding, sizes=sizes)
    shapes = tuple([tuple(operand.shape) for operand in operands])
    if library.name == "PyTorch" and has_symbols(shapes, sizes):
        return _call_traced(library, function, spec, operands, shapes, reduce, combine, padding, sizes)
    try:
        key = (library, function, spec, shapes, reduce, combine, padding, tuple(sizes.items()) if sizes else ())
        runs = _plans.get(key)
    except TypeError:  # a size that cannot be a key: the plan says what is wrong with it
        key, runs = None, None
    if runs is None:
        runs = _plan(library, function, spec, shapes, reduce, combine, padding, sizes)
        if key is not None:
            if len(_plans) >= _KEPT:
                _plans.clear()
            _plans[key] = runs
    return [run(*operands) for run in runs]


def _call_traced(
    library: Steps,
    function: str,
    spec: str,
    operands: tuple[Any, ...],
    shapes: tuple[tuple[Any, ...], ...],
    reduce: str,
    combine: str,
    padding: str | None,
    sizes: dict[str, Any],
) -> Any:
    """Carry out a spec on tensors that PyTorch traces, whose sizes are symbols. The plan is not kept: it has these symbols in it."""
    nodes = symbolic(
        lambda shapes, named, tracer: plan_spec(function, spec, shapes, named, reduce, padding, tracer), spec, shapes, sizes
    )
    if nodes is None:  # It is wrong, or holds for some sizes only: those at which it is traced.
        plan_spec(function, spec, tuple(tuple(map(hint, shape)) for shape in shapes), {n: hint(s) for n, s in sizes.items()}, reduce, padding)
        shapes = tuple(tuple(int(size) for size in shape) for shape in shapes)
        return [run(*operands) for run in _plan(library, function, spec, shapes, reduce, combine, padding, sizes)]
    return [_compile(library, node, reduce, combine)(*operands) for node in nodes]


def _plan(
    library: Steps,
    function: str,
    spec: str,
    shapes: tuple[tuple[int, ...], ...],
    reduce: str | Callable[..., Any],
    combine: str,
    padding: str | None,
    sizes: dict[str, Size],
) -> list[_Run]:
    if combine not in library.combine:
        raise TypeError(f'combine is "*" or "+", not {combine!r}')
    whole = {name: _whole(value) for name, value in sizes.items()}
    # A function of the caller's reduces where the mean would.
    nodes = plan_spec(function, spec, shapes, whole, "mean" if callable(reduce) else reduce, padding)
    return [_compile(library, node, reduce, combine) for node in nodes]


def _whole(value: Any) -> Any:
    """A size as a plain number, also if it is one of NumPy."""
    try:
        return operator.index(value)
    except TypeError:
        return value


def _compile(library: Steps, node: tuple[Any, ...], reduce: str | Callable[..., Any], combine: str) -> _Run:
    """A function of the operands that carries out a node of a plan."""
    kind = node[0]
    if kind == "zeros":
        shape = node[1]
        return lambda *operands: library.zeros(shape, operands[0])
    if kind == "concat":
        axis, runs = node[1], [_compile(library, piece, reduce, combine) for piece in node[2]]
        return lambda *operands: library.concat([run(*operands) for run in runs], axis)
    if kind == "accumulate":
        runs = [_compile(library, piece, reduce, combine) for piece in node[1]]
        return lambda *operands: library.accumulate(reduce, [run(*operands) for run in runs])
    _, reads, kept, write = node
    after = _steps(library, write, reduce)
    if kept is None:
        ((operand, read, _),) = reads
        before = _steps(library, read, reduce) + after
        return lambda *operands: _take(operands[operand], before)
    join = _join(library, tuple(labels for _, _, labels in reads), kept, reduce, combine)
    before_each = [(operand, _steps(library, read, reduce)) for operand, read, _ in reads]
    return lambda *operands: _take(join(*[_take(operands[operand], steps) for operand, steps in before_each]), after)


def _steps(
    library: Steps, steps: list[tuple[Any, ...]], reduce: str | Callable[..., Any]
) -> list[tuple[_Run, tuple[Any, ...]]]:
    def one(step: tuple[Any, ...]) -> tuple[_Run, tuple[Any, ...]]:
        if step[0] == "reduce" and callable(reduce):
            return reduce, tuple(step[2:])
        return getattr(library, step[0]), tuple(step[1:])

    return [one(step) for step in steps]


def _take(x: Any, steps: list[tuple[_Run, tuple[Any, ...]]]) -> Any:
    for step, arguments in steps:
        x = step(x, *arguments)
    return x


def _join(library: Steps, labels: tuple[tuple[int, ...], ...], kept: tuple[int, ...], reduce: Any, combine: str) -> _Run:
    if (reduce, combine) == ("sum", "*"):
        contract: _Run = library.contract(labels, kept)
        return contract
    every = tuple(kept) + tuple(dict.fromkeys(label for own in labels for label in own if label not in kept))
    gone = tuple(range(len(kept), len(every)))
    both = library.combine[combine]

    def join(*arrays: Any) -> Any:
        facing = [library.aligned(array, own, every) for array, own in zip(arrays, labels)]
        return library.reduced(facing, both, reduce, gone)

    return join


class _Foreign:
    """A type that carries out specs by itself, such as expressions of a graph."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        self.handler = handler

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        made = self.handler(*arguments, **options)
        return made if isinstance(made, list) else [made]


def _one_kind(function: str, operands: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The library of all operands; lists and numbers become NumPy arrays if all are."""
    for operand in operands:
        handler = getattr(type(operand), "__broadloom_spec__", None)
        if handler is not None:
            return _Foreign(handler), operands
    operands = tuple(_stacked(function, operand) if isinstance(operand, (list, tuple)) else operand for operand in operands)
    plain = (bool, int, float, complex, list, tuple)
    if operands and not [operand for operand in operands if not isinstance(operand, plain)]:
        operands = tuple(np.asarray(operand) for operand in operands)
    libraries = []
    for position, operand in enumerate(operands, 1):
        library = library_of(operand)
        if library is None:
            which = "the array" if len(operands) == 1 else f"operand {position}"
            raise TypeError(
                f"bl.{function}: {which} is {_a(type(operand).__name__)}; a spec is for arrays of NumPy, PyTorch or JAX"
            )
        libraries.append(library)
    for position, library in enumerate(libraries[1:], 2):
        if library is not libraries[0]:
            raise TypeError(
                f"bl.{function}: operand 1 is an array of {libraries[0].name} and operand {position} one of"
                f" {library.name}; convert one of them, so that it is clear what the result is"
            )
    if not libraries:
        raise TypeError(f"bl.{function} takes a spec and at least one array")
    return libraries[0], operands


def _stacked(function: str, operand: Any) -> Any:
    """A list of arrays as one array, in which it is the first axis; any other list as it is."""
    libraries = [library_of(each) for each in operand]
    library = libraries[0] if libraries else None
    if library is None:
        return operand
    for position, (other, array) in enumerate(zip(libraries, operand)):
        if other is not library:
            kind = _a(type(array).__name__) if other is None else f"an array of {other.name}"
            raise TypeError(f"bl.{function}: the list begins with an array of {library.name}, and element {position} is {kind}")
        if tuple(array.shape) != tuple(operand[0].shape):
            raise ShapeError(
                f"bl.{function}: the arrays of a list are stacked, and element {position} has shape {tuple(array.shape)}, "
                f"unlike element 0, which has {tuple(operand[0].shape)}",
                help="`bl.pack` joins arrays of different shapes",
            )
    return library.stack(list(operand))


def _no_spec(function: str, spec: Any) -> TypeError:
    if library_of(spec) is not None:
        return TypeError(f'bl.{function}: the spec comes first, then the arrays: bl.{function}("…", x)')
    return TypeError(f"bl.{function}: a spec is text, not {_a(type(spec).__name__)}")


def _a(name: str) -> str:
    return ("an " if name[:1].lower() in "aeiou" else "a ") + name
