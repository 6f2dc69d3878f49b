"""Messages about mistakes, and the exception that carries them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Error", "Message", "Place"]


@dataclass(frozen=True)
class Place:
    """A place in a text, and what is said about it.

    Lines and columns count from 1. A place without a file belongs to a fact that is not written in the program.
    """

    file: str | None
    line: int | None
    column: int | None
    text: str

    def __str__(self) -> str:
        known = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        return f"{':'.join(known)}: {self.text}" if self.file is not None else self.text

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Place:
        return cls(data.get("file"), data.get("line"), data.get("column"), data["text"])


@dataclass(frozen=True)
class Message:
    """One message: an error, a warning or a note.

    `summary` is one sentence, `shown` is the message as the command shows it.
    """

    code: str
    severity: str
    summary: str
    ends: tuple[Place, ...]
    chain: tuple[Place, ...]
    notes: tuple[str, ...]
    help: tuple[str, ...]
    shown: str

    def __str__(self) -> str:
        return self.shown

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Message:
        # The place to look first comes first.
        ends = sorted(data["labels"], key=lambda label: not label["primary"])
        return cls(
            code=data["code"],
            severity=data["severity"],
            summary=data["message"],
            ends=tuple(Place._of(end) for end in ends),
            chain=tuple(Place._of(link) for link in data["chain"]),
            notes=tuple(data["notes"]),
            help=tuple(data["help"]),
            shown=data["shown"],
        )


class Error(Exception):
    """A mistake in a program, or in what it was given.

    As a text it is what the command `broadloom` shows: the message, the lines that disagree, and advice.

    >>> import broadloom as bl
    >>> try:
    ...     bl.program("data x : 3\\ndata y : 4\\nlet z = x + y\\n", name="sum.loom")
    ... except bl.Error as error:
    ...     caught = error
    >>> caught.code
    'E0301'
    >>> caught.summary
    'the last output axis of the result cannot be both 3 and 4'
    >>> [(end.line, end.text) for end in caught.ends]
    [(3, ''), (1, '3 because of the output axis of `x`'), (2, '4 because of the output axis of `y`')]
    >>> print(caught)
    error[E0301]: the last output axis of the result cannot be both 3 and 4
     --> sum.loom:3:9
      |
    1 | data x : 3
      |      - 3 because of the output axis of `x`
    2 | data y : 4
      |      - 4 because of the output axis of `y`
    3 | let z = x + y
      |         ^^^^^
      |
      = help: make both 3 or both 4: axes are matched from the last one backwards, and only missing axes broadcast
      = help: for both 4, declare `x` as `4`, or for both 3, declare `y` as `3`
    <BLANKLINE>
    1 error

    Attributes:
        message: The whole text, as the command shows it.
        messages: All messages, if there are several mistakes. The attributes below are those of the first error.
        code: The code of the mistake, or an empty text.
        summary: The mistake in one sentence.
        ends: The places that it is about: where to look first, and the other ends of the conflict.
        chain: The steps between the ends.
        help: Advice on what to write instead.
    """

    def __init__(self, message: str, messages: tuple[Message, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.messages = messages
        errors = [each for each in messages if each.severity == "error"] or list(messages)
        first = errors[0] if errors else Message("", "error", message, (), (), (), (), message)
        self.code = first.code
        self.summary = first.summary
        self.ends = first.ends
        self.chain = first.chain
        self.notes = first.notes
        self.help = first.help

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.messages)

    @classmethod
    def _of(cls, shown: str, messages: list[dict[str, Any]]) -> Error:
        return cls(shown, tuple(Message._of(message) for message in messages))

    @classmethod
    def _plain(cls, summary: str, help: str | None = None) -> Error:
        advice = f"\n  = help: {help}" if help else ""
        shown = f"error: {summary}{advice}"
        return cls(shown, (Message("", "error", summary, (), (), (), (help,) if help else (), shown),))


def not_copied(what: str, help: str) -> TypeError:
    """The exception for what can be neither copied nor pickled."""
    return TypeError(f"{what} can be neither copied nor pickled: {help}")


class UnknownName(Error, KeyError):
    """A name that is not there. It is a `KeyError` too, as mappings need it."""


Error.__module__ = UnknownName.__module__ = "broadloom"
