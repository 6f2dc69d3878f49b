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
from ._torch_shapes import traced_outputs
from ._traced import asks_for_shapes

__all__ = ["Module"]


class Module(torch.nn.Module):
    """A program as an `nn.Module`, on the CPU. Its parameters are those of the program, and begin with the same values.

    It trains in an ordinary PyTorch loop: `backward` goes through the gradients of Broadloom, to parameters and to the data that
    it is given. Gradients of gradients are not computed.

    What the program keeps up by itself, such as the running statistics of a batch norm, are buffers, which calls in training
    update. After `eval()` every function is applied as under `inference(…)`: nothing is dropped, and running statistics are used.
    Random numbers, such as those of dropout, follow from the seed of the program and from the generator of PyTorch, so that
    `torch.manual_seed` governs them; the backward pass has those of its forward pass.

    A parameter whose name an `nn.Module` has for something else, such as `train`, is called `train_` here.

    Args:
        program: The program.
        outputs: The tensors that a call returns: a name for one tensor, several names for a tuple. By default the one that nothing
            in the program reads.

    >>> import broadloom as bl
    >>> import torch
    >>> module = bl.torch.Module(bl.program("data x : 4 | 3\\nlet y = {w} @ x + {b : 2}\\n"), outputs="y")
    >>> {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    {'w': (2, 3), 'b': (2,)}
    >>> module(x=torch.ones(4, 3)).sum().backward()
    >>> module.get_parameter("b").grad
    tensor([4., 4.])
    """

    def __init__(self, program: Program, outputs: str | Sequence[str] | None = None) -> None:
        super().__init__()
        if not isinstance(program, Program):
            raise TypeError(
                f"a module is made of a program, not of {type(program).__name__}: `bl.torch.Module(bl.program(text), outputs=\"y\")`"
            )
        self._program = program
        outputs = _result(program) if outputs is None else outputs
        self._is_one = isinstance(outputs, str)
        self._outputs = [outputs] if isinstance(outputs, str) else list(outputs)
        if not self._outputs:
            raise Error._plain("a module returns at least one tensor", 'say which: `outputs="y"`')
        if program._source.backend == "xla" and program._program.left_out():
            raise Error._plain("a module of PyTorch computes on one device, and the program has a mesh", "leave it out: `mesh={}`")
        program._on_one_machine()
        self._function = self._differentiated(inference=False)
        #: What `eval` computes, which is made when it is first needed.
        self._inference: _broadloom.Differentiated | None = None
        #: Where each parameter and each buffer is, by its name in the program.
        self._paths: dict[str, tuple[str, ...]] = {}
        buffers = self._function.buffers()
        parameters = {name: values for name, values in program.parameters.items() if name not in buffers}
        for name, values in parameters.items():
            holder, own = self._placed(name)
            holder.register_parameter(own, torch.nn.Parameter(torch.from_numpy(values.copy())))
        for name in buffers:
            holder, own = self._placed(name)
            holder.register_buffer(own, torch.from_numpy(program._running.parameter(name)))

    def forward(self, *tensors_in_order: Any, **arrays: Any) -> Any:
        """Computes the outputs from tensors for the data of the program, by name or in the order in which it is declared."""
        known = self._program._data
        if tensors_in_order:
            arrays = {**self._in_order(tensors_in_order, arrays), **arrays}
        for name in arrays:
            if name not in known:
                raise unknown("the program has no data called", name, known)
        tensors = {name: _tensor(name, value) for name, value in arrays.items()}
        if asks_for_shapes():
            made = traced_outputs(self._program, self._outputs, tensors)
            return made[0] if self._is_one else made
        # Parameters may have been replaced, for instance by `load_state_dict(..., assign=True)` or `functional_call`.
        own = {name: self._found(path) for name, path in self._paths.items()}
        function = self._applied()
        updated = function.updated()
        # A buffer is changed after the call, and the backward pass needs what it was.
        own.update((name, own[name].detach().clone()) for name in updated)
        draw = int(torch.randint(2**62, ())) if function.draws() else 0
        results = _Call.apply(self, function, draw, [*own, *tensors], *own.values(), *tensors.values())
        with torch.no_grad():
            for name, values in zip(updated, results[len(self._outputs) :]):
                self._found(self._paths[name]).copy_(values)
        return results[0] if self._is_one else results[: len(self._outputs)]

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

    @property
    def program(self) -> Program:
        """The program that it was made of. Its own parameters stay as they were when the module was made."""
        return self._program

    def extra_repr(self) -> str:
        """The text that `print(module)` shows in parentheses."""
        return f"{self._program.name}, outputs={', '.join(self._outputs)}"

    def _differentiated(self, inference: bool) -> _broadloom.Differentiated:
        source = self._program._source
        return _broadloom.Differentiated(self._program._program, self._outputs, inference, source.backend, source.seed, source.threads)

    def _applied(self) -> _broadloom.Differentiated:
        """The function that a call computes: as in training, or as after it."""
        if self.training:
            return self._function
        if self._inference is None:
            self._inference = self._differentiated(inference=True)
        return self._inference

    def _placed(self, name: str) -> tuple[torch.nn.Module, str]:
        """The module that is to hold a parameter or a buffer, and its name there: `dense.w` is `w` of a module `dense`."""
        holder: torch.nn.Module = self
        *parts, own = name.split(".")
        path = []
        for part in parts:
            while hasattr(holder, part) and part not in holder._modules:
                part += "_"
            if part not in holder._modules:
                holder.add_module(part, torch.nn.Module())
            holder = getattr(holder, part)
            path.append(part)
        while hasattr(holder, own):
            own += "_"
        self._paths[name] = (*path, own)
        return holder, own

    def _found(self, path: tuple[str, ...]) -> torch.Tensor:
        found: Any = self
        for part in path:
            found = getattr(found, part)
        tensor: torch.Tensor = found
        return tensor

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_function", "_inference")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._function, self._inference = self._differentiated(inference=False), None


