"""How fast does onnx infer shapes? The reference that Broadloom's own figures are compared with.

Builds ONNX graphs of any size in three families, has onnx's C++ engine infer the shape of every value, checks that it
did, and prints microseconds per node.

A run is one call from model bytes to model bytes: it parses the model, infers, and writes the model with its shapes,
all in C++ and none of it in Python. The codec column estimates the parsing and writing. It is the time of the same call
on the same graph hidden in an attribute of an operator unknown to onnx, so that nothing is inferred: the mean of the
graph as it was built and the graph with its shapes. What is left is inference.

The graphs are kind to onnx: every shape is static, weights are graph inputs with a shape and no data, names are short.

For example, `decoder` begins

    t8 = ReduceMean(t7, t1)             t7: float [2, 16, 64], the embedded tokens; t1: the axes [-1]
    t9 = Sub(t7, t8)
    t10 = Mul(t9, t9)
"""

import argparse
import json
import math
import multiprocessing
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection

import onnx
from onnx import GraphProto, ModelProto, TensorProto, helper
from onnx.onnx_cpp2py_export import shape_inference as engine

ENGINE = f"onnx {onnx.__version__}"
OPSET = 22
IR_VERSION = 10

DATA_PROP = False
STRICT_MODE = True

# A call that takes longer is stopped, and larger sizes of its family are not tried.
LIMIT_S = 60

# Protobuf stops at 2 GiB, and the inferred model is larger than the model: half is left for the shapes.
LIMIT_BYTES = 2**30

# Runs are repeated until they add up to this time, but not fewer or more often than that.
BUDGET_S = 5.0
MIN_RUNS, MAX_RUNS = 5, 200


def main() -> None:
    """Measures what the command line asks for."""
    options = parse_arguments()
    names = list(FAMILIES) if options.family == "all" else [options.family]
    show = print_json if options.json else print_row
    if not options.json:
        print_header()
    for name in names:
        for measured in measure_family(FAMILIES[name], options.sizes or FAMILIES[name].default_sizes):
            show(measured)


# Families


Shape = tuple[int, ...]


class Graph:
    """A graph under construction: values are names, and every method that adds one returns its name."""

    def __init__(self) -> None:
        self._proto = GraphProto(name="bench")
        self._n_values = 0

    def input(self, *shape: int) -> str:
        """A graph input: data, or a weight, which needs a shape here but no contents."""
        name = self._fresh()
        self._proto.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def integers(self, *values: int) -> str:
        """A constant vector: a target shape or a list of axes."""
        return self._constant(TensorProto.INT64, (len(values),), values)

    def scalar(self, value: float) -> str:
        """A constant of rank 0."""
        return self._constant(TensorProto.FLOAT, (), (value,))

    def op(self, op_type: str, *operands: str, **attributes: object) -> str:
        """A node with one output."""
        name = self._fresh()
        self._proto.node.append(helper.make_node(op_type, operands, [name], **attributes))
        return name

    def model(self, output: str) -> ModelProto:
        """The finished model. Its output is declared without a shape, so that it has to be inferred."""
        self._proto.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(self._proto, opset_imports=[opset], ir_version=IR_VERSION)

    def _constant(self, dtype: int, shape: Shape, values: Sequence[float]) -> str:
        name = self._fresh()
        self._proto.initializer.append(helper.make_tensor(name, dtype, shape, values))
        return name

    def _fresh(self) -> str:
        self._n_values += 1
        return f"t{self._n_values}"


@dataclass(frozen=True)
class Family:
    """Graphs of one kind: `build` adds one of the given size, and returns its output and the shape to be inferred."""

    name: str
    about: str
    default_sizes: Sequence[int]
    build: Callable[[Graph, int], tuple[str, Shape]]


BATCH = 2
SEQ, HEADS, D_HEAD, D_FF = 16, 4, 16, 128
D_MODEL = HEADS * D_HEAD


@dataclass(frozen=True)
class Shared:
    """What all blocks of a decoder use."""

    last: str
    split: str
    merge: str
    epsilon: str
    scale: str
    mask: str


