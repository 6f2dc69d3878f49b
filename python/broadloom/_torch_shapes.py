"""The outputs of a program for tensors of PyTorch that have shapes and no numbers, while `bl.shapes_of` traces a module around it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import torch

from ._program import Program
from ._symbolic import hint

__all__ = ["traced_outputs"]


def traced_outputs(program: Program, outputs: Sequence[str], tensors: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Tensors with the sizes that the outputs have for these inputs; what does not fit is refused as in a call."""
    program.verify(**{name: _stand_in(tensor) for name, tensor in tensors.items()})
    own = program._program
    names: dict[str, Any] = {}
    for name, tensor in tensors.items():
        for size, given in zip(own.sizes(name), tensor.shape):
            if (known := _name(size)) is not None:
                names.setdefault(known, given)
    # A name that no input has is the size that the program runs at.
    for dim in own.shapes()[0]["dims"]:
        names.setdefault(dim["name"], dim["size"])
    # Two axes of one name are one size, which PyTorch has to know too.
    for name, tensor in tensors.items():
        for size, given in zip(own.sizes(name), tensor.shape):
            torch._check(_size(size, names) == given)
    return tuple(torch.empty([_size(size, names) for size in own.sizes(output)]) for output in outputs)


def _stand_in(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """An array of the same sizes that takes no memory."""
    kind = "int64" if not tensor.dtype.is_floating_point else "float32"
    return np.broadcast_to(np.zeros((), kind), [hint(size) for size in tensor.shape])


def _name(size: Any) -> str | None:
    """The name, if a size is one."""
    match size:
        case ([(1, [str(name)])], 1):
            return name
    return None


def _size(size: Any, names: Mapping[str, Any]) -> Any:
    """A size at the sizes of names: a number, or the sum of products, divided without a rest."""
    if isinstance(size, int):
        return size
    terms, denominator = size
    total = sum(factor * math.prod(names[name] for name in product) for factor, product in terms)
    return total if denominator == 1 else total // denominator
