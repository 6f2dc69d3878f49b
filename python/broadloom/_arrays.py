"""Arrays of callers, in the form in which programs read them, and results in the form in which callers want them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._errors import Error
from ._to_jax import to_jax

# Types that programs store. Anything else is converted, or refused.
_STORED = frozenset(
    np.dtype(name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
)
_WIDENED = {
    np.dtype("uint16"): "int32",
    np.dtype("uint32"): "int64",
}
_CPU = 1  # the number of the device in DLPack
#: The types of arrays of JAX that have numbers (those that are traced have other types), and their places that are one CPU: as they came along.
_WITH_NUMBERS: set[type] = set()
_ON_CPU: set[Any] = set()


class Arranged:
    """An array as programs read it: NumPy, row-major, of a type that is stored."""

    __slots__ = ("array", "kind", "why")

    def __init__(self, array: np.ndarray[Any, Any], kind: str, why: str | None) -> None:
        self.array = array
        #: The library it comes from.
        self.kind = kind
        #: Why it was copied, if it was.
        self.why = why


class Given:
    """The arrays of a call, by name, as programs read them."""

    __slots__ = ("arrays", "kind", "lost", "whys")

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        #: Why some were copied to be brought into form.
        self.whys: dict[str, str] = {}
        #: The library that all of them come from; NumPy if they come from several.
        self.kind = ""
        #: The first array that wants gradients, which no result of a call has.
        self.lost: str | None = None
        for name, value in arrays.items():
            each = arranged(name, value)
            self.arrays[name] = each.array
            if each.why:
                self.whys[name] = each.why
            if each.kind != self.kind:
                self.kind = "numpy" if self.kind else each.kind
            if each.kind == "torch" and self.lost is None and wants_gradients(value):
                self.lost = name

    def copies(self, reasons: Iterable[str | None]) -> dict[str, str | None]:
        """The reason why each was copied, to be brought into form or one of these."""
        return {name: self.whys.get(name) or reason for name, reason in zip(self.arrays, reasons)}


def arranged(name: str, value: object) -> Arranged:
    """Brings a value of any kind into form, without a copy where it is in form already."""
    if type(value) is np.ndarray:
        if value.dtype in _STORED and value.flags.c_contiguous and value.flags.aligned:
            return Arranged(value, "numpy", None)
        return _in_form(name, value, "numpy", None)
    if type(value) in _WITH_NUMBERS and value.sharding in _ON_CPU:  # type: ignore[attr-defined]
        return _in_form(name, np.asarray(value), "jax", None)
    kind = _kind(value)
    if kind == "torch":
        array, why = _from_torch(name, value)
    elif kind == "jax":
        array, why = _from_jax(name, value)
    elif isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise Error._plain(f"`{name}` has masked elements, and a program has no masks", f"fill them: `{name}.filled(0)`")
    elif isinstance(value, np.ndarray):
        array, why = np.asarray(value), None
    elif hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        library = type(value).__module__.partition(".")[0]
        _on_cpu(name, value.__dlpack_device__()[0] == _CPU, "another device", f"{library} can copy it to the CPU")
        array, why = np.from_dlpack(value), None
    elif value is None:
        raise Error._plain(f"`{name}` is None, and no array", f"leave `{name}` out, or give its values")
    else:
        try:
            array, why = np.asarray(value), "it is not an array"
        except ValueError as error:
            uneven = isinstance(value, (list, tuple)) and "inhomogeneous" in str(error)
            why = "its rows have different lengths" if uneven else str(error)
            raise Error._plain(f"`{name}` is no array: {why}", "give an array, or lists of numbers of equal length") from None
        if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
            raise Error._plain(f"`{name}` is {type(value).__name__}, and no array of numbers", "give an array of NumPy, PyTorch or JAX")
    return _in_form(name, array, kind, why)


def _kind(value: object) -> str:
    """The library that an array comes from, without importing any."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return "torch"
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.Array):
        return "jax"
    return "numpy"


