"""The trace of a module by `torch.export`."""

from __future__ import annotations

from typing import Any

from torch.fx.node import map_arg

import torch

from ._places import Written
from ._traced import INDEX_BY_MASK, Axes, Reference, Step, Trace, Traced, has_mask, is_user, names_in, operation_name, quiet

__all__ = ["export"]


def export(module: Any, inputs: dict[str, Any], axes: Axes) -> Trace:
    """The trace by `torch.export`; `axes` says which axes of the inputs are which sizes."""
    dynamic = {name: {axis: torch.export.Dim.AUTO for axis in named} or None for name, named in axes.items()}
    with quiet():
        program = torch.export.export(module, (), inputs, dynamic_shapes=dynamic, strict=False)
    trace = Trace("torch.export")
    signature = program.graph_signature
    stored = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
    numbers: dict[Any, Any] = {}
    for number, node in enumerate(program.graph.nodes):
        value = node.meta.get("val")
        numbers[node] = Reference(number)
        if node.op == "placeholder":
            for axis, size in axes.get(node.name, {}).items():
                expression = getattr(getattr(value.shape[axis], "node", None), "expr", None)
                if expression is not None and expression.is_Symbol:
                    trace.symbols[str(expression)] = size
                else:
                    trace.fixed |= names_in(size)
            kind = "input" if node.name in inputs else "parameter" if node.target in signature.inputs_to_parameters else "buffer"
            sizes = tuple(trace.size(size) for size in value.shape) if hasattr(value, "shape") else ()
            trace.leaves[number] = Traced(stored.get(node.target, node.name), kind, sizes)
        elif node.op == "call_function":
            if value is None and not getattr(getattr(node.target, "_schema", None), "returns", True):
                continue  # an assertion about a type or a size
            if not hasattr(value, "shape") and not isinstance(value, (list, tuple)) and value is not None:
                numbers[node] = trace.size(value)  # a size is known when it is used
                continue
            trace.steps[number] = _exported(trace, node, numbers)
        elif node.op == "output":
            results = [each for each in node.args[0] if hasattr(each, "op")]
            own = results[len(results) - len(signature.user_outputs) :]
            trace.output = numbers[own[0]] if len(own) == 1 else None
    return trace


def _exported(trace: Trace, node: Any, numbers: dict[Any, Any]) -> Step:
    stack = [
        (_path(path), kind if isinstance(kind, str) else kind.__qualname__)
        for path, kind in (node.meta.get("nn_module_stack") or {}).values()
    ]
    schema = getattr(node.target, "_schema", None)
    name = schema.name.partition("::")[2] if schema is not None else getattr(node.target, "__name__", str(node.target))
    if name == "index" and has_mask([each.meta.get("val") for each in node.args[1] if each is not None]):
        name = INDEX_BY_MASK
    arguments, named = map_arg((node.args, node.kwargs), numbers.__getitem__)
    place = _place(node.meta.get("stack_trace")) or ("<unknown>", 1, None)
    modules = tuple((path, kind.rpartition(".")[2]) for path, kind in stack)
    return Step(
        operation_name(name),
        tuple(arguments),
        dict(named),
        modules[-1][0] if modules else "",
        place,
        trace.sizes(node.meta.get("val")),
        None,
        modules,
    )


def _path(path: str) -> str:
    return path.replace("L['self'].", "").replace("L['self']", "")


def _place(trace_text: str | None) -> Written | None:
    """The innermost line of a stack that belongs to the user."""
    found = None
    for line in (trace_text or "").splitlines():
        text = line.strip()
        if text.startswith('File "') and '", line ' in text:
            file, _, rest = text[6:].partition('", line ')
            if is_user(file):
                found = (file, int(rest.partition(",")[0]), None)
    return found
