"""Routines of a program as functions of JAX, through StableHLO."""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from ._broadloom import XLA_DRIVER
from ._errors import Error
from ._names import unknown

__all__ = ["JaxFunction"]


class JaxFunction:
    """A routine of a program as a function of JAX. `Program.jax` makes one.

    It takes arrays by name, and returns a dictionary of arrays by name. It can be called inside of `jax.jit` and runs where JAX runs. Data has to
    be given. A parameter that is not given has the values that it had when the function was made. The forward pass can be differentiated:
    `jax.grad` goes through the gradients of Broadloom.

    A function that draws random numbers takes one more array, `key`: a key of JAX, such as `jax.random.key(3)`, or its two words of `uint32`. It is
    called `key_` beside data of that name. Equal keys draw equal numbers.

    A function that looks up rows checks the indices, and a step of training the loss: an index out of range is an error, and a loss that is not
    finite. Inside of `jax.jit` nothing can be raised; there the result `checks` has a row for each check: the position at which it first fails, or
    -1, and the number there. It is called `checks_` beside a tensor of that name.

    A program with a mesh is divided over devices of JAX, and its results are divided as the program says. Arrays that `jax.jit` is given should be on
    these devices, or on none in particular, as those of `jax.numpy` are.

    On a CPU, a routine with gradients of maxima has to be compiled without fusion. It is, unless you compile it yourself: then write
    `jax.jit(…, compiler_options={"xla_disable_hlo_passes": "fusion"})`.

    Attributes:
        inputs: The shape and the element type of each array that it takes, by name.
        outputs: The same of each array that it returns.
    """

    def __init__(
        self,
        text: str,
        parameters: Mapping[str, Any],
        backward: Callable[[list[str]], str] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        """`backward` gives the module for the gradients of some outputs, which is made when it is first needed. `aliases` are further
        names of what it takes and returns.
        """
        import jax

        module = _Module(text)
        self.inputs, self._computed = module.inputs, list(module.outputs)
        self._checks = module.checks
        known = {**module.inputs, **module.outputs}
        self._aliases = {name: of for name, of in (aliases or {}).items() if of in known}
        self.outputs = {**module.outputs, **{name: known[of] for name, of in self._aliases.items()}}
        self._call = module if backward is None else _differentiable(module, backward)
        self._kept = {name: jax.numpy.asarray(parameters[name]) for name in self.inputs if name in parameters}

    def __call__(self, /, *unnamed: Any, **arrays: Any) -> dict[str, Any]:
        if unnamed:
            raise TypeError(f"the function takes arrays by name: `f({', '.join(f'{name}=array' for name in self.inputs)})`")
        given = {**self._kept, **arrays}
        for name in given:
            if name not in self.inputs:
                raise unknown("the routine does not read", name, list(self.inputs))
        for name in self.inputs:
            if name not in given:
                array = "jax.random.key(0)" if _is_key(self.inputs[name]) else "array"
                raise Error._plain(f"the routine reads `{name}`, which was not given", f"give it: `{name}={array}`")
        fitting = {name: self._fitting(name, given[name]) for name in self.inputs}
        results = dict(zip(self._computed, self._call(*fitting.values())))
        if self._checks:
            self._check(results[self._checks[0]])
        return results | {name: {**fitting, **results}[of] for name, of in self._aliases.items()}

    def _fitting(self, name: str, array: Any) -> Any:
        """An array of the shape that the module was made for, in its element type."""
        import jax

        wanted, array = self.inputs[name], jax.numpy.asarray(array)
        if _is_key(wanted) and jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key):
            array = jax.random.key_data(array)
        config: Any = jax.config
        if wanted.dtype.itemsize == 8 and not config.jax_enable_x64:
            short = {"int64": "i32", "float64": "f32"}[wanted.dtype.name]
            raise Error._plain(
                f"the program stores `{name}` as {wanted.dtype}, and JAX has no numbers of 64 bits now",
                f"declare it with `as {short}`, or have them: `jax.config.update('jax_enable_x64', True)`",
            )
        if array.shape != wanted.shape:
            raise Error._plain(
                f"`{name}` has shape {array.shape}, and the function was made for {wanted.shape}",
                "a module has one size of each name: make another, of `bl.program(…, sizes={'n': 8})`",
            )
        if _is_real(array) != _is_real(wanted):
            raise Error._plain(
                f"`{name}` is {array.dtype}, and the program stores {wanted.dtype}", f"convert it: `{name}.astype('{wanted.dtype}')`"
            )
        return array.astype(wanted.dtype)

    def _check(self, checks: Any) -> None:
        """Raises an error about the first index that is out of range, if the checks have numbers already."""
        import jax
        import numpy as np

        if self._checks is None or isinstance(checks, jax.core.Tracer):
            return
        for (position, index), of in zip(np.asarray(checks).tolist(), self._checks[1]):
            if position >= 0:
                if of.table == of.indices:
                    raise Error._plain(f"`{of.indices.removesuffix('.not_finite')}` is not finite")
                place = ", ".join(str(at) for at in np.unravel_index(position, of.sizes)) if of.sizes else ""
                raise Error._plain(
                    f"index {index} at [{place}] of `{of.indices}` is outside `{of.table}`, which has {of.below} rows",
                    f"indices are 0 to {of.below - 1}",
                )

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{name}: {of.dtype}{list(of.shape)}" for name, of in side.items()) for side in (self.inputs, self.outputs)
        )
        return f"<broadloom function of JAX ({inputs}) -> ({outputs})>"


