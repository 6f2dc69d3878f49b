"""The annotations of a function, as what the checker in Rust wants of each argument.

A *want* is a tuple: ``("array", type, elements, text)``, ``("optional", want)``, ``("union", *wants)``,
``("tuple", *wants)``, ``("many", want)`` for lists and the like, ``("mapping", want)``, ``("or_other", want, types)`` for a union
with types that are no arrays. An annotation that mentions no array has no want.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Union, get_args, get_origin

from ._annotations import ArrayShape

__all__ = ["Hints", "read_hints"]

Want = tuple[Any, ...]
# How an argument is given, where that is not by its position.
_PLACES = {
    int(inspect.Parameter.KEYWORD_ONLY): "name",
    int(inspect.Parameter.VAR_POSITIONAL): "rest",
    int(inspect.Parameter.VAR_KEYWORD): "names",
}
_OURS = re.compile(r"\b(Float|Int|Bool|Complex|Shaped)\s*\[")
_MANY = (list, set, frozenset, collections.abc.Sequence, collections.abc.Set, collections.abc.Collection)
_GENERATORS = (
    collections.abc.Generator,
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.AsyncGenerator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
)


@dataclasses.dataclass
class Hints:
    """The wants of a function: name, kind of place, position and want of each annotated parameter, and its result."""

    parameters: list[tuple[str, str, int, Want]]
    result: Want | None
    names: list[str]


def read_hints(function: Any, frame: types.FrameType | None) -> Hints:
    """Read the annotations of a function, or of the fields of a dataclass."""
    evaluate = _Evaluator(function, frame)
    if isinstance(function, type):
        fields = [field.name for field in dataclasses.fields(function)]
        wants = [(name, evaluate.want_of(name)) for name in fields]
        return Hints([(name, "name", 0, want) for name, want in wants if want is not None], None, fields)
    parameters = []
    signature = inspect.signature(function)
    for position, parameter in enumerate(signature.parameters.values()):
        want = evaluate.want_of(parameter.name)
        if want is not None:
            if parameter.default is None:
                want = ("optional", want)
            parameters.append((parameter.name, _PLACES.get(int(parameter.kind), "position"), position, want))
    return Hints(parameters, evaluate.want_of("return"), list(signature.parameters))


class _Evaluator:
    def __init__(self, function: Any, frame: types.FrameType | None) -> None:
        self.function = function
        self.yields = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        self.annotations = _annotations(function)
        # Annotations are in the words of the function as it was written, whatever other decorators have made of it.
        written = inspect.unwrap(function)
        self.globals = getattr(written, "__globals__", None) or vars(inspect.getmodule(function) or typing)
        self.locals: dict[str, Any] = {}
        # Names of the functions around it, the innermost last; then what the function itself refers to.
        frames = []
        while frame is not None and frame.f_globals is self.globals and frame.f_locals is not frame.f_globals:
            frames.append(frame)
            frame = frame.f_back
        for outer in reversed(frames):
            self.locals.update(outer.f_locals)
        if isinstance(written, types.FunctionType):
            for name, cell in zip(written.__code__.co_freevars, written.__closure__ or ()):
                try:
                    self.locals[name] = cell.cell_contents
                except ValueError:  # not yet bound
                    pass

    def want_of(self, name: str) -> Want | None:
        """The want of a parameter, or of the result."""
        if name not in self.annotations:
            return None
        hint = self.resolve(self.annotations[name], name)
        if name == "return" and self.yields and get_origin(hint) in _GENERATORS:
            hint = get_args(hint)[0]
        return _want(hint, lambda inner: self.resolve(inner, name))

    def resolve(self, hint: Any, name: str) -> Any:
        """An annotation that was written as text, evaluated; None if it is none of ours and cannot be."""
        if isinstance(hint, typing.ForwardRef):
            hint = hint.__forward_arg__
        if not isinstance(hint, str):
            return hint
        try:
            return eval(hint, self.globals, self.locals)
        except Exception as error:
            if _OURS.search(hint) is None:
                return None
            what = "the result" if name == "return" else f"`{name}`"
            raise TypeError(
                f"{self.function.__qualname__}(): the annotation of {what} cannot be read: {error}"
            ) from error


def _annotations(function: Any) -> dict[str, Any]:
    if not isinstance(function, type):
        return dict(function.__annotations__)
    found: dict[str, Any] = {}
    for kind in reversed(function.__mro__):
        found.update(inspect.get_annotations(kind))
    return found


def _want(hint: Any, resolve: Callable[[Any], Any]) -> Want | None:
    hint = resolve(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        for extra in hint.__metadata__:
            if isinstance(extra, ArrayShape):
                return ("array", _array_type(resolve(arguments[0])), extra.elements, extra.text)
        return _want(arguments[0], resolve)
    if origin in (Union, types.UnionType):
        return _union(arguments, resolve)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _wrapped("many", arguments[0], resolve)
    if origin is tuple:
        wants = [_want(argument, resolve) for argument in arguments]
        return ("tuple", *wants) if None not in wants else None
    if origin in _MANY and arguments:
        return _wrapped("many", arguments[0], resolve)
    if origin in (dict, collections.abc.Mapping) and len(arguments) == 2:
        return _wrapped("mapping", arguments[1], resolve)
    return None


def _wrapped(kind: str, hint: Any, resolve: Callable[[Any], Any]) -> Want | None:
    want = _want(hint, resolve)
    return None if want is None else (kind, want)


def _union(arguments: tuple[Any, ...], resolve: Callable[[Any], Any]) -> Want | None:
    has_none = type(None) in arguments or None in arguments
    alternatives = [resolve(argument) for argument in arguments if argument not in (None, type(None))]
    found = [(alternative, _want(alternative, resolve)) for alternative in alternatives]
    wants = [want for _, want in found if want is not None]
    others = [alternative for alternative, want in found if want is None]
    # What takes any array leaves nothing to check.
    if not wants or not all(map(_takes_no_array, others)):
        return None
    want = wants[0] if len(wants) == 1 else ("union", *wants)
    if others:
        kinds = (get_origin(other) or other for other in others)
        want = ("or_other", want, tuple(kind for kind in kinds if isinstance(kind, type)))
    return ("optional", want) if has_none else want


def _takes_no_array(hint: Any) -> bool:
    """True if no array is a value of an annotation that mentions no shape."""
    origin = get_origin(hint) or hint
    if origin in (typing.Literal, collections.abc.Callable):
        return True
    if origin is Annotated:
        return _takes_no_array(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return all(map(_takes_no_array, get_args(hint)))
    if not isinstance(origin, type) or origin in (object, Any) or getattr(origin, "_is_protocol", False):
        return False
    if issubclass(origin, (str, bytes)):
        return True
    # A list of anything may be one of arrays, and so may what is only known by what it can do.
    inner = [each for each in get_args(hint) if each is not Ellipsis]
    if origin in (*_MANY, *_GENERATORS, tuple, dict, collections.abc.Mapping):
        return all(map(_takes_no_array, inner)) and bool(inner)
    return not hasattr(origin, "shape") and not inspect.isabstract(origin)


def _array_type(kind: Any) -> Any:
    """A class or a tuple of classes, for ``isinstance``; None for anything."""
    if kind is Any or kind is None or isinstance(kind, typing.TypeVar):
        return None
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(_array_type(part) or object for part in get_args(kind))
    kind = get_origin(kind) or kind  # np.ndarray[Any, np.dtype[...]] is np.ndarray
    return kind if isinstance(kind, type) else None
