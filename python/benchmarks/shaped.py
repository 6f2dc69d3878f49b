"""The cost of a check that passes: four arguments and a result, beside jaxtyping with beartype.

    python python/benchmarks/shaped.py

Prints the time of one call less that of the plain function, in microseconds: the best of many rounds, since other
programs can only make a round slower. The rows `reading` are a function that does nothing but read `shape` and `dtype` of the
five arrays, which every check has to do.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import broadloom as bl

ROUNDS, CALLS = 2000, 20


def cost(function: Callable[..., Any], arguments: list[Any]) -> float:
    """The time of one call, in microseconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            function(*arguments)
        times.append((time.perf_counter() - start) / CALLS * 1e6)
    return min(times)


def finds(function: Callable[..., Any], arguments: list[Any]) -> bool:
    """True if the function refuses these arguments: what does not check costs nothing."""
    try:
        function(*arguments)
    except Exception:
        return True
    return False


def functions(array: type) -> dict[str, Callable[..., Any]]:
    """The same function plain, and checked by each of the tools that are installed."""

    def plain(x, w, b, mask):
        return x

    @bl.shaped
    def ours(
        x: bl.Float[array, "..b.., s | d"],
        w: bl.Float[array, "d -> h"],
        b: bl.Float[array, "h"],
        mask: bl.Bool[array, "s, s"],
    ) -> bl.Float[array, "..b.., s | d"]:
        return x

    @bl.shaped
    def arguments(
        x: bl.Float[array, "..b.., s | d"],
        w: bl.Float[array, "d -> h"],
        b: bl.Float[array, "h"],
        mask: bl.Bool[array, "s, s"],
    ):
        return x

    made = {"plain": plain, "broadloom": ours, "broadloom, no result": arguments}
    try:
        from beartype import beartype
        from jaxtyping import Bool, Float, jaxtyped
    except ImportError:
        return made

    @jaxtyped(typechecker=beartype)
    def theirs(
        x: Float[array, "*b s d"],
        w: Float[array, "h d"],
        b: Float[array, "h"],
        mask: Bool[array, "s s"],
    ) -> Float[array, "*b s d"]:
        return x

    return {**made, "jaxtyping + beartype": theirs}


def reading(x: Any, w: Any, b: Any, mask: Any) -> Any:
    """Reads what a check has to read, and checks nothing."""
    x.shape, x.dtype, w.shape, w.dtype, b.shape, b.dtype, mask.shape, mask.dtype, x.shape, x.dtype
    return x


def libraries() -> dict[str, tuple[type, Callable[[np.ndarray], Any]]]:
    """The array libraries that are installed: the type of an array, and how to make one."""
    found: dict[str, tuple[type, Callable[[np.ndarray], Any]]] = {"NumPy": (np.ndarray, lambda x: x)}
    try:
        import torch

        found["PyTorch"] = (torch.Tensor, torch.from_numpy)
    except ImportError:
        pass
    try:
        import jax

        found["JAX"] = (jax.Array, jax.numpy.asarray)
    except ImportError:
        pass
    return found


def main() -> None:
    shapes = [(2, 8, 16), (4, 16), (4,)]
    for library, (array, make) in libraries().items():
        arrays = [make(np.ones(shape, np.float32)) for shape in shapes] + [make(np.ones((8, 8), bool))]
        checked = functions(array)
        base = cost(checked.pop("plain"), arrays)
        print(f"{library:8} {'reading':22} {cost(reading, arrays) - base:7.2f} µs")
        for name, function in checked.items():
            assert finds(function, [arrays[0], arrays[1][:, :3], *arrays[2:]]), f"{name} does not check"
            print(f"{library:8} {name:22} {cost(function, arrays) - base:7.2f} µs")


if __name__ == "__main__":
    main()