class _Check(NamedTuple):
    """Indices that a module checks: their name and sizes, and the name and the rows of what they are indices of. If that is the same name, it is
    checked that a tensor is finite.
    """

    indices: str
    sizes: tuple[int, ...]
    table: str
    below: int


class _Module:
    """A module as a function of arrays: compiled by itself, or as a part of what JAX traces. `checks` is the name of the result about its
    indices, and what it is about, if there is one.
    """

    def __init__(self, text: str) -> None:
        import jax

        self._traced, self.inputs, self.outputs, self.checks, self.places = _exported(text)
        self._compiled = jax.jit(self._traced, compiler_options=_driver().options(text) or None)

    def __call__(self, *arrays: Any) -> Any:
        return (self._traced if _is_traced(arrays) else self._compiled)(*self.placed(arrays))

    def placed(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments divided over the devices, if there are several."""
        if self.places is None or not arrays:
            return arrays
        jax: Any = sys.modules["jax"]
        divide = jax.lax.with_sharding_constraint if _is_traced(arrays) else jax.device_put
        return tuple(divide(list(arrays), self.places))


def _is_traced(arrays: tuple[Any, ...]) -> bool:
    """True if JAX traces one of them: it has a shape, and no numbers yet."""
    jax: Any = sys.modules["jax"]
    return any(isinstance(array, jax.core.Tracer) for array in arrays)


def _differentiable(module: _Module, backward: Callable[[list[str]], str]) -> Callable[..., Any]:
    """The function of a module, with another module for its gradients."""
    import jax
    import numpy as np

    real = [name for name, of in module.outputs.items() if _is_real(of)]

    @functools.cache
    def gradients() -> _Module:
        return _Module(backward(real))

    def forward(*arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        # Both passes have them on the same devices.
        arrays = module.placed(arrays)
        return module(*arrays), arrays

    def back(arrays: tuple[Any, ...], of_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        given = dict(zip(module.inputs, arrays))
        given.update((f"the gradient of {name}", each) for name, each in zip(module.outputs, of_outputs))
        # The key may be called otherwise where other tensors are.
        words = next((array for name, array in zip(module.inputs, arrays) if _is_key(module.inputs[name])), None)
        given.update((name, words) for name, of in gradients().inputs.items() if _is_key(of))
        found = dict(zip(gradients().outputs, gradients()(*[given[name] for name in gradients().inputs])))

        def one(name: str, of: Any) -> Any:
            if not _is_real(of):
                return np.zeros(of.shape, jax.dtypes.float0)
            made = found.get(f"{name}.grad")
            return jax.numpy.zeros(of.shape, of.dtype) if made is None else made.astype(of.dtype)

        return tuple(one(name, of) for name, of in module.inputs.items())

    function = jax.custom_vjp(lambda *arrays: tuple(module(*arrays)))
    function.defvjp(forward, back)
    made: Callable[..., Any] = function
    return made


def _is_real(array: Any) -> bool:
    """True for floating point numbers."""
    import jax

    return bool(jax.numpy.issubdtype(array.dtype, jax.numpy.floating))


def _is_key(array: Any) -> bool:
    """True for the two words of the key of random numbers: tensors of programs have no such numbers."""
    return bool(array.dtype == "uint32")


@functools.cache
def _driver() -> types.ModuleType:
    """The program by which sessions run on XLA, as a module: it hands modules of StableHLO to JAX."""
    driver = types.ModuleType("broadloom._xla_driver")
    exec(compile(XLA_DRIVER, "broadloom/_xla_driver.py", "exec"), driver.__dict__)
    return driver


_Exported = tuple[Callable[..., Any], dict[str, Any], dict[str, Any], "tuple[str, list[_Check]] | None", "list[Any] | None"]


def _exported(text: str) -> _Exported:
    """A module as a function that composes with everything in JAX, what it takes and returns, by name, its checks, and where its arguments
    are if it is divided over devices.
    """
    import jax
    from jax import export, tree_util
    from jax._src.interpreters import mlir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context():
        module, main, kind = _driver().parsed(text)
        inputs = _named(main.attributes["arg_attrs"], "jax.arg_info", kind.inputs)
        outputs = _named(main.attributes["res_attrs"], "jax.result_info", kind.results)
        checks = _checks(main.attributes["res_attrs"], outputs)
        places = _places(module, main.attributes["arg_attrs"])
        # It is read again by the same JAX, so that no older version has to understand it; special functions are of another dialect.
        artifact = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version(), True)
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
        "nr_devices": 1 if places is None or not places else places[0].num_devices,
        "platforms": (export.default_export_platform(),),
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
    return exported.call, inputs, outputs, checks, places


def _places(module: Any, attributes: Any) -> list[Any] | None:
    """The divisions of the arguments of a module over devices, if it has a mesh."""
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import sdy

    found = next((operation for operation in module.body.operations if operation.operation.name == "sdy.mesh"), None)
    if found is None:
        return None
    axes = [sdy.MeshAxisAttr(axis) for axis in sdy.MeshAttr(found.operation.attributes["mesh"]).axes]
    sizes = [axis.size for axis in axes]
    try:
        devices = _driver().chosen(int(np.prod(sizes)))
    except ValueError as error:
        raise Error._plain(
            str(error),
            "leave the mesh out: `bl.program(…, mesh={})`; or let a CPU look like several, before JAX is used: "
            "`jax.config.update('jax_num_cpu_devices', 8)`",
        ) from None
    mesh, spec = Mesh(np.array(devices).reshape(sizes), [axis.name for axis in axes]), cast(Any, PartitionSpec)

    def place(attribute: Any) -> NamedSharding:
        dims = sdy.TensorShardingAttr(ir.DictAttr(attribute)["sdy.sharding"]).dimension_shardings
        named = ([sdy.AxisRefAttr(axis).name for axis in sdy.DimensionShardingAttr(dim).axes] for dim in dims)
        return NamedSharding(mesh, spec(*(over[0] if over else None for over in named)))

    return [place(attribute) for attribute in ir.ArrayAttr(attributes)]


def _named(attributes: Any, key: str, kinds: Any) -> dict[str, Any]:
    """Types of MLIR as JAX describes them, by the names that the module has for them."""
    from jaxlib.mlir import ir

    names = (ir.StringAttr(ir.DictAttr(attribute)[key]).value for attribute in ir.ArrayAttr(attributes))
    return {name: _driver().aval(kind) for name, kind in zip(names, kinds)}


def _checks(attributes: Any, outputs: dict[str, Any]) -> tuple[str, list[_Check]] | None:
    """The name of the result that says which indices are out of range, and what it is about, if a module has one."""
    from jaxlib.mlir import ir

    def value(kind: Any, attribute: Any) -> Any:
        return kind(attribute).value

    for name, attribute in zip(outputs, ir.ArrayAttr(attributes)):
        attribute = ir.DictAttr(attribute)
        if "broadloom.checks" in attribute:
            each = [ir.DictAttr(of) for of in ir.ArrayAttr(attribute["broadloom.checks"])]
            text, number = functools.partial(value, ir.StringAttr), functools.partial(value, ir.IntegerAttr)
            sizes = [tuple(map(number, ir.ArrayAttr(of["sizes"]))) for of in each]
            return name, [_Check(text(of["indices"]), known, text(of["of"]), number(of["below"])) for of, known in zip(each, sizes)]
    return None
