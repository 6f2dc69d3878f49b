"""Annotations of arrays: ``bl.Float[torch.Tensor, "..b.., s | d"]``.

For static checkers ``Float``, ``Int``, ``Bool``, ``Complex`` and ``Shaped`` are ``typing.Annotated``: they see the array
type and ignore the text. At run time they give ``Annotated[torch.Tensor, ArrayShape(...)]``, which ``bl.shaped`` reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

__all__ = ["ArrayShape", "Bool", "Complex", "Float", "Int", "Shaped"]


class ArrayShape:
    """The elements and the shape that an annotation asks for."""

    __slots__ = ("elements", "text")

    def __init__(self, elements: str, text: str) -> None:
        self.elements = elements
        self.text = text

    def __repr__(self) -> str:
        return f"{_NAMES[self.elements]} {self.text!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayShape) and (self.elements, self.text) == (other.elements, other.text)

    def __hash__(self) -> int:
        return hash((self.elements, self.text))


_NAMES = {"float": "Float", "int": "Int", "bool": "Bool", "complex": "Complex", "any": "Shaped"}


class _Kind(type):
    """The type of ``Float`` and the others, which are written with brackets and have no instances."""

    elements: str

    def __repr__(cls) -> str:
        return f"broadloom.{cls.__name__}"

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise TypeError(f'write bl.{cls.__name__}[Array, "shape"]: it is an annotation')

    def __getitem__(cls, parts: Any) -> Any:
        if not isinstance(parts, tuple) or len(parts) != 2 or not isinstance(parts[1], str):
            raise TypeError(f'write bl.{cls.__name__}[Array, "shape"]: the type of the array, then its shape as text')
        array, text = parts
        return Annotated[array, ArrayShape(cls.elements, text)]


if TYPE_CHECKING:
    from typing import Annotated as Bool
    from typing import Annotated as Complex
    from typing import Annotated as Float
    from typing import Annotated as Int
    from typing import Annotated as Shaped
else:

    def _kind(elements: str, what: str) -> Any:
        name = _NAMES[elements]
        says = (
            f"The annotation of an array of {what}: ``bl.{name}[np.ndarray, \"batch, n\"]``.\n\n"
            "The first part is the type of the array, the second its shape: names, numbers, ``2*n``, ``..b..`` for any axes.\n"
            "``@bl.shaped`` checks it; to type checkers it is ``typing.Annotated``."
        )
        return _Kind(name, (), {"elements": elements, "__doc__": says, "__module__": "broadloom", "__slots__": ()})

    Float = _kind("float", "floating point numbers")
    Int = _kind("int", "whole numbers")
    Bool = _kind("bool", "truth values")
    Complex = _kind("complex", "complex numbers")
    Shaped = _kind("any", "any elements")


def element_kind(dtype: Any) -> str:
    """The kind of elements by the data type of any library.

    >>> import numpy as np
    >>> element_kind(np.dtype("float32")), element_kind(np.dtype("uint8"))
    ('float', 'int')
    """
    name = str(dtype).rpartition(".")[2]
    for start, kind in (("bfloat", "float"), ("float", "float"), ("int", "int"), ("uint", "int"), ("bool", "bool"), ("complex", "complex")):
        if name.startswith(start):
            return kind
    return {"f": "float", "i": "int", "u": "int", "b": "bool", "c": "complex"}.get(getattr(dtype, "kind", ""), "other")
