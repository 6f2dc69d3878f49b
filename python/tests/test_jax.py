"""Arrays of JAX: same kind in, same kind out, without a copy."""

from __future__ import annotations

import broadloom as bl
import numpy as np
import pytest
from needed import needed

jax = needed("jax")

TWICE = "data x : 2 | 3\nlet y = 2 * x\n"


def test_jax_in_jax_out() -> None:
    p = bl.program(TWICE)
    x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
    y = p(x=x)["y"]
    assert isinstance(y, jax.Array) and y.tolist() == (2 * x).tolist()
    assert p.copies == {"x": None}


def test_the_same_memory() -> None:
    """JAX takes memory without a copy only if it is aligned to 64 bytes."""
    y = bl.program(TWICE)(x=np.ones((2, 3), "float32"))["y"]
    assert jax.numpy.from_dlpack(y).unsafe_buffer_pointer() == y.ctypes.data


def test_half_precision() -> None:
    p = bl.program(TWICE)
    assert p(x=jax.numpy.ones((2, 3), "bfloat16"))["y"].tolist() == [[2.0] * 3] * 2
    assert "bfloat16" in (p.copies["x"] or "")


def test_traced_arrays_are_refused() -> None:
    p = bl.program(TWICE)
    with pytest.raises(bl.Error, match="being traced by JAX"):
        jax.jit(lambda x: p(x=x)["y"])(jax.numpy.ones((2, 3)))
