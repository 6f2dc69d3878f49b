"""Programs in several threads; calls that do not hold the interpreter lock; memory that is given back."""

from __future__ import annotations

import gc
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import broadloom as bl
import numpy as np


def test_one_program_in_several_threads() -> None:
    p = bl.program("dim n in 1..64\ndata x : n | 8\nlet y = 2 * x\n", threads=1)

    def call(number: int) -> bool:
        x = np.full((number % 7 + 1, 8), number, "float32")
        y = p(x=x)["y"]
        return y.shape == x.shape and bool((y == 2 * x).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))


def test_several_programs_in_several_threads() -> None:
    def call(number: int) -> list[float]:
        p = bl.program(f"data x : 3\nlet y = {number} * x\n", threads=1)
        return list(p(x=np.ones(3, "float32"))["y"])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(6))) == [[number] * 3 for number in range(6)]


def test_other_code_runs_meanwhile() -> None:
    """While a program runs for a while, another thread makes progress."""
    p = bl.program("data x : 700, 700\nlet y = einsum(\"i j; j k => i k\", x, x)\n", threads=1)
    x = np.ones((700, 700), "float32")
    p(x=x)
    ticks = 0
    done = threading.Event()

    def work() -> None:
        for _ in range(20):
            p(x=x)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks > 20


def test_questions_while_it_runs() -> None:
    """Printing needs the interpreter lock while another thread waits for the program: that must not end in a deadlock."""
    p = bl.program(
        "data x : 2 = [1, 2]\nlet loss = sum(square({a} * x - 1))\nrepeat 300:\n  minimise loss by sgd(0.01)\n  print loss\n"
    )
    thread = threading.Thread(target=lambda: p.run(progress=lambda done, of, losses: None))
    thread.start()
    while thread.is_alive():
        p()
        assert p.shapes["loss"] == "()"
    thread.join()


def test_no_leak() -> None:
    p = bl.program("data x : 64, 64\nlet y = 2 * x\n")
    x = np.ones((64, 64), "float32")
    for _ in range(200):
        p(x=x)
    gc.collect()
    counts, before = sys.getrefcount(x), _resident()
    for _ in range(10_000):
        p(x=x)
    gc.collect()
    assert sys.getrefcount(x) == counts
    # 10,000 results have 160 MB.
    assert _resident() - before < 16 << 20


def _resident() -> int:
    """The memory of this process that is really there, in bytes."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0
