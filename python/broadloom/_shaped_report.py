"""The messages of checked functions: which argument, which axis, both sizes, and the lines of both annotations."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ._errors import Message, Place
from ._places import source
from ._shape_errors import ArrayTypeError, DTypeError, ShapeError, SpecError

__all__ = ["Reporter"]

Details = dict[str, Any]
_ELEMENTS = {"float": "floating point numbers", "int": "whole numbers", "bool": "truth values", "complex": "complex numbers"}


class Reporter:
    """Words the misfits of one function."""

    def __init__(self, function: Any, name: str) -> None:
        self.function = function
        self.name = name.rpartition("<locals>.")[2]

    def __call__(self, details: Details, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ShapeError:
        """The exception for a misfit, as the checker describes it."""
        if details.get("shape") is None and details["argument"] != "result":
            details["shape"] = _shape(self._value(details["argument"], args, kwargs))
        if "other" in details:
            value = self._value(details["other"], args, kwargs)
            details["other_path"], details["other_shape"] = _element(value, details) or ("", _shape(value))
        lines = self._lines()
        kind = details["kind"]
        headline, advice = getattr(self, "_" + kind)(details)
        ends, places = [self._end(details, lines, "")], [self._place(details["argument"], lines)]
        same = (details.get("other"), details.get("other_text")) == (details["argument"], details["text"])
        if "other" in details and (not same or details["other_path"]):
            ends.append(self._end(details, lines, "other_"))
            places.append(self._place(details["other"], lines))
        made = {"elements": DTypeError, "type": ArrayTypeError}.get(kind, ShapeError)
        summary, help = f"{self.name}(): {headline}", (advice,) if advice else ()
        shown = "\n".join([summary, *(f"  --> {end}" for end in ends), *(f"  = help: {text}" for text in help)])
        exception = made(shown, (Message(made._code, "error", summary, tuple(ends), (), (), help, shown),))
        exception.function, exception.argument = self.name, details["argument"]
        exception.places = tuple(place for place in places if place is not None)
        return exception

    def wrong_annotation(self, hints: Any, error: ValueError) -> SpecError:
        """The exception for an annotation that is not well written."""
        before = f"{self.name}(): an annotation is not a shape: "
        if not isinstance(error, SpecError):
            return SpecError(f"{before}{error}")
        found = error.messages[0]
        message = replace(found, code=SpecError._code, summary=before + found.summary, shown=before + found.shown)
        return SpecError(before + error.message, (message,))

    # One method for each kind of misfit: the first line, and advice.

    def _rank(self, details: Details) -> tuple[str, str | None]:
        found = _axes(len(details["shape"] or ()))
        if details["others"]:
            return f"{_who(details)} has {found}, and none of its annotations fits", None
        more = "at least " if details["at_least"] else ""
        return f"{_who(details)} has {found}, and its annotation {more}{_axes(details['wanted'])}", None

    def _size(self, details: Details) -> tuple[str, str | None]:
        axis, wanted = details["axis"], details["wanted"]
        size = details["shape"][axis]
        return f"axis {axis} of {_who(details)} is {size}, and its annotation says {wanted}", _instead(details, {axis: wanted})

    def _label(self, details: Details) -> tuple[str, str | None]:
        axis, wanted, item = details["axis"], details["wanted"], details["item"]
        size = details["shape"][axis]
        if (details["other"], details["other_text"]) == (details["argument"], details["text"]) and not details["path"]:
            first = details["other_axis"]
            return f"`{item}` is {wanted} in axis {first} of {_who(details)} and {size} in axis {axis}", None
        return f"`{item}` is {wanted} in {_other(details)} and {size} in {_who(details)}", _instead(details, {axis: wanted})

    def _expr(self, details: Details) -> tuple[str, str | None]:
        axis, wanted, item = details["axis"], details["wanted"], details["item"]
        size = details["shape"][axis]
        known = ", ".join(
            f"`{name}` is {size}" + (f" in `{other}`" if other not in (details["argument"], "result") else "")
            for name, size, other in details["known"]
        )
        if wanted is None:
            because = f" ({known})" if known else ""
            return f"axis {axis} of {_who(details)} is {size}, and no sizes make `{item}` that{because}", None
        return f"axis {axis} of {_who(details)} is {size}, and `{item}` is {wanted}: {known}", _instead(details, {axis: wanted})

    def _row(self, details: Details) -> tuple[str, str | None]:
        axis, length = details["axis"], details["length"]
        found = tuple(details["shape"][axis : axis + length])
        headline = f"`{details['item']}` is {details['wanted']} in {_other(details)} and {found} in {_who(details)}"
        shape = details["shape"]
        shape = tuple(shape[:axis]) + tuple(details["wanted"]) + tuple(shape[axis + length :])
        return headline, _pass(details, shape)

    def _range(self, details: Details) -> tuple[str, str | None]:
        upper = f"at most {details['hi']}" if details["hi"] is not None else None
        bounds = " and ".join(part for part in (f"at least {details['lo']}", upper) if part)
        return f"`{details['item']}` is {details['found']} in {_who(details)}, and has to be {bounds}", None

    def _elements(self, details: Details) -> tuple[str, str | None]:
        wanted = _ELEMENTS.get(details["elements"], "others")
        dtype = getattr(details["value"], "dtype", None)
        advice = "convert it, or annotate it with bl.Shaped, which takes any elements"
        return f"{_who(details)} has elements of type {dtype}, and its annotation says {wanted}", advice

    def _type(self, details: Details) -> tuple[str, str | None]:
        wanted = details["array_type"]
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        expected = " or ".join(_type_name(kind) for kind in kinds) if wanted is not None else "an array"
        return f"{_who(details)} is of type {_type_name(type(details['value']))}, and its annotation says {expected}", None

    def _length(self, details: Details) -> tuple[str, str | None]:
        return f"{_who(details)} is a tuple of {details['found']}, which is not the number that its annotation says", None

    # Places.

    def _end(self, details: Details, lines: dict[str, int], side: str) -> Place:
        """An end as data: its place, its annotation and its shape."""
        argument = details["other" if side else "argument"]
        file, line = self._place(argument, lines) or (None, None)
        text, order, shape = details[side + "text"], details[side + "order"], details.get(side + "shape")
        shown = f'{"result" if argument == "result" else argument}: "{text}"'
        if not side:
            shown += "".join(f', or "{other}"' for other in details["others"])
        if order:
            shown += f", an array {order} in memory"
        given = "returned" if argument == "result" else "given"
        path = details[side + "path"]
        if shape is not None:
            shown += f"; {given} {tuple(shape)}{' in ' + path if path else ''}"
        return Place(None if file is None else _short(file), line, None, shown)

    def _place(self, argument: str, lines: dict[str, int]) -> tuple[str, int] | None:
        # What another decorator has made of it is written in no file.
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        try:
            file = code.co_filename if code else inspect.getsourcefile(self.function)
        except TypeError:
            return None
        line = lines.get(argument) or (code.co_firstlineno if code else None)
        return (file, line) if file and line else None

    def _lines(self) -> dict[str, int]:
        """The line of each annotation; nothing where there is no source."""
        try:
            source, first = inspect.getsourcelines(self.function)
            tree = ast.parse(textwrap.dedent("".join(source))).body[0]
        except (OSError, TypeError, SyntaxError, IndexError):
            return {}
        shift = max(first, 1) - 1
        if isinstance(tree, ast.ClassDef):
            fields = [(node.target, node.lineno) for node in tree.body if isinstance(node, ast.AnnAssign)]
            return {field.id: line + shift for field, line in fields if isinstance(field, ast.Name)}
        if not isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
            return {}
        given = tree.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        lines = {argument.arg: argument.lineno + shift for argument in every if argument is not None}
        if tree.returns is not None:
            lines["result"] = tree.returns.lineno + shift
        return lines

    def _value(self, argument: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(self.function, type):
            return kwargs.get(argument)
        try:
            bound = inspect.signature(self.function).bind_partial(*args, **kwargs)
        except TypeError:
            return None
        return bound.arguments.get(argument)


def _who(details: Details) -> str:
    argument, path = details["argument"], details["path"]
    if argument == "result":
        return f"`result{path}`" if path else "the result"
    return f"`{argument}{path}`"


def _other(details: Details) -> str:
    """The other end, which may be another element of the same argument."""
    name = "the result" if details["other"] == "result" else f"`{details['other']}{details['other_path']}`"
    if details["other_path"]:
        return name
    return f"an element of {name} before it" if details["other"] == details["argument"] and details["path"] else name


def _element(value: Any, details: Details) -> tuple[str, tuple[int, ...]] | None:
    """The element of the same argument in which a size was found before: the way to it, and its shape."""
    if details["other"] != details["argument"] or not details["path"] or details["kind"] != "label":
        return None
    way = _KEYS.findall(details["path"])
    for keys, array in _elements(value, ()):
        if list(keys) == way:
            return None
        shape, axis = _shape(array), details["other_axis"]
        is_like = len(keys) == len(way) and sum(one != other for one, other in zip(keys, way)) == 1
        if is_like and shape is not None and axis < len(shape) and shape[axis] == details["wanted"]:
            return "".join(f"[{key}]" for key in keys), shape
    return None


_KEYS = re.compile(r"\[([^\]]*)\]")


def _elements(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The contents of lists, tuples and dictionaries, each with the keys that lead to it."""
    if isinstance(value, (list, tuple)):
        for at, inner in enumerate(value):
            yield from _elements(inner, (*keys, str(at)))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _elements(inner, (*keys, repr(key)))
    else:
        yield keys, value


def _type_name(kind: type) -> str:
    module = kind.__module__.partition(".")[0]
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _shape(value: Any) -> tuple[int, ...] | None:
    shape = getattr(value, "shape", None)
    return tuple(shape) if isinstance(shape, tuple) else None


def _instead(details: Details, sizes: dict[int, int]) -> str | None:
    shape = tuple(sizes.get(axis, size) for axis, size in enumerate(details["shape"]))
    return _pass(details, shape)


def _pass(details: Details, shape: tuple[int, ...]) -> str:
    if details["argument"] == "result":
        return f"return an array of shape {shape}, or change the annotation"
    return f"pass an array of shape {shape} as {_who(details)}, or change the annotation"


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def _short(file: str) -> str:
    """A path as messages show it."""
    try:
        return source(file)[0]
    except (ValueError, OSError):
        return file
