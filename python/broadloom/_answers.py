"""Answers of a program: texts for people, with the data that they are made of."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Answer", "Division", "Memory", "Picture"]


class Answer(str):
    """An answer as a text, with the same in `data`: the keys are those of `docs/schema.json`."""

    data: dict[str, Any]

    def __new__(cls, data: dict[str, Any], text: str) -> Self:
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
        """For each size with a range, the largest with which it fits. With a mesh there are none: it is measured at its sizes."""
        return {size["name"]: size["largest"] for size in self.data.get("sizes", [])}


class Division(Answer):
    """The division of a program over the devices of a mesh, as tables; the most important of it has names.

    >>> import broadloom as bl
    >>> text = 'dim batch = 8\\nmesh(data = 4, shard = ["batch=data"])\\ndata x : batch | 3\\nlet y = {w : ... -> 2} @ x\\n'
    >>> division = bl.program(text).mesh()
    >>> division.axes, division.shapes["y"], division.peak
    ({'data': 4}, '8/data | 2', 80)
    """

    _listed: list[int]

    def __new__(cls, data: dict[str, Any], text: str, listed: list[int] | tuple[int, ...] = ()) -> Self:
        answer = super().__new__(cls, data, text)
        answer._listed = list(listed)
        return answer

    @property
    def axes(self) -> dict[str, int]:
        """The axes of the mesh with their numbers of devices."""
        return {axis["name"]: axis["size"] for axis in self.data["axes"]}

    @property
    def shapes(self) -> dict[str, str]:
        """The shape of each tensor, with the mesh axis behind each size that is divided: `8/data | 3`."""
        return {tensor["name"]: tensor["shape"] for tensor in self.data["tensors"]}

    @property
    def peak(self) -> int:
        """The bytes that one device needs at the same time."""
        return int(self.data["peak"])

    @property
    def lasting(self) -> int:
        """The bytes on one device that last from run to run."""
        return int(self.data["lasting"])

    def _repr_html_(self) -> str:
        axes = ", ".join(f"{name}={size}" for name, size in self.axes.items())
        parts = [f"<p>{self.data['devices']} devices: {html.escape(axes)}</p>"]
        tensors = [self.data["tensors"][at] for at in self._listed]
        rows = [[tensor[key] for key in ("name", "shape", "bytes", "bytes_per_device", "group")] for tensor in tensors]
        parts.append(_table(["tensor", "shape", "bytes", "on each device", "group"], rows))
        rest = len(self.data["tensors"]) - len(tensors)
        if rest:
            parts.append(f"<p>and {rest:,} that functions, gradients and optimisers make</p>")
        if self.data["whole"]:
            whole = ", ".join(f"<code>{html.escape(name)}</code>" for name in self.data["whole"])
            parts.append(f"<p>whole on every device, because no axis can be shared evenly: {whole}</p>")
        parts += map(_sent, self.data["routines"])
        return "".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.data, str(self), self._listed)


def _sent(routine: dict[str, Any]) -> str:
    """The messages of devices to each other in one run of a routine, as HTML."""
    name = f"<code>{html.escape(routine['name'])}</code>, in one run: "
    if not routine["collectives"]:
        return f"<p>{name}devices send each other nothing</p>"
    totals = [[each["kind"], ", ".join(each["over"]), each["count"], each["bytes"]] for each in routine["totals"]]
    each = [
        [one["tensor"], one["kind"], ", ".join(one["over"]), one["times"], one["bytes"], f"{one['file']}:{one['line']}", one["operation"]]
        for one in routine["collectives"]
    ]
    return (
        f"<p>{name}what devices send each other</p>"
        + _table(["devices do", "along", "times", "bytes"], totals)
        + _table(["of", "needs", "along", "times", "bytes", "line", "for"], each)
    )


def _table(heads: list[str], rows: list[list[Any]]) -> str:
    """A table as HTML: numbers at the right, texts at the left."""

    def cell(value: Any) -> str:
        return f"<td>{value:,}</td>" if isinstance(value, int) else f'<td style="text-align:left">{html.escape(value)}</td>'

    head = "".join(f"<th>{html.escape(each)}</th>" for each in heads)
    return f"<table><tr>{head}</tr>{''.join('<tr>' + ''.join(map(cell, row)) + '</tr>' for row in rows)}</table>"


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
