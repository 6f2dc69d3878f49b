"""Makes the golden values beside this file: small inputs, their outputs and gradients, one `.npz` per case.

Only NumPy is needed, and nothing here knows Broadloom. Every operation is written from its textbook definition, in
formulas or in plain loops; every gradient is written by hand and then compared with central finite differences of the
forward function, element by element. The script fails, and writes nothing, if any of them disagree.

    python make.py            writes the files
    python make.py --check    makes everything again and compares it with the files
    python make.py --list     prints the arrays of every case

Everything is float64; whole numbers (tokens, targets) too. See README.md for names and layouts.
"""

import argparse
import io
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

Array = np.ndarray
Arrays = dict[str, Array]

HERE = Path(__file__).resolve().parent
STEP = 1e-5  # of the finite differences
TOLERANCE = 1e-7  # of a gradient, relative to the largest element of it (or to one)
KINK = 1e-3  # how far inputs stay away from where a function has no derivative

CASES: dict[str, Arrays] = {}


# The frame: random inputs, the comparison with finite differences, files.


def draws(name: str) -> Callable[..., Array]:
    """Normal random numbers that depend on the name of the case alone."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return lambda *shape: generator.standard_normal(shape)


def record(
    name: str,
    inputs: Arrays,
    forward: Callable[..., Array | Arrays],
    backward: Callable[..., Arrays] | None = None,
    **constants: float | Array,
) -> None:
    """Adds a case: inputs, outputs, `weights`, and `grad_<input>` of `sum(y * weights)`.

    `forward` gives `y`, or several outputs of which one is `y`. `backward` takes the weights first and gives the
    gradients of some of the inputs. Constants are passed to both and are kept with the case.
    """
    outputs = forward(**inputs, **constants)
    if not isinstance(outputs, dict):
        outputs = {"y": outputs}
    case = {**inputs, **{key: np.asarray(value, dtype=np.float64) for key, value in constants.items()}, **outputs}
    if backward is not None:
        weights = draws(name + ": weights")(*outputs["y"].shape)
        gradients = backward(weights, **inputs, **constants)

        def objective(changed: Arrays) -> float:
            result = forward(**{**inputs, **changed}, **constants)
            return float(np.sum((result["y"] if isinstance(result, dict) else result) * weights))

        for key, gradient in gradients.items():
            compare_with_differences(f"{name}: gradient of {key}", gradient, inputs[key], lambda x: objective({key: x}))
        case |= {"weights": weights, **{f"grad_{key}": gradient for key, gradient in gradients.items()}}
    keep(name, case)


def compare_with_differences(what: str, gradient: Array, at: Array, function: Callable[[Array], float]) -> None:
    """Fails unless `gradient` is the gradient of `function` at a point."""
    if gradient.shape != at.shape:
        sys.exit(f"{what}: shape {gradient.shape}, of an input with shape {at.shape}")
    differences = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        above, below = at.copy(), at.copy()
        above[index] += STEP
        below[index] -= STEP
        differences[index] = (function(above) - function(below)) / (above[index] - below[index])
    error = np.max(np.abs(gradient - differences)) / max(1.0, np.max(np.abs(differences)))
    if not error <= TOLERANCE:
        sys.exit(f"{what}: differs from finite differences by {error:.1e}")


def keep(name: str, case: Arrays) -> None:
    """Adds a case as it is."""
    for key, array in case.items():
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        if array.dtype != np.float64 or not np.all(np.isfinite(array)):
            sys.exit(f"{name}: {key} must be finite and float64")
        CASES.setdefault(name, {})[key] = array


def written(case: Arrays) -> bytes:
    """A case as the bytes of an `.npz`: a ZIP of `.npy` members, stored, without dates, the same on every run."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for key, array in case.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), member.getvalue())
    return file.getvalue()


# Dense layers.


def linear(x: Array, w: Array, bias: Array) -> Array:
    return x @ w.T + bias


def linear_backward(dy: Array, x: Array, w: Array, bias: Array) -> Arrays:
    return {"x": dy @ w, "w": dy.T @ x, "bias": dy.sum(axis=0)}


def relu(x: Array) -> Array:
    return np.where(x > 0, x, 0.0)


def relu_backward(dy: Array, x: Array) -> Arrays:
    return {"x": np.where(x > 0, dy, 0.0)}


def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Array:
    return linear(relu(linear(relu(linear(x, w1, b1)), w2, b2)), w3, b3)


