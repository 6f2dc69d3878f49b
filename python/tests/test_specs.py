"""Specs on arrays: the tables of docs/notation.md, composed axes, kinds of arrays, and gradients."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from needed import needed

import broadloom as bl

M = np.arange(12.0).reshape(3, 4) - 5
N = np.arange(20.0).reshape(4, 5) - 7
S = np.arange(25.0).reshape(5, 5)
V, U = np.arange(3.0), np.arange(4.0) + 1
X = np.random.default_rng(0).normal(size=(8, 6, 3, 4))
LINE, EVEN, TAPS = np.arange(12.0), np.arange(11.0), np.array([1.0, 2.0, 4.0])


def windows(x: np.ndarray, size: int, stride: int = 1, dilation: int = 1) -> np.ndarray:
    span = dilation * (size - 1) + 1
    return np.lib.stride_tricks.sliding_window_view(x, span)[::stride, ::dilation]


TABLE = [
    ("i j; j k => i k", (M, N), M @ N),
    ("ij; jk => ik", (M, N), M @ N),
    ("row, column => column, row", (M,), M.T),
    ("i j => j", (M,), M.sum(0)),
    ("i j =>", (M,), M.sum()),
    ("i j => i 0", (M,), M.sum(1, keepdims=True)),
    ("i; j => i j", (V, U), np.outer(V, U)),
    ("i; j => i -> j", (V, U), np.outer(U, V)),  # in memory, the output comes before the input
    ("i i => i", (S,), np.diagonal(S)),
    ("i i =>", (S,), np.trace(S)),
    ("i => i i", (V,), np.diag(V)),
    ("i j; i j =>", (M, M), (M * M).sum()),
    ("i j; j => i", (M, U), M @ U),
    ("i 2 => i", (M,), M[:, 2]),
    ("0 j => j", (M,), M[0]),
    ("i => i 0", (V,), V[:, None]),
    ("i => 0 i", (V,), V[None, :]),
    ("i => i 2", (V,), np.stack([0 * V, 0 * V, V], 1)),
    ("b s | _ i => b s | i", (X,), X.sum(-2)),
    ("... | h, w => ... | w, h", (X,), X.transpose(0, 1, 3, 2)),
    ("2*i => i,", (LINE,), LINE[::2]),
    ("3*i+2 => i", (LINE,), LINE[2::3]),
    ("i+3 => i", (LINE,), LINE[3:]),
    ("i => 2*i+1", (V,), np.array([0, 0, 0, 1, 0, 2.0])),
    ("i => 2*i+3", (V,), np.array([0, 0, 0, 0, 0, 1, 0, 2.0])),
    ("o<+k; k => o", (LINE, TAPS), windows(LINE, 3) @ TAPS),
    ("o=+k; k => o", (LINE, TAPS), np.correlate(LINE, TAPS, "same")),
    ("2*o<+k; k => o", (EVEN, TAPS), windows(EVEN, 3, 2) @ TAPS),
    ("2*o~+k; k => o", (LINE, TAPS), windows(LINE, 3, 2) @ TAPS),
    ("o<+2*k; k => o", (LINE, TAPS), windows(LINE, 3, 1, 2) @ TAPS),
    ("o<+k+1; k => o", (LINE, TAPS), windows(LINE[1:], 3) @ TAPS),
    ("o; k => o<+k", (LINE, TAPS), np.convolve(LINE, TAPS)),
    ("o; k => o=+k", (LINE, TAPS), np.convolve(LINE, TAPS, "same")),
    ("i, j => 4*i<+j", (M,), M.reshape(12)),
    ("a; b => a^b", (V, U), np.concatenate([V, U])),
    ("i; j, k => i^(j k)", (V, M), np.concatenate([V, M.reshape(12)])),
    ("j, k; i => (k j)^i", (M, V), np.concatenate([M.T.reshape(12), V])),
    ("h, c; h, d => (h c)^(h d)", (M, M[:, :2]), np.concatenate([M.reshape(12), M[:, :2].reshape(6)])),
    ("b, i; j => b, i^(b j)", (M, U), np.concatenate([M, np.kron(np.eye(3), U)], 1)),
    ("i => ()^i", (V,), np.array([0.0, *V])),
    ("2*(i 3) => i, 0", (LINE,), LINE[::2].reshape(2, 3).sum(1, keepdims=True)),
    ("i, j => 2*(i j)", (M,), np.stack([M.reshape(12), 0 * LINE], 1).reshape(24)),
    ("(o 2)<+k; k => o,", (EVEN[:10], TAPS), (windows(EVEN[:10], 3) @ TAPS).reshape(4, 2).sum(1)),
    ("o<+(j k); j, k => o", (LINE, M[:2, :2]), windows(LINE, 4) @ M[:2, :2].reshape(4)),
    ("o, p; k => (o p)<+k", (M, TAPS), np.convolve(M.reshape(12), TAPS)),
    ("i, c; j, c => i^j, c", (M, M[:2]), np.concatenate([M, M[:2]])),
    ("i, j; k, l => i^k, j^l", (M, S), np.block([[M, np.zeros((3, 5))], [np.zeros((5, 4)), S]])),
    ("a => 2^a^3", (V,), np.pad(V, (2, 3))),
    ("1^rest => rest", (U,), U[1:]),
    ("rest^1 => rest", (U,), U[:-1]),
    ("3^a => a", (U,), U[3:]),
    ("1^a => a^1", (U,), np.array([2, 3, 4, 0.0])),
]

KINDS = ["numpy", "torch", "jax"]


def to(kind: str, x: np.ndarray):
    if kind == "torch":
        return needed("torch").from_numpy(np.ascontiguousarray(x))
    if kind == "jax":
        return needed("jax.numpy").asarray(x, np.float32 if x.dtype.kind == "f" else None)
    return x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("spec", "operands", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_the_table_of_the_notation(kind: str, spec: str, operands: tuple, expected: np.ndarray) -> None:
    operands = [to(kind, operand) for operand in operands]
    result = bl.einsum(spec, *operands)
    assert type(result) is type(operands[0]) or kind == "numpy"
    assert tuple(result.shape) == np.shape(expected)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_reductions(kind: str, name: str) -> None:
    x, reduce, np_reduce = to(kind, X), getattr(bl, name), getattr(np, name)
    close = lambda a, b: np.testing.assert_allclose(np.asarray(a), b, rtol=1e-4, atol=1e-30)
    close(reduce("... | h w => ... |", x), np_reduce(X, (-2, -1)))
    close(reduce("..., h, w", x), np_reduce(X, (-2, -1), keepdims=True))
    close(reduce("a b c d => d a", x), np_reduce(X, (1, 2)).T)
    close(reduce(x), np_reduce(X))
    close(reduce("a (b k) c d => a b", x, k=3), np_reduce(X.reshape(8, 2, 3, 3, 4), (2, 3, 4)))


@pytest.mark.parametrize("kind", KINDS)
def test_any_and_all(kind: str) -> None:
    truth = to(kind, M > 3)
    np.testing.assert_array_equal(np.asarray(bl.any("i j => i", truth)), (M > 3).any(1))
    np.testing.assert_array_equal(np.asarray(bl.all("i j => j", truth)), (M > 3).all(0))


@pytest.mark.parametrize("kind", KINDS)
def test_other_sums_and_products(kind: str) -> None:
    d = to(kind, np.array([[0, 2, 9], [2, 0, 3], [9, 3, 0.0]]))
    ways = bl.einsum("i j; j k => i k", d, d, combine="+", reduce="min")
    np.testing.assert_array_equal(np.asarray(ways), [[0, 2, 5], [2, 0, 3], [5, 3, 0]])
    products = bl.einsum("i j; j k => i k", d, d, reduce="max")
    np.testing.assert_array_equal(np.asarray(products), [[81, 27, 6], [27, 9, 18], [6, 18, 81]])


def test_padding_holds_what_changes_nothing() -> None:
    x = np.array([-3, -2, -5])
    np.testing.assert_array_equal(bl.max("o=+k => o", x, k=3), [-2, -2, -2])
    np.testing.assert_array_equal(bl.min("o=+k => o", x, k=3), [-3, -5, -5])
    np.testing.assert_array_equal(bl.sum("o=+k => o", x, k=3), [-5, -10, -7])
    np.testing.assert_array_equal(bl.sum("o+k => o", x, k=3, padding="same"), [-5, -10, -7])
    np.testing.assert_array_equal(bl.sum("s*o+k => o", x, k=1, s=2, padding="valid"), [-3, -5])


@pytest.mark.parametrize("kind", KINDS)
def test_a_convolution_of_images(kind: str) -> None:
    torch = needed("torch")
    generator = np.random.default_rng(1)
    image, kernel = generator.normal(size=(2, 9, 8, 3)), generator.normal(size=(5, 3, 2, 3))
    spec = "... | 2*y<+kh, x<+kw, c; kh, kw, c -> d => ... | y, x, d"
    # The kernel in memory: output, then input.
    result = bl.einsum(spec, to(kind, image), to(kind, kernel))
    expected = torch.nn.functional.conv2d(
        torch.from_numpy(image).permute(0, 3, 1, 2), torch.from_numpy(kernel).permute(0, 3, 1, 2), stride=(2, 1)
    )
    np.testing.assert_allclose(np.asarray(result), expected.permute(0, 2, 3, 1), rtol=1e-3, atol=1e-4)


def test_attention_is_that_of_torch() -> None:
    torch = needed("torch")
    q, k, v = (torch.randn(2, 5, 4, 8, dtype=torch.float64) for _ in range(3))
    scores = bl.einsum("... s | h d; ... t | h d => ... s | t -> h", q, k)
    assert scores.shape == (2, 5, 4, 5)  # b, s, h, t: the input comes last
    weights = torch.softmax(scores / 8**0.5, -1)
    mixed = bl.einsum("... s | t -> h; ... t | h e => ... s | h e", weights, v)
    heads_first = [x.transpose(1, 2) for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*heads_first).transpose(1, 2)
    torch.testing.assert_close(mixed, expected)


def test_split_has_several_results() -> None:
    first, second = bl.split("i, a^b => a, i; b, i", M, a=1)
    np.testing.assert_array_equal(first, M[:, :1].T)
    np.testing.assert_array_equal(second, M[:, 1:].T)


@pytest.mark.parametrize("kind", KINDS)
def test_composed_parts_are_taken_apart_again(kind: str) -> None:
    first, second = X[:, 0, 0].astype("float32"), X[:, 0].astype("float32")
    joined = bl.einsum("b, i; b, j, k => b, i^(j k)", to(kind, first), to(kind, second))
    for sizes in ({"j": 3, "k": 4}, {"i": 4, "k": 4}):
        one, other = bl.split("b, i^(j k) => b, i; b, j, k", joined, **sizes)
        np.testing.assert_array_equal(np.asarray(one), first)
        np.testing.assert_array_equal(np.asarray(other), second)
    _, other = bl.split("b, i^(..r..) => b, i; b, ..r..", joined, r=(3, 4))
    np.testing.assert_array_equal(np.asarray(other), second)
    turned = bl.rearrange("a^(b c) => a^(c b)", to(kind, np.arange(8.0)), a=2, b=2)
    assert np.asarray(turned).tolist() == [0, 1, 2, 5, 3, 6, 4, 7]


def test_composed_axes_of_words_and_letters() -> None:
    x = np.arange(24).reshape(2, 12)
    np.testing.assert_array_equal(bl.rearrange("b (h w) => b w h", x, h=3), x.reshape(2, 3, 4).transpose(0, 2, 1))
    for spec in ["batch, (height width) => batch, width, height", "batch, (height, width) => batch, width, height"]:
        np.testing.assert_array_equal(bl.rearrange(spec, x, height=3), x.reshape(2, 3, 4).transpose(0, 2, 1))
    assert bl.rearrange("... => (...)", x).shape == (24,)
    assert bl.rearrange("b ..., => (b ...) ()", x).shape == (24, 1)
    assert bl.rearrange("(..r..) => ..r..", x.reshape(-1), r=(2, 3, 4)).shape == (2, 3, 4)
    assert bl.rearrange("b () d => b d", x[:, None]).shape == (2, 12)
    assert bl.rearrange("b (1) d => d b", x[:, None]).shape == (12, 2)
    assert bl.repeat("b d => (3) b (d 2)", x).shape == (3, 2, 24)
    assert bl.repeat("b d => b n d", x, n=np.int64(5)).shape == (2, 5, 12)
    assert bl.repeat("b d => b n d", x, sizes={"n": 5}).shape == (2, 5, 12)


def test_results_do_not_share_what_cannot_be_written() -> None:
    repeated = bl.repeat("i => i (2)", np.zeros(3))
    repeated[0, 0] = 1
    assert repeated[0, 1] == 0


def test_lists_become_numpy_arrays() -> None:
    np.testing.assert_array_equal(bl.sum("i j => j", [[1, 2], [3, 4]]), [4, 6])


def test_lists_of_arrays_stay_of_their_kind() -> None:
    torch, jax = needed("torch"), needed("jax")
    one = torch.ones(3, requires_grad=True)
    made = bl.rearrange("k i => i k", [one, 2 * one])
    assert isinstance(made, torch.Tensor) and made.shape == (3, 2)
    made.sum().backward()
    assert one.grad.tolist() == [3.0, 3.0, 3.0]
    assert isinstance(bl.mean("k i => i", [jax.numpy.ones(3)] * 2), jax.Array)
    np.testing.assert_array_equal(bl.max("k i => i", (V, V + 1)), V + 1)
    assert "element 1 is an array of NumPy" in message(lambda: bl.rearrange("k i => i k", [one, V]))


def test_compiled_graphs_of_torch() -> None:
    """As docs/arrays.md says: a function that is allowed stays in one graph, and its gradients with it."""
    torch = needed("torch")
    for function in (bl.einsum, bl.rearrange):
        torch.compiler.allow_in_graph(function)
    one = torch.compile(lambda a, b: bl.rearrange("k i => i k", [bl.einsum("i j; j => i", a, b)] * 2), backend="aot_eager", fullgraph=True)
    for rows in (3, 5):
        a, b = torch.ones(rows, 4, requires_grad=True), torch.arange(4.0)
        made = one(a, b)
        assert made.tolist() == [[6.0, 6.0]] * rows
        made.sum().backward()
        assert a.grad.tolist() == [[0.0, 2.0, 4.0, 6.0]] * rows


@pytest.mark.parametrize(
    ("spec", "step", "rest", "least", "sizes"),
    [
        ("(h d) j => h j d", 4, (3,), 1, {"h": 4}),
        ("b (h d) => (b d) h", 1, (6,), 1, {"h": 2}),
        ("(n 2) j => n j", 2, (3,), 1, {}),
        ("o<+k, j => k, o, j", 1, (2,), 4, {"k": 3}),
        ("2*o~+k, j => o, j", 2, (2,), 3, {"k": 3}),
        ("o=+k, j => o, j", 1, (2,), 2, {"k": 3}),
        ("2*o, j => o, j", 2, (2,), 1, {}),
        ("a^b, j => a, j; b, j", 1, (2,), 5, {"b": 3}),
        ("i, j => 2*i+1, j", 1, (2,), 1, {}),
        ("i, 1 => i", 1, (2,), 1, {}),
    ],
)  # fmt: skip
def test_exported_specs_hold_at_other_sizes(spec: str, step: int, rest: tuple[int, ...], least: int, sizes: dict[str, int]) -> None:
    """A module that is exported at one size is right at all others. (PyTorch takes axes of one element apart, so no axis has one.)"""
    torch = needed("torch")
    function = bl.split if ";" in spec else bl.einsum

    class Module(torch.nn.Module):
        def forward(self, x):
            return function(spec, x, **sizes)

    def example(number: int) -> np.ndarray:
        return np.random.default_rng(number).normal(size=(step * number, *rest))

    axis = step * torch.export.Dim("n", min=max(least, 2), max=64)
    exported = torch.export.export(Module(), (torch.from_numpy(example(7)),), dynamic_shapes=({0: axis},)).module()
    for number in (max(least, 2), 5, 8, 64):
        x = example(number)
        wanted, made = function(spec, x, **sizes), exported(torch.from_numpy(x))
        for one, other in zip(wanted if isinstance(wanted, tuple) else [wanted], made if isinstance(made, (tuple, list)) else [made]):
            np.testing.assert_allclose(other.numpy(), one, err_msg=f"{number}")


def test_a_product_of_two_element_types() -> None:
    """PyTorch multiplies elements of one type alone; the message names the operands."""
    torch = needed("torch")
    with pytest.raises(bl.DTypeError, match="operand 1 has torch.float64, and operand 2 torch.float32"):
        bl.einsum("i j; j => i", torch.ones(2, 3).double(), torch.ones(3))


def test_a_reduction_of_the_caller() -> None:
    np.testing.assert_array_equal(bl.reduce("(i 2) j => i", N, np.median), np.median(N.reshape(2, 10), 1))
    np.testing.assert_array_equal(bl.reduce("i j => j", N, "prod"), N.prod(0))
    torch = needed("torch")
    x = torch.from_numpy(M)
    assert torch.equal(bl.reduce("i j => i", x, torch.logsumexp), x.logsumexp(1))
    assert "reduce is one of" in message(lambda: bl.reduce("i j => i", M, "median"))
    assert "the spec comes first" in message(lambda: bl.reduce(M, "i j => i", np.max))
    held = np.ones(3)
    alive = weakref.ref(held)
    bl.reduce("i j => i", M, lambda x, axes, held=held: x.sum(axes))
    del held
    gc.collect()
    assert alive() is None, "no plan keeps the function"


def test_sizes_of_an_array() -> None:
    assert bl.sizes("b, _, ..r..", X) == {"b": 8, "r": (3, 4)}
    assert bl.sizes("b s | d -> h", X) == {"b": 8, "s": 6, "d": 4, "h": 3}
    with pytest.raises(bl.ShapeError, match="has 4 axes, and the spec is for 2 axes"):
        bl.sizes("b c", X)


def test_empty_arrays() -> None:
    assert bl.einsum("i j; j k => i k", np.zeros((0, 3)), np.zeros((3, 2))).shape == (0, 2)
    assert bl.rearrange("(a b) => a b", np.zeros(0), a=2).shape == (2, 0)
    np.testing.assert_array_equal(bl.sum("i j => j", np.zeros((0, 3))), np.zeros(3))


@pytest.mark.parametrize(
    ("spec", "shape"),
    [("i j; j k => k i", None), ("(h 2) j => j h", (6, 4)), ("2*o<+k, j => j, o", (7, 3)), ("i i => i", (3, 3)),
     ("i => i i", (3,)), ("i => 2*i+1", (3,)), ("o, k => 2*o<+k", (3, 2)), ("o=+k, j => o, j", (5, 2)), ("a^1 => 1^a", (4,))],
)  # fmt: skip
def test_gradients_of_torch_and_jax(spec: str, shape: tuple[int, ...] | None) -> None:
    torch, jax = needed("torch"), needed("jax")
    generator = np.random.default_rng(2)
    shapes = [(3, 4), (4, 2)] if shape is None else [shape]
    arrays = [generator.normal(size=shape).astype(np.float32) for shape in shapes]
    sizes = {"k": 3} if "k" in spec and "," in spec and shape != (3, 2) else {}
    weight = generator.normal(size=bl.einsum(spec, *arrays, **sizes).shape).astype(np.float32)

    tensors = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]
    assert torch.autograd.gradcheck(lambda *xs: bl.einsum(spec, *xs, **sizes), tensors)
    (bl.einsum(spec, *tensors, **sizes) * torch.tensor(weight)).sum().backward()

    loss = jax.jit(lambda *xs: (bl.einsum(spec, *xs, **sizes) * weight).sum())
    gradients = jax.grad(loss, argnums=tuple(range(len(arrays))))(*map(jax.numpy.asarray, arrays))
    for tensor, gradient in zip(tensors, gradients):
        np.testing.assert_allclose(gradient, tensor.grad, rtol=1e-4, atol=1e-5)


def test_jax_transformations() -> None:
    jax = needed("jax")
    x = jax.numpy.asarray(M)
    product = jax.vmap(lambda row: bl.einsum("i; i =>", row, row))(x)
    np.testing.assert_allclose(product, (M * M).sum(1))


def test_a_type_of_its_own_is_asked() -> None:
    class Expression:
        def __broadloom_spec__(function, spec, operands, **options):
            return function, spec, len(operands), options["sizes"]

    assert bl.einsum("i j => j", Expression(), i=3) == ("einsum", "i j => j", 1, {"i": 3})


def message(call) -> str:
    with pytest.raises((bl.ShapeError, bl.SpecError, TypeError)) as caught:
        call()
    return str(caught.value)


MESSAGES = [
    (lambda: bl.einsum("i j; j k => i k", M, M), ["`j` cannot be both 4 and 3", "axis 0 of operand 2, which has shape (3, 4)"]),
    (lambda: bl.einsum("d -> h; b | d => b | h", M, N), ["`d -> h` is an array (h, d)"]),
    (lambda: bl.einsum("i j; j k => i k", M), ["for 2 arrays, and 1 is given"]),
    (lambda: bl.rearrange("batch height => height batch", M), ["labels are words"]),
    (lambda: bl.rearrange("(a b) c => a b c", M, a=2), ["`(a b)` is a multiple of 2, and axis 0 of the array has 3"]),
    (lambda: bl.rearrange("(a b) c => a b c", M), ["nothing says how large `a` is", "`a=3`"]),
    (lambda: bl.rearrange("a c => c", M), ["`bl.rearrange` keeps every element"]),
    (lambda: bl.rearrange("a => a b", V, b=2), ["`b` stands only in the result", "bl.repeat"]),
    (lambda: bl.rearrange("a c -> c a", M), ["write `a c => c a`"]),
    (lambda: bl.einsum("ij,jk->ik", M, N), ["write `ij; jk => ik`"]),
    (lambda: bl.einsum("2*o<+k; k => o", LINE, TAPS), ["no size of `2*o<+k` gives the 12", "drops what is left over"]),
    (lambda: bl.einsum("o+k; k => o", LINE, TAPS), ["does not say what happens at the ends", "padding="]),
    (lambda: bl.einsum("s*o => o,", LINE), ["nothing says what `s` is"]),
    (lambda: bl.einsum("... | ... => ... |", M), ["several numbers of axes are possible", "batch="]),
    (lambda: bl.einsum("i 7 => i", M), ["the index 7 lies outside an axis of 4"]),
    (lambda: bl.repeat("i j => i k", M), ["`j` is not in the result"]),
    (lambda: bl.repeat("i => i k", V), ["nothing says how large `k` is"]),
    (lambda: bl.sum("i j => i", M, h=3), ["the spec has no label `h`", "`i`, `j`"]),
    (lambda: bl.sum("i j => i", M, i="3"), ["`i` is the size of an axis"]),
    (lambda: bl.sum(M, "i j => i"), ["the spec comes first"]),
    (lambda: bl.sum("i j => i", "text"), ["the array is a str"]),
    (lambda: bl.einsum(3, M), ["a spec is text, not an int"]),
    (lambda: bl.einsum("i =>"), ["at least one array"]),
    (lambda: bl.rearrange("(a b => a b", V), ["this `(` is not closed"]),
    (lambda: bl.rearrange("a) b => a b", V), ["this `)` closes nothing"]),
    (lambda: bl.rearrange("((a b) c) => a b c", V), ["cannot contain another one"]),
    (lambda: bl.rearrange("(a+b) => a", V), ["`+` cannot stand inside a composed axis"]),
    (lambda: bl.split("i^(j k) => i; j, k", LINE, i=2, k=4), ["`(j k)` is a multiple of 4, and axis 0 of the array leaves 10 for it"]),
    (lambda: bl.split("i^(j k) => i; j, k", LINE, i=2, j=2, k=4), ["`(j k)` is 8, and axis 0 of the array leaves 10 for it"]),
    (lambda: bl.split("i^(j k) => i; j, k", LINE, i=2), ["nothing says how large `j` is"]),
    (lambda: bl.einsum("(o p)<+k; k => o, p", LINE, TAPS, o=3), ["`(o p)` is a multiple of 3, and axis 0 of operand 1 leaves 10 for it"]),
    (lambda: bl.einsum("a; b, c => a^(b %)", V, M), ["`%`"]),
    (lambda: bl.einsum("(b c)^(c b) => b, c", LINE, b=2, c=3), ["a label cannot be two parts of one axis"]),
    (lambda: bl.rearrange("a (b 2) => a b", M), ["`2` is not in the result", "`(h k)` with `k=3`"]),
    (lambda: bl.rearrange("1 b => b", M), ["an axis of one element is `()`"]),
    (lambda: bl.repeat("a b => a 3 b", M), ["`3` in the result is a position, and not a size", "an axis of 3 elements is `(3)`"]),
    (lambda: bl.sum("a b => a 1", M), ["`1` in the result is a position", "an axis of one element is `()`"]),
    (lambda: bl.max("a b => b", M[:0]), ["of no elements none is the greatest: `a` is 0"]),
    (lambda: bl.einsum("a b; b => a", M[:, :0], U[:0], reduce="min"), ["of no elements none is the least: `b` is 0"]),
    (lambda: bl.rearrange("a b => b a", [V, U]), ["element 1 has shape (4,), unlike element 0, which has (3,)", "bl.pack"]),
    (lambda: bl.rearrange("a b => b a", [V, 3]), ["element 1 is an int"]),
    (lambda: bl.max("i => 2*i", V), ["elements that nothing writes"]),
    (lambda: bl.einsum("a, b => a^b", M), ["never takes part"]),
    (lambda: bl.einsum("a; a; b => a^b", V, V, V), ["two arrays would fill the same part"]),
    (lambda: bl.einsum("a^b => a; b", V, a=1), ["bl.split"]),
    (lambda: bl.einsum("i => i", V, reduce="median"), ["reduce is one of"]),
    (lambda: bl.einsum("i => i", V, combine="-"), ['combine is "*" or "+"']),
    (lambda: bl.einsum("i+k => i", V, padding="full"), ["padding is"]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "parts"), MESSAGES, ids=[row[1][0] for row in MESSAGES])
def test_messages(call, parts: list[str]) -> None:
    shown = message(call)
    for part in parts:
        assert part in shown, shown


def test_a_message_shows_the_spec_and_its_places() -> None:
    assert message(lambda: bl.einsum("i j; j k => i k", M, M)) == "\n".join([
        "`j` cannot be both 4 and 3",
        "  |",
        "1 | i j; j k => i k",
        "  |   -  ^ 3: axis 0 of operand 2, which has shape (3, 4)",
        "  |   |",
        "  |   4: axis 1 of operand 1, which has shape (3, 4)",
        "  |",
        "  = help: a label is one size wherever it stands, and nothing broadcasts: change an array, or use another label",
    ])  # fmt: skip


def test_kinds_are_not_mixed() -> None:
    torch = needed("torch")
    shown = message(lambda: bl.einsum("i; i =>", V, torch.ones(3)))
    assert "operand 1 is an array of NumPy and operand 2 one of PyTorch" in shown


def test_no_text_makes_it_panic() -> None:
    generator = np.random.default_rng(5)
    signs = list("ab(),;|=>-^+*<~.0123 _") + ["=>", "->", "...", "..r..", "()", "(a b)"]
    for _ in range(5000):
        text = "".join(generator.choice(signs, generator.integers(1, 14)))
        try:
            bl.einsum(text, M, k=2)
        except (bl.ShapeError, bl.SpecError, TypeError, ValueError):
            pass


def test_no_leak() -> None:
    """10,000 calls of each kind keep nothing: no references, no objects, and no memory that grows."""
    import gc
    import sys

    a, b = np.ones((8, 16)), np.ones((16, 4))
    calls = [
        lambda: bl.einsum("i j; j k => i k", a, b),
        lambda: bl.rearrange("i (j k) => j i k", a, k=4),
        lambda: bl.max("i j => i", a),
        lambda: bl.split("i, a^b => i, a; i, b", a, a=6),
    ]

    def misfit() -> None:
        with pytest.raises(bl.ShapeError):
            bl.einsum("i j; j k => i k", a, a)

    for call in (*calls, misfit):
        call()
    gc.collect()
    before, held = (sys.getrefcount(a), sys.getrefcount(b)), len(gc.get_objects())
    for call in calls:
        for _ in range(10_000):
            call()
    for _ in range(300):
        misfit()
    gc.collect()
    assert (sys.getrefcount(a), sys.getrefcount(b)) == before
    assert len(gc.get_objects()) - held < 200


def test_a_minimum_of_sums_needs_no_memory_for_all_combinations() -> None:
    """All combinations at once would be 400³ numbers, half a gigabyte."""
    import tracemalloc

    a, b = np.random.default_rng(1).normal(size=(2, 400, 400))
    tracemalloc.start()
    made = bl.einsum("i j; j k => i k", a, b, combine="+", reduce="min")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
    np.testing.assert_array_equal(made[:3], (a[:3, :, None] + b).min(1))
    np.testing.assert_array_equal(bl.einsum("i j; j k => i", a, b, combine="+", reduce="max"), (a + b.max(1)).max(1))


def test_labels_with_digits_need_commas() -> None:
    x = np.arange(12.0).reshape(6, 2)
    with pytest.raises(bl.SpecError, match="without commas a label is one letter"):
        bl.rearrange("(b1 b2) c => b1 b2 c", x, b1=2)
    assert bl.rearrange("(b1 b2), c => b1, b2, c", x, b1=2).shape == (2, 3, 2)
