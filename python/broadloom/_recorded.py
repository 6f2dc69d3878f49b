"""The trace of a module call by call, up to the call that PyTorch refuses.

The module is called with tensors that have shapes and no numbers. Sizes with names are symbols.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.overrides import TorchFunctionMode

import torch

from ._errors import Error
from ._places import Written
from ._traced import INDEX_BY_MASK, Axes, Reference, Step, Trace, Traced, has_mask, is_user, names_in, operation_name, quiet

__all__ = ["record"]


def record(module: Any, inputs: dict[str, Any], axes: Axes) -> Trace:
    """The trace; `refused` says why it ends early."""
    fake = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    recorder = _Recorder()
    given: dict[str, Any] = {}
    for name, tensor in inputs.items():
        named = axes.get(name, {})
        dynamic = [DimDynamic.DYNAMIC if axis in named else DimDynamic.STATIC for axis in range(tensor.dim())]
        given[name] = fake.from_tensor(tensor, symbolic_context=StatelessSymbolicContext(dynamic_sizes=dynamic))
        recorder.begin(name, "input", given[name], named)
    state: dict[str, Any] = {}
    for kind, tensors in (("parameter", module.named_parameters()), ("buffer", module.named_buffers())):
        for name, tensor in tensors:
            state[name] = fake.from_tensor(tensor, static_shapes=True)
            recorder.begin(name, kind, state[name], {})
    try:
        with _watched(module, recorder.paths), quiet(), fake, recorder:
            made = torch.func.functional_call(module, state, (), given)
            recorder.trace.output = recorder.known(made)
    except Exception as error:
        recorder.trace.refused = _first_line(error)
        recorder.trace.mistake = error if isinstance(error, Error) else None
    for name, named in axes.items():
        for axis, size in named.items():
            if isinstance(recorder.trace.size(given[name].shape[axis]), int):
                recorder.trace.fixed |= names_in(size)
    return recorder.trace


class _Recorder(TorchFunctionMode):
    """Writes down every call of PyTorch that gives tensors, and the one that fails."""

    def __init__(self) -> None:
        super().__init__()
        self.trace = Trace("call by call")
        self.paths: list[tuple[str, str]] = []
        self._known: dict[int, Reference] = {}
        # Tensors stay alive, so that no other one gets the identity of one that is gone.
        self._kept: list[Any] = []

    def begin(self, name: str, kind: str, tensor: Any, named: dict[int, Any]) -> None:
        """Notes a tensor that is there before the first call."""
        for axis, size in named.items():
            self.trace.symbols[str(tensor.shape[axis].node.expr)] = size
        leaf = Traced(name, kind, tuple(self.trace.size(size) for size in tensor.shape))
        self.trace.leaves[self._remember(tensor)] = leaf

    def known(self, value: Any) -> Reference | None:
        """A tensor that was noted, if it was."""
        return self._known.get(id(value))

    def _remember(self, value: Any) -> int:
        number = len(self._kept)
        self._known[id(value)] = Reference(number)
        self._kept.append(value)
        return number

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", str(function))
        named = dict(zip(kwargs, self._referred(kwargs.values())))
        path = self.paths[-1][0] if self.paths else ""
        step = Step(operation_name(name), tuple(self._referred(args)), named, path, _caller(), modules=tuple(self.paths))
        if name == "embedding":
            step.named["indices_first"] = True
        if function is torch.nn.functional.unfold:  # which has the name of a method that does something else
            step.operation = "im2col"
        if name == "__getitem__" and has_mask(args[1]):
            step.operation = INDEX_BY_MASK
        if name == "__get__":  # an attribute: `x.T` is an operation, and `x.shape` is not
            step.operation = getattr(getattr(function, "__self__", None), "__name__", "")
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            step.refused = _first_line(error)
            self.trace.steps[self._remember(None)] = step
            raise
        self._note(step, value)
        return value

    def _note(self, step: Step, value: Any) -> None:
        parts = list(value) if isinstance(value, (list, tuple)) else []
        if not any(isinstance(each, torch.Tensor) for each in parts or [value]):
            return
        step.result = self.trace.sizes(value)
        number = self._remember(value)
        self.trace.steps[number] = step
        for position, part in enumerate(parts):
            taken = (Reference(number), position)
            sizes = self.trace.sizes(part)
            self.trace.steps[self._remember(part)] = Step("getitem", taken, {}, step.path, step.place, sizes, None, step.modules)

    def _referred(self, values: Any) -> list[Any]:
        """Arguments with references in place of tensors, and our sizes in place of PyTorch's."""
        made: list[Any] = []
        for value in values:
            if isinstance(value, torch.Tensor) and id(value) in self._known:
                made.append(self._known[id(value)])
            elif isinstance(value, slice):
                made.append(slice(*self._referred((value.start, value.stop, value.step))))
            elif isinstance(value, (list, tuple)):
                made.append(tuple(self._referred(value)) if isinstance(value, tuple) else self._referred(value))
            elif hasattr(value, "node") and hasattr(value.node, "expr"):
                made.append(self.trace.size(value))
            else:
                made.append(value)
        return made


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _caller() -> Written:
    """The innermost line of the user that led here."""
    frame = sys._getframe(1)
    for each, line in traceback.walk_stack(frame):
        if is_user(each.f_code.co_filename):
            return each.f_code.co_filename, line, None
    return "<unknown>", 1, None


@contextmanager
def _watched(module: Any, paths: list[tuple[str, str]]) -> Iterator[None]:
    """While this lasts, `paths` has the modules that are being called."""
    hooks = []
    for path, each in module.named_modules():
        entry = (path, type(each).__qualname__)
        hooks.append(each.register_forward_pre_hook(lambda *_, entry=entry: paths.append(entry)))
        hooks.append(each.register_forward_hook(lambda *_: paths.pop() and None, always_call=False))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