def mlp_backward(dy: Array, x: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Arrays:
    z1 = linear(x, w1, b1)
    z2 = linear(relu(z1), w2, b2)
    assert min(np.min(np.abs(z1)), np.min(np.abs(z2))) > KINK
    third = linear_backward(dy, relu(z2), w3, b3)
    second = linear_backward(relu_backward(third["x"], z2)["x"], relu(z1), w2, b2)
    first = linear_backward(relu_backward(second["x"], z1)["x"], x, w1, b1)
    gradients = {"x": first["x"]}
    for number, layer in enumerate((first, second, third), start=1):
        gradients |= {f"w{number}": layer["w"], f"b{number}": layer["bias"]}
    return gradients


def dense_cases() -> None:
    normal = draws("linear")
    inputs = {"x": normal(4, 5), "w": normal(3, 5), "bias": normal(3)}
    record("linear", inputs, linear, linear_backward)

    normal = draws("mlp")
    inputs = {"x": normal(4, 5)}
    for number, (i, o) in enumerate(((5, 7), (7, 6), (6, 3)), start=1):
        inputs |= {f"w{number}": normal(o, i), f"b{number}": normal(o)}
    record("mlp", inputs, mlp, mlp_backward)


# Windows: convolution and pooling over images x[b, h, w, c].


def window(size: int, taps: int, stride: int, dilation: int, padded: bool) -> tuple[int, int]:
    """How many positions a window takes along an axis, and how far the first one reaches out to the left."""
    span = 1 + (taps - 1) * dilation
    if padded:
        assert size % stride == 0
        return size // stride, span // 2
    assert (size - span) % stride == 0
    return (size - span) // stride + 1, 0


def visits(
    x: Array, kh: int, kw: int, stride: int, dilation: int, padded: bool
) -> tuple[int, int, Iterator[tuple[int, int, int, int, int, int]]]:
    """The output's height and width, and every (oh, ow, k, l, i, j): output position, tap, and the input they meet at.

    Taps that fall outside the image are left out: there it is zero.
    """
    _, h, w, _ = x.shape
    height, top = window(h, kh, stride, dilation, padded)
    width, left = window(w, kw, stride, dilation, padded)

    def each() -> Iterator[tuple[int, int, int, int, int, int]]:
        for oh in range(height):
            for ow in range(width):
                for k in range(kh):
                    for l in range(kw):
                        i = stride * oh + dilation * k - top
                        j = stride * ow + dilation * l - left
                        if 0 <= i < h and 0 <= j < w:
                            yield oh, ow, k, l, i, j

    return height, width, each()


def conv2d(x: Array, kernel: Array, stride: int, dilation: int, padded: bool) -> Array:
    """y[b, oh, ow, o] = sum over k, l, c of kernel[o, k, l, c] * x[b, i, j, c]."""
    oc, kh, kw, _ = kernel.shape
    height, width, each = visits(x, kh, kw, stride, dilation, padded)
    y = np.zeros((x.shape[0], height, width, oc))
    for oh, ow, k, l, i, j in each:
        y[:, oh, ow] += x[:, i, j] @ kernel[:, k, l].T
    return y


def conv2d_backward(dy: Array, x: Array, kernel: Array, stride: int, dilation: int, padded: bool) -> Arrays:
    _, kh, kw, _ = kernel.shape
    dx, dkernel = np.zeros_like(x), np.zeros_like(kernel)
    for oh, ow, k, l, i, j in visits(x, kh, kw, stride, dilation, padded)[2]:
        dx[:, i, j] += dy[:, oh, ow] @ kernel[:, k, l]
        dkernel[:, k, l] += dy[:, oh, ow].T @ x[:, i, j]
    return {"x": dx, "kernel": dkernel}


def depthwise(x: Array, kernel: Array, stride: int, dilation: int, padded: bool) -> Array:
    """y[b, oh, ow, c] = sum over k, l of kernel[c, k, l] * x[b, i, j, c]."""
    c, kh, kw = kernel.shape
    height, width, each = visits(x, kh, kw, stride, dilation, padded)
    y = np.zeros((x.shape[0], height, width, c))
    for oh, ow, k, l, i, j in each:
        y[:, oh, ow] += x[:, i, j] * kernel[:, k, l]
    return y


def depthwise_backward(dy: Array, x: Array, kernel: Array, stride: int, dilation: int, padded: bool) -> Arrays:
    _, kh, kw = kernel.shape
    dx, dkernel = np.zeros_like(x), np.zeros_like(kernel)
    for oh, ow, k, l, i, j in visits(x, kh, kw, stride, dilation, padded)[2]:
        dx[:, i, j] += dy[:, oh, ow] * kernel[:, k, l]
        dkernel[:, k, l] += (dy[:, oh, ow] * x[:, i, j]).sum(axis=0)
    return {"x": dx, "kernel": dkernel}


def convolution_cases() -> None:
    cases = (
        # name, height and width, height and width of the kernel, stride, dilation, padded
        ("conv2d_valid", (5, 6), (3, 3), 1, 1, False),
        ("conv2d_valid_rectangular", (5, 6), (2, 3), 1, 1, False),
        ("conv2d_valid_stride2", (7, 9), (3, 3), 2, 1, False),
        ("conv2d_valid_dilation2", (7, 8), (3, 3), 1, 2, False),
        ("conv2d_padded_k3", (5, 6), (3, 3), 1, 1, True),
        ("conv2d_padded_k5", (5, 6), (5, 5), 1, 1, True),
        ("conv2d_padded_k2", (5, 6), (2, 2), 1, 1, True),
        ("conv2d_padded_stride2_k3", (6, 8), (3, 3), 2, 1, True),
        ("conv2d_padded_stride2_k5", (6, 8), (5, 5), 2, 1, True),
        ("conv2d_padded_dilation2", (6, 7), (3, 3), 1, 2, True),
        ("conv2d_1x1", (3, 4), (1, 1), 1, 1, False),
    )
    for name, size, taps, stride, dilation, padded in cases:
        normal = draws(name)
        inputs = {"x": normal(2, *size, 3), "kernel": normal(4, *taps, 3)}
        record(name, inputs, conv2d, conv2d_backward, stride=stride, dilation=dilation, padded=padded)
    for name, size, stride, padded in (
        ("depthwise_valid", (5, 6), 1, False),
        ("depthwise_padded", (5, 6), 1, True),
        ("depthwise_padded_stride2", (6, 8), 2, True),
    ):
        normal = draws(name)
        inputs = {"x": normal(2, *size, 4), "kernel": normal(4, 3, 3)}
        record(name, inputs, depthwise, depthwise_backward, stride=stride, dilation=1, padded=padded)


def max_pool(x: Array, size: int, stride: int) -> Array:
    height, width, each = visits(x, size, size, stride, 1, False)
    y = np.full((x.shape[0], height, width, x.shape[3]), -np.inf)
    for oh, ow, _, _, i, j in each:
        y[:, oh, ow] = np.maximum(y[:, oh, ow], x[:, i, j])
    return y


def max_pool_backward(dy: Array, x: Array, size: int, stride: int) -> Arrays:
    """The gradient goes to the one element of the window that is the greatest."""
    y = max_pool(x, size, stride)
    dx, ties = np.zeros_like(x), np.zeros_like(y)
    for oh, ow, _, _, i, j in visits(x, size, size, stride, 1, False)[2]:
        dx[:, i, j] += np.where(x[:, i, j] == y[:, oh, ow], dy[:, oh, ow], 0.0)
        ties[:, oh, ow] += x[:, i, j] > y[:, oh, ow] - KINK
    assert np.all(ties == 1)
    return {"x": dx}


def avg_pool(x: Array, size: int, stride: int) -> Array:
    height, width, each = visits(x, size, size, stride, 1, False)
    y = np.zeros((x.shape[0], height, width, x.shape[3]))
    for oh, ow, _, _, i, j in each:
        y[:, oh, ow] += x[:, i, j] / (size * size)
    return y


def avg_pool_backward(dy: Array, x: Array, size: int, stride: int) -> Arrays:
    dx = np.zeros_like(x)
    for oh, ow, _, _, i, j in visits(x, size, size, stride, 1, False)[2]:
        dx[:, i, j] += dy[:, oh, ow] / (size * size)
    return {"x": dx}


def global_avg_pool(x: Array) -> Array:
    return x.mean(axis=(1, 2))


def global_avg_pool_backward(dy: Array, x: Array) -> Arrays:
    _, h, w, _ = x.shape
    return {"x": np.zeros_like(x) + dy[:, None, None, :] / (h * w)}


def pooling_cases() -> None:
    def ranks(name: str, *shape: int) -> Array:
        """Multiples of 1/32, no two alike, in random order."""
        order = draws(name)(int(np.prod(shape))).argsort().argsort()
        return (order.reshape(shape) - order.size // 2) / 32

    pool, back = max_pool, max_pool_backward
    record("max_pool_2x2", {"x": ranks("max_pool_2x2", 2, 6, 8, 3)}, pool, back, size=2, stride=2)
    record("max_pool_3x3_stride2", {"x": ranks("max_pool_3x3_stride2", 2, 7, 9, 3)}, pool, back, size=3, stride=2)
    record("avg_pool_2x2", {"x": draws("avg_pool_2x2")(2, 6, 8, 3)}, avg_pool, avg_pool_backward, size=2, stride=2)
    record("global_avg_pool", {"x": draws("global_avg_pool")(2, 3, 4, 5)}, global_avg_pool, global_avg_pool_backward)


# Softmax and cross-entropy, over the last axis.


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_backward(dy: Array, x: Array) -> Arrays:
    y = softmax(x)
    return {"x": y * (dy - (dy * y).sum(axis=-1, keepdims=True))}


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def log_softmax_backward(dy: Array, x: Array) -> Arrays:
    return {"x": dy - softmax(x) * dy.sum(axis=-1, keepdims=True)}


def one_hot(whole: Array, classes: int) -> Array:
    return (whole[..., None] == np.arange(classes)).astype(np.float64)


def cross_entropy(logits: Array, targets: Array) -> Array:
    """y[b] = -log softmax(logits[b])[targets[b]]: one loss per example."""
    return np.array([-log_softmax(row)[int(target)] for row, target in zip(logits, targets)])


def cross_entropy_backward(dy: Array, logits: Array, targets: Array) -> Arrays:
    return {"logits": dy[:, None] * (softmax(logits) - one_hot(targets, logits.shape[1]))}


def cross_entropy_one_hot(logits: Array, targets: Array) -> Array:
    """y[b] = -sum over c of targets[b, c] * log softmax(logits[b])[c]."""
    return -(targets * log_softmax(logits)).sum(axis=-1)


def cross_entropy_one_hot_backward(dy: Array, logits: Array, targets: Array) -> Arrays:
    return {"logits": dy[:, None] * (softmax(logits) - targets)}


def softmax_cases() -> None:
    def rows(name: str) -> Array:
        """Usual logits, logits far above and below zero, and logits far apart."""
        normal = draws(name)(4, 5)
        return normal * np.array([1.0, 3.0, 3.0, 100.0])[:, None] + np.array([0.0, 1000.0, -1000.0, 0.0])[:, None]

    record("softmax", {"x": rows("softmax")}, softmax, softmax_backward)
    record("log_softmax", {"x": rows("log_softmax")}, log_softmax, log_softmax_backward)

    logits, targets = rows("cross_entropy"), np.array([2.0, 0.0, 4.0, 1.0])
    both = (
        ("cross_entropy_integer", targets, cross_entropy, cross_entropy_backward),
        ("cross_entropy_one_hot", one_hot(targets, 5), cross_entropy_one_hot, cross_entropy_one_hot_backward),
    )
    for name, aim, forward, backward in both:
        record(name, {"logits": logits, "targets": aim}, forward, backward)
        # The mean over the examples, which is what is trained.
        share = np.full(len(logits), 1.0 / len(logits))
        gradient = backward(share, logits, aim)["logits"]
        compare_with_differences(f"{name}: mean", gradient, logits, lambda x: float(np.mean(forward(x, aim))))
        keep(name, {"mean": np.mean(forward(logits, aim)), "grad_mean_logits": gradient})
    assert np.allclose(CASES[both[0][0]]["y"], CASES[both[1][0]]["y"], rtol=1e-14, atol=0)


# Elements in another order, some of them several times or not at all.


def moved_backward(places: Callable[[Array], Array]) -> Callable[..., Arrays]:
    """The gradient of a function that moves elements: each gets the weights of the places where it ends.

    `places` does to whole numbers what the function does to elements; 0 stands where there is no element.
    """

    def backward(dy: Array, x: Array) -> Arrays:
        ends = places(np.arange(1, x.size + 1).reshape(x.shape))
        gradient = np.zeros(x.size + 1)
        np.add.at(gradient, ends, dy)
        return {"x": gradient[1:].reshape(x.shape)}

    return backward


def product_backward(dy: Array, x: Array) -> Arrays:
    """The gradient of a product along the last axis: the product of all other elements, without a division."""
    others = [np.prod(np.delete(x, at, axis=-1), axis=-1) for at in range(x.shape[-1])]
    return {"x": dy[..., None] * np.stack(others, axis=-1)}


def axis_cases() -> None:
    x = draws("product")(4, 5)
    x[1, 2] = x[2, 0] = x[2, 4] = 0.0
    x[3] = 0.0
    record("product", {"x": x}, lambda x: np.prod(x, axis=-1), product_backward)
    moves: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array] | None]] = {
        "flip": (lambda x: np.flip(x, 1), None),
        "flip_batch": (lambda x: np.flip(x, 0), None),
        "roll": (lambda x: np.roll(x, 2, axis=1), None),
        "roll_back": (lambda x: np.roll(x, -12, axis=1), None),
        "pad": (
            lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0)), constant_values=9.0),
            lambda at: np.pad(at, ((0, 0), (1, 2), (0, 0))),
        ),
        "pad_edge": (lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1)), mode="edge"), None),
        "pad_reflect": (lambda x: np.pad(x, ((0, 0), (3, 9), (0, 0)), mode="reflect"), None),
        "tril": (lambda x: np.tril(x, 1), None),
        "triu": (lambda x: np.triu(x), None),
        "interleave": (lambda x: np.stack([x, x[:, ::-1]], axis=2).reshape(3, 10, 4), None),
    }
    for name, (forward, places) in moves.items():
        record(name, {"x": draws(name)(3, 5, 4)}, forward, moved_backward(places or forward))

    def sorted_by(order: Callable[[Array], Array]) -> tuple[Callable[[Array], Array], Callable[..., Arrays]]:
        def backward(dy: Array, x: Array) -> Arrays:
            gradient = np.zeros_like(x)
            np.put_along_axis(gradient, order(x), dy, axis=1)
            return {"x": gradient}

        return lambda x: np.take_along_axis(x, order(x), axis=1), backward

    orders: dict[str, Callable[[Array], Array]] = {
        "sort": lambda x: np.argsort(x, axis=1, kind="stable"),
        "sort_descending": lambda x: np.argsort(-x, axis=1, kind="stable"),
        "topk": lambda x: np.argsort(-x, axis=1, kind="stable")[:, :3],
    }
    for name, order in orders.items():
        forward, backward = sorted_by(order)
        record(name, {"x": draws(name)(3, 50, 4)}, forward, backward)
    # Few different numbers, so that there are equals.
    x = np.round(2 * draws("argmax")(3, 20, 4))
    places = {f"{name}_{axis}": getattr(np, name)(x, axis=axis) for name in ("argmax", "argmin") for axis in range(3)}
    keep("argmax", {"x": x, **{key: value.astype(np.float64) for key, value in places.items()}})
    edges, x = np.sort(np.round(2 * draws("edges")(40))), np.round(2 * draws("searched")(30))
    both = {"left": np.searchsorted(edges, x), "right": np.searchsorted(edges, x, side="right")}
    keep("searchsorted", {"edges": edges, "x": x, **{key: value.astype(np.float64) for key, value in both.items()}})


