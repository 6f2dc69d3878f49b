"""The trace of a module of PyTorch: a list of steps, by `torch.export`, or call by call where that is refused.

`torch.export` gives the operations of the whole module. It refuses a module that is wrong, which is when a user wants to know
most: then the module is called with tensors that have shapes and no numbers, and every call of PyTorch is written down, up to the
one that fails. Sizes with names are symbols in both.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ._errors import Error
from ._places import Written

__all__ = [
    "INDEX_BY_MASK",
    "Axes",
    "Reference",
    "Sizes",
    "Step",
    "Trace",
    "Traced",
    "asks_for_shapes",
    "has_mask",
    "is_user",
    "names_in",
    "operation_name",
    "quiet",
    "shapes_alone",
]

#: The named axes of each input, with the symbols of the names, or multiples of them.
Axes = dict[str, dict[int, Any]]

#: The name of an operation without a rule: how many elements a mask picks is no matter of shapes.
INDEX_BY_MASK = "index by a mask"

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True)
class Reference:
    """The result of an earlier step, or a parameter, in the arguments of a step."""

    number: int


@dataclass
class Step:
    """One operation of the trace."""

    operation: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    path: str
    place: Written
    #: What PyTorch says that the result is: sizes of a tensor, a tuple of them, or None where it is no tensor or was refused.
    result: Any = None
    refused: str | None = None
    #: The paths and classes of the modules that the step is in, outermost first.
    modules: tuple[tuple[str, str], ...] = ()


@dataclass
class Traced:
    """A tensor that is there before the first step: an input, a parameter or a buffer."""

    name: str
    kind: str
    sizes: tuple[Any, ...]


@dataclass
class Trace:
    """The steps of a module; numbers of references count ``leaves`` first, then steps."""

    by: str
    leaves: dict[int, Traced] = field(default_factory=dict)
    steps: dict[int, Step] = field(default_factory=dict)
    #: Symbols of PyTorch and the sizes they stand for.
    symbols: dict[str, Any] = field(default_factory=dict)
    refused: str | None = None
    #: The mistake, if it is not PyTorch that refuses it, but a spec or a checked function.
    mistake: Error | None = None
    #: What the module gives, if that is one tensor.
    output: Reference | None = None
    #: Names that PyTorch has given up: it traces the module at one size.
    fixed: set[str] = field(default_factory=set)

    def size(self, size: Any) -> Any:
        """A size of PyTorch: a number, or an expression over names."""
        expression = getattr(getattr(size, "node", None), "expr", None)
        if expression is None:
            return int(size)
        expression = expression.subs(
            {symbol: self.symbols[str(symbol)] for symbol in expression.free_symbols if str(symbol) in self.symbols}
        )
        return int(expression) if expression.is_Integer else expression

    def sizes(self, value: Any) -> Any:
        """The sizes of a tensor, or of each of several."""
        if isinstance(value, (list, tuple)):
            return tuple(self.sizes(each) for each in value)
        shape = getattr(value, "shape", None)
        return None if shape is None else Sizes(self.size(size) for size in shape)


class Sizes(tuple[Any, ...]):
    """The sizes of one tensor, as opposed to a tuple of several."""


def names_in(size: Any) -> set[str]:
    """The names of a size."""
    return {str(symbol) for symbol in size.free_symbols}


_SPECIAL = {"iadd": "add", "isub": "sub", "imul": "mul", "itruediv": "div", "truediv": "div", "rtruediv": "div", "rsub": "sub"}


def operation_name(name: str) -> str:
    """The name of an operation in the table of rules: `add_` and `__iadd__` are `add`."""
    if name.startswith("__") and name.endswith("__"):
        return _SPECIAL.get(name[2:-2], name[2:-2])
    return name.rstrip("_") or name


def has_mask(index: Any) -> bool:
    """True of an index that is, or contains, a tensor of truth values."""
    parts = index if isinstance(index, (list, tuple)) else [index]
    return any(str(getattr(part, "dtype", None)) in ("torch.bool", "torch.uint8") for part in parts)


def is_user(file: str) -> bool:
    """True of a file that is neither of PyTorch nor of this package."""
    inside = os.sep + "torch" + os.sep
    return (not file.startswith((_OWN, "<", "torch" + os.sep)) and inside not in file) or file.startswith("<ipython")


_SHAPES = ContextVar("broadloom_shapes", default=False)


def asks_for_shapes() -> bool:
    """True while shapes are traced, and no numbers are computed. Another trace of PyTorch is to be run one day, and needs what computes them."""
    return _SHAPES.get()


@contextmanager
def shapes_alone() -> Iterator[None]:
    """While this lasts, programs inside of a module say what shapes they give."""
    before = _SHAPES.set(True)
    try:
        yield
    finally:
        _SHAPES.reset(before)


@contextmanager
def quiet() -> Iterator[None]:
    """While this lasts, PyTorch does not log what it refuses, which the report says, nor warn of what recurrent layers do to themselves."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The tensor attributes? .* assigned during export", UserWarning)
            yield
    finally:
        logger.setLevel(level)
