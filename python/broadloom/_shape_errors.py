"""The exceptions of specs on arrays, of checked functions and of `TypedTensor`: kinds of `Error`."""

from __future__ import annotations

from typing import Any

from ._errors import Error, Message, Place
from ._places import here, source

__all__ = ["ArrayTypeError", "DTypeError", "ShapeError", "SpecError"]


class _ArrayError(Error, ValueError):
    """The base of these exceptions.

    Without messages of its own, an exception is about the line that led to it: its message is one sentence, to which advice
    is added.
    """

    _code = ""

    def __init__(self, message: str, messages: tuple[Message, ...] = (), *, help: str | None = None) -> None:
        if not messages:
            file, line, _ = here()
            ends = (Place(source(file)[0], line, None, ""),)
            shown = message if help is None else f"{message}\n  = help: {help}"
            messages = (Message(self._code, "error", message, ends, (), (), () if help is None else (help,), shown),)
            message = shown
        super().__init__(message, messages)
        self.code = self.code or self._code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.messages), self.__dict__


class SpecError(_ArrayError):
    """The text of a spec or of a shape is not well written, or a function is not for it.

    >>> import broadloom as bl, numpy as np
    >>> bl.rearrange("i j -> j i", np.ones((2, 3)))
    Traceback (most recent call last):
        ...
    broadloom.SpecError: the result follows `=>`, not `->`
      |
    1 | i j -> j i
      |     ^^ expected `=>`, found `->`
      |
      = help: write `i j => j i`; `->` is written between the input axes and the output axes of one tensor
    """

    __module__ = "broadloom"
    _code = "E0304"


class ShapeError(_ArrayError):
    """Arrays do not have the shapes that a spec or an annotation asks for.

    It is an `Error`, with ``code``, ``summary``, ``ends``, ``chain`` and ``help``. Errors of checked functions say more:
    ``function`` and ``argument`` are names, ``places`` are pairs of a file and a line, first that of the annotation that
    was not met, then that of the other end.

    >>> import broadloom as bl, numpy as np
    >>> try:
    ...     bl.einsum("i j; j k => i k", np.ones((2, 3)), np.ones((2, 3)))
    ... except bl.Error as error:
    ...     print(error.code, error.summary, [end.text for end in error.ends])
    E0301 `j` cannot be both 3 and 2 ['2: axis 0 of operand 2, which has shape (2, 3)', '3: axis 1 of operand 1, which has shape (2, 3)']
    """

    __module__ = "broadloom"
    _code = "E0301"
    function: str | None = None
    argument: str | None = None
    places: tuple[tuple[str, int], ...] = ()


class DTypeError(ShapeError, TypeError):
    """An array has elements of another type than its annotation says."""

    __module__ = "broadloom"
    _code = "E0401"


class ArrayTypeError(ShapeError, TypeError):
    """A value is not the kind of array that its annotation says."""

    __module__ = "broadloom"
    _code = "E0203"