# Matrices: values by NumPy's LAPACK, gradients by hand.


def flipped(x: Array) -> Array:
    """The transpose of each matrix."""
    return np.swapaxes(x, -1, -2)


def solve_backward(dy: Array, a: Array, b: Array) -> Arrays:
    gradient = np.linalg.solve(flipped(a), dy)
    return {"a": -gradient @ flipped(np.linalg.solve(a, b)), "b": gradient}


def cofactors(a: Array) -> Array:
    """Determinants of what is left without a row and a column, with signs: also of singular matrices."""
    result = np.zeros_like(a)
    for *batch, i, j in np.ndindex(a.shape):
        minor = np.delete(np.delete(a[tuple(batch)], i, axis=0), j, axis=1)
        result[(*batch, i, j)] = (-1) ** (i + j) * np.linalg.det(minor)
    return result


def cholesky_backward(dy: Array, a: Array) -> Arrays:
    factor = np.linalg.cholesky((a + flipped(a)) / 2)
    inner = np.tril(flipped(factor) @ dy)
    inner -= inner * np.eye(a.shape[-1]) / 2
    inverse = np.linalg.inv(factor)
    gradient = flipped(inverse) @ inner @ inverse
    return {"a": (gradient + flipped(gradient)) / 2}


def qr_backward(dy: Array, a: Array) -> Arrays:
    """The gradient of `q` over `r`, for matrices of full rank."""
    q, r = np.linalg.qr(a)
    of_q, of_r = dy[..., : a.shape[-2], :], np.triu(dy[..., a.shape[-2] :, :])
    lower = np.tril(r @ flipped(of_r) - flipped(of_q) @ q)
    both = lower + flipped(np.tril(lower, -1))
    return {"a": (of_q + q @ both) @ flipped(np.linalg.inv(r))}


