"""How fast are NumPy, JAX and PyTorch on this machine? The references that Broadloom's own figures are compared with.

    python peers.py --threads 2           a table
    python peers.py --threads 2 --json    a list of {name, peer, seconds_best, seconds_median, flops or bytes, ...}
    python peers.py --sizes               what is measured: the list SIZES below, as JSON

Every peer runs in a process of its own, bound to as many cores as there are threads, one after another; Linux only. A
measurement warms up, which also compiles, and then repeats for some seconds; results are waited for. `cores` is CPU
time over wall time, the evidence that a peer really ran on all cores (waiting in a spin counts as running). `others` is
the CPU time of everything else on the machine, over wall time too; a measurement waits until that is little, is made
again if it was not, and the quietest one counts. A peer that is not installed is reported as {peer, missing}, and
nothing is made up for it.

All is float32, and all peers get the same numbers from one seed. `check` is the mean magnitude of a result, or the loss
of the last warm-up step: where peers disagree on it, the run fails. Counting:

- flops are those of matrix products and convolutions, 2 per multiplication and addition; a padded convolution counts
  its zeros, causal attention what its mask throws away, a training step the products of forward and backward (no
  gradient of the data).
- bytes are those of reading the input once and writing the output once.

What is computed:

- matmul: [m, k] times [k, n].
- conv2d: [batch, height, width, in] to [batch, height, width, out], zeros around it, stride 1.
- softmax and layer_norm: over the last axis; layer_norm has a gain and a bias, and eps is 1e-5.
- pointwise: tanh(a*x + b) * sigmoid(x) + 0.5*x*x, for numbers a and b.
- mlp_step: linear layers with biases, relu between them, the mean of the softmax cross-entropy, its gradient, SGD.
- transformer_step: token and learned position embeddings are added; each block is x + attention(norm(x)), then
  x + ffn(norm(x)); a norm and an untied head follow. Norms have gain and bias, the two layers of the ffn have biases
  with relu between them, attention projections and head have none. Causal, scaled by 1 / sqrt(d_model / heads), no
  dropout. The mean of the softmax cross-entropy over all positions, its gradient, SGD.
- attention: the attention of transformer_step by itself, on vectors.
- conv_step: two convolutions of 3 x 3 with biases and relu, the greatest of each 2 x 2, two more, the mean over all
  positions, a linear layer; the mean of the softmax cross-entropy, its gradient, SGD.
- lstm_step: an LSTM, one bias for each gate, the mean square of what it says at all positions, its gradient, SGD.
- gpt2_step: transformer_step with biases in attention, gelu (by tanh) for relu, and the embedding of tokens for the head.

NumPy is not asked to train, having no gradients, nor for attention. `jax` is XLA with its own settings. `jax-eigen` has
convolutions go to Eigen and not to YNNPACK, which with jax 0.10.2 leaves conv2d_c64 on one core. `torch` is not
compiled; `torch-compiled` is the same by `torch.compile`, which needs a C++ compiler.
"""

import argparse
import gc
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

SIZES = json.loads("""[
  {"name": "matmul_256", "kind": "matmul", "m": 256, "n": 256, "k": 256},
  {"name": "matmul_512", "kind": "matmul", "m": 512, "n": 512, "k": 512},
  {"name": "matmul_1024", "kind": "matmul", "m": 1024, "n": 1024, "k": 1024},
  {"name": "matmul_2048", "kind": "matmul", "m": 2048, "n": 2048, "k": 2048},
  {"name": "conv2d_c64", "kind": "conv2d", "batch": 8, "height": 56, "width": 56, "in": 64, "out": 64, "kernel": 3},
  {"name": "conv2d_c128", "kind": "conv2d", "batch": 8, "height": 28, "width": 28, "in": 128, "out": 128, "kernel": 3},
  {"name": "softmax", "kind": "softmax", "rows": 4096, "columns": 1024},
  {"name": "layer_norm", "kind": "layer_norm", "rows": 4096, "columns": 1024},
  {"name": "pointwise", "kind": "pointwise", "elements": 4194304, "a": 1.5, "b": 0.25},
  {"name": "mlp_step", "kind": "mlp_step", "batch": 128, "widths": [784, 512, 512, 10], "rate": 0.01},
  {"name": "transformer_step", "kind": "transformer_step", "batch": 8, "sequence": 64, "vocabulary": 512, "blocks": 6,
   "d_model": 256, "heads": 4, "ffn": 1024, "rate": 0.01},
  {"name": "attention", "kind": "attention", "batch": 4, "sequence": 512, "d_model": 512, "heads": 8},
  {"name": "conv_step", "kind": "conv_step", "batch": 32, "side": 32, "channels": [3, 32, 32, 64, 64], "classes": 10,
   "rate": 0.01},
  {"name": "lstm_step", "kind": "lstm_step", "batch": 16, "sequence": 200, "in": 64, "size": 128, "rate": 0.01},
  {"name": "gpt2_step", "kind": "gpt2_step", "batch": 1, "sequence": 128, "vocabulary": 50257, "blocks": 12,
   "d_model": 768, "heads": 12, "ffn": 3072, "rate": 0.01}
]""")

