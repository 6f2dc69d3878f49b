"""Answers of a program: texts for people, with the data that they are made of."""

from __future__ import annotations

import html
from typing import Any

__all__ = ["Answer", "Memory", "Picture"]


class Answer(str):
    """An answer as a text, with the same in `data`: the keys are those of `docs/schema.json`."""

    data: dict[str, Any]

    def __new__(cls, data: dict[str, Any], text: str) -> Answer:
        answer = super().__new__(cls, text.rstrip("\n"))
        answer.data = data
        return answer

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.data, str(self))


class Memory(Answer):
    """The memory that a program needs, as tables; the most important numbers have names."""

    @property
    def peak(self) -> int:
        """The bytes that are needed at the same time, at the usual sizes."""
        return int(self.data["peak"])

    @property
    def lasting(self) -> int:
        """The bytes that last from run to run."""
        return int(self.data["lasting"])

    @property
    def fits(self) -> bool | None:
        """True if it fits, whatever the sizes are; None if it was not asked for."""
        fits = self.data["fits"]
        return None if fits is None else bool(fits)

    @property
    def largest(self) -> dict[str, int | None]:
        """For each size with a range, the largest with which it fits."""
        return {size["name"]: size["largest"] for size in self.data["sizes"]}


class Picture(str):
    """A picture as SVG text, which notebooks show.

    >>> import broadloom as bl
    >>> picture = bl.program("data x : 32 | 784\\nlet y = x |> linear(64) |> relu\\n").graph()
    >>> picture.startswith("<svg ")
    True
    """

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<broadloom picture, {len(self):,} characters of SVG: save it, or show it in a notebook>"

    def save(self, path: str) -> None:
        """Writes the picture to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)
