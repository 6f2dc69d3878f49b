"""Runs modules of StableHLO with JAX, for a parent process that speaks through standard input and output.

Every message begins with a letter. Numbers are little-endian, texts and arrays have their length before them.

    C id text           compile a module     -> K, or E message
    R id count array…   run it on arrays     -> K count array…, or E message
    F id                forget it            -> nothing
"""

import dataclasses
import os
import struct
import sys


def exported(text):
    """A module as a function of JAX that composes with `jit`, and the types of its arguments and results."""
    import jax
    from jax import export, tree_util
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        main = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        inputs, outputs = [list(map(aval, types)) for types in (kind.inputs, kind.results)]
        version = stablehlo.get_minimum_version()
        artifact = stablehlo.serialize_portable_artifact_str(str(module), version)
    fields = dict(
        fun_name="main",
        in_tree=tree_util.tree_structure((tuple(inputs), {})),
        in_avals=tuple(inputs),
        out_tree=tree_util.tree_structure(tuple(outputs)),
        out_avals=tuple(outputs),
        _has_named_shardings=False,
        _in_named_shardings=(None,) * len(inputs),
        _out_named_shardings=(None,) * len(outputs),
        in_shardings_hlo=(None,) * len(inputs),
        out_shardings_hlo=(None,) * len(outputs),
        nr_devices=1,
        platforms=(jax.default_backend(),),
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=(),
        mlir_module_serialized=artifact,
        calling_convention_version=export.maximum_supported_calling_convention_version,
        module_kept_var_idx=tuple(range(len(inputs))),
        uses_global_constants=False,
        _get_vjp=None,
    )
    # Versions of JAX differ in the fields for shardings.
    known = {field.name for field in dataclasses.fields(export.Exported)}
    function = export.Exported(**{name: value for name, value in fields.items() if name in known})
    return function.call, inputs, outputs


def options(text):
    """Options of XLA for a module.

    The gradient of a maximum looks for the value that is equal to it. On a CPU, XLA ignores barriers and computes such a value several
    times, fused with what comes before it: with different roundings, so that it is not found. There nothing is fused then.
    """
    import jax

    exact = "stablehlo.optimization_barrier" in text and jax.default_backend() == "cpu"
    return {"xla_disable_hlo_passes": "fusion"} if exact else {}


def aval(kind):
    """A type of MLIR as JAX describes it."""
    import jax
    import jax.numpy as jnp
    from jaxlib.mlir import ir

    kind = ir.RankedTensorType(kind)
    names = {"i1": "bool_", "i32": "int32", "i64": "int64", "ui32": "uint32", "f16": "float16", "bf16": "bfloat16"}
    name = str(kind.element_type)
    dtype = getattr(jnp, names.get(name, name.replace("f", "float")))
    return jax.core.ShapedArray(tuple(kind.shape), jnp.dtype(dtype))


def serve(source, sink):
    """Answers messages until there are no more."""
    import jax
    import numpy

    # Numbers of 64 bits stay what they are; a module has them only where its program has.
    jax.config.update("jax_enable_x64", True)
    modules = {}

    def take(count):
        data = source.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def number(form):
        return struct.unpack("<" + form, take(struct.calcsize(form)))[0]

    def answer(kind, *parts):
        sink.write(kind)
        for part in parts:
            sink.write(part)
        sink.flush()

    def failed(error):
        text = f"{type(error).__name__}: {error}".encode()
        answer(b"E", struct.pack("<Q", len(text)), text)

    answer(b"K")
    while True:
        order = source.read(1)
        if not order:
            return
        key = number("I")
        if order == b"F":
            modules.pop(key, None)
        elif order == b"C":
            text = take(number("Q")).decode()
            try:
                call, inputs, outputs = exported(text)
                compiled = jax.jit(call).lower(*inputs).compile(compiler_options=options(text))
                modules[key] = compiled, inputs
            except Exception as error:
                failed(error)
            else:
                answer(b"K")
        elif order == b"R":
            given = [take(number("Q")) for _ in range(number("I"))]
            try:
                compiled, inputs = modules[key]
                arrays = [numpy.frombuffer(data, of.dtype).reshape(of.shape) for data, of in zip(given, inputs)]
                made = [numpy.ascontiguousarray(array).tobytes() for array in compiled(*arrays)]
            except Exception as error:
                failed(error)
            else:
                parts = [piece for data in made for piece in (struct.pack("<Q", len(data)), data)]
                answer(b"K", struct.pack("<I", len(made)), *parts)


def main():
    # What libraries print must not get between the messages.
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        serve(source, sink)
    except EOFError:
        pass
    except Exception as error:
        text = f"{type(error).__name__}: {error}".encode()
        sink.write(b"E" + struct.pack("<Q", len(text)) + text)
        sink.flush()


if __name__ == "__main__":
    main()
