"""The rules of operations that pick elements, in windows, by their order or by positions, and of those that spread them out. See `_traced_rules`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._traced_axes import RULES, taken
from ._traced_graph import Tensor, TracedGraph, Unknown
from ._traced_rules import (
    WHOLE,
    Arguments,
    Named,
    axis_of,
    get,
    grouped,
    labels,
    numbers,
    padded,
    rule,
    spec_of,
    tensor,
    window,
)

__all__ = ["RULES"]


# Windows.


@rule("unfold")
def _unfold(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    axis = axis_of(get(arguments, named, 1, "dimension"), x.rank)
    (span,), (step,) = numbers(get(arguments, named, 2, "size"), 1), numbers(get(arguments, named, 3, "step"), 1)
    axes = labels(x.rank)
    before, after = axes[:axis], axes[axis + 1 :]
    spec = spec_of([*before, window(0, step, 1), *after], result=[*before, "y0", *after, "k0"])
    return graph.einsum(spec, x, reduce="max", k0=span)


@rule("im2col")
def _patches(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, kernel = tensor(get(arguments, named, 0, "input")), numbers(get(arguments, named, 1, "kernel_size"), 2)
    dilation, pads = numbers(get(arguments, named, 2, "dilation", 1), 2), numbers(get(arguments, named, 3, "padding", 0), 2)
    stride, channels = numbers(get(arguments, named, 4, "stride", 1), 2), x.sizes[-3]
    if not isinstance(channels, int):
        raise Unknown("a named number of channels")
    x = padded(graph, x, [(0, 0)] * (x.rank - 2) + [(pad, pad) for pad in pads])
    windows = [window(n, stride[n], dilation[n]) for n in range(2)]
    spec = spec_of(["...", "c", *windows], result=["...", "c", "k0", "k1", "y0", "y1"])
    made = graph.einsum(spec, x, reduce="max", k0=kernel[0], k1=kernel[1])
    return graph.reshape(made, [*x.sizes[:-3], channels * kernel[0] * kernel[1], made.sizes[-2] * made.sizes[-1]])


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _transposed_convolution(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, weight = tensor(get(arguments, named, 0, "input")), tensor(get(arguments, named, 1, "weight"))
    bias, count = get(arguments, named, 2, "bias"), weight.rank - 2
    if x.rank != weight.rank:
        raise Unknown("a convolution without a batch axis")
    strides, pads = numbers(get(arguments, named, 3, "stride", 1), count), numbers(get(arguments, named, 4, "padding", 0), count)
    more, groups = numbers(get(arguments, named, 5, "output_padding", 0), count), get(arguments, named, 6, "groups", 1)
    dilations = numbers(get(arguments, named, 7, "dilation", 1), count)
    places, taps = labels(count, "y"), labels(count, "k")
    spread = [window(n, stride, dilation).replace("~", "<") for n, (stride, dilation) in enumerate(zip(strides, dilations))]
    if groups == 1:
        made = graph.einsum(spec_of(["b", "i", *places], ["i", "o", *taps], result=["b", "o", *spread]), x, weight)
    else:
        made = grouped(graph, x, weight, groups, (places, ["i", "o", *taps], spread))
    # Padding takes away what a kernel over the edge would add, and the rest is added behind.
    for axis, (pad, rest) in enumerate(zip(pads, more), start=2):
        if pad:
            made = taken(graph, made, axis, pad, -max(pad - rest, 0) or WHOLE, 1)
        if rest > pad:
            made = padded(graph, made, [(0, rest - pad if each == axis else 0) for each in range(made.rank)])
    if bias is None:
        return made
    axes = ["b", "o", *places]
    return graph.einsum(spec_of(axes, ["o"], result=axes), made, bias)


# Elements that are repeated, or moved between channels and sides.


def _times(graph: TracedGraph, x: Tensor, factors: Sequence[int]) -> Tensor:
    """Every element of the last axes, as often as the factors say, side by side."""
    axes = labels(len(factors))
    result = [f"{factor}*{axis}<+t{n}" if factor > 1 else axis for n, (axis, factor) in enumerate(zip(axes, factors))]
    given: dict[str, Any] = {f"t{n}": factor for n, factor in enumerate(factors) if factor > 1}
    return graph.einsum(spec_of(["...", *axes], result=["...", *result]), x, **given)


@rule("repeat_interleave")
def _repeat_interleave(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, times, axis = tensor(arguments[0]), get(arguments, named, 1, "repeats"), get(arguments, named, 2, "dim")
    if not isinstance(times, int) or times < 1:
        raise Unknown("repetitions that are not a number")
    if axis is None:
        x, axis = graph.reshape(x, [-1]), 0
    at = axis_of(axis, x.rank)
    return _times(graph, x, [times] + [1] * (x.rank - at - 1))


@rule("interpolate", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_bilinear2d", "upsample_bicubic2d")
def _interpolate(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, sizes = tensor(get(arguments, named, 0, "input")), get(arguments, named, 1, "size", named.get("output_size"))
    scale = named.get("scale_factor", named.get("scale_factors"))
    if scale is None:  # it comes behind the size, and behind whether corners are aligned
        scale = next((each for each in arguments[2:] if isinstance(each, (float, int, list, tuple)) and not isinstance(each, bool)), None)
    count = x.rank - 2
    if sizes is not None:
        return tensor(RULES[f"adaptive_avg_pool{count}d"](graph, [x, sizes], {}))
    factors: list[Any] = list(scale) if isinstance(scale, (list, tuple)) else [scale] * count
    if not all(isinstance(each, (float, int)) and each >= 1 and each == int(each) for each in factors):
        raise Unknown("a factor that is not a whole number")
    return _times(graph, x, [int(each) for each in factors])


@rule("pixel_shuffle")
def _pixel_shuffle(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, (factor,) = tensor(arguments[0]), numbers(get(arguments, named, 1, "upscale_factor"), 1)
    channels = x.sizes[-3]
    if not isinstance(channels, int) or channels % factor**2:
        raise Unknown(f"{channels} channels for squares of {factor}")
    split = graph.reshape(x, [*x.sizes[:-3], channels // factor**2, factor, factor, *x.sizes[-2:]])
    spread = [f"{factor}*h<+p", f"{factor}*w<+q"]
    return graph.einsum(spec_of(["...", "c", "p", "q", "h", "w"], result=["...", "c", *spread]), split)


@rule("glu")
def _half(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(get(arguments, named, 0, "input"))
    axis = axis_of(get(arguments, named, 1, "dim", -1), x.rank)
    if not isinstance(x.sizes[axis], int) or x.sizes[axis] % 2:
        raise Unknown(f"a half of an axis of {x.sizes[axis]}")
    return taken(graph, x, axis, 0, x.sizes[axis] // 2, 1)


# By order.


@rule("sort", "cummax", "cummin")
def _sort(graph: TracedGraph, arguments: Arguments, named: Named) -> tuple[Tensor, Tensor]:
    values = graph.einsum("... => ...", tensor(get(arguments, named, 0, "input")))
    return values, values


@rule("argsort")
def _argsort(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    return graph.einsum("... => ...", tensor(get(arguments, named, 0, "input")))


@rule("topk")
def _topk(graph: TracedGraph, arguments: Arguments, named: Named) -> tuple[Tensor, Tensor]:
    x, (count,) = tensor(get(arguments, named, 0, "input")), numbers(get(arguments, named, 1, "k"), 1)
    axis = axis_of(get(arguments, named, 2, "dim", -1), x.rank)
    axes = labels(x.rank)
    if graph.least(x.sizes[axis]) < count:
        raise Unknown("an axis that may have fewer elements")
    result = [*axes[:axis], "k", *axes[axis + 1 :]]
    values = graph.einsum(spec_of(axes, result=result), x, k=count)
    return values, values


# By position.


@rule("diagonal", "linalg_diagonal")
def _diagonal(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, offset = tensor(arguments[0]), get(arguments, named, 1, "offset", 0)
    first = axis_of(get(arguments, named, 2, "dim1", 0), x.rank)
    second = axis_of(get(arguments, named, 3, "dim2", 1), x.rank)
    if x.sizes[first] != x.sizes[second] or offset:
        x = _square(graph, x, first, second, offset)
    axes = labels(x.rank)
    axes[second] = axes[first]
    left = [label for axis, label in enumerate(axes) if axis not in (first, second)]
    return graph.einsum(spec_of(axes, result=[*left, axes[first]]), x)


def _square(graph: TracedGraph, x: Tensor, first: int, second: int, offset: int) -> Tensor:
    """The part of two axes whose diagonal is the one beside that of the whole."""
    rows, columns = x.sizes[first], x.sizes[second]
    if not all(isinstance(each, int) for each in (rows, columns, offset)):
        raise Unknown("a diagonal of named sizes that differ")
    down, right = max(-offset, 0), max(offset, 0)
    length = min(rows - down, columns - right)
    if length < 1:
        raise Unknown("a diagonal without elements")
    return taken(graph, taken(graph, x, first, down, down + length, 1), second, right, right + length, 1)


@rule("gather")
def _gather(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, index = tensor(arguments[0]), tensor(get(arguments, named, 2, "index"))
    if x.rank != index.rank:
        raise Unknown("an index with another number of axes")
    return graph.einsum("... => ...", index)


@rule("index_select")
def _index_select(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, index = tensor(arguments[0]), tensor(get(arguments, named, 2, "index"))
    axis = axis_of(get(arguments, named, 1, "dim"), x.rank)
    axes = labels(x.rank)
    before, after = axes[:axis], axes[axis + 1 :]
    return graph.einsum(spec_of([*before, "_", *after], ["n"], result=[*before, "n", *after]), x, index)


@rule("index")
def _index(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    """Positions in one axis or several: their axes, broadcast, stand where the first of these was, or in front if another axis is between."""
    x, indices = tensor(arguments[0]), list(get(arguments, named, 1, "indices"))
    at = [axis for axis, index in enumerate(indices) if index is not None]
    positions = [tensor(indices[axis]) for axis in at]
    index = positions[0] if len(positions) == 1 else graph.pointwise(*positions)
    axes, picked = labels(x.rank), labels(index.rank, "p")
    left = [axis for axis in range(x.rank) if axis not in at]
    together = at[-1] - at[0] == len(at) - 1
    before = [axes[axis] for axis in left if together and axis < at[0]]
    after = [axes[axis] for axis in left if not together or axis > at[0]]
    read = ["_" if axis in at else label for axis, label in enumerate(axes)]
    return graph.einsum(spec_of(read, picked, result=[*before, *picked, *after]), x, index)


@rule("one_hot")
def _one_hot(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    count = get(arguments, named, 1, "num_classes", -1)
    if not isinstance(count, int) or count < 1:
        raise Unknown("a number of classes that depends on values")
    return graph.einsum("... => ..., n", tensor(get(arguments, named, 0, "input")), n=count)


# Pairs.


@rule("outer", "ger")
def _outer(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    return graph.einsum("i; j => i, j", tensor(arguments[0]), tensor(get(arguments, named, 1, "vec2")))


@rule("cdist")
def _distances(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    return graph.einsum("..., p, d; ..., r, d => ..., p, r", tensor(arguments[0]), tensor(get(arguments, named, 1, "x2")))


@rule("cosine_similarity")
def _similarity(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    product = graph.pointwise(tensor(get(arguments, named, 0, "x1")), tensor(get(arguments, named, 1, "x2")))
    return tensor(RULES["sum"](graph, [product, get(arguments, named, 2, "dim", 1)], {}))


# Recurrent layers.


def _recurrent(states: int) -> Any:
    def layer(graph: TracedGraph, arguments: Arguments, named: Named) -> tuple[Tensor, ...]:
        x, first, weights, biased, layers, _, _, both, batch_first = arguments
        if not isinstance(first, (Tensor, list, tuple)) or not isinstance(weights, (list, tuple)):
            raise Unknown("sequences that are packed")
        directions, tensors = 2 if both else 1, 4 if biased else 2
        if len(weights) != layers * directions * tensors:
            raise Unknown("states that are projected")
        # The state is as wide as the recurrent matrix takes; the input has to fit the other matrix of the first layer.
        width = weights[1].sizes[1]
        batch = ["..."] if x.rank == 2 else ["b"]
        axes = [*batch, "s"] if batch_first and x.rank == 3 else ["s", *batch] if x.rank == 3 else ["s"]
        made = graph.einsum(spec_of([*axes, "i"], ["_", "i"], result=[*axes, "w"]), x, weights[0], w=directions * width)
        rest = ["b"] if x.rank == 3 else []
        read = ["b" if label == "b" else "_" for label in axes]
        last = graph.einsum(spec_of([*read, "_"], result=["n", *rest, "w"]), x, n=layers * directions, w=width)
        given = [first] if isinstance(first, Tensor) else list(first)
        for each in given:
            graph.einsum(spec_of(["n", *rest, "w"], ["n", *rest, "w"], result=["n", *rest, "w"]), last, each)
        return (made, *[last] * states)

    return layer


RULES.update(lstm=_recurrent(2), gru=_recurrent(1), rnn_tanh=_recurrent(1), rnn_relu=_recurrent(1))
