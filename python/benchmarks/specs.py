"""Specs on NumPy arrays by operations of NumPy, beside the same spec as a compiled program of Broadloom.

    python python/benchmarks/specs.py

Prints the least time of a call of `bl.einsum` and its relatives, that of the program, and how long the program took to make:
reading, inference, and a C compiler, once for each spec and processor.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import broadloom as bl

#: What it is, the spec, the sizes of the operands, and the functions of `bl` and of programs that say it.
CASES: list[tuple[str, str, list[tuple[int, ...]], Callable[..., Any], str]] = [
    ("a small product", "i j; j k => i k", [(8, 8), (8, 8)], bl.einsum, "einsum"),
    ("a matrix product", "i j; j k => i k", [(512, 512), (512, 512)], bl.einsum, "einsum"),
    ("scores of attention", "b h s d; b h t d => b h s t", [(4, 8, 128, 64)] * 2, bl.einsum, "einsum"),
    ("three factors", "i j; j k; k l => i l", [(256, 256)] * 3, bl.einsum, "einsum"),
    ("a transposition", "b h w c => b c h w", [(16, 64, 64, 32)], bl.rearrange, "einsum"),
    ("a sum over the last axis", "i j => i", [(2048, 2048)], bl.sum, "sum"),
    ("a maximum over the first axis", "i j => j", [(2048, 2048)], bl.max, "max"),
    ("a convolution", "b, y<+i, x<+j, c; i, j, c, d => b, y, x, d", [(8, 32, 32, 16), (3, 3, 16, 32)], bl.einsum, "einsum"),
    ("shortest ways", "i j; j k => i k", [(192, 192)] * 2, partial(bl.einsum, combine="+", reduce="min"), "einsum min +"),
]
#: Settings of programs that Python has as keywords.
SETTINGS = {"einsum min +": 'combine = "+", reduce = "min"'}


def least(call: Callable[[], Any]) -> float:
    """The least time of a call, in microseconds, within about a second."""
    call()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begun < 1:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def program(spec: str, sizes: list[tuple[int, ...]], function: str) -> tuple[bl.Function, float]:
    """The spec as a program, and the seconds until its first result."""
    begun = time.perf_counter()
    names = [f"x{number}" for number in range(len(sizes))]
    lines = [f"data {name} : {', '.join(map(str, shape))}" for name, shape in zip(names, sizes)]
    arguments = ", ".join([f'"{spec}"', *names, *([SETTINGS[function]] if function in SETTINGS else [])])
    made = bl.program("\n".join([*lines, f"let y = {function.partition(' ')[0]}({arguments})\n"]), threads=1).only("y")
    made(**{name: np.ones(shape, "float32") for name, shape in zip(names, sizes)})
    return made, time.perf_counter() - begun


def main() -> None:
    os.environ["BROADLOOM_CACHE"] = tempfile.mkdtemp()
    program("i j; j k => i k", [(2, 2), (2, 2)], "einsum")  # the kernel of products is compiled once for all programs
    rng = np.random.default_rng(1)
    print(f"{'':32}{'by NumPy':>12}{'a program':>12}{'made in':>10}")
    for what, spec, sizes, function, named in CASES:
        arrays = [rng.normal(size=shape).astype("float32") for shape in sizes]
        compiled, seconds = program(spec, sizes, named)
        given = {f"x{number}": array for number, array in enumerate(arrays)}
        np.testing.assert_allclose(compiled(**given), function(spec, *arrays), rtol=1e-3, atol=1e-3)
        ours, theirs = least(lambda: compiled(**given)), least(lambda: function(spec, *arrays))
        print(f"{what:32}{theirs:9.0f} µs{ours:9.0f} µs{seconds:8.2f} s")


if __name__ == "__main__":
    main()
