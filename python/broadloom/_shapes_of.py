"""The shapes of an existing module of PyTorch, with names for its sizes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

from ._annotations import ArrayShape
from ._dims import Dim
from ._errors import Error
from ._names import unknown
from ._places import here
from ._program import Program
from ._shapes_report import ModuleShapes
from ._traced import Axes, Trace, shapes_alone
from ._traced_inference import Inference

if TYPE_CHECKING:
    import torch

__all__ = ["shapes_of"]

#: Sizes to trace at, where none are given. They are all different, so that no two sizes are equal by chance: the small ones
#: fit models with a limited context, the large ones images, which are inputs of four axes or more.
_SMALL, _LARGE = (5, 7, 11, 13, 17, 19, 23, 29), (67, 71, 73, 79, 83, 89, 97, 101)


def shapes_of(
    module: torch.nn.Module,
    inputs: Any,
    *,
    sizes: Mapping[str, int | tuple[int, int | None] | Dim] | None = None,
) -> ModuleShapes:
    """Infer the shapes of a module of PyTorch, with names for sizes, and say what is found.

    The module is traced by `torch.export`; it is not run, and no numbers are computed. Every operation is given to Broadloom's
    inference, and what it finds is compared with what PyTorch says.

    Args:
        module: Any `nn.Module`.
        inputs: The inputs by the names of `forward`, or a single one. Each is a text with its sizes, `"batch, seq, 64"`, or multiples of
            names where PyTorch rounds down otherwise, `"batch, 3, 32*height, 32*width"`; an annotation, which says the elements too, `bl.Int[torch.Tensor, "batch, seq"]`; an example tensor; or a pair of an
            example tensor and a text. A text alone is of floating point numbers, or of whole numbers if the module takes
            nothing else.
        sizes: For names: the size to trace at, or a range `(least, most)`, or a `bl.Dim`.

    >>> import broadloom as bl
    >>> import torch  # doctest: +SKIP
    >>> model = torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))  # doctest: +SKIP
    >>> print(bl.shapes_of(model, "batch, 784"))  # doctest: +SKIP
    module   kind        gives       parameters
    input    input       batch, 784
    0        Linear      batch, 64       50,240
    1        ReLU        batch, 64
    2        Linear      batch, 10          650
    ...
    """
    written = here()
    given = _named_inputs(module, inputs)
    shapes = {name: _Input(name, value) for name, value in given.items()}
    names: dict[str, int] = {}
    for axis in (axis for each in shapes.values() for axis in each.named()):
        names[axis.name] = max(axis.factor, names.get(axis.name, 1))
    wanted = dict(sizes or {})
    for name in wanted:
        if name not in names:
            raise Error._plain(
                f"`sizes` has `{name}`, which is the name of no axis",
                f"names are those in the inputs: {', '.join(names) or 'none'}",
            )
    found = {name: size for each in shapes.values() for name, size in each.found().items()}
    with shapes_alone():
        trace, dims, axes = _traced(module, shapes, names, wanted, found)
    report = Inference(module, trace, dims, axes, written).report()
    if report.mistakes and trace.fixed:
        # A forward pass that asks a size for its number is traced for that number, and right or wrong for it alone.
        alone = Inference(module, trace, dims, axes, written, fixed=True).report()
        report = report if alone.mistakes else alone
    return report


class _Named(NamedTuple):
    """The size of an axis that has a name: a multiple of it, or itself."""

    factor: int
    name: str


class _Input:
    """An input: the sizes of its axes, and what its elements are."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.example, text, self.elements = name, None, None, None
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
            value, text = value
        if get_origin(value) is Annotated and isinstance(get_args(value)[1], ArrayShape):
            text, self.elements = get_args(value)[1].text, get_args(value)[1].elements
        elif isinstance(value, str):
            text = value
        elif hasattr(value, "shape") and hasattr(value, "dtype"):
            self.example = value
        else:
            raise Error._plain(
                f"the input `{name}` is of type {type(value).__name__}",
                'give a text with its sizes, "batch, seq", or an example tensor, or both as a pair',
            )
        self.axes: list[int | _Named] = _axes(name, text) if text is not None else list(self.example.shape)  # type: ignore[union-attr]
        if self.example is not None and len(self.axes) != self.example.dim():
            raise Error._plain(
                f"the input `{name}` has the shape {tuple(self.example.shape)}, and `{text}` names {len(self.axes)} axes"
            )

    def named(self) -> list[_Named]:
        return [axis for axis in self.axes if isinstance(axis, _Named)]

    def found(self) -> dict[str, int]:
        """The sizes that an example has for names."""
        found = {}
        for axis, size in zip(self.axes, self.example.shape if self.example is not None else ()):
            if not isinstance(axis, _Named):
                continue
            if size % axis.factor:
                raise Error._plain(
                    f"the input `{self.name}` has an axis of {size}, which is no multiple of {axis.factor}: it is `{axis.factor}*{axis.name}`",
                    "give another example, or another text",
                )
            found[axis.name] = int(size) // axis.factor
        return found

    def sizes(self, dims: dict[str, Dim]) -> list[int]:
        """The sizes to trace at."""
        return [axis.factor * dims[axis.name].sample if isinstance(axis, _Named) else axis for axis in self.axes]

    def tensor(self, dims: dict[str, Dim], whole: bool) -> Any:
        """A tensor to trace with. Its numbers do not matter."""
        import torch

        sizes = self.sizes(dims)
        if self.example is not None:
            return self.example.new_zeros(sizes) if list(self.example.shape) != sizes else self.example
        kinds = {"int": torch.int64, "bool": torch.bool, "complex": torch.complex64, "float": torch.float32}
        default = torch.int64 if whole else torch.float32
        return torch.zeros(sizes, dtype=kinds.get(self.elements or "", default))


