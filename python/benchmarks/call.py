"""The time of a call of a small program, of a session, and of a module, and how much of that is Python.

    cargo build --release -p broadloom-bench --bin call
    python python/benchmarks/call.py target/release/call

The first row is the whole call, `p(x=array)["y"]`; the third leaves the package out, and calls the extension. The last is the same call from Rust, by the
program that is named. The machine code of the program takes a fraction of a microsecond. Rows of PyTorch and JAX are there if they are installed; the last rows
of each are what the library itself needs, to show its array to NumPy and to make one of a result, and for the same computation.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import timeit
from collections.abc import Callable
from typing import Any

import broadloom as bl
import numpy as np


TWICE = "data x : 8\nlet y = 2 * x\n"


def microseconds(call: Callable[[], object]) -> float:
    """The least time of a call, in microseconds: of many short rounds, since other programs interrupt long ones."""
    return min(timeit.repeat(call, number=5, repeat=4000)) / 5 * 1e6


def of_torch(p: bl.Program, run: Callable[[Any], Any]) -> dict[str, Callable[[], object]]:
    """Calls with a tensor of PyTorch."""
    import torch

    x, wanted = torch.ones(8), torch.ones(8, requires_grad=True)
    array, module = x.numpy(), bl.torch.Module(bl.program(TWICE, threads=1))
    return {
        "PyTorch: p(x=tensor)['y']": lambda: p(x=x)["y"],
        "PyTorch: session.run": lambda: run(x),
        "PyTorch: module(x=tensor)": lambda: module(x=x),
        "PyTorch: forward, backward": lambda: module(x=wanted).sum().backward(),
        "  its own forward, backward": lambda: (2 * wanted).sum().backward(),
        "  its own conversions": lambda: torch.from_numpy(array) if x.numpy() is not None else None,
        "  its own 2 * x": lambda: 2 * x,
    }


def of_jax(p: bl.Program, run: Callable[[Any], Any]) -> dict[str, Callable[[], object]]:
    """Calls with an array of JAX."""
    import jax

    x = jax.numpy.ones(8)
    array = p(x=np.ones(8, "float32"))["y"]
    return {
        "JAX: p(x=array)['y']": lambda: p(x=x)["y"],
        "JAX: session.run": lambda: run(x),
        "  its own conversions": lambda: jax.numpy.from_dlpack(array) if np.asarray(x) is not None else None,
        "  its own 2 * x": lambda: 2 * x,
    }


def main() -> None:
    p = bl.program(TWICE, threads=1)
    x = np.ones(8, "float32")
    only = p.only("y")
    running, arrays = p._running, {"x": x}
    graph = bl.Graph()
    y = 2 * graph.data("x", "8")
    session = graph.session(threads=1)
    rows: dict[str, Callable[[], object]] = {
        "p(x=array)['y']": lambda: p(x=x)["y"],
        "p.only('y')(x=array)": lambda: only(x=x),
        "the extension alone": lambda: running.call(arrays, None),
        "session.run(y, x=array)": lambda: session.run(y, x=x),
        "numpy: 2 * x": lambda: 2 * x,
    }
    every = [rows]
    for library, more in (("torch", of_torch), ("jax", of_jax)):
        if importlib.util.find_spec(library):
            every.append(more(p, lambda x: session.run(y, x=x)))
    for name, call in (row for rows in every for row in rows.items()):
        call()
        print(f"{name:30}{microseconds(call):8.2f} µs")
    for program in sys.argv[1:]:
        print(f"{'from Rust':30}{float(subprocess.check_output([program], text=True)):8.2f} µs")


if __name__ == "__main__":
    main()
