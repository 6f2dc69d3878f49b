"""The outputs of a program for tensors of PyTorch that have shapes and no numbers, while `bl.shapes_of` traces a module around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import torch

from ._program import Program
from ._shapes import Shapes
from ._symbolic import hint

__all__ = ["traced_outputs"]


def traced_outputs(program: Program, outputs: Sequence[str], tensors: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Tensors with the sizes that the outputs have for these inputs; what does not fit is refused as in a call."""
    program.verify(**{name: _stand_in(tensor) for name, tensor in tensors.items()})
    checked, parts, _ = program._program.check(False)
    shapes = Shapes(checked, parts)
    names: dict[str, Any] = {}
    for name, tensor in tensors.items():
        for axis, size in zip(shapes[name].sizes, tensor.shape):
            if isinstance(axis, str) and axis.isidentifier():
                names.setdefault(axis, size)
    # A name that no input has is the size that the program runs at.
    for dim in checked["dims"]:
        names.setdefault(dim["name"], dim["size"])
    # Two axes of one name are one size, which PyTorch has to know too.
    for name, tensor in tensors.items():
        for axis, size in zip(shapes[name].sizes, tensor.shape):
            torch._check(_size(axis, names) == size)
    return tuple(torch.empty([_size(axis, names) for axis in shapes[output].sizes]) for output in outputs)


def _stand_in(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """An array of the same sizes that takes no memory."""
    kind = "int64" if not tensor.dtype.is_floating_point else "float32"
    return np.broadcast_to(np.zeros((), kind), [hint(size) for size in tensor.shape])


def _size(axis: int | str, names: Mapping[str, Any]) -> Any:
    """A size of a shape: a number, or an expression over names. One that makes no claim is one element wide."""
    if isinstance(axis, int):
        return axis
    text = axis.partition(":")[0]
    return 1 if text == "_" else eval(text.replace("/", "//"), {"__builtins__": {}}, dict(names))