def decoder(graph: Graph, n_blocks: int) -> tuple[str, Shape]:
    """A decoder-only transformer after its embedding: 50 nodes and 16 weights a block."""
    shared = Shared(
        last=graph.integers(-1),
        split=graph.integers(BATCH, SEQ, HEADS, D_HEAD),
        merge=graph.integers(BATCH, SEQ, D_MODEL),
        epsilon=graph.scalar(1e-5),
        scale=graph.scalar(1 / math.sqrt(D_HEAD)),
        mask=graph.input(SEQ, SEQ),
    )
    x = graph.input(BATCH, SEQ, D_MODEL)
    for _ in range(n_blocks):
        x = graph.op("Add", x, attention(graph, shared, layer_norm(graph, shared, x)))
        x = graph.op("Add", x, feed_forward(graph, layer_norm(graph, shared, x)))
    return x, (BATCH, SEQ, D_MODEL)


def layer_norm(graph: Graph, shared: Shared, x: str) -> str:
    """9 nodes."""
    centred = graph.op("Sub", x, graph.op("ReduceMean", x, shared.last))
    variance = graph.op("ReduceMean", graph.op("Mul", centred, centred), shared.last)
    deviation = graph.op("Sqrt", graph.op("Add", variance, shared.epsilon))
    scaled = graph.op("Mul", graph.op("Div", centred, deviation), graph.input(D_MODEL))
    return graph.op("Add", scaled, graph.input(D_MODEL))


def attention(graph: Graph, shared: Shared, x: str) -> str:
    """25 nodes."""
    queries = heads(graph, shared, x, perm=(0, 2, 1, 3))
    keys = heads(graph, shared, x, perm=(0, 2, 3, 1))
    values = heads(graph, shared, x, perm=(0, 2, 1, 3))
    scores = graph.op("Mul", graph.op("MatMul", queries, keys), shared.scale)
    weights = softmax(graph, shared, graph.op("Add", scores, shared.mask))
    mixed = graph.op("Transpose", graph.op("MatMul", weights, values), perm=(0, 2, 1, 3))
    return linear(graph, graph.op("Reshape", mixed, shared.merge), D_MODEL, D_MODEL)


def heads(graph: Graph, shared: Shared, x: str, perm: Shape) -> str:
    """4 nodes: a projection, split into heads."""
    projected = linear(graph, x, D_MODEL, D_MODEL)
    return graph.op("Transpose", graph.op("Reshape", projected, shared.split), perm=perm)


def softmax(graph: Graph, shared: Shared, x: str) -> str:
    """5 nodes."""
    shifted = graph.op("Sub", x, graph.op("ReduceMax", x, shared.last))
    exponentials = graph.op("Exp", shifted)
    return graph.op("Div", exponentials, graph.op("ReduceSum", exponentials, shared.last))


def feed_forward(graph: Graph, x: str) -> str:
    """5 nodes."""
    return linear(graph, graph.op("Relu", linear(graph, x, D_MODEL, D_FF)), D_FF, D_MODEL)


def linear(graph: Graph, x: str, n_in: int, n_out: int) -> str:
    """2 nodes."""
    return graph.op("Add", graph.op("MatMul", x, graph.input(n_in, n_out)), graph.input(n_out))


def mlp(graph: Graph, n_layers: int) -> tuple[str, Shape]:
    """A multilayer perceptron: 3 nodes and 2 weights a layer."""
    x = graph.input(BATCH, D_MODEL)
    for _ in range(n_layers):
        x = graph.op("Relu", linear(graph, x, D_MODEL, D_MODEL))
    return x, (BATCH, D_MODEL)


STAGE_BLOCKS, LAST_STAGE = 25, 3
CLASSES = 10


def resnet(graph: Graph, n_blocks: int) -> tuple[str, Shape]:
    """A residual network: 9 nodes and 6 weights a block.

    Before blocks 25, 50 and 75 one strided convolution halves the image and doubles the channels, from 32x32x16 to
    4x4x128; later blocks keep that. Three nodes at the end classify.
    """
    channels, image = 16, 32
    x = graph.input(BATCH, channels, image, image)
    for block in range(n_blocks):
        stage, within = divmod(block, STAGE_BLOCKS)
        if within == 0 and 1 <= stage <= LAST_STAGE:
            x = conv(graph, x, channels, 2 * channels, stride=2)
            channels *= 2
        x = residual_block(graph, x, channels)
    features = graph.op("Flatten", graph.op("GlobalAveragePool", x))
    return graph.op("MatMul", features, graph.input(channels, CLASSES)), (BATCH, CLASSES)


