"""Routines of a program as functions of JAX, through StableHLO."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ._errors import Error
from ._names import unknown

__all__ = ["JaxFunction"]

#: Element types of MLIR, and what JAX calls them.
_TYPES = {
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "i32": "int32",
    "i64": "int64",
    "ui32": "uint32",
    "ui64": "uint64",
}


class JaxFunction:
    """A routine of a program as a function of JAX. `Program.jax` makes one.

    It takes arrays by name, and returns a dictionary of arrays by name. It can be called inside of `jax.jit` and runs where JAX runs. Data has to
    be given. A parameter that is not given has the values that it had when the function was made.

    On a CPU, a routine with gradients of maxima has to be compiled without fusion. It is, unless you compile it yourself: then write
    `jax.jit(…, compiler_options={"xla_disable_hlo_passes": "fusion"})`.

    Attributes:
        inputs: The shape and the element type of each array that it takes, by name.
        outputs: The same of each array that it returns.
    """

    def __init__(self, text: str, parameters: Mapping[str, Any]) -> None:
        import jax

        call, self.inputs, self.outputs = _exported(text)
        self._traced = call
        # The gradient of a maximum looks for the value that is equal to it. On a CPU, XLA ignores barriers and may compute that value twice,
        # fused with what comes before it and with different roundings, so that it is not found. Nothing is fused then.
        exact = "stablehlo.optimization_barrier" in text and jax.default_backend() == "cpu"
        self._compiled = jax.jit(call, compiler_options={"xla_disable_hlo_passes": "fusion"} if exact else None)
        self._kept = {name: jax.numpy.asarray(parameters[name]) for name in self.inputs if name in parameters}

    def __call__(self, /, **arrays: Any) -> dict[str, Any]:
        given = {**self._kept, **arrays}
        for name in given:
            if name not in self.inputs:
                raise unknown("the routine does not read", name, list(self.inputs))
        for name in self.inputs:
            if name not in given:
                raise Error._plain(f"the routine reads `{name}`, which was not given", f"give it: `{name}=array`")
        fitting = [self._fitting(name, given[name]) for name in self.inputs]
        traced = any(isinstance(array, sys.modules["jax"].core.Tracer) for array in fitting)
        return dict(zip(self.outputs, (self._traced if traced else self._compiled)(*fitting)))

    def _fitting(self, name: str, array: Any) -> Any:
        """An array of the shape that the module was made for, in its element type."""
        import jax

        wanted, array = self.inputs[name], jax.numpy.asarray(array)
        if array.shape != wanted.shape:
            raise Error._plain(
                f"`{name}` has shape {array.shape}, and the function was made for {wanted.shape}",
                "a module has one size of each name: make another, of `bl.program(…, sizes={'n': 8})`",
            )
        kinds = [jax.numpy.issubdtype(dtype, jax.numpy.floating) for dtype in (array.dtype, wanted.dtype)]
        if kinds[0] != kinds[1]:
            raise Error._plain(
                f"`{name}` is {array.dtype}, and the program stores {wanted.dtype}", f"convert it: `{name}.astype('{wanted.dtype}')`"
            )
        return array.astype(wanted.dtype)

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{name}: {of.dtype}{list(of.shape)}" for name, of in side.items()) for side in (self.inputs, self.outputs)
        )
        return f"<broadloom function of JAX ({inputs}) -> ({outputs})>"


def _exported(text: str) -> tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]:
    """A module as a function that composes with everything in JAX, and what it takes and returns, by name."""
    import jax
    from jax import export, tree_util
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        main = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        inputs = _named(main.attributes["arg_attrs"], "jax.arg_info", kind.inputs)
        outputs = _named(main.attributes["res_attrs"], "jax.result_info", kind.results)
        artifact = stablehlo.serialize_portable_artifact_str(str(module), stablehlo.get_minimum_version())
    given, made = tuple(inputs.values()), tuple(outputs.values())
    fields: dict[str, Any] = {
        "fun_name": "main",
        "in_tree": tree_util.tree_structure((given, {})),
        "in_avals": given,
        "out_tree": tree_util.tree_structure(made),
        "out_avals": made,
        "_has_named_shardings": False,
        "_in_named_shardings": (None,) * len(given),
        "_out_named_shardings": (None,) * len(made),
        "in_shardings_hlo": (None,) * len(given),
        "out_shardings_hlo": (None,) * len(made),
        "nr_devices": 1,
        "platforms": (jax.default_backend(),),
        "ordered_effects": (),
        "unordered_effects": (),
        "disabled_safety_checks": (),
        "mlir_module_serialized": artifact,
        "calling_convention_version": export.maximum_supported_calling_convention_version,
        "module_kept_var_idx": tuple(range(len(given))),
        "uses_global_constants": False,
        "_get_vjp": None,
    }
    # Versions of JAX differ in the fields for shardings.
    known = {field.name for field in dataclasses.fields(export.Exported)}
    exported = export.Exported(**{name: value for name, value in fields.items() if name in known})
    return exported.call, inputs, outputs


def _named(attributes: Any, key: str, types: Any) -> dict[str, Any]:
    """Types of MLIR as JAX describes them, by the names that the module has for them."""
    import jax
    from jaxlib.mlir import ir

    found = {}
    for attribute, kind in zip(ir.ArrayAttr(attributes), types):
        kind = ir.RankedTensorType(kind)
        dtype = jax.numpy.dtype(_TYPES[str(kind.element_type)])
        found[ir.StringAttr(ir.DictAttr(attribute)[key]).value] = jax.core.ShapedArray(tuple(kind.shape), dtype)
    return found
