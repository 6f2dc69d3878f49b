"""Checked functions: ``@bl.shaped`` compares arrays with the shapes in a function's annotations."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, TypeVar, overload

from ._broadloom import CheckedCall, Checker, entered_sizes, spec_sizes
from ._hints import Hints, read_hints
from ._shaped_report import Reporter
from ._symbolic import has_symbols, symbolic

__all__ = ["shaped", "sizes"]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@overload
def shaped(function: type[Decorated]) -> type[Decorated]: ...
@overload
def shaped(function: Decorated) -> Decorated: ...
def shaped(function: Any) -> Any:
    """Compare the arrays that a function takes and gives with its annotations.

    >>> import broadloom as bl, numpy as np
    >>> @bl.shaped
    ... def project(
    ...     x: bl.Float[np.ndarray, "..b.. | d"], w: bl.Float[np.ndarray, "d -> h"]
    ... ) -> bl.Float[np.ndarray, "..b.. | h"]:
    ...     return x @ w.T
    >>> project(np.ones((2, 5, 3)), np.ones((4, 3))).shape
    (2, 5, 4)
    >>> project(np.ones((2, 5, 3)), np.ones((4, 7)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    broadloom.ShapeError: project(): `d` is 3 in `x` and 7 in `w`
    ...

    A name is one size wherever it stands, ``..b..`` the same axes, ``...`` any axes and ``_`` any size; ``n=28`` is
    both a name and a size, ``2*n`` is arithmetic, and ``n in 1..64`` a range. In memory, input axes come last:
    ``d -> h`` is an array ``(h, d)``.

    Methods, keyword arguments, ``None``, unions, tuples and lists of arrays, generators and coroutines are
    checked too; on a dataclass, its fields are. What is not an array is left alone. Annotations are read at the
    first call, so they may name what is defined later.
    """
    frame = sys._getframe(1)
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_function(function.__func__, frame))
    if isinstance(function, type):
        return _fields(function, frame)
    if not callable(function) or not hasattr(function, "__code__"):
        raise TypeError(f"bl.shaped decorates functions and dataclasses, not {function!r}")
    return _function(function, frame)


def sizes(spec: str | None = None, array: Any = None, /) -> dict[str, Any]:
    """The sizes that were found for the arguments of the checked function that is running; or those of an array, by a spec.

    A row such as ``..b..`` is a tuple.

    >>> import broadloom as bl, numpy as np
    >>> bl.sizes("b h w c", np.ones((8, 28, 28, 3)))
    {'b': 8, 'h': 28, 'w': 28, 'c': 3}

    >>> import broadloom as bl, numpy as np
    >>> @bl.shaped
    ... def f(x: bl.Float[np.ndarray, "..b.. | n, 2*n"]) -> dict:
    ...     return bl.sizes()
    >>> f(np.ones((5, 6, 3, 6)))
    {'n': 3, 'b': (5, 6)}
    """
    if spec is not None:
        shape = tuple(array.shape)
        if has_symbols((shape,), {}):
            named = symbolic(lambda shapes, _, tracer: spec_sizes(spec, shapes[0], tracer=tracer), spec, (shape,), {})
            if named is not None:
                return named
        return spec_sizes(spec, shape)
    # The wrapper around the function has the call that was checked, or the keyword arguments by which it is known, as a local
    # variable. To look for it among the frames costs nothing if it is not needed, and is right in threads, coroutines and generators.
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _wrappers:
            call = frame.f_locals.get("checked")
            found = call.sizes() if isinstance(call, CheckedCall) else entered_sizes(frame.f_locals.get("kwargs", {}))
            if found is not None:
                return found
        frame = frame.f_back
    raise RuntimeError("bl.sizes() is for the inside of a function that is decorated with @bl.shaped")


_wrappers: set[CodeType] = set()


def _function(function: Callable[..., Any], frame: FrameType) -> Any:
    if inspect.isasyncgenfunction(function):
        make = _around_async_generator
    elif inspect.iscoroutinefunction(function):
        make = _around_coroutine
    elif inspect.isgeneratorfunction(function):
        make = _around_generator
    else:
        make = _around_function
    wrapper = make(function, _Lazy(function, frame))
    _wrappers.add(wrapper.__code__)
    return functools.wraps(function)(wrapper)


class _Lazy:
    """The checker of a function, made at its first call: by then all names that its annotations use exist."""

    def __init__(self, function: Callable[..., Any], frame: FrameType) -> None:
        self.function = function
        # The module's names are those of the function anyway; other frames are let go after the first call.
        self.frame = None if frame.f_locals is frame.f_globals else frame
        self.checker: Checker | None = None

    def __call__(self) -> Checker:
        if self.checker is None:
            hints = read_hints(self.function, self.frame)
            self.checker = make_checker(hints, Reporter(self.function, self.function.__qualname__))
            self.frame = None
        return self.checker


def make_checker(hints: Hints, report: Reporter) -> Checker:
    """The checker of these annotations; a mistake in one of them says which."""
    try:
        return Checker(hints.parameters, hints.result, hints.names, report)
    except ValueError as error:
        raise report.wrong_annotation(hints, error) from None


def _around_function(function: Callable[..., Any], lazy: _Lazy) -> Any:
    def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal call
        call = lazy().call
        return call(function, args, kwargs)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return call(function, args, kwargs)

    return wrapper


def _around_coroutine(function: Callable[..., Any], lazy: _Lazy) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        checked = lazy().check(args, kwargs)
        return checked.result(await function(*args, **kwargs))

    return wrapper


def _around_generator(function: Callable[..., Any], lazy: _Lazy) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _drive(lazy().check(args, kwargs), function(*args, **kwargs))

    return wrapper


def _drive(checked: CheckedCall, generator: Any) -> Iterator[Any]:
    """A generator that checks what another one yields, and hands on what is sent to it."""
    try:
        value = next(generator)
        while True:
            checked.result(value)
            try:
                sent = yield value
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                value = generator.throw(error)
            else:
                value = generator.send(sent)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


def _around_async_generator(function: Callable[..., Any], lazy: _Lazy) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        checked = lazy().check(args, kwargs)
        generator = function(*args, **kwargs)
        try:
            async for value in generator:
                yield checked.result(value)
        finally:
            await generator.aclose()

    return wrapper


_wrappers.add(_drive.__code__)


def _fields(kind: type, frame: FrameType) -> type:
    """Check the fields of a dataclass after it is made."""
    if not dataclasses.is_dataclass(kind):
        raise TypeError(
            f"bl.shaped checks the fields of a dataclass, and {kind.__qualname__} is none: put @bl.shaped above"
            " @dataclass, or decorate its methods"
        )
    original = kind.__init__
    lazy = _LazyFields(kind, frame)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        checker = lazy()
        checker.check((), {name: getattr(self, name) for name in lazy.names})

    setattr(kind, "__init__", __init__)
    return kind


class _LazyFields(_Lazy):
    names: list[str] = []

    def __call__(self) -> Checker:
        if self.checker is None:
            hints = read_hints(self.function, self.frame)
            self.names = [name for name, *_ in hints.parameters]
            self.checker = make_checker(hints, Reporter(self.function, self.function.__qualname__))
            self.frame = None
        return self.checker