def residual_block(graph: Graph, x: str, channels: int) -> str:
    """9 nodes."""
    inner = graph.op("Relu", normalised_conv(graph, x, channels))
    return graph.op("Relu", graph.op("Add", normalised_conv(graph, inner, channels), x))


def normalised_conv(graph: Graph, x: str, channels: int) -> str:
    """3 nodes: a convolution, then batch normalisation as it is at inference, a factor and a term for each channel."""
    scaled = graph.op("Mul", conv(graph, x, channels, channels, stride=1), graph.input(channels, 1, 1))
    return graph.op("Add", scaled, graph.input(channels, 1, 1))


def conv(graph: Graph, x: str, n_in: int, n_out: int, stride: int) -> str:
    """1 node: 3x3, padded by 1."""
    weight = graph.input(n_out, n_in, 3, 3)
    return graph.op("Conv", x, weight, kernel_shape=(3, 3), pads=(1, 1, 1, 1), strides=(stride, stride))


FAMILIES = {
    family.name: family
    for family in (
        Family("decoder", "blocks of a decoder-only transformer, in elementary operators", (1, 10, 100, 1000), decoder),
        Family("mlp", "layers of MatMul, Add, Relu", (1000,), mlp),
        Family("resnet", "residual blocks of two convolutions", (100,), resnet),
    )
}


# Measuring


@dataclass(frozen=True)
class Measured:
    """One family at one size. Times are medians, except the one called a minimum."""

    engine: str
    family: str
    size: int
    nodes: int
    us_per_node: float
    us_per_node_min: float
    codec_us_per_node: float
    total_ms: float
    runs: int
    data_prop: bool
    strict_mode: bool


def measure_family(family: Family, sizes: Sequence[int]) -> Iterator[Measured]:
    """Measures in increasing order, up to the first size that is too large."""
    for size in sorted(sizes):
        measured = measure_in_child(family, size)
        if isinstance(measured, str):
            note(f"{family.name} {size}: {measured}; this and larger sizes are skipped")
            return
        yield measured


def measure_in_child(family: Family, size: int) -> Measured | str:
    """The measurement, or why there is none.

    It happens in a process of its own because only that can be stopped in the middle of a call into C++, and so that
    every case begins with a fresh heap.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=send_measurement, args=(sender, family, size))
    child.start()
    sender.close()
    try:
        measured = receiver.recv()
    except EOFError:
        measured = None
    child.join()
    if measured is not None:
        return measured
    if child.exitcode == -signal.SIGALRM:
        return f"one inference takes more than {LIMIT_S} s"
    sys.exit(f"{family.name} {size}: the measuring process ended with exit code {child.exitcode}")


def send_measurement(sender: Connection, family: Family, size: int) -> None:
    """The child's whole life."""
    sender.send(measure(family, size))


def measure(family: Family, size: int) -> Measured | str:
    """Builds, checks and times one graph; or says why it is too large."""
    graph = Graph()
    output, expected = family.build(graph, size)
    model = graph.model(output)
    if model.ByteSize() > LIMIT_BYTES:
        return f"the model has {model.ByteSize()} bytes, too near to protobuf's limit of 2 GiB"
    serialized = model.SerializeToString()
    _, result = run(serialized)
    inferred = onnx.load_from_string(result)
    check(inferred, expected)
    times, *codec = repeat([serialized, hidden(model), hidden(inferred)])
    n_nodes = len(model.graph.node)
    return Measured(
        engine=ENGINE,
        family=family.name,
        size=size,
        nodes=n_nodes,
        us_per_node=round(statistics.median(times) * 1e6 / n_nodes, 3),
        us_per_node_min=round(min(times) * 1e6 / n_nodes, 3),
        codec_us_per_node=round(statistics.mean(map(statistics.median, codec)) * 1e6 / n_nodes, 3),
        total_ms=round(statistics.median(times) * 1e3, 3),
        runs=len(times),
        data_prop=DATA_PROP,
        strict_mode=STRICT_MODE,
    )