def _axes(name: str, text: str) -> list[int | _Named]:
    axes: list[int | _Named] = []
    for part in re.split(r"[,\s]+", re.sub(r"\s*\*\s*", "*", text.strip())):
        found = re.fullmatch(r"(\d+)|(?:([1-9]\d*)\*)?([A-Za-z_]\w*)", part)
        if found is None and part:
            raise Error._plain(
                f"`{part}` in the shape of the input `{name}` is neither a name, nor a multiple of one, nor a number",
                'write names and numbers: "batch, seq, 64", or "batch, 3, 32*height, 32*width"',
            )
        if found is not None:
            number, factor, label = found.groups()
            axes.append(int(number) if number else _Named(int(factor or 1), label))
    return axes


def _named_inputs(module: Any, inputs: Any) -> dict[str, Any]:
    """The inputs by the names that `forward` has for them."""
    if not hasattr(module, "forward"):
        raise TypeError(f"bl.shapes_of takes a module of PyTorch, not {type(module).__name__}: put the function into `forward` of one")
    program = getattr(module, "_program", None)
    if isinstance(program, Program):
        raise Error._plain(
            "this module is a program, whose shapes are inferred already", "`module.program.shapes` has them, with the names of its sizes"
        )
    signature = inspect.signature(module.forward).parameters.values()
    parameters = [each.name for each in signature if each.kind is each.POSITIONAL_OR_KEYWORD]
    if isinstance(inputs, Mapping):
        takes_any = [each for each in signature if each.kind is each.VAR_KEYWORD]
        for name in inputs:
            if not takes_any and name not in [each.name for each in signature]:
                raise unknown(f"`forward` of {type(module).__name__} has no input", name, parameters)
        return dict(inputs)
    several = (
        list(inputs)
        if isinstance(inputs, list) or isinstance(inputs, tuple) and not (len(inputs) == 2 and isinstance(inputs[1], str))
        else [inputs]
    )
    if len(several) > len(parameters):
        raise Error._plain(f"`forward` of {type(module).__name__} takes {len(parameters)} inputs, and there are {len(several)}")
    return dict(zip(parameters, several))


def _dims(names: dict[str, int], wanted: dict[str, Any], found: dict[str, int], samples: tuple[int, ...]) -> dict[str, Dim]:
    """A size for each name: as it was asked for, else as in an example, else one of the samples; a small one if axes are multiples of it."""
    dims = {}
    taken = {*found.values(), *(each for each in wanted.values() if isinstance(each, int))}
    pools: dict[tuple[int, ...], list[int]] = {}
    for pool in (_SMALL, _LARGE):
        pools[pool] = [sample for sample in pool if sample not in taken]
    for name, factor in names.items():
        free = pools[_SMALL if factor > 1 else samples]
        asked = wanted.get(name)
        if isinstance(asked, Dim):
            dims[name] = Dim(name, asked.sample, asked.least, asked.greatest)
            continue
        least, most = asked if isinstance(asked, tuple) else (None, None)
        sample = asked if isinstance(asked, int) else found.get(name) or free.pop(0)
        # A size of 0 or 1 is special to PyTorch, so that it is no example of others.
        sample = max(2, least or 2, sample) if not isinstance(asked, int) else asked
        dims[name] = Dim(name, min(sample, most) if most is not None else sample, least, most)
    return dims


def _traced(
    module: Any, shapes: dict[str, _Input], names: dict[str, int], wanted: dict[str, Any], found: dict[str, int]
) -> tuple[Trace, dict[str, Dim], Axes]:
    """The trace, at sizes and with elements that the module takes if there are any."""
    import sympy

    from ._recorded import record

    symbols = {name: sympy.Symbol(name, integer=True, positive=True) for name in names}
    axes = {
        each.name: {axis: size.factor * symbols[size.name] for axis, size in enumerate(each.axes) if isinstance(size, _Named)}
        for each in shapes.values()
    }
    images = any(len(each.axes) > 3 for each in shapes.values())
    best: Trace | None = None
    for samples in (_LARGE, _SMALL) if images else (_SMALL, _LARGE):
        for whole in (False, True):
            dims = _dims(names, wanted, found, samples)
            tensors = {each.name: each.tensor(dims, whole) for each in shapes.values()}
            trace = record(module, tensors, axes)
            if trace.refused is None:
                return _exported(module, tensors, axes) or trace, dims, axes
            if best is None or len(trace.steps) > len(best.steps):
                best, best_dims, best_tensors = trace, dims, tensors
    assert best is not None
    # Few modules can be exported and not called with symbols: those of one opaque operation, such as `nn.LSTM`.
    return _exported(module, best_tensors, axes) or best, best_dims, axes


def _exported(module: Any, tensors: dict[str, Any], axes: Axes) -> Trace | None:
    from ._exported import export

    try:
        return export(module, tensors, axes)
    except Exception:  # PyTorch says no in many ways, and the trace call by call says why
        return None