def qr_wide_backward(dy: Array, a: Array) -> Arrays:
    """The gradient of the transposes of `q` and `r`, by that of the first columns, `a1 = q r1`; the others are `a2 = q r2`."""
    m = a.shape[-2]
    q, r = np.linalg.qr(a)
    of_q, of_r = flipped(dy[..., :m, :]), flipped(dy[..., m:, :])
    of_q = of_q + a[..., m:] @ flipped(of_r[..., m:])
    first = qr_backward(np.concatenate([of_q, of_r[..., :m]], axis=-2), a[..., :m])["a"]
    return {"a": np.concatenate([first, q @ of_r[..., m:]], axis=-1)}


def lstsq_wide_backward(dy: Array, a: Array, b: Array) -> Arrays:
    """The gradient of `x = aᵀ y`, the shortest solution, with `a aᵀ y = b`."""
    y = np.linalg.solve(a @ flipped(a), b)
    of_b = np.linalg.solve(a @ flipped(a), a @ dy)
    of_a = y @ flipped(dy) - of_b @ flipped(flipped(a) @ y) - y @ flipped(flipped(a) @ of_b)
    return {"a": of_a, "b": of_b}


def lstsq_backward(dy: Array, a: Array, b: Array) -> Arrays:
    inverse = np.linalg.inv(flipped(a) @ a)
    x, g = inverse @ flipped(a) @ b, inverse @ dy
    return {"a": (b - a @ x) @ flipped(g) - a @ g @ flipped(x), "b": a @ g}


def turned(vectors: Array) -> Array:
    """Columns whose elements of the greatest magnitude are positive: the sign of an eigenvector is free."""
    places = np.argmax(np.abs(vectors), axis=-2)[..., None, :]
    return vectors * np.sign(np.take_along_axis(vectors, places, axis=-2))


def symmetric(x: Array) -> Array:
    return (x + flipped(x)) / 2


def eigenvectors_backward(dy: Array, a: Array) -> Arrays:
    values, vectors = np.linalg.eigh(symmetric(a))
    vectors = turned(vectors)
    differences = values[..., None, :] - values[..., :, None] + np.eye(a.shape[-1])
    inner = flipped(vectors) @ dy / differences * (1 - np.eye(a.shape[-1]))
    return {"a": symmetric(vectors @ inner @ flipped(vectors))}


def eigenvalues_backward(dy: Array, a: Array) -> Arrays:
    vectors = np.linalg.eigh(symmetric(a))[1]
    return {"a": vectors * dy[..., None, :] @ flipped(vectors)}


def singular_backward(dy: Array, a: Array) -> Arrays:
    u, _, v = np.linalg.svd(a, full_matrices=False)
    return {"a": u * dy[..., None, :] @ v}


def matrix_cases() -> None:
    a = draws("matrices")(3, 5, 5)
    record("solve", {"a": a, "b": draws("solve")(3, 5, 2)}, np.linalg.solve, solve_backward)

    def vectors_backward(dy: Array, a: Array, b: Array) -> Arrays:
        made = solve_backward(dy.T, a, b.T)
        return {"a": made["a"], "b": made["b"].T}

    vectors = {"a": a[0], "b": draws("vectors")(7, 5)}
    record("solve_vectors", vectors, lambda a, b: np.linalg.solve(a, b.T).T, vectors_backward)
    inverse = np.linalg.inv
    record("inverse", {"a": a}, inverse, lambda dy, a: {"a": -flipped(inverse(a)) @ dy @ flipped(inverse(a))})
    singular = draws("singular")(3, 4, 4)
    singular[1, 2] = singular[1, 0]
    singular[2, 1:] = np.outer([1, 2, -1], singular[2, 0])
    for name, matrices in {"det": a, "det_singular": singular}.items():
        record(name, {"a": matrices}, np.linalg.det, lambda dy, a: {"a": dy[:, None, None] * cofactors(a)})
    record(
        "logdet",
        {"a": a},
        lambda a: np.linalg.slogdet(a)[1],
        lambda dy, a: {"a": dy[:, None, None] * flipped(inverse(a))},
    )
    # Not symmetric: only the symmetric part counts.
    positive = a @ flipped(a) + np.eye(5) + np.triu(draws("positive")(3, 5, 5), 1) / 10
    record("cholesky", {"a": positive}, lambda a: np.linalg.cholesky((a + flipped(a)) / 2), cholesky_backward)
    tall = draws("tall")(3, 6, 4)
    for name, matrices in {"qr": tall, "qr_square": a}.items():
        record(name, {"a": matrices}, lambda a: np.concatenate(np.linalg.qr(a), axis=-2), qr_backward)

    def nearest(a: Array, b: Array) -> Array:
        return np.stack([np.linalg.lstsq(each, right, rcond=None)[0] for each, right in zip(a, b, strict=True)])

    wide = draws("wide")(3, 4, 6)
    record(
        "qr_wide",
        {"a": wide},
        lambda a: np.concatenate([flipped(part) for part in np.linalg.qr(a)], axis=-2),
        qr_wide_backward,
    )
    record("lstsq_wide", {"a": wide, "b": draws("lstsq_wide")(3, 4, 2)}, nearest, lstsq_wide_backward)
    record("lstsq", {"a": tall, "b": draws("lstsq")(3, 6, 2)}, nearest, lstsq_backward)
    record("eigenvalues", {"a": a}, lambda a: np.linalg.eigh(symmetric(a))[0], eigenvalues_backward)
    record("eigenvectors", {"a": a}, lambda a: turned(np.linalg.eigh(symmetric(a))[1]), eigenvectors_backward)
    for name, matrices in {"singular_values": tall, "singular_values_wide": wide}.items():
        record(name, {"a": matrices}, lambda a: np.linalg.svd(a, compute_uv=False), singular_backward)


