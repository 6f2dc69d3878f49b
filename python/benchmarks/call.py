"""How long a call of a small program takes, and how much of that is Python.

    cargo build --release -p broadloom-bench --bin call
    python python/benchmarks/call.py target/release/call

The first row is the whole call, `p(x=array)["y"]`; the third leaves the package out, and calls the extension. The last is the same call from Rust, by the
program that is named. The machine code of the program takes a fraction of a microsecond.
"""

from __future__ import annotations

import subprocess
import sys
import timeit

import broadloom as bl
import numpy as np


def microseconds(call: object) -> float:
    """The least time of a call, in microseconds."""
    return min(timeit.repeat(call, number=100, repeat=2_000)) / 100 * 1e6  # type: ignore[arg-type]


def main() -> None:
    p = bl.program("data x : 8\nlet y = 2 * x\n", threads=1)
    x = np.ones(8, "float32")
    only = p.only("y")
    running, arrays = p._running, {"x": x}
    rows = {
        "p(x=array)['y']": lambda: p(x=x)["y"],
        "p.only('y')(x=array)": lambda: only(x=x),
        "the extension alone": lambda: running.call(arrays, None),
        "numpy: 2 * x": lambda: 2 * x,
    }
    for name, call in rows.items():
        call()
        print(f"{name:24}{microseconds(call):8.2f} µs")
    for program in sys.argv[1:]:
        print(f"{'from Rust':24}{float(subprocess.check_output([program], text=True)):8.2f} µs")


if __name__ == "__main__":
    main()
