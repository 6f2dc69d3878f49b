"""Results of programs as arrays of JAX, in the same memory.

``jax.numpy.from_dlpack`` asks the CPU for a stream at every call, which the CPU does not have, and catches the error: most of its time is that.
What it calls in the end takes an eighth as long, but is no part of the public interface of JAX. So it is tried once, beside the public function, and is used
only where both give the same.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["to_jax"]

#: The alignment of memory that JAX takes without a copy.
_ALIGNED = 64


def to_jax(arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Arrays of JAX for arrays of NumPy, without a copy."""
    jax = sys.modules["jax"]
    public, direct = jax.numpy.from_dlpack, _direct(jax)
    if direct is None:
        return {name: public(array) for name, array in arrays.items()}
    # Numbers of 64 bits become those of 32 where JAX is told to have no others, which the public function does.
    return {
        name: public(array) if array.dtype.itemsize == 8 and not jax.config.jax_enable_x64 else direct(array)
        for name, array in arrays.items()
    }


@functools.cache
def _direct(jax: Any) -> Callable[[np.ndarray[Any, Any]], Any] | None:
    """The short way into JAX, if this version of JAX has it and it gives what the public function gives."""
    try:
        inside: Any = importlib.import_module("jax._src.lib")
        take, cpu = inside._jax.dlpack_managed_tensor_to_buffer, jax.devices("cpu")[0]

        def direct(array: np.ndarray[Any, Any]) -> Any:
            return take(array.__dlpack__(), cpu, None, None)

        tried = _sample()
        made, public = direct(tried), jax.numpy.from_dlpack(tried)
        same = (
            isinstance(made, jax.Array)
            and made.unsafe_buffer_pointer() == public.unsafe_buffer_pointer()
            and (made.aval, made.committed, made.sharding) == (public.aval, public.committed, public.sharding)
            and bool((np.asarray(made) == tried).all())
        )
    except Exception:  # Nothing is promised of what is not public: whatever goes wrong, there is the public function.
        return None
    return direct if same else None


def _sample() -> np.ndarray[Any, Any]:
    """A few numbers in memory that is aligned as JAX wants it."""
    memory = np.zeros(_ALIGNED + 16, dtype=np.uint8)
    begin = -memory.ctypes.data % _ALIGNED
    sample = memory[begin : begin + 16].view(np.float32)
    sample[:] = 1, 2, 3, 4
    return sample
