"""Arrays are read where they are, and results are handed out where they were computed: addresses are compared, both ways. Nothing leaks."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import broadloom as bl
import numpy as np
import pytest
from broadloom import _arrays, _program, _session
from needed import needed

TWICE = "dim n in 1..4096\ndata x : n | 64\nlet y = 2 * x\nlet z = y + 1\n"


def of_kind(kind: str, values: np.ndarray) -> Any:
    """An array of a library that has memory of its own."""
    if kind == "numpy":
        return values.copy()
    library = needed(kind)
    return library.from_numpy(values.copy()) if kind == "torch" else library.numpy.array(values)


def address(array: Any) -> int:
    """Where the numbers of an array are."""
    if isinstance(array, np.ndarray):
        return int(array.ctypes.data)
    return int(array.data_ptr() if hasattr(array, "data_ptr") else array.unsafe_buffer_pointer())


def resident() -> int:
    """The memory of this process that is really there, in bytes."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0


class Calls:
    """Runs the same computation as a program and as a graph."""

    def __init__(self) -> None:
        self.program = bl.program(TWICE, threads=1)
        graph = bl.Graph()
        y = 2 * graph.data("x", "n | 64")
        self.expressions, self.session = (y, y + 1), graph.session(threads=1)

    def by_program(self, x: Any) -> tuple[Any, ...]:
        results = self.program(x=x)
        return results["y"], results["z"]

    def by_session(self, x: Any) -> tuple[Any, ...]:
        made: tuple[Any, ...] = self.session.run(*self.expressions, x=x)
        return made


KINDS = ["numpy", "torch", "jax"]
WAYS: list[Callable[[Calls, Any], tuple[Any, ...]]] = [Calls.by_program, Calls.by_session]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS, ids=["program", "session"])
def test_addresses(kind: str, way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, x = Calls(), of_kind(kind, np.ones((3, 64), "float32"))
    made: list[int] = []

    def noticed(results: dict[str, Any], kind: str) -> dict[str, Any]:
        made.extend(array.ctypes.data for array in results.values())
        return _arrays.as_kind(results, kind)

    monkeypatch.setattr(_program, "as_kind", noticed)
    monkeypatch.setattr(_session, "as_kind", noticed)
    assert address(_arrays.arranged("x", x).array) == address(x), "what the program reads is what the caller has"
    results = way(calls, x)
    assert all(type(each) is type(x) for each in results)
    assert (calls.program.copies or calls.session.copies) == {"x": None}
    # NumPy arrays of a program are handed on as they are.
    assert not made or [address(each) for each in results] == made
    assert len({address(each) for each in results} | {address(x)}) == 3
    assert all(address(each) % 64 == 0 for each in results)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_numbers_are_read_where_they_are(kind: str) -> None:
    """Between two repetitions the caller changes the array that a run was given, and the run sees it, but for one that had to be copied."""
    text = "data x : 3\nlet loss = sum(x) + 0 * sum({w : 3})\nrepeat 2:\n  minimise loss by sgd(0.1)\n"
    for dtype, seen in (("float32", [3.0, 6.0]), ("float64", [3.0, 3.0])):
        p, x = bl.program(text), of_kind(kind, np.ones(3, dtype))

        def change(done: int, of: int, losses: dict[str, float], x: Any = x) -> None:
            x[:] = 2

        ran = p.run(x=x, progress=change)
        assert ran.losses["loss"] == seen and (p.copies["x"] is None) == (dtype == "float32")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS, ids=["program", "session"])
def test_no_leak(kind: str, way: Any) -> None:
    count = 2_000 if kind == "jax" else 10_000  # JAX needs long for each array that it is handed
    calls, x = Calls(), of_kind(kind, np.ones((16, 64), "float32"))
    for _ in range(100):
        way(calls, x)
    gc.collect()
    references, before = sys.getrefcount(x), resident()
    for _ in range(count):
        way(calls, x)
    gc.collect()
    assert sys.getrefcount(x) == references
    # The results of all calls have 8 kB each.
    assert resident() - before < count * 4096


def test_modules_do_not_leak() -> None:
    torch = needed("torch")
    text = "data x : 16 | 64\nlet y = relu({w : ... -> 64} @ x + {b})\n"
    module = bl.torch.Module(bl.program(text, threads=1), outputs="y")
    x = torch.ones(16, 64, requires_grad=True)

    def call() -> None:
        module.zero_grad()
        module(x=x).sum().backward()

    for _ in range(100):
        call()
    gc.collect()
    references, before = sys.getrefcount(x), resident()
    for _ in range(10_000):
        call()
    gc.collect()
    assert sys.getrefcount(x) == references
    assert resident() - before < 20 << 20


def test_sessions_in_several_threads() -> None:
    calls = Calls()

    def call(number: int) -> bool:
        x = np.full((number % 7 + 1, 64), number, "float32")
        y, z = calls.by_session(x)
        return y.shape == x.shape and bool((y == 2 * x).all()) and bool((z == y + 1).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))


def test_modules_in_several_threads() -> None:
    torch = needed("torch")
    module = bl.torch.Module(bl.program("dim n in 1..8\ndata x : n | 3\nlet y = square({w : ... -> 3} @ x)\n", threads=1))
    weight = module.get_parameter("w").detach()

    def call(number: int) -> bool:
        x = torch.full((number % 7 + 1, 3), float(number % 5), requires_grad=True)
        y = module(x=x)
        (gradient,) = torch.autograd.grad(y.sum(), [x])
        own = x.detach() @ weight.T
        return bool(torch.allclose(y, own**2, atol=1e-4) and torch.allclose(gradient, 2 * own @ weight, atol=1e-4))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))
