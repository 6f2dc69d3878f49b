"""Programs as modules of PyTorch: `bl.torch.Module`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from . import _broadloom
from ._arrays import arranged
from ._errors import Error
from ._names import unknown
from ._program import Program

__all__ = ["Module"]


class Module(torch.nn.Module):
    """A program as an `nn.Module`, on the CPU. Its parameters are those of the program, and begin with the same values.

    It trains in an ordinary PyTorch loop: `backward` goes through the gradients of Broadloom, to parameters and to the data that
    it is given. Gradients of gradients are not computed.

    Args:
        program: The program.
        outputs: The tensors that a call returns: a name for one tensor, several names for a tuple.

    >>> import broadloom as bl
    >>> import torch
    >>> module = bl.torch.Module(bl.program("data x : 4 | 3\\nlet y = {w} @ x + {b : 2}\\n"), outputs="y")
    >>> {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    {'w': (2, 3), 'b': (2,)}
    >>> module(x=torch.ones(4, 3)).sum().backward()
    >>> module.get_parameter("b").grad
    tensor([4., 4.])
    """

    def __init__(self, program: Program, outputs: str | Sequence[str]) -> None:
        super().__init__()
        self._program = program
        self._is_one = isinstance(outputs, str)
        self._outputs = [outputs] if isinstance(outputs, str) else list(outputs)
        if not self._outputs:
            raise Error._plain("a module returns at least one tensor", 'say which: `outputs="y"`')
        self._function = self._differentiated()
        self._own: dict[str, torch.nn.Parameter] = {}
        for name, values in program.parameters.items():
            parameter = torch.nn.Parameter(torch.from_numpy(values.copy()))
            self._own[name] = parameter
            _holder(self, name).register_parameter(name.rsplit(".", 1)[-1], parameter)

    def forward(self, *tensors_in_order: Any, **arrays: Any) -> Any:
        """Computes the outputs from tensors for the data of the program, by name or in the order in which it is declared."""
        known = self._program._data
        if tensors_in_order:
            arrays = {**self._in_order(tensors_in_order, arrays), **arrays}
        for name in arrays:
            if name not in known:
                raise unknown("the program has no data called", name, known)
        tensors = {name: _tensor(name, value) for name, value in arrays.items()}
        # Parameters may have been replaced, for instance by `load_state_dict(..., assign=True)`.
        own = {name: _find(self, name) for name in self._own}
        names = [*own, *tensors]
        results = _Call.apply(self, names, *own.values(), *tensors.values())
        return results[0] if self._is_one else results

    def _in_order(self, tensors: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Tensors that were given without names, by the names that they stand for."""
        known = list(self._program._data)
        if len(tensors) > len(known):
            listed = ", ".join(f"`{name}`" for name in known)
            raise TypeError(f"the module takes {listed}, and {len(tensors)} tensors were given without a name")
        twice = [name for name in known[: len(tensors)] if name in named]
        if twice:
            raise TypeError(f"the module was given `{twice[0]}` twice, by its place and by its name")
        return dict(zip(known, tensors))

    def extra_repr(self) -> str:
        """What `print(module)` shows."""
        return f"{self._program.name}, outputs={', '.join(self._outputs)}"

    def _differentiated(self) -> _broadloom.Differentiated:
        seed, backend, threads = self._program._source[4:7]
        return _broadloom.Differentiated(self._program._program, self._outputs, backend, seed, threads)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_function"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._function = self._differentiated()


class _Call(torch.autograd.Function):
    """One call of a module."""

    @staticmethod
    def forward(ctx: Any, module: Module, names: list[str], *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.module, ctx.names = module, names
        ctx.save_for_backward(*tensors)
        results = module._function.forward(_arranged(names, tensors))
        return tuple(torch.from_numpy(result) for result in results)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        module, names = ctx.module, ctx.names
        outputs = [f"the gradient of {name}" for name in module._outputs]
        given = _arranged([*names, *outputs], (*ctx.saved_tensors, *gradients))
        reached = module._function.reached()
        found = dict(zip(reached, module._function.backward(given)))
        wanted = (
            torch.from_numpy(found[name]) if needed and name in found else None
            for name, needed in zip(names, ctx.needs_input_grad[2:])
        )
        return None, None, *wanted


def _arranged(names: Sequence[str], tensors: Sequence[torch.Tensor]) -> list[tuple[str, Any]]:
    return [(name, arranged(name, tensor).array) for name, tensor in zip(names, tensors)]


def _tensor(name: str, value: Any) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else torch.from_numpy(arranged(name, value).array)


def _holder(module: torch.nn.Module, name: str) -> torch.nn.Module:
    """The module that holds a parameter: `dense.w` is `w` of a module `dense`."""
    for part in name.split(".")[:-1]:
        if not hasattr(module, part):
            module.add_module(part, torch.nn.Module())
        module = getattr(module, part)
    return module


def _find(module: torch.nn.Module, name: str) -> torch.nn.Parameter:
    found = getattr(_holder(module, name), name.rsplit(".", 1)[-1])
    assert isinstance(found, torch.nn.Parameter)
    return found