def run(serialized: bytes) -> tuple[float, bytes]:
    """The seconds one call takes, and what it returns.

    The call is what `onnx.shape_inference.infer_shapes` does before it parses the result again in Python. Nothing
    catches the alarm: it ends the process, even in C++.
    """
    signal.alarm(LIMIT_S)
    start = time.perf_counter()
    inferred = engine.infer_shapes(serialized, strict_mode=STRICT_MODE, data_prop=DATA_PROP)
    seconds = time.perf_counter() - start
    signal.alarm(0)
    return seconds, inferred


def repeat(models: Sequence[bytes]) -> list[list[float]]:
    """The seconds of several runs of each model, in turns so that noise meets all; the first one sets how many."""
    times: list[list[float]] = [[] for _ in models]
    while len(times[0]) < MIN_RUNS or (len(times[0]) < MAX_RUNS and sum(times[0]) < BUDGET_S):
        for model, seconds in zip(models, times, strict=True):
            seconds.append(run(model)[0])
    return times


def hidden(model: ModelProto) -> bytes:
    """A model that holds the graph of this one as an attribute onnx does not look into."""
    node = helper.make_node("Hidden", [], ["y"], domain="unknown", body=model.graph)
    graph = GraphProto(name="hidden", node=[node])
    opset = helper.make_opsetid("unknown", 1)
    serialized = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION).SerializeToString()
    assert run(serialized)[1] == serialized, "onnx changed the hidden graph"
    return serialized


def check(inferred: ModelProto, expected: Shape) -> None:
    """Every intermediate value has a static shape, and the output has the expected one."""
    graph = inferred.graph
    shapes = {value.name: static_shape(value) for value in (*graph.value_info, *graph.output)}
    missing = [name for node in graph.node for name in node.output if shapes.get(name) is None]
    assert graph.node, "onnx returned an empty graph"
    assert not missing, f"{len(missing)} values have no inferred shape, the first is {missing[0]}"
    actual = shapes[graph.output[0].name]
    assert actual == expected, f"the output has shape {actual}, expected {expected}"


def static_shape(value: onnx.ValueInfoProto) -> Shape | None:
    """The shape, if it is known to the last dimension."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
        return None
    return tuple(dim.dim_value for dim in tensor.shape.dim)


# The command line


def parse_arguments() -> argparse.Namespace:
    """The options; wrong ones end the program with an explanation."""
    families = "\n".join(
        f"  {family.name:8} {family.about}; default sizes {','.join(map(str, family.default_sizes))}"
        for family in FAMILIES.values()
    )
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\nfamilies:\n{families}",
        epilog=f"""set up and run:
  python3.11 -m venv venv
  venv/bin/pip install -r benches/onnx/requirements.txt
  venv/bin/python benches/onnx/infer.py --family decoder --sizes 10,1000

A size of which one inference takes more than {LIMIT_S} s is skipped, and so are the larger ones.""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line instead of a table")
    parser.add_argument(
        "--family", choices=[*FAMILIES, "all"], default="all", help="what to build (default: all of them)"
    )
    parser.add_argument(
        "--sizes", type=parse_sizes, metavar="N,N,...", help="how many blocks or layers (default: the family's own)"
    )
    return parser.parse_args()


def parse_sizes(text: str) -> list[int]:
    """Reads `1,10,100`."""
    try:
        values = [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 1,10,100") from None
    if min(values) < 1:
        raise argparse.ArgumentTypeError("a graph has at least one block")
    return values


def print_header() -> None:
    """The head of the table, in the form of docs/benchmarks.md."""
    print(f"{ENGINE}, opset {OPSET}, data_prop={DATA_PROP}, strict_mode={STRICT_MODE}\n")
    print("| family | size | nodes | µs/node | µs/node min | of it codec | total ms | runs |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)


def print_row(measured: Measured) -> None:
    """One line of the table."""
    print(
        f"| {measured.family} | {measured.size} | {measured.nodes} | {measured.us_per_node:.2f} "
        f"| {measured.us_per_node_min:.2f} | {measured.codec_us_per_node:.2f} | {measured.total_ms:.2f} "
        f"| {measured.runs} |",
        flush=True,
    )


def print_json(measured: Measured) -> None:
    """One line of JSON."""
    print(json.dumps(asdict(measured)), flush=True)


def note(message: str) -> None:
    """Tells a person, without disturbing the output."""
    print(message, file=sys.stderr)


if __name__ == "__main__":
    main()