# Normalization. Variances are biased: divided by the number of elements.


def layer_norm(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(variance + eps) + beta


def normalized_backward(dy: Array, x: Array, gamma: Array, beta: Array, eps: float, over: tuple[int, ...]) -> Arrays:
    """The gradients of `gamma * n + beta`, `n` being `x` with mean 0 and variance 1 over some axes.

    With r = 1 / sqrt(variance + eps) and m(.) the mean over the same axes, the gradient of sum(g * n) is
    r * (g - m(g) - n * m(g * n)).
    """
    mean = x.mean(axis=over, keepdims=True)
    r = 1 / np.sqrt(((x - mean) ** 2).mean(axis=over, keepdims=True) + eps)
    n, g = (x - mean) * r, dy * gamma
    others = tuple(range(x.ndim - 1))  # gamma and beta have the last axis alone
    return {
        "x": r * (g - g.mean(axis=over, keepdims=True) - n * (g * n).mean(axis=over, keepdims=True)),
        "gamma": (dy * n).sum(axis=others),
        "beta": dy.sum(axis=others),
    }


def layer_norm_backward(dy: Array, x: Array, gamma: Array, beta: Array, eps: float) -> Arrays:
    return normalized_backward(dy, x, gamma, beta, eps, over=(x.ndim - 1,))


def rms_norm(x: Array, gamma: Array, eps: float) -> Array:
    return gamma * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)


def rms_norm_backward(dy: Array, x: Array, gamma: Array, eps: float) -> Arrays:
    r = 1 / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    n, g = x * r, dy * gamma
    return {
        "x": r * (g - n * (g * n).mean(axis=-1, keepdims=True)),
        "gamma": (dy * n).sum(axis=tuple(range(x.ndim - 1))),
    }


def batch_norm(x: Array, gamma: Array, beta: Array, eps: float) -> Arrays:
    """In training: the statistics are those of the batch, over b, h and w."""
    mean = x.mean(axis=(0, 1, 2))
    variance = ((x - mean) ** 2).mean(axis=(0, 1, 2))
    return {"y": gamma * (x - mean) / np.sqrt(variance + eps) + beta, "mean": mean, "variance": variance}


def batch_norm_backward(dy: Array, x: Array, gamma: Array, beta: Array, eps: float) -> Arrays:
    return normalized_backward(dy, x, gamma, beta, eps, over=(0, 1, 2))


def batch_norm_inference(
    x: Array, gamma: Array, beta: Array, running_mean: Array, running_variance: Array, eps: float
) -> Array:
    return gamma * (x - running_mean) / np.sqrt(running_variance + eps) + beta


def batch_norm_inference_backward(
    dy: Array, x: Array, gamma: Array, beta: Array, running_mean: Array, running_variance: Array, eps: float
) -> Arrays:
    r = 1 / np.sqrt(running_variance + eps)
    return {
        "x": dy * gamma * r,
        "gamma": (dy * (x - running_mean) * r).sum(axis=(0, 1, 2)),
        "beta": dy.sum(axis=(0, 1, 2)),
    }


def normalization_cases() -> None:
    normal = draws("layer_norm")
    inputs = {"x": 2 * normal(2, 3, 6) + 1, "gamma": normal(6), "beta": normal(6)}
    record("layer_norm", inputs, layer_norm, layer_norm_backward, eps=1e-5)

    normal = draws("rms_norm")
    record("rms_norm", {"x": 2 * normal(2, 3, 6), "gamma": normal(6)}, rms_norm, rms_norm_backward, eps=1e-5)

    normal = draws("batch_norm")
    inputs = {"x": 2 * normal(2, 3, 4, 5) + 1, "gamma": normal(5), "beta": normal(5)}
    record("batch_norm_training", inputs, batch_norm, batch_norm_backward, eps=1e-5)
    inputs |= {"running_mean": normal(5), "running_variance": 0.5 + normal(5) ** 2}
    record("batch_norm_inference", inputs, batch_norm_inference, batch_norm_inference_backward, eps=1e-5)


# Pointwise functions.


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def sigmoid_backward(dy: Array, x: Array) -> Arrays:
    return {"x": dy * sigmoid(x) * sigmoid(-x)}  # 1 - sigmoid(x) = sigmoid(-x)


def silu(x: Array) -> Array:
    return x * sigmoid(x)


def silu_backward(dy: Array, x: Array) -> Arrays:
    return {"x": dy * (sigmoid(x) + x * sigmoid(x) * sigmoid(-x))}


def tanh(x: Array) -> Array:
    return np.tanh(x)


def tanh_backward(dy: Array, x: Array) -> Arrays:
    return {"x": dy / np.cosh(x) ** 2}


