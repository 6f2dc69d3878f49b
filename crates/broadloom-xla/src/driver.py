"""Runs modules of StableHLO with JAX, for a parent process that speaks through standard input and output.

Every message begins with a letter. Numbers are little-endian, texts and arrays have their length before them.

    J index count devices own port host   join a group of processes                -> nothing
    C id devices text                     compile a module for some devices        -> nothing
    R id in argument… out                 run it; results that are not kept here   -> arrays
    T id                                  its text after division                  -> a text
    F id                                  forget it                                no answer
    G key                                 the array that is kept under a key       -> an array
    D key                                 drop it                                  no answer
    Q 0                                   the end                                  no answer

An argument is a key, and an array that is kept under it from now on, or nothing (a length of all ones) if there is one already. `out` is
a count and as many keys, under which the first results are kept. An answer is K, a count and as many arrays or texts; or E, 1 and a text
that says what is wrong. A first answer without any arrays says that JAX is there.

The processes of a group get the same orders, and each has its own devices. Only the first answers with arrays. With the arguments `follow
HOST PORT HELLO` the process takes its orders from another machine: it connects there, says hello, and ends when its standard input does.
"""

import functools
import os
import re
import signal
import struct
import sys

ALREADY = 2**64 - 1

SHORT_PRODUCT = re.compile(r"stablehlo\.dot_general .*\(tensor<[0-9x]*b?f16>")
WITHOUT_LIBRARY = (("xla_cpu_experimental_ynn_fusion_type", ""),)

# The seconds after which a machine that says nothing any more is lost.
LOST_AFTER = 60

# The seconds during which a process that follows tries to find the first one.
FOUND_WITHIN = 300


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
        devices = chosen(count)
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

    def placed_whole(self, array, place):
        """An array on its devices. Every process of a group has the whole array, and places what its own devices need."""
        import jax

        if place.is_fully_addressable:
            return jax.device_put(array, place)
        return jax.make_array_from_callback(array.shape, place, lambda part: array[part])

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


def chosen(count):
    """So many devices, as many of each process, those of the first process first."""
    import jax

    devices, processes = jax.devices(), jax.process_count()
    if processes == 1 and len(devices) < count:
        raise ValueError(f"the mesh has {count} devices, and JAX has {len(devices)} ({devices[0].platform})")
    each, all_chosen = count // processes, []
    for index in range(processes):
        own = [device for device in devices if device.process_index == index]
        if len(own) < each:
            kind = own[0].platform if own else "none"
            raise ValueError(f"the mesh has {count} devices, {each} in each process, and process {index} has {len(own)} ({kind})")
        all_chosen += own[:each]
    return tuple(all_chosen)


def whole(array):
    """The bytes of an array. Of an array that is divided over processes, each process gets the parts of the others."""
    import numpy

    if array.is_fully_replicated:
        array = array.addressable_data(0)
    elif not array.is_fully_addressable:
        from jax.experimental import multihost_utils

        array = multihost_utils.process_allgather(array, tiled=True)
    return numpy.ascontiguousarray(array).tobytes()


