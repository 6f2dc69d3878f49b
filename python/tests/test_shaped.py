"""Checked functions: what fits, what does not, and what the messages say."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import pydoc
import re
import threading
from collections.abc import AsyncIterator, Iterator
from fractions import Fraction
from typing import Any, Optional, Union

import numpy as np
import pytest
from needed import needed

import broadloom as bl

A = np.ndarray


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


@bl.shaped
def attention(
    x: bl.Float[A, "..b.., s | d"],
    w: bl.Float[A, "d -> h, k"],
) -> bl.Float[A, "..b.., s | h, k"]:
    return np.einsum("...d,hkd->...hk", x, w)


LINE = inspect.getsourcelines(attention)[1]


def refused(call: Any, *parts: str, kind: type = bl.ShapeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    shown = str(caught.value)
    for part in parts:
        assert part in shown, shown
    return shown


def test_what_fits_passes() -> None:
    assert attention(ones(8, 16, 64), ones(4, 2, 64)).shape == (8, 16, 4, 2)
    assert attention(ones(16, 64), w=ones(4, 2, 64)).shape == (16, 4, 2)
    assert attention(w=ones(4, 2, 64), x=ones(2, 3, 16, 64)).shape == (2, 3, 16, 4, 2)
    assert attention.__name__ == "attention" and attention.__wrapped__ is not None


def test_a_mismatch_names_everything() -> None:
    shown = refused(lambda: attention(ones(8, 16, 64), ones(4, 2, 32)))
    assert shown.splitlines() == [
        "attention(): `d` is 64 in `x` and 32 in `w`",
        f'  --> {_here()}:{LINE + 3}: w: "d -> h, k", an array (h, k, d) in memory; given (4, 2, 32)',
        f'  --> {_here()}:{LINE + 2}: x: "..b.., s | d"; given (8, 16, 64)',
        "  = help: pass an array of shape (4, 2, 64) as `w`, or change the annotation",
    ]


def _here() -> str:
    import os

    relative = os.path.relpath(__file__)
    return __file__ if relative.startswith("..") else relative


def test_the_exception_has_what_the_message_says() -> None:
    with pytest.raises(bl.ShapeError) as caught:
        attention(ones(8, 16, 64), ones(4, 2, 32))
    assert (caught.value.function, caught.value.argument) == ("attention", "w")
    assert caught.value.places == ((__file__, LINE + 3), (__file__, LINE + 2))


def test_ranks() -> None:
    refused(lambda: attention(ones(64), ones(4, 2, 64)), "`x` has 1 axis, and its annotation at least 2 axes")
    refused(lambda: attention(ones(3, 64), ones(4, 64)), "`w` has 2 axes, and its annotation 3 axes", "(h, k, d) in memory; given (4, 64)")


def test_results_are_checked() -> None:
    @bl.shaped
    def wrong(x: bl.Float[A, "n, m"]) -> bl.Float[A, "m, n"]:
        return x

    assert wrong(ones(3, 3)).shape == (3, 3)
    refused(lambda: wrong(ones(3, 4)), "`m` is 4 in `x` and 3 in the result", "return an array of shape (4, 4)", "returned (3, 4)")


def test_types_and_elements() -> None:
    refused(lambda: attention([[1.0]], ones(4, 2, 64)), "`x` is of type list, and its annotation says numpy.ndarray", kind=bl.ArrayTypeError)
    refused(lambda: attention(None, ones(4, 2, 64)), "`x` is of type NoneType", kind=TypeError)
    whole = np.ones((8, 16), int)
    refused(lambda: attention(whole, ones(4, 2, 16)), "elements of type int64, and its annotation says floating", kind=bl.DTypeError)
    assert issubclass(bl.DTypeError, TypeError) and issubclass(bl.DTypeError, bl.ShapeError)

    @bl.shaped
    def kinds(i: bl.Int[A, "n"], b: bl.Bool[A, "n"], c: bl.Complex[A, "n"], s: bl.Shaped[A, "n"]) -> None: ...

    i, b, c = np.arange(3), np.ones(3, bool), np.ones(3, complex)
    for anything in (i, b, c, np.array(["x", "y", "z"])):
        kinds(i, b, c, anything)
    kinds(i.astype(np.uint8), b, c.astype(np.complex64), i)
    refused(lambda: kinds(b, b, c, i), "elements of type bool", kind=bl.DTypeError)
    refused(lambda: kinds(i, i, c, i), "truth values", kind=bl.DTypeError)


def test_names_sizes_and_ranges() -> None:
    @bl.shaped
    def f(x: bl.Float[A, "n=3, _, 28"], y: bl.Float[A, "m in 2..4, n"] = ones(2, 3)) -> None: ...

    f(ones(3, 9, 28), ones(4, 3))
    f(ones(3, 9, 28))
    refused(lambda: f(ones(4, 9, 28)), "axis 0 of `x` is 4, and its annotation says 3")
    refused(lambda: f(ones(3, 9, 27)), "axis 2 of `x` is 27, and its annotation says 28", "pass an array of shape (3, 9, 28)")
    refused(lambda: f(ones(3, 9, 28), ones(5, 3)), "`m` is 5 in `y`, and has to be at least 2 and at most 4")
    refused(lambda: f(ones(3, 9, 28), ones(1, 3)), "`m` is 1")
    refused(lambda: f(ones(3, 9, 28), ones(4, 2)), "`n` is 3 in `x` and 2 in `y`")


def test_a_name_twice_in_one_array() -> None:
    @bl.shaped
    def f(x: bl.Float[A, "n, n"]) -> None: ...

    f(ones(3, 3))
    refused(lambda: f(ones(3, 4)), "`n` is 3 in axis 0 of `x` and 4 in axis 1")


def test_arithmetic() -> None:
    @bl.shaped
    def f(x: bl.Float[A, "2*n, n/2 + 1, (n - 1) * 3"], y: bl.Float[A, "n, n*k, k"]) -> bl.Float[A, "n - k"]:
        return ones(bl.sizes()["n"] - bl.sizes()["k"])

    f(ones(8, 3, 9), ones(4, 8, 2))
    refused(lambda: f(ones(7, 3, 9), ones(4, 8, 2)), "axis 0 of `x` is 7, and no sizes make `2*n` that")
    refused(lambda: f(ones(8, 4, 9), ones(4, 8, 2)), "axis 1 of `x` is 4, and `n/2 + 1` is 3: `n` is 4")
    refused(lambda: f(ones(8, 3, 9), ones(4, 9, 2)), "no sizes make `n*k` that")
    refused(lambda: f(ones(8, 3, 9), ones(4, 8, 3)), "`k` is 2 in axis 1 of `y` and 3 in axis 2")

    @bl.shaped
    def waits(x: bl.Float[A, "a*b"], y: bl.Float[A, "a"], z: bl.Float[A, "b"]) -> None: ...

    waits(ones(6), ones(2), ones(3))
    refused(lambda: waits(ones(7), ones(2), ones(3)), "axis 0 of `x` is 7, and `a*b` is 6")


def test_rows() -> None:
    @bl.shaped
    def f(x: bl.Float[A, "..b.. | ..r.., n"], y: bl.Float[A, "..r.."], z: bl.Float[A, "..., n"]) -> dict[str, Any]:
        return bl.sizes()

    assert f(ones(5, 6, 2, 3, 4), ones(2, 3), ones(9, 4)) == {"n": 4, "b": (5, 6), "r": (2, 3)}
    assert f(ones(4), ones(), ones(4)) == {"n": 4, "b": (), "r": ()}
    refused(lambda: f(ones(5, 6, 2, 3, 4), ones(3, 3), ones(4)), "`..r..` is (3, 3) in `y` and (2, 3) in `x`")
    refused(lambda: f(ones(5, 4), ones(5, 3), ones(4)), "`x` has 2 axes, and its annotation at least 3 axes")

    @bl.shaped
    def same(x: bl.Float[A, "..b.. | n"], y: bl.Float[A, "..b.. | m"]) -> None: ...

    refused(lambda: same(ones(2, 3, 4), ones(2, 4, 5)), "`..b..` is (2, 3) in `x` and (2, 4) in `y`", "pass an array of shape (2, 3, 5)")
    refused(lambda: same(ones(2, 3, 4), ones(3, 5)), "`..b..` is (2, 3) in `x` and (3,) in `y`")


def test_optional_union_and_collections() -> None:
    @bl.shaped
    def f(
        x: Optional[bl.Float[A, "n"]],
        y: bl.Float[A, "n"] | None = None,
        z: Union[bl.Float[A, "n, 2"], bl.Int[A, "n"], None] = None,
        pairs: list[tuple[bl.Float[A, "n"], bl.Float[A, "m"]]] = [],
        named: dict[str, bl.Float[A, "n"]] = {},
        other: int | bl.Float[A, "n"] = 3,
    ) -> None: ...

    f(None)
    f(ones(3), ones(3), ones(3, 2), [(ones(3), ones(4)), (ones(3), ones(4))], {"a": ones(3)}, "text")
    f(ones(3), None, np.arange(3))
    refused(lambda: f(ones(3), ones(4)), "`n` is 3 in `x` and 4 in `y`")
    refused(lambda: f(ones(3), z=ones(3, 3)), "axis 1 of `z` is 3, and its annotation says 2", 'z: "n, 2", or "n"')
    refused(lambda: f(ones(3), z=ones(3, 3, 3)), "`z` has 3 axes, and none of its annotations fits", 'z: "n, 2", or "n"')
    refused(lambda: f(ones(3), pairs=[(ones(3), ones(4)), (ones(3), ones(5))]), "`m` is 4 in `pairs[0][1]` and 5 in `pairs[1][1]`")
    refused(lambda: f(ones(3), pairs=[(ones(3),)]), "`pairs[0]` is a tuple of 1")
    refused(lambda: f(ones(3), named={"a": ones(3), "b": ones(2)}), "2 in `named['b']`")


@pytest.mark.parametrize("other", [float, int, str, list[int], Union[float, str, None]])
def test_unions_with_what_is_no_array(other: Any) -> None:
    @bl.shaped
    def f(x: bl.Float[A, "n"], y: Union[bl.Float[A, "n"], other]) -> str:
        return "passed"

    for fits in (ones(3), 2.0, 3, "text", [1, 2], np.float64(2.0), np.array(2.0)):
        assert f(ones(3), fits) == "passed"
    refused(lambda: f(ones(3), ones(7)), "`n` is 3 in `x` and 7 in `y`")
    refused(lambda: f(ones(3), ones(3, 3)), "`y` has 2 axes")


def test_unions_with_any_array() -> None:
    @bl.shaped
    def f(x: bl.Float[A, "n"], y: Union[bl.Float[A, "n"], np.ndarray], z: Union[bl.Float[A, "n"], Any] = None) -> str:
        return "passed"

    assert f(ones(3), ones(7), ones(8)) == "passed"


def test_stars_and_keywords() -> None:
    @bl.shaped
    def f(*xs: bl.Float[A, "n"], k: bl.Float[A, "n"], **rest: bl.Float[A, "m"]) -> None: ...

    f(ones(3), ones(3), k=ones(3), a=ones(2), b=ones(2))
    refused(lambda: f(ones(3), ones(4), k=ones(3)), "`n` is 3 in `xs[0]` and 4 in `xs[1]`")
    refused(lambda: f(ones(3), k=ones(4)), "4 in `k`")
    refused(lambda: f(k=ones(4), a=ones(2), b=ones(3)), '3 in `rest["b"]`')
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument"):
        f(ones(3))


def test_both_ends_of_arithmetic() -> None:
    @bl.shaped
    def f(
        x: bl.Float[A, "n"],
        y: bl.Float[A, "2*n"],
    ) -> bl.Float[A, "n+1"]:
        return x

    with pytest.raises(bl.ShapeError, match=re.escape("axis 0 of `y` is 7, and `2*n` is 8: `n` is 4 in `x`")) as caught:
        f(ones(4), ones(7))
    ends = caught.value.ends
    assert [end.text for end in ends] == ['y: "2*n"; given (7,)', 'x: "n"; given (4,)']
    assert ends[0].line == ends[1].line + 1
    assert str(ends[0]) == f"{ends[0].file}:{ends[0].line}: {ends[0].text}"
    with pytest.raises(bl.ShapeError, match=re.escape("the result is 4, and `n+1` is 5: `n` is 4 in `x`")) as caught:
        f(ones(4), ones(8))
    assert [end.text for end in caught.value.ends] == ['result: "n+1"; returned (4,)', 'x: "n"; given (4,)']


def test_both_ends_of_elements() -> None:
    @bl.shaped
    def f(*xs: bl.Float[A, "n"], k: list[bl.Float[A, "m"]] = []) -> None: ...

    with pytest.raises(bl.ShapeError) as caught:
        f(ones(3), ones(3), ones(4))
    assert [end.text for end in caught.value.ends] == ['xs: "n"; given (4,) in [2]', 'xs: "n"; given (3,) in [0]']
    refused(lambda: f(k=[ones(2), ones(5)]), "`m` is 2 in `k[0]` and 5 in `k[1]`")


def test_the_file_below_another_decorator() -> None:
    def other(function: Any) -> Any:
        made: dict[str, Any] = {}
        exec(compile("def wrapper(*args):\n    return function(*args)\n", "<other>", "exec"), {"function": function}, made)
        return functools.wraps(function)(made["wrapper"])

    @bl.shaped
    @other
    def f(x: bl.Float[A, "n"], y: bl.Float[A, "n"]) -> None: ...

    with pytest.raises(bl.ShapeError) as caught:
        f(ones(3), ones(4))
    assert [place[0] for place in caught.value.places] == [__file__, __file__]
    assert "<other>" not in str(caught.value)


def test_methods_and_dataclasses() -> None:
    class Layer:
        @bl.shaped
        def __init__(self, w: bl.Float[A, "d -> h"]) -> None:
            self.w = w

        @bl.shaped
        def __call__(self, x: bl.Float[A, "..b.. | d"]) -> bl.Float[A, "..b.. | h"]:
            return x @ self.w.T

        @bl.shaped
        @staticmethod
        def static(x: bl.Float[A, "n"], y: bl.Float[A, "n"]) -> int:
            return 1

        @classmethod
        @bl.shaped
        def made(cls, x: bl.Float[A, "n"], y: bl.Float[A, "n"]) -> Layer:
            return cls(ones(4, 3))

    assert Layer(ones(4, 3))(ones(2, 3)).shape == (2, 4)
    assert Layer.static(ones(2), ones(2)) == 1
    refused(lambda: Layer.static(ones(2), ones(3)), "Layer.static(): `n`")
    refused(lambda: Layer.made(ones(2), ones(3)), "Layer.made(): `n`")
    refused(lambda: Layer(ones(4)), "Layer.__init__(): `w` has 1 axis")

    @bl.shaped
    @dataclasses.dataclass
    class Batch:
        x: bl.Float[A, "n, d"]
        y: bl.Int[A, "n"]
        note: str = ""

    assert Batch(ones(3, 2), np.arange(3)).note == ""
    refused(lambda: Batch(ones(3, 2), np.arange(4)), "Batch(): `n` is 3 in `x` and 4 in `y`")
    with pytest.raises(TypeError, match="put @bl.shaped above @dataclass"):
        bl.shaped(type("Plain", (), {}))


def test_generators_and_coroutines() -> None:
    @bl.shaped
    def batches(x: bl.Float[A, "n, d"]) -> Iterator[bl.Float[A, "d"]]:
        assert bl.sizes() == {"n": len(x), "d": x.shape[1]}
        sent = yield x[0]
        assert bl.sizes()["n"] == len(x)
        yield x[0] * (sent or 1)
        yield ones(99)

    items = batches(ones(4, 2))
    assert next(items).shape == (2,)
    np.testing.assert_array_equal(items.send(5), [5, 5])
    refused(lambda: next(items), "`d` is 2 in `x` and 99 in the result")
    refused(lambda: batches(ones(4)), "`x` has 1 axis")

    @bl.shaped
    async def slow(x: bl.Float[A, "n"]) -> bl.Float[A, "2*n"]:
        await asyncio.sleep(0)
        assert bl.sizes() == {"n": len(x)}
        return np.concatenate([x, x]) if len(x) < 5 else x

    async def both() -> list[np.ndarray]:
        return await asyncio.gather(slow(ones(2)), slow(ones(3)))

    assert [y.shape for y in asyncio.run(both())] == [(4,), (6,)]
    refused(lambda: asyncio.run(slow(ones(6))), "axis 0 of the result is 6, and `2*n` is 12")

    @bl.shaped
    async def stream(x: bl.Float[A, "n"]) -> AsyncIterator[bl.Float[A, "n"]]:
        yield x
        yield x[1:]

    async def consume() -> None:
        async for _ in stream(ones(3)):
            pass

    refused(lambda: asyncio.run(consume()), "`n` is 3 in `x` and 2 in the result")
    assert inspect.iscoroutinefunction(slow)


def test_sizes_are_those_of_the_innermost_call() -> None:
    @bl.shaped
    def inner(x: bl.Float[A, "n"]) -> int:
        return bl.sizes()["n"]

    @bl.shaped
    def outer(x: bl.Float[A, "n"]) -> tuple[int, int, int]:
        return bl.sizes()["n"], inner(x[1:]), bl.sizes()["n"]

    assert outer(ones(5)) == (5, 4, 5)
    with pytest.raises(RuntimeError, match="inside of a function"):
        bl.sizes()


def test_threads_have_their_own_sizes() -> None:
    @bl.shaped
    def f(x: bl.Float[A, "n"]) -> int:
        return bl.sizes()["n"]

    wrong = []
    def work(n: int) -> None:
        wrong.extend(n for _ in range(500) if f(ones(n)) != n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_local_classes_and_later_names() -> None:
    class Wrapped(np.ndarray):
        pass

    @bl.shaped
    def f(x: bl.Float[Wrapped, "n"], y: bl.Float[Later, "n"]) -> None: ...

    class Later(np.ndarray):
        pass

    f(ones(3).view(Wrapped), ones(3).view(Later))
    refused(lambda: f(ones(3), ones(3).view(Later)), "numpy.ndarray", "Wrapped", kind=bl.ArrayTypeError)


def test_annotations_that_cannot_be_read() -> None:
    @bl.shaped
    def f(x: bl.Float[NowhereDefined, "n"]) -> None: ...  # noqa: F821

    with pytest.raises(TypeError, match=r"f\(\): the annotation of `x` cannot be read: name 'NowhereDefined'"):
        f(ones(3))

    @bl.shaped
    def others(x: NowhereDefined, y: bl.Float[A, "n"]) -> None: ...  # noqa: F821

    others(3, ones(2))

    @bl.shaped
    def g(x: bl.Float[A, "n => m"]) -> None: ...

    refused(lambda: g(ones(3)), "g(): an annotation is not a shape", "n => m", kind=bl.SpecError)
    with pytest.raises(TypeError, match=r'write bl.Float\[Array, "shape"\]'):
        bl.Float["n"]


@pytest.mark.parametrize("text", ["2*", "*n", "n in 1..", "(n", "n)", "..r", "1.5", "n//2", "", "|", "->", "-> ->", "n in", "2**n", "é, ß", "n-", "_*2"])
def test_no_text_makes_it_panic(text: str) -> None:
    @bl.shaped
    def f(x: bl.Float[A, text]) -> None: ...

    f.__wrapped__.__annotations__["x"] = bl.Float[A, text]
    try:
        f(ones(3))
    except (bl.ShapeError, bl.SpecError) as error:
        assert "panic" not in str(error)


def test_torch_and_jax() -> None:
    torch, jax = needed("torch"), needed("jax")

    @bl.shaped
    def f(x: bl.Float[torch.Tensor, "n, d"], i: bl.Int[torch.Tensor, "n"]) -> bl.Bool[torch.Tensor, "n"]:
        return i > 0

    f(torch.ones(3, 2), torch.arange(3))
    f(torch.nn.Parameter(torch.ones(3, 2, dtype=torch.bfloat16)), torch.arange(3, dtype=torch.uint8))
    refused(lambda: f(torch.ones(3, 2), torch.arange(4)), "`n` is 3 in `x` and 4 in `i`", "given (4,)")
    refused(lambda: f(torch.ones(3, 2), torch.ones(3)), "torch.float32, and its annotation says whole numbers", kind=bl.DTypeError)
    refused(lambda: f(ones(3, 2), torch.ones(3)), "`x` is of type numpy.ndarray, and its annotation says torch.Tensor", kind=bl.ArrayTypeError)

    @bl.shaped
    def g(x: bl.Float[jax.Array, "n"], y: bl.Float[jax.Array, "n"]) -> bl.Float[jax.Array, "n"]:
        return x + y

    x = jax.numpy.ones(3)
    assert jax.jit(g)(x, x).shape == (3,)
    assert jax.grad(lambda x: g(x, x).sum())(x).shape == (3,)
    refused(lambda: jax.jit(g)(x, x[:1]), "`n` is 3 in `x` and 1 in `y`")
    refused(lambda: g(x, x.astype(int)), "elements of type int32", kind=bl.DTypeError)
    g(x.astype(jax.numpy.bfloat16), x)


def test_compiled_functions_are_checked_too() -> None:
    """PyTorch breaks its graph at a check. What is compiled in one graph is checked from outside."""
    torch = needed("torch")

    def f(x: bl.Float[torch.Tensor, "n | d"], w: bl.Float[torch.Tensor, "d -> h"]) -> bl.Float[torch.Tensor, "n | h"]:
        return torch.relu(x @ w.T)

    x, w = torch.ones(4, 3), torch.ones(2, 3)
    within = torch.compile(bl.shaped(f), backend="eager")
    outside = bl.shaped(torch.compile(f, backend="eager", fullgraph=True))
    for function in (within, outside):
        for n in (4, 5, 1):
            assert torch.equal(function(x[:n], w), f(x[:n], w))
        refused(lambda function=function: function(x, w[:, 1:]), "`d` is 3 in `x` and 2 in `w`")
    assert torch._dynamo.explain(bl.shaped(f))(x, w).graph_count == 1, "what is checked is compiled"
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(bl.shaped(f), backend="eager", fullgraph=True)(x, w)


def test_no_leak() -> None:
    import gc
    import sys

    x, w = ones(2, 3, 4), ones(5, 6, 4)

    def misfit() -> None:
        with pytest.raises(bl.ShapeError):
            attention(x, w[..., 1:])

    attention(x, w)
    misfit()
    gc.collect()
    before, held = sys.getrefcount(x), len(gc.get_objects())
    for _ in range(10_000):
        attention(x, w)
    for _ in range(300):  # these read source text, and are slow
        misfit()
    gc.collect()
    assert sys.getrefcount(x) == before
    assert len(gc.get_objects()) - held < 200


def test_annotations_print_well() -> None:
    assert re.fullmatch(r"typing.Annotated\[numpy.ndarray, Float 'n \| d'\]", repr(bl.Float[A, "n | d"]))


def test_help_says_what_annotations_are_for() -> None:
    for kind, what in ((bl.Float, "floating point"), (bl.Int, "whole"), (bl.Bool, "truth"), (bl.Shaped, "any elements")):
        text = pydoc.render_doc(kind, renderer=pydoc.plaintext)
        assert what in text and "@bl.shaped" in text and "_Kind" not in text
    with pytest.raises(TypeError, match="it is an annotation"):
        bl.Float()


def arithmetic(random: np.random.Generator, depth: int = 3) -> str:
    """A size over `n` and `k`, with all signs and parentheses."""
    if depth == 0 or random.random() < 0.25:
        return str(random.choice(["n", "k", "1", "2", "3"]))
    left, right = arithmetic(random, depth - 1), arithmetic(random, depth - 1)
    return f"({left} {random.choice(['+', '-', '*', '/'])} {right})"


def test_arithmetic_is_that_of_fractions() -> None:
    """An axis fits exactly if it is the value of its expression, wherever the sizes that this depends on are found."""
    random, tried = np.random.default_rng(3), 0
    while tried < 300:
        text, (n, k) = arithmetic(random), random.integers(1, 6, 2).tolist()
        names = {"n": Fraction(n), "k": Fraction(k)}
        try:
            value = eval(re.sub(r"\b\d\b", lambda number: f"Fraction({number[0]})", text), {"Fraction": Fraction}, names)
        except ZeroDivisionError:
            continue
        # A text with one axis alone is not arithmetic; a size is not negative.
        if not set(text) & set("+-*/") or not {"n", "k"} & set(text) or not 0 <= value <= 30:
            continue
        tried += 1
        axis, other = bl.Float[np.ndarray, text], bl.Float[np.ndarray, "n, k"]

        def known_first(other, axis): ...
        def known_last(axis, other): ...

        for function in (known_first, known_last):
            function.__annotations__ = {"axis": axis, "other": other}
        for size in {int(value), int(value) + 1}:
            for function in (bl.shaped(known_first), bl.shaped(known_last)):
                try:
                    function(axis=np.ones(size), other=np.ones((n, k)))
                    fits = True
                except bl.ShapeError:
                    fits = False
                assert fits == (size == value), (text, n, k, size, value)


def test_a_size_that_is_divided_by_a_name() -> None:
    @bl.shaped
    def heads(x: bl.Float[A, "d"], y: bl.Float[A, "h, d/h"]) -> bl.Float[A, "h*(d/h)"]:
        return x

    assert heads(ones(12), ones(3, 4)).shape == (12,)
    refused(lambda: heads(ones(12), ones(3, 5)), "axis 1 of `y` is 5, and `d/h` is 4")
    refused(lambda: heads(ones(12), ones(5, 2)), "axis 1 of `y` is 2, and no sizes make `d/h` that")
