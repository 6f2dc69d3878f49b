"""The rules of operations that move, take, join, make and reduce axes. See `_traced_rules`."""

from __future__ import annotations

import math
from typing import Any

from ._traced_graph import Size, Tensor, TracedGraph, Unknown, is_one
from ._traced_rules import (
    RULES,
    WHOLE,
    Arguments,
    Named,
    axis_of,
    get,
    labels,
    listed,
    rule,
    spec_of,
    tensor,
)

__all__ = ["RULES", "taken"]


# Other shapes.


@rule("view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy")
def _view(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    sizes = listed(arguments[1:]) or list(named.get("shape") or named.get("size") or ())
    if any(not isinstance(size, int) and not hasattr(size, "is_Symbol") for size in sizes):
        raise Unknown("a view as another element type")
    return graph.reshape(tensor(arguments[0]), sizes)


@rule("flatten")
def _flatten(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    if x.rank == 0:
        return graph.reshape(x, [1])
    first = axis_of(get(arguments, named, 1, "start_dim", 0), x.rank)
    last = axis_of(get(arguments, named, 2, "end_dim", -1), x.rank)
    if first == last:
        return graph.einsum("... => ...", x)
    return graph.reshape(x, [*x.sizes[:first], -1, *x.sizes[last + 1 :]])


@rule("unflatten")
def _unflatten(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, sizes = tensor(arguments[0]), get(arguments, named, 2, "sizes")
    axis = axis_of(get(arguments, named, 1, "dim"), x.rank)
    return graph.reshape(x, [*x.sizes[:axis], *sizes, *x.sizes[axis + 1 :]])


@rule("unsqueeze")
def _unsqueeze(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    at = axis_of(get(arguments, named, 1, "dim"), x.rank + 1)
    axes = labels(x.rank)
    return graph.einsum(spec_of(axes, result=[*axes[:at], "0", *axes[at:]]), x)


@rule("squeeze")
def _squeeze(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, at = tensor(arguments[0]), get(arguments, named, 1, "dim")
    if at is None and not all(isinstance(size, int) for size in x.sizes):
        raise Unknown("an axis that is one wide for some sizes only")
    asked = range(x.rank) if at is None else [axis_of(each, x.rank) for each in (at if isinstance(at, (list, tuple)) else [at])]
    gone = [axis for axis in asked if is_one(x.sizes[axis])]
    axes = labels(x.rank)
    left = ["0" if axis in gone else label for axis, label in enumerate(axes)]
    return graph.einsum(spec_of(left, result=[label for axis, label in enumerate(axes) if axis not in gone]), x)


@rule("permute")
def _permute(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    order = [axis_of(each, x.rank) for each in listed(arguments[1:]) or named["dims"]]
    axes = labels(x.rank)
    return graph.einsum(spec_of(axes, result=[axes[each] for each in order]), x)


@rule("transpose", "swapaxes", "swapdims")
def _transpose(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    first = axis_of(get(arguments, named, 1, "dim0"), x.rank)
    second = axis_of(get(arguments, named, 2, "dim1"), x.rank)
    order = list(range(x.rank))
    order[first], order[second] = order[second], order[first]
    return _permute(graph, [x, order], {})


@rule("t", "mT", "adjoint", "numpy_T", "T")
def _t(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    return x if x.rank < 2 else _transpose(graph, [x, -2, -1], {})


@rule("movedim", "moveaxis")
def _movedim(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    source, target = get(arguments, named, 1, "source"), get(arguments, named, 2, "destination")
    if not isinstance(source, int) or not isinstance(target, int):
        raise Unknown("several axes at once")
    order = [axis for axis in range(x.rank) if axis != axis_of(source, x.rank)]
    order.insert(axis_of(target, x.rank), axis_of(source, x.rank))
    return _permute(graph, [x, order], {})


@rule("expand", "broadcast_to", "expand_as")
def _expand(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    wanted = list(arguments[1].sizes) if isinstance(arguments[1], Tensor) else listed(arguments[1:])
    added = len(wanted) - x.rank
    if added < 0:
        raise Unknown("fewer axes than there are")
    whole = [x.sizes[axis - added] if isinstance(size, int) and size == -1 else size for axis, size in enumerate(wanted)]
    return graph.pointwise(x, graph.leaf(whole, "the sizes of `expand`"))


@rule("repeat", "tile")
def _repeat(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, times = tensor(arguments[0]), listed(arguments[1:])
    if len(times) < x.rank or not all(isinstance(each, int) and each > 0 for each in times):
        raise Unknown("repetitions that are not numbers")
    axes = labels(x.rank)
    new = len(times) - x.rank
    result, given = [f"n{axis}" for axis in range(new)], {f"n{axis}": times[axis] for axis in range(new)}
    for axis, label in enumerate(axes):
        count = times[new + axis]
        size = x.sizes[axis]
        if count > 1 and not isinstance(size, int):
            raise Unknown("a named size that is repeated")
        if count > 1:
            given[f"t{axis}"] = count
        # The copies lie one after another: position `t` of a copy is `t` times its length further.
        result.append(f"{size}*t{axis}<+{label}" if count > 1 else label)
    return graph.einsum(spec_of(axes, result=result), x, **given)


# Parts.


@rule("slice")
def _slice(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x = tensor(arguments[0])
    axis = axis_of(get(arguments, named, 1, "dim", 0), x.rank)
    start, end = get(arguments, named, 2, "start"), get(arguments, named, 3, "end")
    return taken(
        graph, x, axis, 0 if start is None else start, WHOLE if end is None else end, get(arguments, named, 4, "step", 1)
    )


def taken(graph: TracedGraph, x: Tensor, axis: int, start: Size, end: Size, step: int) -> Tensor:
    """The elements of an axis from a position to another."""
    size = x.sizes[axis]
    if isinstance(size, int):
        start = max(start + size, 0) if isinstance(start, int) and start < 0 else start
        end = max(end + size, 0) if isinstance(end, int) and end < 0 else end
        end = WHOLE if isinstance(end, int) and end >= size else end
    if not isinstance(start, int) or start < 0 or not isinstance(step, int):
        raise Unknown("a slice that begins at a named size")
    axes, tensors = labels(x.rank), [x]
    given: dict[str, int] = {}
    part = [str(start)] if start else []
    part.append(axes[axis])
    if not isinstance(end, int):
        if start != 0:
            raise Unknown("a slice from a number to a named size")
        tensors.append(graph.leaf([end], "the end of a slice"))
        part.append("_")
    elif end < 0:
        part.append(str(-end))
    elif end < WHOLE:
        if graph.least(size) < end:
            raise Unknown("a part of a named size that may be shorter")
        if end <= start:
            raise Unknown("an empty slice")
        given[axes[axis]] = end - start
        part.append("_")
    read = [*axes[:axis], "^".join(part), *axes[axis + 1 :]]
    operands = [read] + ([[axes[axis]]] if len(tensors) > 1 else [])
    made = graph.einsum(spec_of(*operands, result=axes), *tensors, reduce="sum", **given) if len(part) > 1 else x
    if step != 1:
        stepped = [*axes[:axis], f"{step}*{axes[axis]}~+k", *axes[axis + 1 :]]
        made = graph.einsum(spec_of(stepped, result=axes), made, k=1)
    return made


@rule("narrow")
def _narrow(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, start, length = tensor(arguments[0]), get(arguments, named, 2, "start"), get(arguments, named, 3, "length")
    return taken(graph, x, axis_of(get(arguments, named, 1, "dim"), x.rank), start, start + length, 1)


@rule("select")
def _select(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, at = tensor(arguments[0]), get(arguments, named, 2, "index")
    axis = axis_of(get(arguments, named, 1, "dim"), x.rank)
    axes = labels(x.rank)
    result = [*axes[:axis], *axes[axis + 1 :]]
    # Which element it is says nothing about shapes, except that it has to be there.
    if isinstance(at, int) and isinstance(x.sizes[axis], int) and not -x.sizes[axis] <= at < x.sizes[axis]:
        raise Unknown(f"element {at} of an axis of {x.sizes[axis]}")
    return graph.einsum(spec_of([*axes[:axis], "_", *axes[axis + 1 :]], result=result), x)


@rule("getitem")
def _getitem(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, index = tensor(arguments[0]), arguments[1]
    parts = list(index) if isinstance(index, tuple) else [index]
    positions = {}
    if any(isinstance(part, list) for part in parts):
        raise Unknown("an index that is a list")
    if any(isinstance(part, Tensor) for part in parts) and any(isinstance(part, int) for part in parts):
        raise Unknown("an index of tensors and numbers")
    axis = 0
    for number, part in enumerate(parts):
        if part is Ellipsis:
            axis = x.rank - sum(each is not None for each in parts[number + 1 :])
        elif part is None:
            x = _unsqueeze(graph, [x, axis], {})
            axis += 1
        elif isinstance(part, Tensor):
            positions[axis] = part
            axis += 1
        elif isinstance(part, slice):
            whole = WHOLE if part.stop is None else part.stop
            x = taken(graph, x, axis, part.start or 0, whole, part.step or 1)
            axis += 1
        else:
            x = _select(graph, [x, axis, part], {})
    if positions:
        return tensor(RULES["index"](graph, [x, [positions.get(axis) for axis in range(max(positions) + 1)]], {}))
    return x


def _split_into(graph: TracedGraph, x: Tensor, axis: int, sizes: list[Size]) -> tuple[Tensor, ...]:
    made, start = [], 0
    for size in sizes:
        if not isinstance(size, int):
            raise Unknown("parts of a named size")
        made.append(taken(graph, x, axis, start, start + size, 1))
        start += size
    if start != x.sizes[axis]:
        raise Unknown(f"parts of {start} elements together, of an axis of {x.sizes[axis]}")
    return tuple(made)


def _parts(name: str) -> Any:
    def split(graph: TracedGraph, arguments: Arguments, named: Named) -> tuple[Tensor, ...]:
        x = tensor(arguments[0])
        how = get(
            arguments, named, 1, "split_size_or_sections", named.get("split_size", named.get("chunks", named.get("split_sizes")))
        )
        axis = axis_of(get(arguments, named, 2, "dim", 0), x.rank)
        size = x.sizes[axis]
        if isinstance(how, (list, tuple)):
            return _split_into(graph, x, axis, list(how))
        if not isinstance(size, int) or not isinstance(how, int):
            raise Unknown("parts of a named size")
        step = math.ceil(size / how) if name == "chunk" else how
        return _split_into(graph, x, axis, [min(step, size - start) for start in range(0, size, step)])

    return split


RULES.update({name: _parts("split") for name in ("split", "split_with_sizes", "unsafe_split")})
RULES.update({name: _parts("chunk") for name in ("chunk", "unsafe_chunk")})


@rule("unbind")
def _unbind(graph: TracedGraph, arguments: Arguments, named: Named) -> tuple[Tensor, ...]:
    x = tensor(arguments[0])
    axis = axis_of(get(arguments, named, 1, "dim", 0), x.rank)
    if not isinstance(x.sizes[axis], int):
        raise Unknown("an axis with a named size, element by element")
    return tuple(_select(graph, [x, axis, n], {}) for n in range(x.sizes[axis]))


# Joined.


@rule("cat", "concat", "concatenate")
def _cat(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    tensors = [tensor(each) for each in get(arguments, named, 0, "tensors")]
    axis = axis_of(get(arguments, named, 1, "dim", 0), tensors[0].rank)
    axes, parts = labels(tensors[0].rank), [f"p{n}" for n in range(len(tensors))]
    operands = [[*axes[:axis], part, *axes[axis + 1 :]] for part in parts]
    return graph.einsum(spec_of(*operands, result=[*axes[:axis], "^".join(parts), *axes[axis + 1 :]]), *tensors)


@rule("stack")
def _stack(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    tensors = get(arguments, named, 0, "tensors")
    axis = get(arguments, named, 1, "dim", 0)
    return _cat(graph, [[_unsqueeze(graph, [each, axis], {}) for each in tensors], axis], {})


# Made from sizes.


@rule("zeros", "ones", "empty", "rand", "randn", "full", "new_zeros", "new_ones", "new_full", "new_empty")
def _made(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    given = [each for each in arguments if not isinstance(each, Tensor)]
    sizes = given[0] if given and isinstance(given[0], (list, tuple)) else named.get("size", given)
    return graph.leaf(list(sizes))


@rule("arange")
def _arange(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    numbers = [*arguments, *(named[name] for name in ("start", "end", "step") if name in named)]
    start, end, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1) if len(numbers) == 2 else numbers
    if step != 1 and not all(isinstance(each, int) for each in (start, end, step)):
        raise Unknown("steps over a named size")
    return graph.leaf([math.ceil((end - start) / step) if step != 1 else end - start])


@rule("scalar_tensor", "tensor", "item")
def _scalar(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    if arguments and isinstance(arguments[0], (list, tuple)):
        raise Unknown("a tensor of values")
    return graph.leaf([])


# Reduced.


def _reduced(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    x, over = tensor(get(arguments, named, 0, "input")), get(arguments, named, 1, "dim", named.get("axis"))
    keep = bool(get(arguments, named, 2, "keepdim", False))
    if over is None or over == [] or over == ():
        gone = list(range(x.rank))
    else:
        gone = [axis_of(each, x.rank) for each in (over if isinstance(over, (list, tuple)) else [over])]
    axes = labels(x.rank)
    result = [("0" if keep else "") if axis in gone else label for axis, label in enumerate(axes)]
    return graph.einsum(spec_of(axes, result=[label for label in result if label]), x)


for _name in ("sum", "mean", "amax", "amin", "prod", "any", "all", "argmax", "argmin", "logsumexp", "nansum"):
    RULES[_name] = _reduced


@rule("var", "std")
def _spread(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    # Between the axes and `keepdim` there is how to divide.
    over, keep = get(arguments, named, 1, "dim"), get(arguments, named, 3, "keepdim", False)
    return _reduced(graph, [arguments[0], None if isinstance(over, bool) else over, keep], {})


@rule("max", "min", "median")
def _extreme(graph: TracedGraph, arguments: Arguments, named: Named) -> Any:
    other = get(arguments, named, 1, "other")
    if isinstance(other, Tensor):
        return graph.pointwise(tensor(arguments[0]), other)
    values = _reduced(graph, arguments, named)
    return values if get(arguments, named, 1, "dim") is None else (values, values)


@rule("norm", "linalg_vector_norm", "vector_norm")
def _norm(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    return _reduced(graph, [arguments[0], *arguments[2:]], named)


@rule(
    "cross_entropy",
    "cross_entropy_loss",
    "nll_loss",
    "nll_loss_nd",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "binary_cross_entropy_with_logits",
    "binary_cross_entropy",
)
def _loss(graph: TracedGraph, arguments: Arguments, named: Named) -> Tensor:
    given, target = tensor(get(arguments, named, 0, "input")), tensor(get(arguments, named, 1, "target"))
    reduction = next(
        (each for each in (*arguments[2:], named.get("reduction")) if each in ("none", 0) and not isinstance(each, bool)), None
    )
    if reduction is not None:
        raise Unknown("a loss that is not reduced")
    if given.rank == target.rank + 1:
        return graph.einsum("n, _, ...; n, ... =>" if given.rank > 1 else "_; =>", given, target)
    return graph.einsum("... =>", graph.pointwise(given, target))
