"""The examples of *Tensor Dimension Inference* on tensors of PyTorch."""

from __future__ import annotations

import pytest
from needed import needed

import broadloom as bl

torch = needed("torch")
T, Dim = bl.TypedTensor, bl.Dim


def refused(call, *parts: str) -> None:
    with pytest.raises(bl.ShapeError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_matrix_products() -> None:
    assert repr((T.ones([4, 8]) @ T.ones([8, 16])).dims) == "(4, 16)"
    refused(lambda: T.ones([4, 8]) @ T.ones([10, 16]), "is 8 on the left and 10 on the right")
    refused(lambda: T.ones([4]) @ T.ones([4, 2]), "of matrices")
    any_size = T.from_data(torch.ones(4, 8), [4, Dim(None)])
    assert repr((any_size @ T.ones([8, 16])).dims) == "(4, 16)"


def test_broadcasting() -> None:
    for left, right, made in [([3, 4], [1, 4], "(3, 4)"), ([3, 4], [3, 1], "(3, 4)"), ([2, 3, 4], [4], "(2, 3, 4)")]:
        assert repr((T.ones(left) + T.ones(right)).dims) == made
    refused(lambda: T.ones([3, 4]) + T.ones([5, 4]), "axis 0", "is 3 on the left and 5 on the right")
    assert (T.ones([2, 3]) * 2 - 1).tensor.sum().item() == 6


def test_names_are_compared_and_not_only_sizes() -> None:
    batch, seq = T.zeros([Dim("batch", 8)]), T.zeros([Dim("seq", 8)])
    refused(lambda: batch + seq, "`batch` on the left and `seq` on the right")  # although both have 8 elements
    refused(lambda: batch + T.zeros([Dim("batch", 4)]), "those at hand do not", "(8,) on the left")
    narrow = T.zeros([Dim("batch", 8, 4, 16)]) + T.zeros([Dim("batch", 8, 1, 12)])
    assert repr(narrow.dims) == "(batch in 4..12,)"
    refused(lambda: T.zeros([Dim("n", 2, 1, 3)]) + T.zeros([Dim("n", 5, 4, 6)]), "no size is in both")
    refused(lambda: T.zeros([Dim("n", 2, 1, 3)]) + T.zeros([4]), "`n` lies in 1..3")


def test_a_name_has_one_size_in_a_whole_operation() -> None:
    """Pairs of axes are inferred together: what one of them says of a name holds for all others."""
    square, row = T.zeros([Dim("n", 3), Dim("n", 3)]), T.zeros([3, Dim("n", 3)])
    assert repr((square + row).dims) == "(3, 3)"
    refused(lambda: square + T.zeros([3, 4]), "axis 1", "`n` on the left and 4 on the right")
    assert repr((T.zeros([Dim("n", 3), 5]) @ T.zeros([5, Dim("n", 3, 2, 8)])).dims) == "(n in 2..8, n in 2..8)"
    low, high = T.zeros([Dim("n", 3, 1, 3), 2]), T.zeros([2, Dim("n", 5, 4, 6)])
    refused(lambda: low @ high, "`n`", "no size is in both")


def test_reshape_transpose_reduce() -> None:
    assert T.ones([4, 6]).reshape([2, 12]).shape == (2, 12)
    refused(lambda: T.ones([4, 6]).reshape([3, 10]), "has 24 elements", "has 30")
    batch = Dim("batch", 5, 1, 64)
    assert repr(T.ones([batch, 6]).reshape(["batch", 3, 2]).dims) == "(batch in 1..64, 3, 2)"
    assert repr(T.ones([batch, 6]).transpose(0, 1).dims) == "(6, batch in 1..64)"
    assert repr(T.ones([batch, 6]).sum(1).dims) == "(batch in 1..64,)"
    assert repr(T.ones([batch, 6]).mean(0, keepdim=True).dims) == "(1, 6)"
    assert T.ones([batch, 6]).sum().shape == ()
    refused(lambda: T.ones([4, 6]).sum(2), "no axis 2")


def test_concatenation() -> None:
    assert repr(T.cat([T.ones([2, 3]), T.ones([4, 3])]).dims) == "(6, 3)"
    refused(lambda: T.cat([T.ones([2, 3]), T.ones([4, 5])]), "axis 1 of a concatenation")
    a, b = T.ones([Dim("a", 2), 3]), T.ones([Dim("b", 4), 3])
    joined = T.cat([a, b])
    assert repr(joined.dims) == "(a + b, 3)" and joined.shape == (6, 3)
    assert repr(T.cat([joined, a]).dims) == "(2*a + b, 3)"
    assert repr((joined + T.cat([b, a])).dims) == "(a + b, 3)", "the order of the parts does not matter to their sum"
    refused(lambda: joined + T.cat([a, a]), "`a + b` on the left and `2*a` on the right")
    assert repr(T.cat([T.ones([Dim("n", 5, 1, 8)]), T.ones([1])]).dims) == "(n + 1 in 2..9,)"


def test_verify_and_memory() -> None:
    x = T.zeros([Dim("batch", 32, 1, 64), 784])
    x.verify()
    assert x.memory() == (784 * 4, 64 * 784 * 4)
    assert T.zeros([Dim("n", 2), 3], dtype=torch.float64).memory() == (24, None)
    refused(lambda: T.from_data(torch.ones(65, 784), [Dim("batch", 32, 1, 64), 784]), "axis 0", "is 65")
    x.tensor = torch.ones(70, 784)
    refused(x.verify, "`batch` in 1..64 is declared")
    refused(lambda: Dim("n", 9, 1, 4), "lies outside its range 1..4")


def test_shapes_are_texts_too() -> None:
    assert repr(T.zeros("batch=5 in 1..64, 784").dims) == "(batch in 1..64, 784)"
    assert T.ones("batch=5 in 1..64, 784").shape == (5, 784)
    assert repr(T.ones("n=2 3 _").dims) == "(n, 3, _)"
    assert repr(T.ones("4, 6").reshape("2, 12").dims) == "(2, 12)"
    with pytest.raises(bl.SpecError, match="`|` in .* is no size"):
        T.zeros("2 | 3")


def test_axes_have_names() -> None:
    x = T.ones("batch=5, 6")
    assert repr(x.sum("batch").dims) == "(6,)" and repr(T.cat([x, x], "batch").dims) == "(2*batch, 6)"
    refused(lambda: x.sum("seq"), "no axis of (batch, 6) is called `seq`")
    refused(lambda: T.ones("n=2, n=2").sum("n"), "more than one axis")


def test_arithmetic_from_both_sides() -> None:
    batch = Dim("batch", 2, 1, 64)
    a = T.from_data([[1.0, 2.0, 4.0], [3.0, 5.0, 6.0]], [batch, 3])
    plain = a.tensor
    for made, wanted in [
        (2 * a, 2 * plain),
        (1 + a, 1 + plain),
        (1 - a, 1 - plain),
        (1 / a, 1 / plain),
        (2**a, 2**plain),
        (a**2, plain**2),
        (-a, -plain),
        (+a, plain),
        (abs(-a), plain),
        (torch.full((3,), 3.0) * a, 3 * plain),
        (torch.full((3,), 3.0) - a, 3 - plain),
        (torch.full((3,), 3.0).numpy() / a, 3 / plain),
    ]:
        assert repr(made.dims) == "(batch in 1..64, 3)" and torch.equal(made.tensor, wanted)
    assert torch.equal((torch.ones(4, 2) @ a).tensor, torch.ones(4, 2) @ plain)
    assert repr((a @ torch.ones(3, 4)).dims) == "(batch in 1..64, 4)"
    refused(lambda: torch.ones(4) * a, "axis 1", "is 4 on the left and 3 on the right")


def test_several_axes_and_none() -> None:
    a = T.ones([Dim("batch", 2), 3, 4])
    assert repr(a.sum((0, 1)).dims) == "(4,)" and a.sum((0, 1)).tensor.tolist() == [6.0] * 4
    assert repr(a.mean(["batch", -1], keepdim=True).dims) == "(1, 3, 1)"
    assert a.sum(keepdim=True).shape == (1, 1, 1) and a.sum().tensor.item() == 24
    refused(lambda: a.sum((0, "batch")), "axis 0", "twice")
    refused(lambda: T.cat([]), "at least one tensor")


def test_sizes_at_hand_are_named() -> None:
    left, right = T.ones([2, Dim("n", 3)]), T.ones([Dim("n", 4), 2])
    refused(lambda: left @ right, "`n` is 3 on the left and 4 on the right")
