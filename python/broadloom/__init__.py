"""Broadloom infers the shapes of tensor programs, explains them, and runs them.

>>> import broadloom as bl
>>> p = bl.program('''
... data x : 32 | 784
... let y = relu({w} @ x + {b : 64})
... ''')
>>> print(p.shapes)
tensor  shape      elements  how it is known
x       32 | 784     25,088  declared
w       784 -> 64    50,176  inferred from its use
b       64               64  declared
y       32 | 64       2,048  inferred
<BLANKLINE>
2 parameters with 50,240 elements

Where to begin:

- Programs: `load` reads a `.loom` file, `program` a text; both give a `Program`, which answers questions (`shapes`, `explain`, `memory`)
  and runs on arrays of NumPy, PyTorch and JAX.
- Graphs in Python: `Graph` makes data, parameters and states, which are used with operators, functions such as `relu`, `concat` and
  `stack`, recurrences (`scan`, `fold`), and linear algebra such as `solve`; a `Session` runs them; `Initial` has first values, `Sgd` and `Adam` train.
- Arrays without a program: `einsum`, `rearrange`, `repeat`, `reduce`, `split`, `pack`, `unpack`, `sum`, `mean`, `max`, `min`, `prod`,
  `any`, `all`.
- Functions whose shapes are checked: `shaped`, with annotations by `Float`, `Int`, `Bool`, `Complex`, `Shaped`; `sizes` inside of them.
- PyTorch: `shapes_of` for the shapes of a module, `torch.Module` for a program as a module, `TypedTensor` for tensors with names.
- Mistakes: every exception is an `Error`, with both ends of a conflict in `ends`, and advice in `help`.

`help(broadloom.Program)` and the like say more. The documents are docs/python.md and docs/arrays.md of the repository.
"""

import importlib

from . import _matrices, _operations
from ._annotations import Bool, Complex, Float, Int, Shaped
from ._answers import Answer, Division, Memory, Picture
from ._broadloom import __version__
from ._dims import Dim
from ._errors import Error, Message, Place, UnknownName
from ._graph import Expr, Graph, Routine
from ._initial import Initial
from ._jax import JaxFunction
from ._joining import concat, stack
from ._matrices import *  # noqa: F403
from ._operations import *  # noqa: F403
from ._optimisers import Adam, Sgd
from ._packing import pack, unpack
from ._parameters import Parameters
from ._program import Program, load, program
from ._recurrences import fold, scan
from ._reductions import all, any, max, mean, min, prod, sum
from ._results import Copies, Function, Results, Run
from ._session import Session
from ._shape_errors import ArrayTypeError, DTypeError, ShapeError, SpecError
from ._shaped import shaped, sizes
from ._shapes import Shape, Shapes
from ._shapes_of import shapes_of
from ._shapes_report import ModuleShapes
from ._specs import einsum, rearrange, reduce, repeat, split
from ._typed_tensor import TypedTensor

__all__ = [
    "Adam",
    "Answer",
    "ArrayTypeError",
    "Bool",
    "Complex",
    "Copies",
    "DTypeError",
    "Dim",
    "Division",
    "Error",
    "Expr",
    "Float",
    "Function",
    "Graph",
    "Initial",
    "Int",
    "JaxFunction",
    "Memory",
    "Message",
    "ModuleShapes",
    "Parameters",
    "Picture",
    "Place",
    "Program",
    "Results",
    "Routine",
    "Run",
    "Session",
    "Sgd",
    "Shape",
    "ShapeError",
    "Shaped",
    "Shapes",
    "SpecError",
    "TypedTensor",
    "UnknownName",
    "__version__",
    "all",
    "any",
    "concat",
    "einsum",
    "fold",
    "load",
    "max",
    "mean",
    "min",
    "pack",
    "prod",
    "program",
    "rearrange",
    "reduce",
    "repeat",
    "scan",
    "shaped",
    "shapes_of",
    "sizes",
    "split",
    "stack",
    "sum",
    "unpack",
]
__all__ += _matrices.__all__
__all__ += _operations.__all__


def __getattr__(name: str) -> object:
    """`broadloom.torch` is there when it is asked for, so that nothing else needs PyTorch."""
    if name == "torch":
        return importlib.import_module("broadloom.torch")
    raise AttributeError(f"module 'broadloom' has no attribute {name!r}")