PEERS = ("numpy", "jax", "torch", "torch-compiled")
EPS = 1e-5
WARM_UP = 3  # calls before the first that is timed
AT_LEAST, AT_MOST = 7, 1000  # repetitions
QUIET = 0.1  # cores that others may use during a measurement
AGREEMENT = 1e-3  # how far, relatively, the checks of two peers may lie apart

Size = dict[str, Any]


@dataclass
class Task:
    """One measurement: a call that does the work and waits for it, and a number to compare results by."""

    peer: str
    run: Callable[[], Any]
    check: Callable[[], float]


Tasks = Callable[[Size], Iterator[Task]]


def work(size: Size) -> dict[str, int]:
    """The flops, or the bytes, of one repetition."""
    match size["kind"]:
        case "matmul":
            return {"flops": 2 * size["m"] * size["n"] * size["k"]}
        case "conv2d":
            places = size["batch"] * size["height"] * size["width"]
            return {"flops": 2 * places * size["kernel"] ** 2 * size["in"] * size["out"]}
        case "softmax" | "layer_norm":
            return {"bytes": 2 * 4 * size["rows"] * size["columns"]}
        case "pointwise":
            return {"bytes": 2 * 4 * size["elements"]}
        case "mlp_step":
            layers = [i * o for i, o in zip(size["widths"], size["widths"][1:])]
            # Forward, the gradients of the weights, and those of the inputs but for the data.
            return {"flops": 2 * size["batch"] * (3 * sum(layers) - layers[0])}
        case "attention":
            d, tokens = size["d_model"], size["batch"] * size["sequence"]
            return {"flops": 2 * tokens * (4 * d * d + 2 * size["sequence"] * d)}
        case "conv_step":
            # Both convolutions before the pooling at all positions, those behind it at a quarter of them.
            places, (c0, c1, c2, c3, c4) = size["batch"] * size["side"] ** 2, size["channels"]
            first, rest = 9 * places * c0 * c1, 9 * places * (c1 * c2 + (c2 * c3 + c3 * c4) / 4)
            return {"flops": int(2 * (3 * (first + rest + size["batch"] * c4 * size["classes"]) - first))}
        case "lstm_step":
            turns, n = size["batch"] * size["sequence"], 4 * size["size"]
            return {"flops": 2 * turns * n * (2 * size["in"] + 3 * size["size"])}
        case "transformer_step" | "gpt2_step":
            d, tokens = size["d_model"], size["batch"] * size["sequence"]
            block = tokens * (4 * d * d + 2 * d * size["ffn"]) + 2 * tokens * size["sequence"] * d
            return {"flops": 3 * 2 * (size["blocks"] * block + tokens * d * size["vocabulary"])}
    raise ValueError(size["kind"])


