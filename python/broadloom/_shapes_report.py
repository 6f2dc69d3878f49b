"""The report on the shapes of a module: a table, and the findings below it."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import _broadloom
from ._errors import Error
from ._names import unknown
from ._places import Written, source
from ._shapes import Shape
from ._traced_graph import Tensor, TracedGraph, text_of

__all__ = ["Finding", "ModuleShapes", "Operation"]


@dataclass(frozen=True)
class Finding:
    """Something to know about one operation: which, what, in which module, and the line of Python."""

    operation: str
    text: str
    path: str
    place: Written

    def __str__(self) -> str:
        where = f" in `{self.path}`" if self.path else ""
        about = f": {self.text}" if self.text else ""
        return f"`{self.operation}`{where}, {source(self.place[0])[0]}:{self.place[1]}{about}"


@dataclass(frozen=True)
class Row:
    """A tensor of the trace, before its shape is read for the last time."""

    path: str
    name: str
    kind: str
    tensor: Tensor
    place: Written
    how: str
    modules: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Operation:
    """One operation of a module: its name, its module, its shape, the line of Python, and how the shape is known."""

    path: str
    name: str
    shape: Shape
    file: str
    line: int
    how: str


class ModuleShapes(Mapping[str, Shape]):
    """The shapes of a module, by the path of each part: a table when it is printed, and in notebooks.

    Attributes:
        operations: Every operation, in order.
        mistakes: What does not fit, each a `bl.Error` with both ends. `check()` raises the first.
        unknown: Operations whose shapes were taken from PyTorch, because no rule covers them.
        disagreements: Where Broadloom and PyTorch differ. Please report one: one of the two is wrong.
        fixed: Named sizes that can only be one number, with that number.
        traced_by: `"torch.export"`, or `"call by call"` where that refuses the module.
    """

    def __init__(
        self,
        module: Any,
        traced_by: str,
        graph: TracedGraph,
        rows: list[Row],
        mistakes: list[Error],
        unknown: list[Finding],
        disagreements: list[Finding],
        lost: set[str],
        fixed: dict[str, tuple[int, Written | None]],
        steps: int,
    ) -> None:
        self.traced_by, self._steps = traced_by, steps
        self.mistakes, self.unknown, self.disagreements = mistakes, unknown, disagreements
        self.fixed = {name: size for name, (size, _) in fixed.items()}
        self._fixed_at = fixed
        # A shape changes after it was inferred only if a named size turns out to be a number.
        shapes = [_shape(graph, graph.sizes(row.tensor.number) if fixed else row.tensor.sizes) for row in rows]
        self.operations = [
            Operation(row.path, row.name, shape, row.place[0], row.place[1], row.how)
            for row, shape in zip(rows, shapes)
            if row.kind == "operation"
        ]
        self.inputs = {row.name: shape for row, shape in zip(rows, shapes) if row.kind == "input"}
        self._kinds: dict[str, str] = {}
        self._results: dict[str, Shape] = {}
        self._lost = lost
        for row, shape in zip(rows, shapes):
            for path, kind in row.modules:
                # The last operation in a module gives its result; modules are listed in the order in which they begin.
                self._kinds.setdefault(path, kind)
                self._results[path] = shape
        self._parameters: Counter[str] = Counter()
        for path, part in module.named_modules():
            # A module whose parameters are used without calling it has no row: they count where they are used.
            while path and path not in self._kinds:
                path = path.rpartition(".")[0]
            self._parameters[path] += sum(p.numel() for p in part.parameters(recurse=False))
        self._total = sum(p.numel() for p in module.parameters())

    def __getitem__(self, path: str) -> Shape:
        known = self._known()
        try:
            return known[path]
        except KeyError:
            raise unknown("there is no module called", path, known) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def _known(self) -> dict[str, Shape]:
        return {**self.inputs, **{path: shape for path, shape in self._results.items() if path not in self._lost}}

    def check(self) -> ModuleShapes:
        """These shapes, or the first mistake as an exception."""
        if self.mistakes:
            raise self.mistakes[0]
        return self

    def _table(self) -> list[tuple[str, str, str, str]]:
        rows = [(name, "input", str(shape), "") for name, shape in self.inputs.items()]
        for path, kind in self._kinds.items():
            count = self._parameters.get(path, 0)
            gives = "not known" if path in self._lost else str(self._results[path])
            rows.append((path or "(whole)", kind, gives, f"{count:,}" if count else ""))
        # What a module gives is known when it is done: the whole comes last.
        return sorted(rows, key=lambda row: row[0] == "(whole)")

    def _findings(self) -> list[str]:
        lines = []
        how = "torch.export" if self.traced_by == "torch.export" else "calling the module"
        inferred = self._steps - len(self.unknown)
        lines.append(f"{inferred} of {self._steps} operations inferred, traced by {how}; {self._total:,} parameters")
        for name, (size, place) in self._fixed_at.items():
            where = f"{source(place[0])[0]}:{place[1]}" if place is not None else "PyTorch traces the module for that size alone"
            lines.append(f"`{name}` can only be {size}: {where}")
        if self.unknown:
            counts = Counter(f"{each.operation} ({each.text})" if each.text else each.operation for each in self.unknown)
            listed = ", ".join(f"{name} {count}×" for name, count in counts.items())
            lines.append(f"not known, shapes taken from PyTorch: {listed}")
        lines += [f"disagreement: {each}" for each in self.disagreements]
        return lines

    def __repr__(self) -> str:
        mistakes = [str(mistake) for mistake in self.mistakes]
        return "\n".join([_broadloom.module_table(self._table()), *self._findings(), *mistakes])

    def _repr_html_(self) -> str:
        head = "<tr><th>module</th><th>kind</th><th>gives</th><th>parameters</th></tr>"
        cell = '<td style="text-align:left">{}</td>'
        row = f"<tr>{cell}{cell}{cell.replace('{}', '<code>{}</code>')}<td>{{}}</td></tr>"
        rows = "".join(row.format(*map(html.escape, cells)) for cells in self._table())
        findings = "".join(f"<p>{html.escape(line)}</p>" for line in self._findings())
        mistakes = "".join(f"<pre>{html.escape(str(mistake))}</pre>" for mistake in self.mistakes)
        return f"<table>{head}{rows}</table>{findings}{mistakes}"


def _shape(graph: TracedGraph, sizes: tuple[Any, ...]) -> Shape:
    axes = [size if isinstance(size, int) else str(size) for size in sizes]
    count = 1
    for size in sizes:
        count *= graph.sample(size)
    rows = {"batch": [], "input": [], "output": axes}
    return Shape._of({"shape": text_of(sizes), "rows": rows, "elements": count, "kind": "result", "how": "forced", "line": 0})
