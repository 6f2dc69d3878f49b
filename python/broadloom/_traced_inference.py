"""Runs the inference of Broadloom along the trace of a module, and compares it with what PyTorch says."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import Any

from . import _broadloom
from ._dims import Dim
from ._errors import Error, Message, Place
from ._places import Written, source
from ._shapes_report import Finding, ModuleShapes, Row
from ._traced import Axes, Reference, Sizes, Step, Trace, names_in
from ._traced_graph import Tensor, TracedGraph, Unknown, text_of
from ._traced_picks import RULES
from ._traced_rules import Rule

__all__ = ["Inference"]


class Inference:
    """One run along a trace, with what it finds."""

    def __init__(
        self, module: Any, trace: Trace, dims: dict[str, Dim], axes: Axes, written: Written, *, fixed: bool = False
    ) -> None:
        self.module, self.trace, self.dims, self.axes, self.written = module, trace, dims, axes, written
        #: The sizes that PyTorch has given up as names are numbers here, too.
        self.as_traced = trace.fixed if fixed else set()
        self.graph = TracedGraph(dims)
        self.values: dict[int, Any] = {}
        self.rows: list[Row] = []
        self.mistakes: list[Error] = []
        self.unknown: list[Finding] = []
        self.disagreements: list[Finding] = []
        self.fixed: dict[str, tuple[int, Written]] = {}
        self.lost: set[str] = set()
        self.steps = 0

    def report(self) -> ModuleShapes:
        """Goes through the trace."""
        for number, leaf in self.trace.leaves.items():
            if leaf.kind == "input":
                self.graph.place, self.graph.label = self._forward(), leaf.name
                named = {axis: size for axis, size in self.axes[leaf.name].items() if not names_in(size) & self.as_traced}
                sizes = [named.get(axis, size) for axis, size in enumerate(leaf.sizes)]
                self.values[number] = self.graph.leaf(sizes, leaf.name)
                self.rows.append(Row("", leaf.name, "input", self.values[number], self.graph.place, "input", ()))
        probe = self.graph.leaf(list(self.graph.symbols.values()), "the named sizes")
        for number, step in self.trace.steps.items():
            self.graph.place, self.graph.label = step.place, f"{step.path}.{step.operation}".lstrip(".")
            self.values[number] = self._step(step)
            if self.values[number] is _LOST:
                self.lost.update(path for path, _ in step.modules)
            if sum(isinstance(each, Reference) for each in step.arguments) > 1:  # one tensor alone fixes no size
                self._note_fixed(probe)
        given = self.values.get(self.trace.output.number) if self.trace.output is not None else None
        if isinstance(given, Tensor):  # which need not be the last that was computed
            whole = (("", type(self.module).__name__),)
            self.rows.append(Row("", "result", "result", given, self._forward(), "inferred", whole))
        if self.trace.refused is not None and not self.mistakes:
            self.mistakes.append(self._refused(None, self.trace.refused))
        return ModuleShapes(
            self.module,
            self.trace.by,
            self.graph,
            self.rows,
            self.mistakes,
            self.unknown,
            self.disagreements,
            self.lost,
            self._all_fixed(),
            self.steps,
        )

    def _note_fixed(self, probe: Tensor) -> None:
        """Notes the names that have become numbers at the place of the step."""
        for name, size in zip(self.graph.symbols, self.graph.sizes(probe.number)):
            if isinstance(size, int):
                self.fixed.setdefault(name, (size, self.graph.place))

    def _step(self, step: Step) -> Any:
        """The result of a step: inferred, or as PyTorch says it where no rule covers the step."""
        arguments = [self._value(each) for each in step.arguments]
        named = {name: self._value(each) for name, each in step.named.items()}
        if any(_lost(each) for each in [*arguments, *named.values()]):
            return _LOST
        if step.operation == "getitem" and isinstance(arguments[0], tuple):
            made = arguments[0][arguments[1]]
            self.rows.append(Row(step.path, step.operation, "part", made, step.place, "inferred", step.modules))
            return made
        how, made = "inferred", None
        try:
            made = self.graph.attempt(lambda: _rule(step)(self.graph, arguments, named))
        except Unknown as reason:
            how = str(reason)
        except Error as error:
            if step.refused is not None or error.code != "E0306":
                self.mistakes.append(self._mistake(step, arguments, named, error))
                return _LOST
            rounds = step.operation.startswith("conv") or "_pool" in step.operation
            how = "it rounds down: name a multiple, such as `32*height`" if rounds else "a size that no expression says"
        if step.refused is not None:
            self.mistakes.append(self._refused(step, step.refused))
            return _LOST
        self.steps += 1
        if how == "inferred":
            self._compare(step, made)
        else:
            self.unknown.append(Finding(step.operation, how, step.path, step.place))
            made, how = self._from_torch(step.result), "from PyTorch"
        if isinstance(made, Tensor):
            self.rows.append(Row(step.path, step.operation, "operation", made, step.place, how, step.modules))
        return made

    def _value(self, argument: Any) -> Any:
        """An argument with the tensors of our graph in place of references."""
        if isinstance(argument, Reference):
            if argument.number not in self.values:
                leaf = self.trace.leaves[argument.number]
                self.values[argument.number] = self._stored(leaf.name, leaf.sizes)
            return self.values[argument.number]
        if isinstance(argument, (list, tuple)):
            return type(argument)(self._value(each) for each in argument)
        return argument

    def _stored(self, name: str, sizes: tuple[Any, ...]) -> Tensor:
        """A parameter or a buffer. It was written where the module that has it is made."""
        used, self.graph.place = self.graph.place, self._where_made(name) or self.graph.place
        made = self.graph.leaf(sizes, name)
        self.graph.place = used
        return made

    def _from_torch(self, result: Any) -> Any:
        if isinstance(result, Sizes):
            return self.graph.leaf(result)
        if isinstance(result, tuple):
            return tuple(self._from_torch(each) for each in result)
        return _LOST

    def _compare(self, step: Step, made: Any) -> None:
        ours = tuple(each.sizes for each in made) if isinstance(made, tuple) else (made.sizes,)
        theirs = step.result if isinstance(step.result, tuple) and not isinstance(step.result, Sizes) else (step.result,)
        for mine, other in zip(ours, theirs):
            if other is not None and not _equal(self.graph, mine, other, self.trace.fixed):
                text = f"Broadloom infers ({text_of(mine)}), PyTorch says ({text_of(other)})"
                self.disagreements.append(Finding(step.operation, text, step.path, step.place))

    # Mistakes.

    def _mistake(self, step: Step, arguments: list[Any], named: dict[str, Any], error: Error) -> Error:
        """The mistake, with the operation and the shapes as PyTorch has them."""
        operands = [f"({text_of(each.sizes)})" for each in [*arguments, *named.values()] if isinstance(each, Tensor)]
        where = f" in `{step.path}`" if step.path else ""
        note = f"`{step.operation}`{where} of {', '.join(operands)}"
        mistake = error.messages[0]
        # Notes stand beside the lines of the excerpt, behind the column of their numbers.
        width = max((len(str(end.line)) for end in mistake.ends if end.line is not None), default=1)
        shown = f"{mistake.shown}\n{' ' * (width + 1)}= note: {note}"
        first = replace(mistake, notes=(*error.notes, note), shown=shown)
        return Error(shown, (first,))

    def _refused(self, step: Step | None, reason: str) -> Error:
        """A call that PyTorch refuses, and Broadloom does not, or does not know."""
        sizes = ", ".join(f"{name} = {dim.sample}" for name, dim in self.dims.items())
        self._note_fixed(self.graph.leaf(list(self.graph.symbols.values()), "the named sizes"))
        fixed = ", ".join(f"`{name}` is {size}" for name, (size, _) in self.fixed.items())
        help = f"it fits only where {fixed}" if fixed else "other sizes to trace at are given by `sizes`"
        place = step.place if step is not None else self.written
        name = f"`{step.operation}`" if step is not None else "the module"
        at = f" at the sizes it was traced at ({sizes})" if sizes else ""
        mistake = self.trace.mistake if step is None else None
        summary = f"{'PyTorch' if mistake is None else 'Broadloom'} refuses {name}{at}: {reason}"
        if mistake is None:
            found = _broadloom.mistake("", summary, [(place, "")], [], [help])
            return Error(found.messages[0].shown, found.messages)
        # The message of a spec shows its text, and has advice of its own.
        rest = "\n" + str(mistake).partition("\n")[2]
        shown = f"error: {summary}\n --> {source(place[0])[0]}:{place[1]}{rest.rstrip()}"
        end = Place(place[0], place[1], None, "")
        return Error(shown, (Message(mistake.code, "error", summary, (end,), (), (), mistake.help, shown),))

    def _all_fixed(self) -> dict[str, tuple[int, Written | None]]:
        """The named sizes that can only be one number, with the line that says so if it is known."""
        by_torch: dict[str, tuple[int, Written | None]] = {name: (self.dims[name].sample, None) for name in self.trace.fixed}
        return {**by_torch, **self.fixed}

    # Places.

    def _forward(self) -> Written:
        code = getattr(type(self.module).forward, "__code__", None)
        return (
            (code.co_filename, code.co_firstlineno, None)
            if code is not None and "torch" not in code.co_filename.split("/")
            else self.written
        )

    def _where_made(self, name: str) -> Written | None:
        """The line of `__init__` that makes the module of a parameter."""
        parts = name.split(".")
        for count in range(len(parts) - 1, -1, -1):
            owner, attribute = self.module.get_submodule(".".join(parts[:count])), parts[count]
            if type(owner).__module__.startswith("torch."):
                continue
            try:
                lines, first = inspect.getsourcelines(type(owner).__init__)
            except (OSError, TypeError):
                return None
            for offset, line in enumerate(lines):
                if re.search(rf"\bself\.{re.escape(attribute)}\b[^=]*=|[\"']{re.escape(attribute)}[\"']", line):
                    return type(owner).__init__.__code__.co_filename, first + offset, None
        return None


def _rule(step: Step) -> Rule:
    rule = RULES.get(step.operation)
    if rule is None:
        raise Unknown("")
    return rule


class _Lost:
    """The result of a step that is wrong, or depends on one that is."""


_LOST = _Lost()


def _lost(value: Any) -> bool:
    return value is _LOST or isinstance(value, (list, tuple)) and any(_lost(each) for each in value)


def _equal(graph: TracedGraph, ours: tuple[Any, ...], theirs: tuple[Any, ...], fixed: set[str]) -> bool:
    """Equal sizes, whatever the named sizes are that PyTorch leaves open: tried at two choices where the expressions differ."""
    if len(ours) != len(theirs):
        return False
    for mine, other in zip(ours, theirs):
        if mine == other:
            continue
        for shift in (0, 12):
            values = {
                symbol: graph.names[name].sample + (0 if name in fixed else shift) for name, symbol in graph.symbols.items()
            }
            if _at(mine, values) != _at(other, values):
                return False
    return True


def _at(size: Any, values: dict[Any, int]) -> Any:
    return size if isinstance(size, int) else size.subs(values)
