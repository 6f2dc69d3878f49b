"""The relations between the axes of PyTorch's operations: one small rule for each, in the notation of specs.

A rule takes the graph, the arguments and the keyword arguments of a call, and gives a tensor or a tuple of tensors. Names are
those of ATen without overloads; the functions and methods of Python have the same, and where the order of arguments differs
the rule says so. What a rule does not cover is `Unknown`, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ._traced_graph import Size, Tensor, TracedGraph, Unknown, is_one

__all__ = [
    "RULES",
    "Arguments",
    "Named",
    "WHOLE",
    "axis_of",
    "get",
    "grouped",
    "labels",
    "listed",
    "numbers",
    "padded",
    "rule",
    "spec_of",
    "tensor",
    "window",
]

Arguments = Sequence[Any]
Named = dict[str, Any]
Rule = Callable[[TracedGraph, Arguments, Named], Any]
Written = TypeVar("Written", bound=Rule)
RULES: dict[str, Rule] = {}
WHOLE = 2**62


def rule(*names: str) -> Callable[[Written], Written]:
    """Adds a rule to the table under some names."""

    def add(made: Written) -> Written:
        RULES.update(dict.fromkeys(names, made))
        return made

    return add


def get(arguments: Arguments, named: Named, position: int, name: str, default: Any = None) -> Any:
    if len(arguments) > position:
        return arguments[position]
    return named.get(name, default)


def tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise Unknown("an argument that is not a tensor")
    return value


def axis_of(axis: int, rank: int) -> int:
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise Unknown(f"axis {axis} of a tensor with {rank}")
    return axis % rank


def labels(rank: int, start: str = "a") -> list[str]:
    return [f"{start}{number}" for number in range(rank)]


def spec_of(*operands: Sequence[str], result: Sequence[str]) -> str:
    return "; ".join(", ".join(each) for each in operands) + " => " + ", ".join(result)


def numbers(value: Any, count: int) -> tuple[int, ...]:
    """A number, or one for each axis."""
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    values = values * count if len(values) == 1 else values
    if len(values) != count or not all(isinstance(each, int) for each in values):
        raise Unknown("settings of a window that are not numbers")
    return values


def listed(arguments: Arguments) -> list[Size]:
    """Sizes that are given one by one, or as one list."""
    given = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)) else arguments
    return list(given)


# Pointwise operations.

_SAME = """
abs alias bernoulli bfloat16 bool celu clamp clamp_max clamp_min clip clone contiguous cos cumsum cumprod detach dropout
dropout1d dropout2d dropout3d double elu erf exp expm1 feature_dropout flip float floor ceil gelu half hardsigmoid hardswish
hardtanh int leaky_relu lift_fresh_copy log log10 log1p log2 log_softmax logical_not logsigmoid long mish nan_to_num neg
bitwise_not normalize ones_like zeros_like full_like rand_like randn_like empty_like positive reciprocal relu relu6 requires_grad
roll round rsqrt selu sigmoid sign silu sin softmax softmin softplus softsign sqrt square tan tanh to _to_copy tril triu
type_as cpu cuda invert _log_softmax _softmax acos acosh angle asin asinh atan atanh conj cosh deg2rad digamma erfc erfinv exp2 fliplr flipud frac
heaviside hardshrink imag isfinite isinf isnan lgamma log_sigmoid logcumsumexp logit prelu rad2deg real sgn sinc sinh softshrink tanhshrink
threshold trunc
""".split()
_BINARY = """
add sub subtract rsub mul multiply div divide true_divide floor_divide pow remainder fmod maximum minimum atan2 eq ne lt le gt ge
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor radd rmul floordiv rfloordiv rpow
mod and or xor where masked_fill addcmul addcdiv lerp copy fmax fmin hypot isclose logaddexp logaddexp2 xlogy
""".split()


@rule(*_SAME)
def _same(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    return graph.einsum("... => ...", tensor(get(arguments, named, 0, "input", named.get("self"))))


@rule(*_BINARY)
def _pointwise(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    tensors = [each for each in [*arguments, *named.values()] if isinstance(each, Tensor)]
    return graph.pointwise(*tensors)


# Products.


@rule("linear")
def _linear(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, weight = tensor(get(arguments, named, 0, "input")), tensor(get(arguments, named, 1, "weight"))
    made = graph.einsum("..., i; o, i => ..., o" if weight.rank == 2 else "..., i; i => ...", x, weight)
    bias = get(arguments, named, 2, "bias")
    return made if bias is None else graph.pointwise(made, bias)


@rule("matmul", "mm", "bmm", "mv", "dot", "rmatmul")
def _matmul(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    a, b = tensor(arguments[0]), tensor(get(arguments, named, 1, "other", named.get("mat2")))
    if a.rank == 0 or b.rank == 0:
        raise Unknown("a matrix product of a number")
    left = [*labels(a.rank - 2), "i", "k"] if a.rank > 1 else ["k"]
    right = [*labels(b.rank - 2), "k", "j"] if b.rank > 1 else ["k"]
    # Leading axes are matched from the last, and ones broadcast.
    count = max(a.rank, b.rank) - 2
    batch: list[str] = []
    for position in range(1, max(count, 0) + 1):
        one = a.sizes[-2 - position] if position <= a.rank - 2 else None
        other = b.sizes[-2 - position] if position <= b.rank - 2 else None
        name = f"b{position}"
        for sizes, axes, own, partner in ((a.sizes, left, one, other), (b.sizes, right, other, one)):
            if own is not None:
                axes[len(sizes) - 2 - position] = "0" if is_one(own) and partner is not None and not is_one(partner) else name
        batch.insert(0, name)
    result = batch + (["i"] if a.rank > 1 else []) + (["j"] if b.rank > 1 else [])
    return graph.einsum(spec_of(left, right, result=result), a, b)


@rule("addmm", "baddbmm")
def _addmm(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    return graph.pointwise(tensor(arguments[0]), _matmul(graph, arguments[1:3], {}))


@rule("einsum")
def _einsum(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    equation, operands = arguments[0], arguments[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if not isinstance(equation, str) or "->" not in equation:
        raise Unknown("an equation without `->`")

    def axes(part: str) -> list[str]:
        return [*part.replace("...", ".").strip().replace(" ", "")]

    left, right = equation.split("->")
    words = [["..." if label == "." else f"l{label}" for label in axes(part)] for part in left.split(",")]
    result = ["..." if label == "." else f"l{label}" for label in axes(right)]
    return graph.einsum(spec_of(*words, result=result), *map(tensor, operands))


@rule("scaled_dot_product_attention")
def _attention(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    if named.get("enable_gqa") or get(arguments, named, 7, "enable_gqa", False):
        raise Unknown("grouped queries")
    query, key = tensor(get(arguments, named, 0, "query")), tensor(get(arguments, named, 1, "key"))
    value, mask = tensor(get(arguments, named, 2, "value")), get(arguments, named, 3, "attn_mask")
    scores = graph.einsum("..., s, d; ..., t, d => ..., s, t", query, key)
    if mask is not None:
        scores = graph.pointwise(scores, mask)
    return graph.einsum("..., s, t; ..., t, e => ..., s, e", scores, value)


@rule("embedding")
def _embedding(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    # ATen has the table first, and `torch.nn.functional` the indices: the table is floating point, which is no matter of
    # shapes, so the trace says which order it is.
    first, second = tensor(get(arguments, named, 0, "input")), tensor(get(arguments, named, 1, "weight"))
    table, indices = (second, first) if named.get("indices_first") else (first, second)
    return graph.einsum("...; _, e => ..., e", indices, table)


# Normalisation.


@rule("layer_norm", "rms_norm")
def _layer_norm(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, shape = tensor(get(arguments, named, 0, "input")), get(arguments, named, 1, "normalized_shape")
    weight = get(arguments, named, 2, "weight")
    weight = weight if weight is not None else graph.leaf(list(shape), "normalized_shape")
    axes = labels(weight.rank)
    return graph.einsum(spec_of(["...", *axes], axes, result=["...", *axes]), x, weight)


@rule("batch_norm", "instance_norm", "group_norm")
def _batch_norm(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(get(arguments, named, 0, "input"))
    vectors = [each for each in [*arguments[1:], *named.values()] if isinstance(each, Tensor) and each.rank == 1]
    if not vectors:
        return graph.einsum("... => ...", x)
    return graph.einsum("n, c, ...; c => n, c, ...", x, vectors[0])


# Windows.


@rule("conv1d", "conv2d", "conv3d", "convolution")
def _convolution(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, weight = tensor(get(arguments, named, 0, "input")), tensor(get(arguments, named, 1, "weight"))
    bias, count = get(arguments, named, 2, "bias"), weight.rank - 2
    if x.rank != weight.rank:
        raise Unknown("a convolution without a batch axis")
    strides = numbers(get(arguments, named, 3, "stride", 1), count)
    padding, dilations = get(arguments, named, 4, "padding", 0), numbers(get(arguments, named, 5, "dilation", 1), count)
    groups = get(arguments, named, 8 if len(arguments) > 7 else 6, "groups", 1)
    kernel = weight.sizes[2:]
    if padding == "valid":
        padding = 0
    if padding == "same":
        spans = [dilation * (size - 1) for size, dilation in zip(kernel, dilations)]
        around = [(span // 2, span - span // 2) for span in spans]
    else:
        around = [(pad, pad) for pad in numbers(padding, count)]
    x = padded(graph, x, [(0, 0), (0, 0), *around])
    windows = [window(n, stride, dilation) for n, (stride, dilation) in enumerate(zip(strides, dilations))]
    places, taps = labels(count, "y"), labels(count, "k")
    if groups == 1:
        made = graph.einsum(spec_of(["b", "i", *windows], ["o", "i", *taps], result=["b", "o", *places]), x, weight)
    else:
        made = grouped(graph, x, weight, groups, (windows, ["o", "i", *taps], places))
    if bias is not None:
        axes = ["b", "o", *places]
        made = graph.einsum(spec_of(axes, ["o"], result=axes), made, bias)
    return made


def grouped(
    graph: TracedGraph, x: Tensor, weight: Tensor, groups: int, axes: tuple[Sequence[str], Sequence[str], Sequence[str]]
) -> Tensor:
    """A convolution in groups of channels, with the axes of places, of the kernels of a group, and of the result."""
    read, kernel, made_axes = axes
    channels, outer = x.sizes[1], weight.sizes[0]
    if not isinstance(channels, int) or channels % groups or outer % groups:
        raise Unknown(f"{channels} channels in {groups} groups")
    split = graph.reshape(x, [x.sizes[0], groups, channels // groups, *x.sizes[2:]])
    kernels = graph.reshape(weight, [groups, outer // groups, *weight.sizes[1:]])
    spec = spec_of(["b", "g", "i", *read], ["g", *kernel], result=["b", "g", "o", *made_axes])
    made = graph.einsum(spec, split, kernels)
    return graph.reshape(made, [made.sizes[0], groups * made.sizes[2], *made.sizes[3:]])


def window(number: int, stride: int, dilation: int) -> str:
    # A stride drops what is left over, as PyTorch does; without one, nothing is left over.
    factor, sign = (f"{stride}*", "~") if stride > 1 else ("", "<")
    taps = f"{dilation}*k{number}" if dilation > 1 else f"k{number}"
    return f"{factor}y{number}{sign}+{taps}"


def padded(graph: TracedGraph, x: Tensor, around: Sequence[tuple[int, int]]) -> Tensor:
    if not any(before or after for before, after in around):
        return x
    if any(before < 0 or after < 0 for before, after in around):
        raise Unknown("negative padding")
    axes = labels(x.rank)
    padded = ["^".join(str(part) for part in (before, axis, after) if part) for axis, (before, after) in zip(axes, around)]
    return graph.einsum(spec_of(axes, result=padded), x)


@rule("pad", "constant_pad_nd")
def _pad(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, pads = tensor(arguments[0]), get(arguments, named, 1, "pad")
    if not all(isinstance(each, int) for each in pads):
        raise Unknown("padding that is not a number")
    pairs = [(pads[n], pads[n + 1]) for n in range(0, len(pads), 2)]
    return padded(graph, x, [(0, 0)] * (x.rank - len(pairs)) + pairs[::-1])


def _pool(count: int, dilated: bool) -> Rule:
    def pool(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
        x, kernel = tensor(get(arguments, named, 0, "input")), get(arguments, named, 1, "kernel_size")
        kernels = numbers(kernel, count)
        strides = numbers(get(arguments, named, 2, "stride") or kernel, count)
        pads = numbers(get(arguments, named, 3, "padding", 0), count)
        dilations = numbers(get(arguments, named, 4, "dilation", 1) if dilated else 1, count)
        if get(arguments, named, 5 if dilated else 4, "ceil_mode", False):
            raise Unknown("`ceil_mode`")
        x = padded(graph, x, [(0, 0)] * (x.rank - count) + [(pad, pad) for pad in pads])
        windows = [window(n, stride, dilation) for n, (stride, dilation) in enumerate(zip(strides, dilations))]
        spec = spec_of(["...", *windows], result=["...", *labels(count, "y")])
        return graph.einsum(spec, x, reduce="max", **{f"k{n}": size for n, size in enumerate(kernels)})

    return pool


def _adaptive_pool(count: int) -> Rule:
    def pool(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
        x, wanted = tensor(get(arguments, named, 0, "input")), get(arguments, named, 1, "output_size")
        sizes = tuple(wanted) if isinstance(wanted, (list, tuple)) else (wanted,) * count
        given = {f"p{n}": size for n, size in enumerate(sizes) if size is not None}
        result = [f"y{n}" if size is None else f"p{n}" for n, size in enumerate(sizes)]
        return graph.einsum(spec_of(["...", *labels(count, "y")], result=["...", *result]), x, **given)

    return pool


for _count in (1, 2, 3):
    RULES[f"max_pool{_count}d"] = _pool(_count, dilated=True)
    RULES[f"avg_pool{_count}d"] = _pool(_count, dilated=False)
    RULES[f"adaptive_avg_pool{_count}d"] = RULES[f"adaptive_max_pool{_count}d"] = _adaptive_pool(_count)
