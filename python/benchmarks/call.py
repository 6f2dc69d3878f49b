"""How long a call of a small program takes, and how much of that is Python.

    python python/benchmarks/call.py

The first row is the whole call, `p(x=array)["y"]`; the second leaves the package out, and calls the extension with an array that is in form. The machine
code of this program takes a fraction of a microsecond.
"""

from __future__ import annotations

import timeit

import broadloom as bl
import numpy as np


def microseconds(call: object) -> float:
    """The least time of a call, in microseconds."""
    return min(timeit.repeat(call, number=2_000, repeat=7)) / 2_000 * 1e6  # type: ignore[arg-type]


def main() -> None:
    p = bl.program("data x : 8\nlet y = 2 * x\n", threads=1)
    x = np.ones(8, "float32")
    only = p.only("y")
    running, pairs = p._running, [("x", x)]
    rows = {
        "p(x=array)['y']": lambda: p(x=x)["y"],
        "p.only('y')(x=array)": lambda: only(x=x),
        "the extension alone": lambda: running.call(pairs, None),
        "numpy: 2 * x": lambda: 2 * x,
    }
    for name, call in rows.items():
        call()
        print(f"{name:24}{microseconds(call):8.2f} µs")


if __name__ == "__main__":
    main()