def inputs(size: Size) -> dict[str, Any]:
    """The same arrays for every peer: float32, and int32 for tokens and targets."""
    import numpy as np

    generator = np.random.default_rng(1)

    def normal(*shape: int, scale: float = 1.0) -> Any:
        return (scale * generator.standard_normal(shape, dtype=np.float32)).astype(np.float32)

    def whole(below: int, *shape: int) -> Any:
        return generator.integers(below, size=shape, dtype=np.int32)

    match size["kind"]:
        case "matmul":
            return {"a": normal(size["m"], size["k"]), "b": normal(size["k"], size["n"])}
        case "conv2d":
            x = normal(size["batch"], size["height"], size["width"], size["in"])
            return {"x": x, "kernel": normal(size["kernel"], size["kernel"], size["in"], size["out"])}
        case "softmax":
            return {"x": normal(size["rows"], size["columns"])}
        case "layer_norm":
            x = normal(size["rows"], size["columns"])
            return {"x": x, "gain": normal(size["columns"]), "bias": normal(size["columns"])}
        case "pointwise":
            return {"x": normal(size["elements"])}
        case "mlp_step":
            widths = size["widths"]
            layers = [
                {"w": normal(i, o, scale=math.sqrt(2 / i)), "b": np.zeros(o, np.float32)}
                for i, o in zip(widths, widths[1:])
            ]
            targets = whole(widths[-1], size["batch"])
            return {"parameters": layers, "x": normal(size["batch"], widths[0]), "targets": targets}
        case "attention":
            d = size["d_model"]
            weights = {key: normal(d, d, scale=1 / math.sqrt(d)) for key in ("wq", "wk", "wv", "wo")}
            return {"x": normal(size["batch"], size["sequence"], d), "block": weights}
        case "conv_step":
            channels = size["channels"]
            layers = [
                {"w": normal(3, 3, i, o, scale=math.sqrt(2 / (9 * i))), "b": np.zeros(o, np.float32)}
                for i, o in zip(channels, channels[1:])
            ]
            head = {"w": normal(channels[-1], size["classes"], scale=0.1), "b": np.zeros(size["classes"], np.float32)}
            x, targets = normal(size["batch"], size["side"], size["side"], channels[0]), whole(size["classes"], size["batch"])
            return {"parameters": [*layers, head], "x": x, "targets": targets}
        case "lstm_step":
            n, scale = size["size"], 1 / math.sqrt(size["size"])
            parameters = {
                "read": normal(size["in"], 4 * n, scale=scale),
                "recall": normal(n, 4 * n, scale=scale),
                "bias": np.zeros(4 * n, np.float32),
            }
            x = normal(size["batch"], size["sequence"], size["in"])
            return {"parameters": parameters, "x": x, "targets": np.zeros(1, np.int32)}
        case "transformer_step" | "gpt2_step":
            d, ffn, vocabulary = size["d_model"], size["ffn"], size["vocabulary"]
            gpt2 = size["kind"] == "gpt2_step"

            def norm() -> dict[str, Any]:
                return {"gain": np.ones(d, np.float32), "bias": np.zeros(d, np.float32)}

            def block() -> dict[str, Any]:
                return {
                    "norm1": norm(),
                    **{key: normal(d, d, scale=1 / math.sqrt(d)) for key in ("wq", "wk", "wv", "wo")},
                    **({key: np.zeros(d, np.float32) for key in ("bq", "bk", "bv", "bo")} if gpt2 else {}),
                    "norm2": norm(),
                    "w1": normal(d, ffn, scale=math.sqrt(2 / d)),
                    "b1": np.zeros(ffn, np.float32),
                    "w2": normal(ffn, d, scale=1 / math.sqrt(ffn)),
                    "b2": np.zeros(d, np.float32),
                }

            parameters = {
                "tokens": normal(vocabulary, d, scale=0.1),
                "positions": normal(size["sequence"], d, scale=0.1),
                "blocks": [block() for _ in range(size["blocks"])],
                "norm": norm(),
                **({} if gpt2 else {"head": normal(d, vocabulary, scale=1 / math.sqrt(d))}),
            }
            shape = (size["batch"], size["sequence"])
            return {"parameters": parameters, "x": whole(vocabulary, *shape), "targets": whole(vocabulary, *shape)}
    raise ValueError(size["kind"])


