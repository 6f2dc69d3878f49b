"""A training step of a language model: the module that Broadloom writes, and the same model written by hand in JAX, on one engine.

All are compiled by XLA from the same parameters, in one process; their steps alternate, and the best time of each counts. What they compute is compared, too.
`bench/compare --xla` calls this.

    xla.py --sizes gpt2 --write FOLDER                 # where Broadloom is: its modules, this file and what else it needs
    python3 FOLDER/xla.py --sizes gpt2 --modules FOLDER --precision highest default bf16   # where a GPU is: JAX is all it takes

By hand there are two models: one whose numbers have 32 bits, with products of the same precision as ours, and one as people write it for speed, whose products and
what lies between them are `bf16`; its parameters, sums, normalisations and the loss have 32 bits.
"""

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RATE = 0.01

PROGRAM = """
data tokens : {batch}, {length} | as i32
let logits = decoder_only({vocabulary}, {width}, layers = {layers}, heads = {heads})(tokens)
let loss = next_token_loss(logits, tokens)
repeat 2:
  minimise loss by sgd({rate})
"""


def written(command: list[str], sizes: dict[str, int], precision: str) -> str:
    """The module of a training step, as `broadloom emit` writes it."""
    text = PROGRAM.format(rate=RATE, **sizes)
    emit = [*command, "emit", "-", "--stablehlo", "--routine", "step1", "--precision", precision]
    return subprocess.run(emit, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def driver_file() -> Path:
    """The program that tells JAX about modules: beside this file, or in the crate."""
    beside = HERE / "driver.py"
    return beside if beside.exists() else ROOT / "crates" / "broadloom-xla" / "src" / "driver.py"


def write(command: list[str], size: str, precisions: list[str], folder: Path) -> None:
    """Writes everything that another machine needs."""
    folder.mkdir(parents=True, exist_ok=True)
    for precision in precisions:
        file = folder / f"{size}-{precision}.mlir"
        file.write_text(written(command, SIZES[size], precision))
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")
    for source in (Path(__file__).resolve(), driver_file()):
        if source.parent != folder.resolve():
            shutil.copy(source, folder / source.name)


def loaded(text: str):
    """A module as a function of JAX, and the names and kinds of what it takes and gives."""
    import jax
    from jax import export, tree_util
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    driver = types.ModuleType("driver")
    source = driver_file()
    exec(compile(source.read_text(), source, "exec"), driver.__dict__)

    def named(attributes, key, kinds):
        names = (ir.StringAttr(ir.DictAttr(each)[key]).value for each in ir.ArrayAttr(attributes))
        return {name: driver.aval(kind) for name, kind in zip(names, kinds)}

    with mlir.make_ir_context():
        module, main, kind = driver.parsed(text)
        inputs = named(main.attributes["arg_attrs"], "jax.arg_info", kind.inputs)
        outputs = named(main.attributes["res_attrs"], "jax.result_info", kind.results)
        artifact = stablehlo.serialize_portable_artifact_str(str(module), stablehlo.get_minimum_version())
    given, made = tuple(inputs.values()), tuple(outputs.values())
    fields = {
        "fun_name": "main", "nr_devices": 1, "platforms": (export.default_export_platform(),), "mlir_module_serialized": artifact,
        "in_tree": tree_util.tree_structure((given, {})), "in_avals": given,
        "out_tree": tree_util.tree_structure(made), "out_avals": made,
        "_has_named_shardings": False, "_in_named_shardings": (None,) * len(given), "_out_named_shardings": (None,) * len(made),
        "in_shardings_hlo": (None,) * len(given), "out_shardings_hlo": (None,) * len(made),
        "ordered_effects": (), "unordered_effects": (), "disabled_safety_checks": (), "uses_global_constants": False,
        "calling_convention_version": export.maximum_supported_calling_convention_version,
        "module_kept_var_idx": tuple(range(len(given))), "_get_vjp": None,
    }  # fmt: skip
    known = {field.name for field in dataclasses.fields(export.Exported)}
    return export.Exported(**{name: value for name, value in fields.items() if name in known}).call, inputs, outputs, driver.options(text)


def ours(text: str):
    """A step of our module: parameters and tokens to parameters and a loss."""
    import jax

    call, inputs, outputs, options = loaded(text)

    def step(parameters, tokens):
        made = dict(zip(outputs, call(*[tokens if name == "tokens" else parameters[name] for name in inputs])))
        return {name: made[name] for name in parameters}, made["loss"]

    shapes = {name: kind for name, kind in inputs.items() if name != "tokens"}
    return step, shapes, options


# The words of JAX for a precision.
WORDS = {"highest": "highest", "high": "high", "default": "default", "bf16": "BF16_BF16_F32"}


def by_hand(sizes: dict[str, int], precision: str, short: bool = False):
    """The same step as people write it in JAX, with 32-bit floats, or with short ones wherever that is usual."""
    import jax
    import jax.numpy as np

    width, heads, layers = sizes["width"], sizes["heads"], sizes["layers"]

    made = np.bfloat16 if short else np.float32

    def norm(x, gain, shift):
        x = x.astype(np.float32)
        centred = x - x.mean(-1, keepdims=True)
        return (gain * (centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-5)) + shift).astype(made)

    def attention(x, block):
        q, k, v = (np.einsum("bsm,mhd->bhsd", x, block[name]) for name in ("query", "key", "value"))
        scores = np.einsum("bhsd,bhtd->bhst", q, k) / np.sqrt(width / heads)
        visible = np.tril(np.ones((x.shape[1], x.shape[1]), bool))
        p = jax.nn.softmax(np.where(visible, scores.astype(np.float32), -1e30)).astype(made)
        return np.einsum("bhsd,hdm->bsm", np.einsum("bhst,bhtd->bhsd", p, v), block["out"])

    def positions(length):
        pairs = np.arange(width // 2)
        angles = np.arange(length)[:, None] * np.exp(pairs / (width // 2) * -np.log(10000.0))
        return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, width)

    def loss(parameters, tokens):
        norms = lambda path: any("norm" in str(key) for key in path)
        cast = lambda path, value: value if norms(path) else value.astype(made)
        parameters = jax.tree_util.tree_map_with_path(cast, parameters)
        x = (np.sqrt(width) * parameters["table"][tokens] + positions(tokens.shape[1])).astype(made)
        for block in parameters["blocks"]:
            x = x + attention(norm(x, *block["attend_norm"]), block)
            hidden = jax.nn.gelu(norm(x, *block["feed_norm"]) @ block["up"] + block["up_bias"])
            x = x + hidden @ block["down"] + block["down_bias"]
        logits = np.einsum("bsm,vm->bsv", norm(x, *parameters["last_norm"]), parameters["table"], preferred_element_type=np.float32)
        said = jax.nn.log_softmax(logits[:, :-1])
        return -np.take_along_axis(said, tokens[:, 1:, None], -1).mean()

    def step(parameters, tokens):
        with jax.default_matmul_precision("default" if short else WORDS[precision]):
            value, slopes = jax.value_and_grad(loss)(parameters, tokens)
        return jax.tree.map(lambda old, slope: old - RATE * slope, parameters, slopes), value

    def translated(own):
        """Our parameters in the order of axes that JAX code has."""

        def block(at):
            of = {name.split(f"blocks.{at}.")[1]: np.asarray(value) for name, value in own.items() if f"blocks.{at}." in name}
            inward = {name: of[f"attend.{name}"].transpose(2, 0, 1) for name in ("query", "key", "value")}
            return inward | {
                "out": of["attend.out"].transpose(1, 2, 0),
                "attend_norm": (of["attend_norm.gain"], of["attend_norm.shift"]),
                "feed_norm": (of["feed_norm.gain"], of["feed_norm.shift"]),
                "up": of["feed.layers.0.weight"].T, "up_bias": of["feed.layers.0.bias"],
                "down": of["feed.last.weight"].T, "down_bias": of["feed.last.bias"],
            }  # fmt: skip

        last = [np.asarray(own[name]) for name in own if "last_norm" in name]
        table = np.asarray(next(value for name, value in own.items() if name.endswith("table"))).T
        return {"table": table, "blocks": [block(at) for at in range(layers)], "last_norm": tuple(last)}

    return step, translated


def first(shapes, seed: int = 0) -> dict:
    """Parameters to begin with: small numbers, and gains of 1."""
    import numpy as np

    dice = np.random.default_rng(seed)
    one = lambda name, kind: np.ones(kind.shape) if name.endswith("gain") else dice.normal(0, 0.02, kind.shape)
    return {name: one(name, kind).astype("float32") for name, kind in shapes.items()}


def compared(text: str, sizes: dict[str, int], precision: str, seconds: float) -> dict:
    import jax
    import numpy as np

    tokens = np.random.default_rng(1).integers(0, sizes["vocabulary"], (sizes["batch"], sizes["length"])).astype("int32")
    step, shapes, options = ours(text)
    peer, translated = by_hand(sizes, precision)
    start = first(shapes)
    # A CPU needs an option for products of short floats, whoever has written them. Everybody fuses.
    options = {name: value for name, value in options.items() if name != "xla_disable_hlo_passes"}
    jit = lambda function: jax.jit(function, donate_argnums=0, compiler_options=options or None)
    sides = {"broadloom": (jit(step), jax.device_put(start)), "jax": (jit(peer), jax.device_put(translated(start)))}
    if precision == "bf16":
        sides["jax, short"] = (jit(by_hand(sizes, precision, short=True)[0]), jax.device_put(translated(start)))
    tokens = jax.device_put(tokens)
    states, losses, best, compiling = {}, {}, {}, {}
    for name, (function, parameters) in sides.items():
        begun = time.perf_counter()
        states[name], loss = function(parameters, tokens)
        losses[name] = [float(loss)]
        compiling[name] = time.perf_counter() - begun
    until, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < until or rounds < 3:
        rounds += 1
        for name, (function, _) in sides.items():
            begun = time.perf_counter()
            states[name], loss = function(states[name], tokens)
            jax.block_until_ready((states[name], loss))
            best[name] = min(best.get(name, 1e9), time.perf_counter() - begun)
            losses[name].append(float(loss))
    allowed = 1e-4 if precision == "highest" else 1e-2
    for other in set(sides) - {"broadloom"}:
        for a, b in zip(losses["broadloom"], losses[other]):
            if not abs(a - b) <= allowed * abs(b):
                sys.exit(f"the losses differ: {losses}")
    return {
        "sizes": sizes, "precision": precision, "device": jax.devices()[0].device_kind, "jax": jax.__version__, "seconds": best,
        "first_step": compiling, "ratios": {name: best[name] / best["broadloom"] for name in best if name != "broadloom"}, "rounds": rounds, "losses": [losses["broadloom"][0], losses["broadloom"][-1]],
    }  # fmt: skip


SIZES = {
    "tiny": {"batch": 2, "length": 16, "vocabulary": 64, "width": 32, "layers": 2, "heads": 4},
    "small": {"batch": 4, "length": 64, "vocabulary": 512, "width": 128, "layers": 4, "heads": 4},
    "gpt2": {"batch": 8, "length": 1024, "vocabulary": 50304, "width": 768, "layers": 12, "heads": 12},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", choices=SIZES, default="small", help="a model of a few layers, or GPT-2 small with batches of 8 times 1024 tokens")
    parser.add_argument("--precision", choices=list(WORDS), nargs="+", default=["highest", "default", "bf16"])
    parser.add_argument("--seconds", type=float, default=10.0, help="how long both repeat their step (default: 10)")
    parser.add_argument("--command", default="broadloom", help="the command, with arguments")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="only write the modules, and what another machine needs beside them")
    parser.add_argument("--modules", type=Path, metavar="FOLDER", help="take the modules that `--write` wrote; without it, the command writes them")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
    command, sizes = options.command.split(), SIZES[options.sizes]
    if options.write is not None:
        return write(command, options.sizes, options.precision, options.write)
    for precision in options.precision:
        file = None if options.modules is None else options.modules / f"{options.sizes}-{precision}.mlir"
        text = written(command, sizes, precision) if file is None else file.read_text()
        made = compared(text, sizes, precision, options.seconds)
        if options.json:
            print(json.dumps(made), flush=True)
            continue
        print(f"{options.sizes}, precision {precision}, {made['device']}, JAX {made['jax']}, the best of {made['rounds']} steps:", flush=True)
        for name, seconds in made["seconds"].items():
            beside = f", ratio {made['ratios'][name]:.2f}x" if name in made["ratios"] else ""
            print(f"  {name:10} {1e3 * seconds:9.2f} ms{beside}; first step {made['first_step'][name]:.1f} s", flush=True)


if __name__ == "__main__":
    main()
