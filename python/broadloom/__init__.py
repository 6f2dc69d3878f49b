"""Broadloom infers the shapes of tensor programs, explains them, and runs them.

>>> import broadloom as bl
>>> bl.__version__
'0.1.0'
"""

from ._annotations import Bool, Complex, Float, Int, Shaped
from ._broadloom import __version__
from ._dims import Dim
from ._reductions import all, any, max, mean, min, prod, sum
from ._shape_errors import ArrayTypeError, DTypeError, ShapeError, SpecError
from ._shaped import shaped, sizes
from ._specs import einsum, rearrange, repeat, split
from ._typed_tensor import TypedTensor

__all__ = [
    "ArrayTypeError",
    "Bool",
    "Complex",
    "DTypeError",
    "Dim",
    "Float",
    "Int",
    "ShapeError",
    "Shaped",
    "SpecError",
    "TypedTensor",
    "__version__",
    "all",
    "any",
    "einsum",
    "max",
    "mean",
    "min",
    "prod",
    "rearrange",
    "repeat",
    "shaped",
    "sizes",
    "split",
    "sum",
]