def join(index, count, devices, own, address):
    """Makes this process one of a group. Each has some devices; if `own` is set, those of the machine are shared out among processes."""
    import jax

    # On a GPU or a TPU these two settings change nothing.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        jax.config.update("jax_num_cpu_devices", devices)
    host, port = address.rsplit(":", 1)
    mine = list(range(index * devices, (index + 1) * devices)) if own else None
    settings = {"local_device_ids": mine, "heartbeat_timeout_seconds": LOST_AFTER}
    if host in ("127.0.0.1", "localhost", "[::1]"):
        settings["coordinator_bind_address"] = address
    jax.distributed.initialize(address, num_processes=count, process_id=index, **settings)


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

    Some products of factors of 16 bits fail on a CPU when they run (seen with JAX 0.10.2), unless one of its libraries is left out.
    """
    import jax

    on_cpu = jax.default_backend() == "cpu"
    left_out = ["fusion"] if on_cpu and "stablehlo.optimization_barrier" in text else []
    chosen = dict(WITHOUT_LIBRARY) if on_cpu and SHORT_PRODUCT.search(text) and is_known(WITHOUT_LIBRARY) else {}
    if not combine:
        kinds = ["all-reduce", "all-gather", "reduce-scatter"]
        left_out += [f"{where}{kind}-combiner" for where in ("", "cpu-", "gpu-") for kind in kinds]
    return chosen | ({"xla_disable_hlo_passes": ",".join(left_out)} if left_out else {})


@functools.cache
def is_known(options):
    """True if this XLA has some options: names with their values."""
    import jax

    try:
        jax.jit(lambda number: number + 1, compiler_options=dict(options)).lower(1.0).compile()
    except Exception:
        return False
    return True


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
    """Answers messages until there are no more. Returns true if the last one said that this is the end."""
    import jax
    import numpy

    # Numbers of 64 bits stay what they are; a module has them only where its program has.
    jax.config.update("jax_enable_x64", True)
    modules, kept = {}, {}
    # The first process of a group answers for all.
    speaks = True

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

    def run(key):
        given = [(number("I"), part()) for _ in range(number("I"))]
        wanted = [number("I") for _ in range(number("I"))]

        def work():
            compiled = modules[key]
            for (name, data), of, place in zip(given, compiled.inputs, compiled.placed):
                if data is not None:
                    array = numpy.frombuffer(data, of.dtype).reshape(of.shape)
                    kept[name] = compiled.placed_whole(array, place)
            made = compiled.run([kept[name] for name, _ in given])
            kept.update(zip(wanted, made))
            return [whole(array) for array in made[len(wanted) :]]

        return work

    def compiles(key):
        devices, text = number("I"), part().decode()
        return lambda: modules.update({key: Compiled(text, devices)}) or []

    def joins(index):
        nonlocal speaks
        count, devices, own, address = number("I"), number("I"), number("I"), part().decode()
        speaks = index == 0
        return lambda: join(index, count, devices, own, address) or []

    # Each reads the rest of its message, and returns what is to be done.
    orders = {
        b"J": joins,
        b"C": compiles,
        b"R": run,
        b"T": lambda key: lambda: [modules[key].divided().encode()],
        b"G": lambda key: lambda: [whole(kept[key])],
    }
    answer(sink, b"K", [])
    while True:
        order = source.read(1)
        if not order:
            return False
        key = number("I")
        if order == b"Q":
            return True
        elif order == b"F":
            modules.pop(key, None)
        elif order == b"D":
            kept.pop(key, None)
        else:
            work = orders[order](key)
            try:
                made = work()
            except Exception as error:
                failed(sink, error)
            else:
                answer(sink, b"K", made if speaks else [])


def answer(sink, kind, parts):
    """Writes an answer."""
    sink.write(kind + struct.pack("<I", len(parts)))
    for part in parts:
        sink.write(struct.pack("<Q", len(part)))
        sink.write(part)
    sink.flush()


def failed(sink, error):
    """Writes an answer about what is wrong."""
    answer(sink, b"E", [f"{type(error).__name__}: {error}".encode()])


def leave(is_end):
    """Leaves a group of processes, if there is one. If others may be lost, nobody waits for them."""
    jax = sys.modules.get("jax")
    if jax is not None and jax.distributed.is_initialized():
        if not is_end:
            os._exit(1)
        jax.distributed.shutdown()


def follow(host, port, hello):
    """Takes orders from the first process of a group. Returns what went wrong, or nothing."""
    import socket
    import threading
    import time

    def ends_with_parent():
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=ends_with_parent, daemon=True).start()
    where, until = f"{host}:{port}", time.monotonic() + FOUND_WITHIN
    while True:
        try:
            link = socket.create_connection((host, int(port)), timeout=10)
            break
        except OSError as error:
            if time.monotonic() > until:
                return f"process 0 was not found at {where} within {FOUND_WITHIN} seconds: {error}"
            time.sleep(0.2)
    link.settimeout(None)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    source, sink = link.makefile("rb"), link.makefile("wb")
    sink.write(struct.pack("<Q", len(hello)) + hello.encode())
    sink.flush()
    refusal = source.read(8)
    if len(refusal) < 8:
        return f"process 0 at {where} has ended"
    refusal = source.read(struct.unpack("<Q", refusal)[0]).decode()
    if refusal:
        return refusal
    try:
        is_end = serve(source, sink)
    except (EOFError, OSError):
        is_end = False
    except Exception as error:
        failed(sink, error)
        return f"{type(error).__name__}: {error}"
    if not is_end:
        return f"process 0 at {where} has ended before the run was over, or cannot be reached any more"
    leave(True)
    return None


def main():
    # What libraries print must not get between the messages.
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if sys.argv[1:2] == ["follow"]:
        wrong = follow(*sys.argv[2:])
        sink.write((wrong or "").encode())
        sink.flush()
        os._exit(1 if wrong else 0)
    # Ctrl-C is for the parent, which may have something to save before it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    is_end = False
    try:
        is_end = serve(source, sink)
    except (EOFError, BrokenPipeError):
        pass
    except Exception as error:
        failed(sink, error)
    leave(is_end)


if __name__ == "__main__":
    main()