def _from_torch(name: str, value: Any) -> tuple[np.ndarray[Any, Any], str | None]:
    torch = sys.modules["torch"]
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        try:
            return (value.detach() if value.requires_grad else value).numpy(), None
        except (TypeError, RuntimeError):
            pass  # below is why, and what can be done
    device = value.device.type
    if device == "meta":
        raise Error._plain(f"`{name}` is on the device `meta`: it has a shape, and no numbers", "give a tensor with numbers, or see `program.shapes`")
    _on_cpu(name, device == "cpu", str(value.device), f"`{name}.cpu()`")
    if value.layout != torch.strided:
        raise Error._plain(f"`{name}` is sparse, and a program reads dense arrays", f"give `{name}.to_dense()`")
    if type(value).__name__ in ("FakeTensor", "FunctionalTensor"):
        raise Error._plain(
            f"`{name}` is being traced by PyTorch: it has a shape, and no numbers yet",
            "a program runs on numbers: trace what is around it, or see `program.shapes`",
        )
    value = value.detach()
    why = None
    if str(value.dtype) == "torch.bfloat16":
        value, why = value.float(), "it is bfloat16, which NumPy does not have"
    elif value.is_conj() or value.is_neg():
        value, why = value.resolve_conj().resolve_neg(), "it is a view that changes signs"
    return value.numpy(), why


def wants_gradients(value: Any) -> bool:
    """True for a tensor of PyTorch through which gradients are to go back."""
    return bool(value.requires_grad) and bool(sys.modules["torch"].is_grad_enabled())


def _from_jax(name: str, value: Any) -> tuple[np.ndarray[Any, Any], str | None]:
    if isinstance(value, sys.modules["jax"].core.Tracer):
        raise Error._plain(
            f"`{name}` is being traced by JAX: it has a shape, and no numbers yet",
            "`program.jax()` is a function for inside of `jit` and `grad`; or call the program outside of them",
        )
    devices = value.devices()
    platforms = {device.platform for device in devices}
    there = ", ".join(sorted(platforms))
    _on_cpu(name, platforms == {"cpu"}, there, f"`jax.device_put({name}, jax.devices(\"cpu\")[0])`")
    why = "it is divided over several devices" if len(devices) > 1 else None
    if why is None:
        _WITH_NUMBERS.add(type(value))
        _ON_CPU.add(value.sharding)
    return np.asarray(value), why


def _on_cpu(name: str, there: bool, device: str, move: str) -> None:
    """Refuses an array on another device, with what moves it to the CPU in its own library."""
    if not there:
        raise Error._plain(f"`{name}` is on {device}, and programs run on the CPU", f"move it first: {move}")


def _in_form(name: str, array: np.ndarray[Any, Any], kind: str, why: str | None) -> Arranged:
    """Converts the type, and copies what is not laid out row by row."""
    dtype = array.dtype
    if dtype not in _STORED:
        to = _stored(name, array)
        return Arranged(np.array(array, dtype=to, order="C"), kind, why or f"it is {dtype}, and a program has {to}")
    if not array.flags.c_contiguous:
        strides = "its elements are not one after another in memory"
        return Arranged(np.array(array, order="C"), kind, why or strides)
    if not array.flags.aligned:
        return Arranged(np.array(array), kind, why or "its memory is not aligned")
    return Arranged(array, kind, why)


def _stored(name: str, array: np.ndarray[Any, Any]) -> str:
    """The type in which numbers of another type are stored."""
    dtype = array.dtype
    native = dtype.newbyteorder("=")
    if native in _STORED:
        return str(native.name)
    if native in _WIDENED:
        return _WIDENED[native]
    if native == np.dtype("uint64") and (array.size == 0 or int(array.max()) <= np.iinfo(np.int64).max):
        return "int64"
    if dtype.name == "bfloat16":
        return "float32"
    if dtype.kind == "f":
        return "float64"
    advice = f"give its real part: `{name}.real`" if dtype.kind == "c" else f"convert it: `{name}.astype('float32')`"
    what = "its numbers are too large for int64" if native == np.dtype("uint64") else f"its type is {dtype}"
    raise Error._plain(f"`{name}` cannot be read: {what}, and programs compute with real numbers", advice)


def as_kind(arrays: dict[str, np.ndarray[Any, Any]], kind: str) -> dict[str, Any]:
    """Results as arrays of a library, without a copy."""
    if kind == "torch":
        from_numpy = sys.modules["torch"].from_numpy
        return {name: from_numpy(array) for name, array in arrays.items()}
    if kind == "jax":
        return to_jax(arrays)
    return arrays