def gelu(x: Array) -> Array:
    """The form with tanh: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu_backward(dy: Array, x: Array) -> Arrays:
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return {"x": dy * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * inner)}


def pointwise_cases() -> None:
    functions = (
        ("relu", relu, relu_backward),
        ("sigmoid", sigmoid, sigmoid_backward),
        ("tanh", tanh, tanh_backward),
        ("silu", silu, silu_backward),
        ("gelu", gelu, gelu_backward),
    )
    for name, function, backward in functions:
        x = 2 * draws(name)(4, 6)
        x[0, :4] = [-30.0, 30.0, -8.0, 8.0]
        assert np.min(np.abs(x)) > KINK
        record(name, {"x": x}, function, backward)


# Attention.


def attention(x: Array, memory: Array, wq: Array, wk: Array, wv: Array, wo: Array, causal: bool) -> Arrays:
    """Queries from `x`, keys and values from `memory`; with `causal`, query s sees keys t <= s alone."""
    (batch, s, _), (heads, dh, _) = x.shape, wq.shape
    t = memory.shape[1]
    y, probabilities = np.zeros_like(x), np.zeros((batch, heads, s, t))
    for b in range(batch):
        for h in range(heads):
            q, k, v = x[b] @ wq[h].T, memory[b] @ wk[h].T, memory[b] @ wv[h].T  # [s, dh], [t, dh], [t, dh]
            scores = q @ k.T / np.sqrt(dh)
            if causal:
                scores = np.where(np.tri(s, t, dtype=bool), scores, -np.inf)
            probabilities[b, h] = softmax(scores)
            y[b] += probabilities[b, h] @ v @ wo[:, h].T
    return {"y": y, "probabilities": probabilities}


def attention_backward(
    dy: Array, x: Array, memory: Array, wq: Array, wk: Array, wv: Array, wo: Array, causal: bool
) -> Arrays:
    (batch, _, _), (heads, dh, _) = x.shape, wq.shape
    probabilities = attention(x, memory, wq, wk, wv, wo, causal)["probabilities"]
    dx, dmemory = np.zeros_like(x), np.zeros_like(memory)
    dwq, dwk, dwv, dwo = (np.zeros_like(w) for w in (wq, wk, wv, wo))
    for b in range(batch):
        for h in range(heads):
            q, k, v, p = x[b] @ wq[h].T, memory[b] @ wk[h].T, memory[b] @ wv[h].T, probabilities[b, h]
            dwo[:, h] += dy[b].T @ (p @ v)
            dheads = dy[b] @ wo[:, h]
            dp, dv = dheads @ v.T, p.T @ dheads
            # A masked score has probability 0, and so no gradient.
            dscores = p * (dp - (dp * p).sum(axis=-1, keepdims=True)) / np.sqrt(dh)
            dq, dk = dscores @ k, dscores.T @ q
            dwq[h] += dq.T @ x[b]
            dwk[h] += dk.T @ memory[b]
            dwv[h] += dv.T @ memory[b]
            dx[b] += dq @ wq[h]
            dmemory[b] += dk @ wk[h] + dv @ wv[h]
    return {"x": dx, "memory": dmemory, "wq": dwq, "wk": dwk, "wv": dwv, "wo": dwo}


def self_attention(x: Array, wq: Array, wk: Array, wv: Array, wo: Array, causal: bool) -> Arrays:
    return attention(x, x, wq, wk, wv, wo, causal)


def self_attention_backward(
    dy: Array, x: Array, wq: Array, wk: Array, wv: Array, wo: Array, causal: bool
) -> Arrays:
    gradients = attention_backward(dy, x, x, wq, wk, wv, wo, causal)
    gradients["x"] = gradients["x"] + gradients.pop("memory")
    return gradients


def attention_cases() -> None:
    batch, s, t, d_model, heads, dh = 2, 4, 5, 7, 3, 6

    def projections(normal: Callable[..., Array]) -> Arrays:
        inward = {key: normal(heads, dh, d_model) / np.sqrt(d_model) for key in ("wq", "wk", "wv")}
        return {**inward, "wo": normal(d_model, heads, dh) / np.sqrt(heads * dh)}

    for name, causal in (("attention", False), ("attention_causal", True)):
        normal = draws(name)
        inputs = {"x": 2 * normal(batch, s, d_model), **projections(normal)}
        record(name, inputs, self_attention, self_attention_backward, causal=causal)

    normal = draws("attention_cross")
    inputs = {"x": 2 * normal(batch, s, d_model), "memory": 2 * normal(batch, t, d_model), **projections(normal)}
    record("attention_cross", inputs, attention, attention_backward, causal=False)


# Positions.


def sinusoidal(s: int, d: int, base: float) -> Array:
    """y[p, 2i] = sin(p / base^(2i / d)), y[p, 2i + 1] = cos(p / base^(2i / d)). Vaswani et al. (2017)."""
    y = np.zeros((s, d))
    for p in range(s):
        for i in range(d // 2):
            y[p, 2 * i] = np.sin(p / base ** (2 * i / d))
            y[p, 2 * i + 1] = np.cos(p / base ** (2 * i / d))
    return y


def rotated(x: Array, base: float, direction: float) -> Array:
    """Turns each pair (x[..., 2i], x[..., 2i + 1]) at position p by the angle p / base^(2i / dh), or back."""
    _, s, _, dh = x.shape
    y = np.zeros_like(x)
    for p in range(s):
        for i in range(dh // 2):
            angle = direction * p / base ** (2 * i / dh)
            first, second = x[:, p, :, 2 * i], x[:, p, :, 2 * i + 1]
            y[:, p, :, 2 * i] = first * np.cos(angle) - second * np.sin(angle)
            y[:, p, :, 2 * i + 1] = first * np.sin(angle) + second * np.cos(angle)
    return y


def rotary(x: Array, base: float) -> Array:
    """Su et al. (2021), with interleaved pairs."""
    return rotated(x, base, 1.0)


def rotary_backward(dy: Array, x: Array, base: float) -> Arrays:
    return {"x": rotated(dy, base, -1.0)}  # the transpose of a rotation is the rotation back


def position_cases() -> None:
    keep("sinusoidal", {"base": np.float64(10000), "y": sinusoidal(6, 8, 10000.0)})
    record("rotary", {"x": draws("rotary")(2, 5, 3, 6)}, rotary, rotary_backward, base=10000.0)


# Embedding.


def embedding(table: Array, tokens: Array) -> Array:
    """y[b, s] = table[tokens[b, s]]."""
    return table[tokens.astype(int)]


def embedding_backward(dy: Array, table: Array, tokens: Array) -> Arrays:
    gradient = np.zeros_like(table)
    for index in np.ndindex(tokens.shape):
        gradient[int(tokens[index])] += dy[index]
    return {"table": gradient}


def embedding_cases() -> None:
    # Tokens 1 and 3 come more than once, 4 never.
    tokens = np.array([[3.0, 1.0, 3.0, 0.0], [5.0, 1.0, 2.0, 3.0]])
    record("embedding", {"table": draws("embedding")(6, 3), "tokens": tokens}, embedding, embedding_backward)


# Transformers: attention without biases, heads that need not divide up the width.


def feed_forward(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, between: Callable[[Array], Array]) -> Array:
    return linear(between(linear(x, w1, b1)), w2, b2)


def feed_forward_backward(
    dy: Array, x: Array, w1: Array, b1: Array, w2: Array, b2: Array, between: str
) -> Arrays:
    """The gradients for sequences x[b, s, d]; `between` is the name of the function between the layers."""
    function, backward = {"relu": (relu, relu_backward), "gelu": (gelu, gelu_backward)}[between]
    rows = x.reshape(-1, x.shape[-1])
    hidden = linear(rows, w1, b1)
    assert between != "relu" or np.min(np.abs(hidden)) > KINK
    second = linear_backward(dy.reshape(-1, dy.shape[-1]), function(hidden), w2, b2)
    first = linear_backward(backward(second["x"], hidden)["x"], rows, w1, b1)
    return {"x": first["x"].reshape(x.shape), "w1": first["w"], "b1": first["bias"], "w2": second["w"], "b2": second["bias"]}


EPS = 1e-5


def encoder_block(x: Array, causal: bool, **p: Array) -> Array:
    """Normalization before the layers: y = x + attention(norm(x)), z = y + feed_forward(norm(y)), with gelu."""
    heads = (p["wq"], p["wk"], p["wv"], p["wo"])
    y = x + self_attention(layer_norm(x, p["gamma1"], p["beta1"], EPS), *heads, causal)["y"]
    normal = layer_norm(y, p["gamma2"], p["beta2"], EPS)
    return y + feed_forward(normal, p["w1"], p["b1"], p["w2"], p["b2"], gelu)


def encoder_block_backward(dz: Array, x: Array, causal: bool, **p: Array) -> Arrays:
    heads = (p["wq"], p["wk"], p["wv"], p["wo"])
    first = layer_norm(x, p["gamma1"], p["beta1"], EPS)
    y = x + self_attention(first, *heads, causal)["y"]
    second = layer_norm(y, p["gamma2"], p["beta2"], EPS)
    fed = feed_forward_backward(dz, second, p["w1"], p["b1"], p["w2"], p["b2"], "gelu")
    norm2 = layer_norm_backward(fed.pop("x"), y, p["gamma2"], p["beta2"], EPS)
    dy = dz + norm2["x"]
    attended = self_attention_backward(dy, first, *heads, causal)
    norm1 = layer_norm_backward(attended.pop("x"), x, p["gamma1"], p["beta1"], EPS)
    return {
        "x": dy + norm1["x"],
        **attended,
        **fed,
        "gamma1": norm1["gamma"],
        "beta1": norm1["beta"],
        "gamma2": norm2["gamma"],
        "beta2": norm2["beta"],
    }


def decoder_block(x: Array, memory: Array, **p: Array) -> Array:
    """Normalization after the layers: norm(x + layer(x)), for causal attention, attention to memory, relu layers."""
    return decoder_block_parts(x, memory, **p)[-1]


def decoder_block_parts(x: Array, memory: Array, **p: Array) -> tuple[Array, ...]:
    """The three sums, each followed by its normalization."""
    norm = lambda x, number: layer_norm(x, p[f"gamma{number}"], p[f"beta{number}"], EPS)  # noqa: E731
    first = x + self_attention(x, p["wq"], p["wk"], p["wv"], p["wo"], True)["y"]
    a = norm(first, 1)
    second = a + attention(a, memory, p["cq"], p["ck"], p["cv"], p["co"], False)["y"]
    c = norm(second, 2)
    third = c + feed_forward(c, p["w1"], p["b1"], p["w2"], p["b2"], relu)
    return first, a, second, c, third, norm(third, 3)


def decoder_block_backward(dz: Array, x: Array, memory: Array, **p: Array) -> Arrays:
    first, a, second, c, third, _ = decoder_block_parts(x, memory, **p)
    back = lambda dy, x, number: layer_norm_backward(dy, x, p[f"gamma{number}"], p[f"beta{number}"], EPS)  # noqa: E731
    norm3 = back(dz, third, 3)
    fed = feed_forward_backward(norm3["x"], c, p["w1"], p["b1"], p["w2"], p["b2"], "relu")
    norm2 = back(norm3["x"] + fed.pop("x"), second, 2)
    crossed = attention_backward(norm2["x"], a, memory, p["cq"], p["ck"], p["cv"], p["co"], False)
    norm1 = back(norm2["x"] + crossed.pop("x"), first, 1)
    attended = self_attention_backward(norm1["x"], x, p["wq"], p["wk"], p["wv"], p["wo"], True)
    gradients = {"x": norm1["x"] + attended.pop("x"), "memory": crossed.pop("memory"), **attended, **fed}
    gradients |= {"c" + key[1:]: gradient for key, gradient in crossed.items()}
    for number, norm in enumerate((norm1, norm2, norm3), start=1):
        gradients |= {f"gamma{number}": norm["gamma"], f"beta{number}": norm["beta"]}
    return gradients


def decoder_only(table: Array, gamma: Array, beta: Array, tokens: Array, **p: Array) -> Arrays:
    """Embedding times sqrt(d) and sinusoids, one block, a norm, the embedding backwards; the loss is that of the next token."""
    d = table.shape[0]
    x = np.sqrt(d) * table.T[tokens.astype(int)] + sinusoidal(tokens.shape[1], d, 10000.0)
    last = encoder_block(x, causal=True, **p)
    logits = layer_norm(last, gamma, beta, EPS) @ table
    pairs = zip(logits[:, :-1].reshape(-1, table.shape[1]), tokens[:, 1:].ravel())
    losses = [-log_softmax(row)[int(token)] for row, token in pairs]
    return {"y": np.mean(losses), "logits": logits}


def decoder_only_backward(dy: Array, table: Array, gamma: Array, beta: Array, tokens: Array, **p: Array) -> Arrays:
    d, v = table.shape
    x = np.sqrt(d) * table.T[tokens.astype(int)] + sinusoidal(tokens.shape[1], d, 10000.0)
    last = encoder_block(x, causal=True, **p)
    normal = layer_norm(last, gamma, beta, EPS)
    logits = normal @ table
    dlogits = np.zeros_like(logits)
    count = tokens[:, 1:].size
    dlogits[:, :-1] = dy / count * (softmax(logits[:, :-1]) - one_hot(tokens[:, 1:], v))
    norm = layer_norm_backward(dlogits @ table.T, last, gamma, beta, EPS)
    block = encoder_block_backward(norm["x"], x, causal=True, **p)
    dtable = normal.reshape(-1, d).T @ dlogits.reshape(-1, v)
    dtable += np.sqrt(d) * embedding_backward(block.pop("x"), table.T, tokens)["table"].T
    return {"table": dtable, "gamma": norm["gamma"], "beta": norm["beta"], **block}


def transformer_cases() -> None:
    batch, s, t, d_model, heads, dh, hidden, vocabulary = 2, 4, 3, 6, 2, 3, 5, 7

    def parameters(normal: Callable[..., Array], attentions: str, norms: int) -> Arrays:
        made = {}
        for kind in attentions:
            made |= {kind + key: normal(heads, dh, d_model) / np.sqrt(d_model) for key in "qkv"}
            made[kind + "o"] = normal(d_model, heads, dh) / np.sqrt(heads * dh)
        made |= {"w1": normal(hidden, d_model) / 2, "b1": normal(hidden) / 2}
        made |= {"w2": normal(d_model, hidden) / 2, "b2": normal(d_model) / 2}
        for number in range(1, norms + 1):
            made |= {f"gamma{number}": 1 + normal(d_model) / 2, f"beta{number}": normal(d_model) / 2}
        return made

    for name, causal in (("encoder_block", False), ("encoder_block_causal", True)):
        normal = draws(name)
        inputs = {"x": 2 * normal(batch, s, d_model), **parameters(normal, "w", 2)}
        record(name, inputs, encoder_block, encoder_block_backward, causal=causal)

    normal = draws("decoder_block")
    inputs = {"x": 2 * normal(batch, s, d_model), "memory": 2 * normal(batch, t, d_model)}
    record("decoder_block", inputs | parameters(normal, "wc", 3), decoder_block, decoder_block_backward)

    normal = draws("decoder_only")
    inputs = {"table": normal(d_model, vocabulary) / 2, "gamma": 1 + normal(d_model) / 2, "beta": normal(d_model) / 2}
    tokens = np.array([[3.0, 1.0, 3.0, 0.0], [5.0, 1.0, 2.0, 6.0]])
    inputs |= parameters(normal, "w", 2)
    record("decoder_only", inputs, decoder_only, decoder_only_backward, tokens=tokens)


# Optimizers: PyTorch's formulas, three steps. `gradients[t]` is given, it does not depend on the parameter.


def sgd(parameter: Array, gradients: Array, lr: float, momentum: float, weight_decay: float) -> Arrays:
    p, velocity = parameter.copy(), np.zeros_like(parameter)
    parameters, velocities = [], []
    for g in gradients:
        g = g + weight_decay * p
        velocity = momentum * velocity + g  # the first velocity is the gradient itself
        p = p - lr * velocity
        parameters.append(p)
        velocities.append(velocity)
    return {"parameters": np.stack(parameters), "velocities": np.stack(velocities)}


def adam(
    parameter: Array,
    gradients: Array,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
) -> Arrays:
    """Adam, whose decay is part of the gradient; `decoupled`, AdamW, whose decay shrinks the parameter."""
    p, m, v = parameter.copy(), np.zeros_like(parameter), np.zeros_like(parameter)
    parameters, ms, vs = [], [], []
    for t, g in enumerate(gradients, start=1):
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        p = p - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
        parameters.append(p)
        ms.append(m)
        vs.append(v)
    return {"parameters": np.stack(parameters), "m": np.stack(ms), "v": np.stack(vs)}


def adafactor(
    parameter: Array, gradients: Array, lr: float, power: float, eps: float, least: float, clip: float, weight_decay: float
) -> Arrays:
    """Rows are outputs, columns are inputs; a vector has a variance for each element."""
    p = parameter.copy()
    rows, columns = np.zeros(p.shape[:1] + (1,) * (p.ndim - 1)), np.zeros((1,) + p.shape[1:])
    variance = np.zeros_like(p)
    parameters = []
    for t, g in enumerate(gradients, start=1):
        new = t**power
        own = max(least, np.linalg.norm(p) / p.size**0.5)
        p = p - lr * weight_decay * p
        if p.ndim > 1:
            rows = (1 - new) * rows + new * (g**2).mean(axis=1, keepdims=True)
            columns = (1 - new) * columns + new * (g**2).mean(axis=0, keepdims=True)
            estimate = rows @ columns / max(rows.mean(), eps)
        else:
            variance = (1 - new) * variance + new * g**2
            estimate = variance
        update = g / np.sqrt(np.maximum(estimate, eps**2))
        most = max(1.0, np.linalg.norm(update) / (p.size**0.5 * clip))
        p = p - own * min(lr, 1 / t**0.5) / most * update
        parameters.append(p)
    return {"parameters": np.stack(parameters)}


def muon(parameter: Array, gradients: Array, lr: float, momentum: float, weight_decay: float, nesterov: bool) -> Arrays:
    """In full precision: PyTorch makes matrices orthogonal in 16 bits."""
    p, average = parameter.copy(), np.zeros_like(parameter)
    parameters = []
    for g in gradients:
        average = momentum * average + (1 - momentum) * g
        x = momentum * average + (1 - momentum) * g if nesterov else average
        x = x / max(np.linalg.norm(x), 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        p = p - lr * weight_decay * p - lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * x
        parameters.append(p)
    return {"parameters": np.stack(parameters)}


def optimizer_cases() -> None:
    def inputs(name: str, *sizes: int) -> Arrays:
        normal = draws(name)
        return {"parameter": normal(*sizes), "gradients": normal(3, *sizes)}

    def steps(name: str, optimizer: Callable[..., Arrays], *sizes: int, **settings: float) -> None:
        given = inputs(name, *(sizes or (2, 4)))
        outputs = optimizer(**given, **settings)
        keep(name, {**given, **{key: np.float64(value) for key, value in settings.items()}, **outputs})

    steps("sgd", sgd, lr=0.1, momentum=0.9, weight_decay=0.01)
    betas = {"lr": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
    steps("adam", adam, **betas, weight_decay=0.0, decoupled=False)
    steps("adam_decay", adam, **betas, weight_decay=0.1, decoupled=False)
    steps("adamw", adam, **betas, weight_decay=0.1, decoupled=True)
    factored = {"lr": 0.1, "power": -0.8, "eps": 1e-5, "least": 0.001, "clip": 1.0}
    steps("adafactor", adafactor, **factored, weight_decay=0.1)
    steps("adafactor_vector", adafactor, 5, **factored, weight_decay=0.0)
    steps("muon", muon, lr=0.02, momentum=0.95, weight_decay=0.1, nesterov=True)
    steps("muon_tall", muon, 5, 3, lr=0.02, momentum=0.9, weight_decay=0.0, nesterov=False)


def check() -> None:
    """Compares the files with what was made now, up to the last digits of another machine's `exp`."""
    for name, case in CASES.items():
        with np.load(HERE / f"{name}.npz", allow_pickle=False) as file:
            if list(file) != list(case):
                sys.exit(f"{name}.npz holds other arrays")
            for key, array in case.items():
                if file[key].shape != array.shape or not np.allclose(file[key], array, rtol=1e-12, atol=1e-12):
                    sys.exit(f"{name}.npz: {key} differs")
    if extra := {path.stem for path in HERE.glob("*.npz")} - CASES.keys():
        sys.exit(f"files of no case: {sorted(extra)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare the files with newly made values")
    what.add_argument("--list", action="store_true", help="print the arrays of every case")
    options = parser.parse_args()

    dense_cases()
    convolution_cases()
    pooling_cases()
    softmax_cases()
    axis_cases()
    matrix_cases()
    normalization_cases()
    pointwise_cases()
    attention_cases()
    position_cases()
    embedding_cases()
    transformer_cases()
    optimizer_cases()

    if options.check:
        check()
    elif options.list:
        for name, case in CASES.items():
            print(f"{name}:", ", ".join(f"{key} {list(array.shape)}" for key, array in case.items()))
    else:
        for name, case in CASES.items():
            (HERE / f"{name}.npz").write_bytes(written(case))
        print(f"{len(CASES)} cases")


if __name__ == "__main__":
    main()
