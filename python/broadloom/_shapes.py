"""Shapes, one by one and all of a program."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from ._names import unknown

__all__ = ["Shape", "Shapes"]


class Shape(str):
    """A shape as it is written: `batch | input -> output`. It is a text, and knows its axes.

    An axis is a number, or a text if it has a name: `"batch"`, `"3:rgb"`.

    >>> import broadloom as bl
    >>> w = bl.program("data x : 32 | 784\\nlet y = {w} @ x + {b : 64}\\n").shapes["w"]
    >>> w
    '784 -> 64'
    >>> w.input, w.output, w.sizes
    ((784,), (64,), (64, 784))
    """

    # `help` shows these texts.
    __slots__ = {
        "batch": "The batch axes.",
        "input": "The input axes.",
        "output": "The output axes.",
        "elements": "The number of elements, at the usual sizes of names.",
        "kind": "`data`, `parameter`, `state` or `result`.",
        "how": "How it is known: `declared`, `forced` or `chosen`.",
        "line": "The line on which the tensor is named.",
    }

    batch: tuple[int | str, ...]
    input: tuple[int | str, ...]
    output: tuple[int | str, ...]
    elements: int
    kind: str
    how: str
    line: int

    @property
    def sizes(self) -> tuple[int | str, ...]:
        """The axes in the order in which arrays have them: batch, output, input."""
        return self.batch + self.output + self.input

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Shape:
        shape = cls(data["shape"])
        rows = data["rows"]
        shape.batch, shape.input, shape.output = (tuple(rows[row]) for row in ("batch", "input", "output"))
        shape.elements, shape.kind, shape.how = data["elements"], data["kind"], data["how"]
        shape.line = data["line"]
        return shape

    @classmethod
    def _plain(cls, text: str, rows: dict[str, list[int | str]]) -> Shape:
        """A shape of which nothing but its axes is known."""
        sizes = [axis for row in rows.values() for axis in row if isinstance(axis, int)]
        return cls._of({"shape": text, "rows": rows, "elements": prod(sizes), "kind": "", "how": "", "line": 0})

    def __reduce__(self) -> tuple[Any, ...]:
        rows = {"batch": self.batch, "input": self.input, "output": self.output}
        data = {"shape": str(self), "rows": rows, "elements": self.elements, "kind": self.kind}
        return Shape._of, ({**data, "how": self.how, "line": self.line},)


#: The words of the table for how a shape is known.
_WORDS = {"forced": "inferred"}


class Shapes(Mapping[str, Shape]):
    """The shapes of a program, by name; a table when it is printed.

    >>> import broadloom as bl
    >>> print(bl.program("data x : 32 | 784\\nlet y = {w} @ x + {b : 64}\\n").shapes)
    tensor  shape      elements  how it is known
    x       32 | 784     25,088  declared
    w       784 -> 64    50,176  inferred from its use
    b       64               64  declared
    y       32 | 64       2,048  inferred
    <BLANKLINE>
    2 parameters with 50,240 elements
    """

    def __init__(self, checked: dict[str, Any], parts: tuple[str, str, str]) -> None:
        self._all = {each["name"]: Shape._of(each) for each in checked["tensors"]}
        # How each is known, in the words of the table.
        self._how = {each["name"]: each.get("rule") or _WORDS.get(each["how"], each["how"]) for each in checked["tensors"]}
        # Named sizes, the table, and the parameters with what the program relies on.
        self._parts = parts

    def __getitem__(self, name: str) -> Shape:
        try:
            return self._all[name]
        except KeyError:
            raise unknown("there is no tensor called", name, self._all) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return "".join(self._parts).rstrip("\n")

    def _repr_html_(self) -> str:
        head = "<tr><th>tensor</th><th>shape</th><th>elements</th><th>how it is known</th></tr>"
        left = '<td style="text-align:left">{}</td>'
        row = f"<tr>{left}{left.replace('{}', '<code>{}</code>')}<td>{{:,}}</td>{left}</tr>"
        rows = (
            row.format(html.escape(name), html.escape(shape), shape.elements, html.escape(self._how[name]))
            for name, shape in self._all.items()
        )
        dims, _, end = self._parts
        before = f"<pre>{html.escape(dims.strip())}</pre>" if dims else ""
        after = "".join(f"<p>{html.escape(line)}</p>" for line in end.split("\n") if line)
        return f"{before}<table>{head}{''.join(rows)}</table>{after}"