def numpy_peer(threads: int) -> tuple[str, Tasks]:
    import numpy as np

    version = f"numpy {np.__version__}"
    try:
        import threadpoolctl

        threadpoolctl.threadpool_limits(threads)
        for pool in threadpoolctl.threadpool_info():
            version += f", {pool['internal_api']} {pool['version']} on {pool['num_threads']} threads"
    except ImportError:
        pass  # the environment has set the number of threads

    def softmax(x: Any, y: Any) -> None:
        np.subtract(x, x.max(axis=-1, keepdims=True), out=y)
        np.exp(y, out=y)
        y /= y.sum(axis=-1, keepdims=True)

    def layer_norm(x: Any, gain: Any, bias: Any, y: Any) -> None:
        np.subtract(x, x.mean(axis=-1, keepdims=True), out=y)
        scale = 1 / np.sqrt(np.einsum("rc,rc->r", y, y)[:, None] / np.float32(x.shape[-1]) + np.float32(EPS))
        y *= scale
        y *= gain
        y += bias

    def pointwise(x: Any, a: Any, b: Any, y: Any) -> None:
        y[...] = np.tanh(a * x + b) * (1 / (1 + np.exp(-x))) + np.float32(0.5) * x * x

    def conv2d(x: Any, kernel: Any, padded: Any, columns: Any, y: Any) -> None:
        """Every window becomes a row, and the rows are multiplied by the kernel. The margins are zero already."""
        _, h, w, _ = x.shape
        k = kernel.shape[0]
        padded[:, k // 2 : k // 2 + h, k // 2 : k // 2 + w] = x
        for i in range(k):
            for j in range(k):
                columns[:, :, :, i, j] = padded[:, i : i + h, j : j + w]
        rows = math.prod(y.shape[:-1])
        np.matmul(columns.reshape(rows, -1), kernel.reshape(-1, y.shape[-1]), out=y.reshape(rows, -1))

    def tasks(size: Size) -> Iterator[Task]:
        if size["kind"].endswith("_step") or size["kind"] == "attention":
            return
        given = inputs(size)
        match size["kind"]:
            case "matmul":
                y = np.empty((size["m"], size["n"]), np.float32)
                run = lambda: np.matmul(given["a"], given["b"], out=y)
            case "conv2d":
                x, kernel = given["x"], given["kernel"]
                (b, h, w, c), k = x.shape, size["kernel"]
                y = np.empty((b, h, w, size["out"]), np.float32)
                padded = np.zeros((b, h + k - 1, w + k - 1, c), np.float32)
                columns = np.empty((b, h, w, k, k, c), np.float32)
                run = lambda: conv2d(x, kernel, padded, columns, y)
            case "softmax":
                y = np.empty_like(given["x"])
                run = lambda: softmax(given["x"], y)
            case "layer_norm":
                y = np.empty_like(given["x"])
                run = lambda: layer_norm(**given, y=y)
            case "pointwise":
                y = np.empty_like(given["x"])
                a, b = np.float32(size["a"]), np.float32(size["b"])
                run = lambda: pointwise(given["x"], a, b, y)
        yield Task("numpy", run, lambda: float(np.abs(y).mean(dtype=np.float64)))

    return version, tasks


def jax_peer(threads: int) -> tuple[str, Tasks]:
    import jax
    import jax.numpy as jnp

    def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        return gain * centred * jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + EPS) + bias

    def conv2d(x: Any, kernel: Any) -> Any:
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pointwise(x: Any, a: Any, b: Any) -> Any:
        return jnp.tanh(a * x + b) * jax.nn.sigmoid(x) + 0.5 * x * x

    def cross_entropy(logits: Any, targets: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1).mean()

    def mlp_loss(layers: Any, x: Any, targets: Any) -> Any:
        for layer in layers[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        return cross_entropy(x @ layers[-1]["w"] + layers[-1]["b"], targets)

    def attention(x: Any, block: Any, heads: int) -> Any:
        b, s, d = x.shape
        q, k, v = (
            (x @ block["w" + key] + block.get("b" + key, 0)).reshape(b, s, heads, d // heads).transpose(0, 2, 1, 3)
            for key in "qkv"
        )
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(d // heads)
        scores = jnp.where(jnp.tri(s, dtype=bool), scores, -jnp.inf)
        seen = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, s, d)
        return seen @ block["wo"] + block.get("bo", 0)

    def transformer_loss(heads: int, activation: Callable[[Any], Any]) -> Callable[..., Any]:
        def loss(parameters: Any, x: Any, targets: Any) -> Any:
            x = parameters["tokens"][x] + parameters["positions"]
            for block in parameters["blocks"]:
                x = x + attention(layer_norm(x, **block["norm1"]), block, heads)
                inner = activation(layer_norm(x, **block["norm2"]) @ block["w1"] + block["b1"])
                x = x + inner @ block["w2"] + block["b2"]
            head = parameters["head"] if "head" in parameters else parameters["tokens"].T
            return cross_entropy(layer_norm(x, **parameters["norm"]) @ head, targets)

        return loss

    def conv_loss(layers: Any, x: Any, targets: Any) -> Any:
        for number, layer in enumerate(layers[:-1]):
            x = jax.nn.relu(conv2d(x, layer["w"]) + layer["b"])
            if number == 1:
                x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return cross_entropy(x.mean(axis=(1, 2)) @ layers[-1]["w"] + layers[-1]["b"], targets)

    def lstm_loss(parameters: Any, x: Any, targets: Any) -> Any:
        n = parameters["recall"].shape[0]

        def turn(carried: Any, given: Any) -> Any:
            said, memory = carried
            into, forget, new, out = jnp.split(given + said @ parameters["recall"], 4, axis=-1)
            memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(into) * jnp.tanh(new)
            said = jax.nn.sigmoid(out) * jnp.tanh(memory)
            return (said, memory), said

        given = (x @ parameters["read"] + parameters["bias"]).swapaxes(0, 1)
        zero = jnp.zeros((x.shape[0], n), x.dtype)
        _, said = jax.lax.scan(turn, (zero, zero), given)
        return (said**2).mean()

    def forward(function: Callable[..., Any], peer: str = "jax", settings: Any = None, **given: Any) -> Task:
        compiled = jax.jit(function, compiler_options=settings)
        return Task(
            peer, lambda: jax.block_until_ready(compiled(**given)), lambda: float(jnp.abs(compiled(**given)).mean())
        )

    def training(loss: Callable[..., Any], rate: float, parameters: Any, x: Any, targets: Any) -> Task:
        def step(parameters: Any, x: Any, targets: Any) -> Any:
            value, gradients = jax.value_and_grad(loss)(parameters, x, targets)
            return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients), value

        compiled = jax.jit(step, donate_argnums=0)
        state = [parameters, None]

        def run() -> None:
            state[:] = jax.block_until_ready(compiled(state[0], x, targets))

        return Task("jax", run, lambda: float(state[1]))

    def tasks(size: Size) -> Iterator[Task]:
        given = jax.tree.map(jnp.array, inputs(size))
        match size["kind"]:
            case "matmul":
                yield forward(lambda a, b: a @ b, **given)
            case "conv2d":
                yield forward(conv2d, **given)
                yield forward(conv2d, "jax-eigen", {"xla_cpu_experimental_ynn_fusion_type": ""}, **given)
            case "softmax":
                yield forward(lambda x: jax.nn.softmax(x), **given)
            case "layer_norm":
                yield forward(layer_norm, **given)
            case "pointwise":
                yield forward(pointwise, **given, a=jnp.float32(size["a"]), b=jnp.float32(size["b"]))
            case "mlp_step":
                yield training(mlp_loss, size["rate"], **given)
            case "transformer_step":
                yield training(transformer_loss(size["heads"], jax.nn.relu), size["rate"], **given)
            case "attention":
                yield forward(lambda x, block: attention(x, block, size["heads"]), **given)
            case "conv_step":
                yield training(conv_loss, size["rate"], **given)
            case "lstm_step":
                yield training(lstm_loss, size["rate"], **given)
            case "gpt2_step":
                yield training(transformer_loss(size["heads"], jax.nn.gelu), size["rate"], **given)

    return f"jax {jax.__version__} on {len(os.sched_getaffinity(0))} cores", tasks


def torch_peer(threads: int, compiled: bool = False) -> tuple[str, Tasks]:
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    peer = "torch-compiled" if compiled else "torch"
    prepared = torch.compile if compiled else (lambda function: function)

    def tensors(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: tensors(value) for key, value in tree.items()}
        if isinstance(tree, list):
            return [tensors(value) for value in tree]
        return torch.from_numpy(tree)

    def leaves(tree: Any) -> Iterator[Any]:
        if isinstance(tree, torch.Tensor):
            yield tree
        else:
            for value in tree.values() if isinstance(tree, dict) else tree:
                yield from leaves(value)

    def norm(x: Any, gain: Any, bias: Any) -> Any:
        return F.layer_norm(x, x.shape[-1:], gain, bias, EPS)

    def mlp_loss(layers: Any, x: Any, targets: Any) -> Any:
        for layer in layers[:-1]:
            x = F.relu(torch.addmm(layer["b"], x, layer["w"]))
        return F.cross_entropy(torch.addmm(layers[-1]["b"], x, layers[-1]["w"]), targets)

    def attention(x: Any, block: Any, heads: int) -> Any:
        b, s, d = x.shape
        q, k, v = (
            F.linear(x, block["w" + key].T, block.get("b" + key)).view(b, s, heads, d // heads).transpose(1, 2)
            for key in "qkv"
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(seen.transpose(1, 2).reshape(b, s, d), block["wo"].T, block.get("bo"))

    def transformer_loss(heads: int, activation: Callable[[Any], Any]) -> Callable[..., Any]:
        def loss(parameters: Any, x: Any, targets: Any) -> Any:
            x = F.embedding(x, parameters["tokens"]) + parameters["positions"]
            for block in parameters["blocks"]:
                x = x + attention(norm(x, **block["norm1"]), block, heads)
                inner = activation(norm(x, **block["norm2"]) @ block["w1"] + block["b1"])
                x = x + inner @ block["w2"] + block["b2"]
            head = parameters["head"] if "head" in parameters else parameters["tokens"].T
            logits = norm(x, **parameters["norm"]) @ head
            return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

        return loss

    def conv_loss(layers: Any, x: Any, targets: Any) -> Any:
        for number, layer in enumerate(layers[:-1]):
            x = F.relu(F.conv2d(x, layer["w"], layer["b"], padding=1))
            if number == 1:
                x = F.max_pool2d(x, 2)
        return F.cross_entropy(torch.addmm(layers[-1]["b"], x.mean(dim=(2, 3)), layers[-1]["w"]), targets)

    def channels_first(layers: Any, x: Any, targets: Any) -> tuple[Any, Any, Any]:
        """Axes in the order PyTorch wants; in memory the channels stay last."""
        last = torch.channels_last
        for layer in layers[:-1]:
            layer["w"] = layer["w"].permute(3, 2, 0, 1).contiguous(memory_format=last)
        return layers, x.permute(0, 3, 1, 2), targets.long()

    def lstm_loss(parameters: Any, x: Any, targets: Any) -> Any:
        size = parameters["recall"].shape[1]
        zero, flat = x.new_zeros(1, x.shape[0], size), x.new_zeros(4 * size)
        weights = [parameters["read"], parameters["recall"], parameters["bias"], flat]
        said, _, _ = torch._VF.lstm(x, (zero, zero), weights, True, 1, 0.0, True, False, True)
        return said.square().mean()

    def forward(function: Callable[[], Any]) -> Task:
        function = prepared(function)

        @torch.inference_mode()
        def run() -> Any:
            return function()

        return Task(peer, run, lambda: float(run().abs().mean()))

    def training(loss: Callable[..., Any], rate: float, parameters: Any, x: Any, targets: Any) -> Task:
        loss = prepared(loss)
        flat = [parameter.requires_grad_() for parameter in leaves(parameters)]
        optimizer = torch.optim.SGD(flat, lr=rate, foreach=True)
        state = [None]

        def run() -> None:
            optimizer.zero_grad(set_to_none=True)
            value = loss(parameters, x, targets)
            value.backward()
            optimizer.step()
            state[0] = value.detach()

        return Task(peer, run, lambda: float(state[0]))

    def tasks(size: Size) -> Iterator[Task]:
        given = tensors(inputs(size))
        match size["kind"]:
            case "matmul":
                y = torch.empty(size["m"], size["n"])
                yield forward(lambda: torch.matmul(given["a"], given["b"], out=y))
            case "conv2d":
                # Axes in the order PyTorch wants; in memory the channels stay last.
                x = given["x"].permute(0, 3, 1, 2)
                kernel = given["kernel"].permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
                yield forward(lambda: F.conv2d(x, kernel, padding=size["kernel"] // 2))
            case "softmax":
                yield forward(lambda: F.softmax(given["x"], dim=-1))
            case "layer_norm":
                yield forward(lambda: norm(**given))
            case "pointwise":
                x, a, b = given["x"], size["a"], size["b"]
                yield forward(lambda: torch.tanh(a * x + b) * torch.sigmoid(x) + 0.5 * x * x)
            case "mlp_step":
                given["targets"] = given["targets"].long()
                yield training(mlp_loss, size["rate"], **given)
            case "transformer_step":
                given["targets"] = given["targets"].long()
                yield training(transformer_loss(size["heads"], F.relu), size["rate"], **given)
            case "attention":
                yield forward(lambda: attention(given["x"], given["block"], size["heads"]))
            case "conv_step":
                layers, x, targets = channels_first(given["parameters"], given["x"], given["targets"])
                yield training(conv_loss, size["rate"], layers, x, targets)
            case "lstm_step":
                weights = given["parameters"]
                for key in ("read", "recall"):
                    weights[key] = weights[key].T.contiguous()
                yield training(lstm_loss, size["rate"], weights, given["x"], given["targets"])
            case "gpt2_step":
                given["targets"] = given["targets"].long()
                gelu = lambda x: F.gelu(x, approximate="tanh")
                yield training(transformer_loss(size["heads"], gelu), size["rate"], **given)

    how = "compiled" if compiled else "not compiled"
    return f"torch {torch.__version__}, {how}, on {torch.get_num_threads()} threads", tasks


def busy() -> float:
    """The CPU time that the whole machine has spent on anything so far."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, interrupts, soft_interrupts, stolen = map(int, file.readline().split()[1:9])
    return (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")


def repeat(task: Task, seconds: float) -> dict[str, float | int]:
    """Runs a task again and again for some time."""
    times: list[float] = []
    start, own, everything = time.perf_counter(), time.process_time(), busy()
    while len(times) < AT_LEAST or (time.perf_counter() - start < seconds and len(times) < AT_MOST):
        before = time.perf_counter()
        task.run()
        times.append(time.perf_counter() - before)
    passed, own, everything = time.perf_counter() - start, time.process_time() - own, busy() - everything
    return {
        "seconds_best": min(times),
        "seconds_median": statistics.median(times),
        "repetitions": len(times),
        "cores": round(own / passed, 2),
        "others": round(max(0.0, everything - own) / passed, 2),
    }


def wait_for_quiet(until: float) -> None:
    """Sleeps until the machine is idle, or until a time on the clock."""
    while time.perf_counter() < until:
        before = busy()
        time.sleep(0.3)
        if busy() - before <= 0.3 * QUIET:
            return
        time.sleep(1.0)


def measure(task: Task, seconds: float, patience: float) -> dict[str, float | int]:
    """Warms up and measures a task, again while the machine is not quiet, and gives the quietest measurement."""
    for _ in range(WARM_UP):
        task.run()
    check = task.check()
    gc.collect()
    gc.disable()
    until = time.perf_counter() + patience
    found = []
    while not found or (found[-1]["others"] > QUIET and time.perf_counter() < until):
        wait_for_quiet(until)
        found.append(repeat(task, seconds))
    gc.enable()
    return {**min(found, key=lambda one: one["others"]), "check": check}


def run_peer(peer: str, threads: int, seconds: float, patience: float, names: list[str]) -> None:
    """In a process of its own: measures one peer and prints a record per line."""
    try:
        of = {"numpy": numpy_peer, "jax": jax_peer, "torch": torch_peer}
        version, tasks = torch_peer(threads, compiled=True) if peer == "torch-compiled" else of[peer](threads)
    except ImportError as error:
        print(json.dumps({"peer": peer, "missing": str(error)}))
        return
    for size in SIZES:
        if size["name"] in names:
            for task in tasks(size):
                record = {"name": size["name"], "peer": task.peer, **work(size), "version": version}
                try:
                    record |= measure(task, seconds, patience)
                except Exception as error:  # a peer that cannot do one thing does the others
                    why = str(error).strip().splitlines() or [type(error).__name__]
                    record = {"peer": task.peer, "missing": f"{size['name']}: {why[-1]}"}
                print(json.dumps(record), flush=True)


def run_all(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Runs each peer in its own process, on the first cores that this one may use."""
    cores = sorted(os.sched_getaffinity(0))
    if options.threads > len(cores):
        sys.exit(f"{options.threads} threads on {len(cores)} cores")
    os.sched_setaffinity(0, cores[: options.threads])  # inherited by the peers; XLA counts its cores by it
    libraries = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(libraries, str(options.threads)) | {"JAX_PLATFORMS": "cpu"}
    for peer in options.peer:
        command = [sys.executable, __file__, "--inside", f"--peer={peer}", f"--threads={options.threads}"]
        command += [f"--seconds={options.seconds}", f"--patience={options.patience}"]
        command += [f"--only={name}" for name in options.only]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                print(line, end="", file=sys.stderr)
                yield json.loads(line)
        if process.returncode != 0:
            yield {"peer": peer, "missing": f"failed with {process.returncode}"}


def disagreements(records: list[dict[str, Any]]) -> Iterator[str]:
    """Results of one name that lie too far apart."""
    first: dict[str, dict[str, Any]] = {}
    for record in records:
        if "check" in record:
            other = first.setdefault(record["name"], record)
            if not abs(record["check"] - other["check"]) <= AGREEMENT * abs(other["check"]):
                yield f"{record['name']}: {other['peer']} {other['check']}, {record['peer']} {record['check']}"


def table(records: list[dict[str, Any]]) -> str:
    order = [size["name"] for size in SIZES]
    lines = [f"{'':16}  {'peer':9}  {'best ms':>9}  {'median ms':>9}  {'at best':>13}  {'cores':>5}  {'others':>6}"]
    for record in sorted((r for r in records if "name" in r), key=lambda r: order.index(r["name"])):
        amount, unit = (record["flops"], "Gflop/s") if "flops" in record else (record["bytes"], "GB/s")
        best, median = record["seconds_best"], record["seconds_median"]
        lines.append(
            f"{record['name']:16}  {record['peer']:9}  {1e3 * best:9.3f}  {1e3 * median:9.3f}"
            f"  {amount / best / 1e9:5.1f} {unit:7}  {record['cores']:5.2f}  {record['others']:6.2f}"
        )
    lines += dict.fromkeys(record["version"] for record in records if "version" in record)
    lines += dict.fromkeys(f"{record['peer']}: missing ({record['missing']})" for record in records if "missing" in record)
    return "\n".join(lines)


def main() -> None:
    names = [size["name"] for size in SIZES]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=2, help="cores to run on (default: 2)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each measurement repeats (default: 1)")
    parser.add_argument(
        "--patience", type=float, default=60.0, help="seconds to wait for a quiet machine, each time (default: 60)"
    )
    parser.add_argument("--peer", action="append", choices=PEERS, help="only this peer; may be repeated")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help="only this; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--sizes", action="store_true", help="print the sizes as JSON and stop")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sizes:
        print(json.dumps(SIZES, indent=2))
        return
    options.peer, options.only = options.peer or PEERS, options.only or names
    if options.inside:
        run_peer(options.peer[0], options.threads, options.seconds, options.patience, options.only)
        return
    records = list(run_all(options))
    print(json.dumps(records, indent=2) if options.json else table(records))
    if wrong := list(disagreements(records)):
        sys.exit("\n".join(["peers disagree:", *wrong]))


if __name__ == "__main__":
    main()
