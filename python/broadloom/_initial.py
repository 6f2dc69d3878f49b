"""The first values of parameters and states, and the types of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Initial", "dtype_name"]


@dataclass(frozen=True)
class Initial:
    """A distribution that the first values of a parameter or a state are drawn from. The seed of the session decides them.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> w = g.param("w", "784 -> 64", initial=bl.Initial.normal(0, 0.02))
    >>> w.shape
    '784 -> 64'
    >>> bool(abs(g.session(seed=1)["w"].std() - 0.02) < 0.001)
    True
    """

    _how: str
    _numbers: tuple[float, float]

    @staticmethod
    def uniform(low: float = 0.0, high: float = 1.0) -> Initial:
        """Numbers from `low` to `high`, all equally likely."""
        return Initial("uniform", (float(low), float(high)))

    @staticmethod
    def normal(mean: float = 0.0, deviation: float = 1.0) -> Initial:
        """Numbers around a mean, with a standard deviation."""
        return Initial("normal", (float(mean), float(deviation)))

    @staticmethod
    def kaiming(gain: float = 1.0, *, normal: bool = False) -> Initial:
        """Numbers whose variance is `gain ** 2` divided by the size of the input axes."""
        return Initial("kaiming_normal" if normal else "kaiming", (float(gain), 0.0))

    @staticmethod
    def xavier(gain: float = 1.0, *, normal: bool = False) -> Initial:
        """Numbers whose variance is `gain ** 2` divided by the mean of the sizes of input and output axes."""
        return Initial("xavier_normal" if normal else "xavier", (float(gain), 0.0))


_NAMES = {
    "bool": "bool",
    "uint8": "u8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
}


def dtype_name(dtype: Any) -> str | None:
    """The name that a graph has for a type of numbers, which may be a text or a type of NumPy, PyTorch or JAX.

    >>> [dtype_name(dtype) for dtype in ("f32", "bfloat16", np.int64, np.dtype("bool"), None)]
    ['f32', 'bf16', 'i64', 'bool', None]
    """
    if dtype is None:
        return None
    try:
        text = str(dtype).removeprefix("torch.") if isinstance(dtype, str) or type(dtype).__module__ == "torch" else np.dtype(dtype).name
    except TypeError:
        text = repr(dtype)
    name = _NAMES.get(text, text)
    if name not in _NAMES.values():
        raise TypeError(f"{text} is not a type of numbers in a graph: {', '.join(_NAMES.values())}")
    return name
