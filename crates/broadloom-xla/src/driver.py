"""Runs modules of StableHLO with JAX, for a parent process that speaks through standard input and output.

Every message begins with a letter. Numbers are little-endian, texts and arrays have their length before them.

    C id devices text       compile a module for some devices        -> K, or E message
    R id in argument… out   run it; results that are not kept here   -> K count array…, or E message
    T id                    its text after division                  -> K text, or E message
    F id                    forget it                                -> nothing
    G key                   the array that is kept under a key       -> K array, or E message
    D key                   drop it                                  -> nothing

An argument is a key, and an array that is kept under it from now on, or nothing (a length of all ones) if there is one already. `out` is
a count and as many keys, under which the first results are kept.
"""

import os
import struct
import sys

ALREADY = 2**64 - 1


class Compiled:
    """A module that XLA has compiled for some devices, each of which has a part of its arguments and results."""

    def __init__(self, text, count, combine=True):
        import jax
        import numpy
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jax._src.sharding_impls import GSPMDSharding
        from jaxlib import xla_client

        self.text, self.count = text, count
        devices = jax.devices()
        if len(devices) < count:
            kind = devices[0].platform
            raise ValueError(f"the mesh has {count} devices, and JAX has {len(devices)} ({kind})")
        devices = tuple(devices[:count])
        numbers = numpy.array([[device.id for device in devices]])
        with mlir.make_ir_context():
            module, main, kind = parsed(text)
            self.inputs, self.outputs = [list(map(aval, types)) for types in (kind.inputs, kind.results)]
            if not hasattr(compiler, "backend_compile_and_load"):
                raise RuntimeError(f"JAX {jax.__version__} compiles in another way; 0.10.2 is known to work")
            wanted = options(text, combine)
            settings = compiler.get_compile_options(1, count, numbers, env_options_overrides=wanted)
            known = xla_client.DeviceList(devices)
            self.code = compiler.backend_compile_and_load(devices[0].client, module, known, settings, [])
        if count > 1:
            both = self.code.get_parameter_shardings(), self.code.get_output_shardings()
            self.placed, self.made = [[GSPMDSharding(devices, each) for each in some or []] for some in both]
        else:
            alone = jax.sharding.SingleDeviceSharding(devices[0])
            self.placed, self.made = [alone] * len(self.inputs), [alone] * len(self.outputs)

    def run(self, arrays):
        """The results for some arguments."""
        import jax

        given = jax.device_put(arrays, self.placed) if arrays else []
        parts = self.code.execute_sharded(given).disassemble_into_single_device_arrays()
        join = jax.make_array_from_single_device_arrays
        return [join(of.shape, place, part) for of, place, part in zip(self.outputs, self.made, parts)]

    def divided(self):
        """The module in the language of XLA, with a collective for each operation that needs one: none are combined."""
        return Compiled(self.text, self.count, combine=False).code.hlo_modules()[0].to_string()


def parsed(text):
    """A module, its function `main`, and the type of that."""
    from jaxlib.mlir import ir

    module = ir.Module.parse(text)
    main = next(op for op in module.body.operations if named(op) == "main")
    return module, main, ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)


def named(operation):
    """The name of an operation, if it has one."""
    from jaxlib.mlir import ir

    return ir.StringAttr(operation.attributes["sym_name"]).value if "sym_name" in operation.attributes else ""


def options(text, combine=True):
    """Options of XLA for a module.

    The gradient of a maximum looks for the value that is equal to it. On a CPU, XLA ignores barriers and computes such a value several
    times, fused with what comes before it: with different roundings, so that it is not found. There nothing is fused then.
    """
    import jax

    exact = "stablehlo.optimization_barrier" in text and jax.default_backend() == "cpu"
    left_out = ["fusion"] if exact else []
    if not combine:
        kinds = ["all-reduce", "all-gather", "reduce-scatter"]
        left_out += [f"{where}{kind}-combiner" for where in ("", "cpu-", "gpu-") for kind in kinds]
    return {"xla_disable_hlo_passes": ",".join(left_out)} if left_out else {}


def aval(kind):
    """A type of MLIR as JAX describes it."""
    import jax
    import jax.numpy as jnp
    from jaxlib.mlir import ir

    kind = ir.RankedTensorType(kind)
    names = {"i1": "bool_", "ui8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "ui32": "uint32", "ui64": "uint64", "f16": "float16", "bf16": "bfloat16"}
    name = str(kind.element_type)
    dtype = getattr(jnp, names.get(name, name.replace("f", "float")))
    return jax.core.ShapedArray(tuple(kind.shape), jnp.dtype(dtype))


def serve(source, sink):
    """Answers messages until there are no more."""
    import jax
    import numpy

    # Numbers of 64 bits stay what they are; a module has them only where its program has.
    jax.config.update("jax_enable_x64", True)
    modules, kept = {}, {}

    def take(count):
        data = source.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def number(form):
        return struct.unpack("<" + form, take(struct.calcsize(form)))[0]

    def part():
        length = number("Q")
        return None if length == ALREADY else take(length)

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
            devices = number("I")
            text = take(number("Q")).decode()
            try:
                modules[key] = Compiled(text, devices)
            except Exception as error:
                failed(error)
            else:
                answer(b"K")
        elif order == b"T":
            try:
                text = modules[key].divided().encode()
            except Exception as error:
                failed(error)
            else:
                answer(b"K", struct.pack("<Q", len(text)), text)
        elif order == b"R":
            given = [(number("I"), part()) for _ in range(number("I"))]
            wanted = [number("I") for _ in range(number("I"))]
            try:
                compiled = modules[key]
                for (name, data), of, place in zip(given, compiled.inputs, compiled.placed):
                    if data is not None:
                        array = numpy.frombuffer(data, of.dtype).reshape(of.shape)
                        kept[name] = jax.device_put(array, place)
                made = compiled.run([kept[name] for name, _ in given])
                kept.update(zip(wanted, made))
                made = [numpy.ascontiguousarray(array).tobytes() for array in made[len(wanted) :]]
            except Exception as error:
                failed(error)
            else:
                parts = [piece for data in made for piece in (struct.pack("<Q", len(data)), data)]
                answer(b"K", struct.pack("<I", len(made)), *parts)
        elif order == b"G":
            try:
                data = numpy.ascontiguousarray(kept[key]).tobytes()
            except Exception as error:
                failed(error)
            else:
                answer(b"K", struct.pack("<Q", len(data)), data)
        elif order == b"D":
            kept.pop(key, None)


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