class _Call(torch.autograd.Function):
    """One call of a module: its outputs, and then the new values of buffers."""

    @staticmethod
    def forward(
        ctx: Any, module: Module, function: _broadloom.Differentiated, draw: int, names: list[str], *tensors: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.outputs, ctx.function, ctx.draw, ctx.names = module._outputs, function, draw, names
        ctx.save_for_backward(*tensors)
        results = tuple(torch.from_numpy(result) for result in function.forward(_arranged(names, tensors), draw))
        ctx.mark_non_differentiable(*results[len(module._outputs) :])
        return results

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        outputs = [f"the gradient of {name}" for name in ctx.outputs]
        given = _arranged([*ctx.names, *outputs], (*ctx.saved_tensors, *gradients[: len(outputs)]))
        found = dict(zip(ctx.function.reached(), ctx.function.backward(given, ctx.draw)))
        wanted = (
            torch.from_numpy(found[name]) if needed and name in found else None
            for name, needed in zip(ctx.names, ctx.needs_input_grad[4:])
        )
        return None, None, None, None, *wanted


def _result(program: Program) -> str:
    """The tensor that nothing in a program reads, if there is one."""
    results = program._program.results()
    if len(results) == 1:
        return results[0]
    if not results:
        raise Error._plain("the program computes nothing that a module could return", "compute something: `let y = 2 * x`")
    listed = " and ".join(f"`{name}`" for name in results)
    every = ", ".join(f'"{name}"' for name in results)
    raise Error._plain(
        f"the program has {len(results)} results, {listed}, and it is open which of them the module returns",
        f'`outputs="{results[-1]}"` returns one, `outputs=[{every}]` a tuple of all',
    )


def _arranged(names: Sequence[str], tensors: Sequence[torch.Tensor]) -> list[tuple[str, Any]]:
    return [(name, arranged(name, tensor).array) for name, tensor in zip(names, tensors)]


def _tensor(name: str, value: Any) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else torch.from_numpy(arranged(name, value).array)
