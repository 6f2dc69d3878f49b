"""Calls and runs on NumPy arrays."""

from __future__ import annotations

import contextlib
import io
import pickle
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import broadloom as bl
import numpy as np
import pytest

XOR = """\
data x      : 4 | 2 = [[0, 0], [0, 1], [1, 0], [1, 1]]
data target : 4 | 1 = [[0], [1], [1], [0]]
let y = tanh({w} @ x + {b : 8}) |> linear()
let loss = mse(y, target)
repeat step in 0..300:
  minimise loss by adam(0.02)
  print "step", step every 100
"""


def floats(*sizes: int) -> np.ndarray:
    return np.arange(np.prod(sizes), dtype="float32").reshape(sizes)


def test_values() -> None:
    p = bl.program("data x : 4 | 3\nlet y = {w} @ x + {b : 2}\n")
    x = floats(4, 3)
    w, b = p.parameters["w"], floats(2)
    p.parameters["b"] = b
    y = p(x=x)["y"]
    assert (y.shape, y.dtype) == ((4, 2), np.float32)
    np.testing.assert_allclose(y, x @ w.T + b, rtol=1e-6)


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_only_what_can_be_computed(backend: str) -> None:
    p = bl.program("data x : 3\ndata t : 3\nlet y = 2 * x\nlet loss = sum(y - t)\n", backend=backend)
    results = p(x=floats(3))
    assert list(results) == ["y"]
    with pytest.raises(bl.Error, match="`loss` was not computed: `t` has no values"):
        results["loss"]
    with pytest.raises(bl.Error, match="nothing was computed that is called `lost`"):
        results["lost"]
    assert p(x=floats(3), t=floats(3))["loss"] == 3
    assert list(p()) == []
    with pytest.raises(bl.Error, match="`loss` cannot be computed: `t` has no values"):
        p.only("loss")(x=floats(3))


def test_results_stay() -> None:
    """A later run never changes an array already returned, and results can be written to."""
    p = bl.program("data x : 3\nlet y = 2 * x\n")
    results = [p(x=np.full(3, number, "float32"))["y"] for number in range(5)]
    assert [result.tolist() for result in results] == [[2 * number] * 3 for number in range(5)]
    results[0][:] = 7
    assert p(x=floats(3))["y"].tolist() == [0, 2, 4]
    assert results[0].tolist() == [7, 7, 7]
    assert all(result.ctypes.data % 64 == 0 and result.flags.writeable for result in results)
    del p
    assert results[4].tolist() == [8, 8, 8]


def test_nothing_is_copied_that_need_not_be() -> None:
    p = bl.program("data x : 1000\nlet y = 2 * x\n")
    x = floats(1000)
    p(x=x)
    assert p.copies == {"x": None}
    for offset in range(1, 5):
        # Memory that is aligned for its numbers, and for nothing more.
        p(x=floats(1005)[offset : offset + 1000])
        assert p.copies == {"x": None}
    y = p(x=floats(1005)[3:1003])["y"]
    assert y[0] == 6 and y[-1] == 2 * 1002


@pytest.mark.parametrize(
    ("array", "why"),
    [
        (np.ones((2, 3)), "it is f64, and the program stores f32"),
        (np.ones((3, 2), "float32").T, "its elements are not one after another in memory"),
        (np.ones((2, 6), "float32")[:, ::2], "its elements are not one after another in memory"),
        (np.ones((2, 3), ">f4"), "it is >f4, and a program has float32"),
        (np.ones((2, 3), "uint8"), "it is u8, and the program stores f32"),
        (np.ones((2, 3), "uint16"), "it is uint16, and a program has int32"),
        (np.ones((2, 3), bool), "it is bool, and the program stores f32"),
        ([[1, 1, 1], [1, 1, 1]], "it is not an array"),
        (np.frombuffer(b"0" + np.ones(6, "float32").tobytes(), "float32", 6, 1).reshape(2, 3), "its memory is not aligned"),
    ],
)
def test_copies_say_why(array: object, why: str) -> None:
    p = bl.program("data x : 2 | 3\nlet y = sum(x)\n")
    assert p(x=array)["y"] == 6
    assert p.copies["x"] is not None and why in p.copies["x"]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_integers_are_read_where_they_are(dtype: str) -> None:
    name = {"bool": "bool", "uint8": "u8"}.get(dtype, dtype.replace("int", "i"))
    p = bl.program(f"data x : 4 as {name}\nlet y = max(x, x)\nlet total = sum(x)\nlet scaled = x * 0.5\n")
    x = np.array([0, 1, 1, 0], dtype)
    results = p(x=x)
    assert p.copies == {"x": None}
    assert results["y"].dtype == np.dtype(dtype) and results["y"].tolist() == x.tolist()
    assert results["total"] == 2 and results["total"].dtype == np.dtype("int32" if dtype == "int32" else "int64")
    assert results["scaled"].tolist() == [0, 0.5, 0.5, 0]


def test_windows_need_margins() -> None:
    p = bl.program('data x : 4\ndata k : 3\nlet y = einsum("o=+k; k => o", x, k)\n')
    y = p(x=floats(4), k=np.ones(3, "float32"))["y"]
    assert y.tolist() == [1, 3, 6, 5]
    assert p.copies["k"] is None and "margins" in (p.copies["x"] or "")


def test_read_only_arrays_are_read() -> None:
    x = floats(3)
    x.flags.writeable = False
    p = bl.program("data x : 3\nlet y = 2 * x\n")
    assert p(x=x)["y"].tolist() == [0, 2, 4]
    assert p.copies == {"x": None}


def test_what_cannot_be_read() -> None:
    p = bl.program("data x : 2\nlet y = 2 * x\n")
    with pytest.raises(bl.Error, match="its type is complex128") as caught:
        p(x=np.ones(2, "complex128"))
    assert caught.value.help == ("give its real part: `x.real`",)
    for wrong in (np.array(["a", "b"]), np.array([None, 1]), np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")):
        with pytest.raises(bl.Error, match="its type is"):
            p(x=wrong)
    with pytest.raises(bl.Error, match="too large for int64"):
        p(x=np.array([2**64 - 1, 0], "uint64"))
    with pytest.raises(bl.Error, match="`x` is no array"):
        p(x=[[1], [1, 2]])


def test_wrong_sizes() -> None:
    p = bl.program("data x : 2 | 3\nlet y = 2 * x\n", name="a.loom")
    with pytest.raises(bl.Error) as caught:
        p(x=floats(3, 2))
    assert "the array for `x` has sizes [3, 2], its shape is `2 | 3`: axis 0 (`x.batch.0`) is 3 and should be 2" in str(caught.value)
    assert (caught.value.ends[0].file, caught.value.ends[0].line) == ("a.loom", 1)
    assert p(x=floats(2, 3))["y"].shape == (2, 3), "a refused call changes nothing"


def test_floats_for_integers() -> None:
    p = bl.program("data i : 4 as i64\nlet y = 2 * i\n")
    assert p(i=np.arange(4))["y"].tolist() == [0, 2, 4, 6]
    with pytest.raises(bl.Error, match="holds integers") as caught:
        p(i=np.ones(4, "float32"))
    assert "astype" in caught.value.help[-1]


def test_names_that_are_wrong() -> None:
    p = bl.program("data image : 3\nlet y = {w : ... -> 2} @ image\n")
    with pytest.raises(bl.Error, match="no data called `images`"):
        p(images=floats(3))
    with pytest.raises(bl.Error, match="`w` is a parameter"):
        p(w=floats(3))
    with pytest.raises(bl.Error, match="`y` is computed"):
        p(y=floats(3))


def test_sizes_follow_arrays() -> None:
    p = bl.program("dim n in 1..64\ndata x : n | 2\nlet y = 2 * x\n")
    for n in (1, 5, 64):
        assert p(x=floats(n, 2))["y"].shape == (n, 2)
    with pytest.raises(bl.Error, match="65"):
        p(x=floats(65, 2))


def test_data_with_values_of_its_own() -> None:
    p = bl.program("data x : 2 = [1, 2]\nlet y = 2 * x\n")
    assert p()["y"].tolist() == [2, 4]
    assert p(x=floats(2))["y"].tolist() == [0, 2]
    assert p()["y"].tolist() == [2, 4]


def test_some_tensors_only() -> None:
    p = bl.program("data x : 3\nlet y = 2 * x\nlet z = y + 1\n")
    assert p.only("z")(x=floats(3)).tolist() == [1, 3, 5]
    z, y = p.only("z", "y")(x=floats(3))
    assert (z.tolist(), y.tolist()) == ([1, 3, 5], [0, 2, 4])
    with pytest.raises(bl.Error, match="computes no `q`"):
        p.only("q")(x=floats(3))
    with pytest.raises(TypeError):
        p.only()


def test_training(capsys: pytest.CaptureFixture[str]) -> None:
    p = bl.program(XOR)
    before = p()["loss"]
    ran = p.run()
    assert capsys.readouterr().out == "step 0\nstep 99\nstep 199\nstep 299\n"
    losses = ran.losses["loss"]
    assert len(losses) == 300 and losses[-1] < 0.01 < losses[0]
    assert p()["loss"] < 0.01 < before, "what was learned stays"
    assert "in 300 steps" in repr(ran)


def test_steps(capsys: pytest.CaptureFixture[str]) -> None:
    p = bl.program(XOR)
    assert len(p.run(7).losses["loss"]) == 7
    once = p()["loss"]
    p.run(steps=20, progress=False)
    assert p()["loss"] < once, "it goes on from where it was"
    with pytest.raises(bl.Error, match="repeats nothing"):
        bl.program("data x : 2 = [1, 2]\nprint x\n").run(steps=3)


def test_progress() -> None:
    seen: list[tuple[int, int, dict[str, float]]] = []
    bl.program(XOR).run(3, progress=lambda done, of, losses: seen.append((done, of, losses)))
    assert [(done, of) for done, of, _ in seen] == [(1, 3), (2, 3), (3, 3)]
    assert all(set(losses) == {"loss"} for _, _, losses in seen)


def test_a_line_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    bl.program(XOR).run(3, progress=True)
    assert "100%" in capsys.readouterr().err


def test_what_a_callback_raises_ends_the_run() -> None:
    def stop(done: int, of: int, losses: dict[str, float]) -> None:
        if done == 2:
            raise StopIteration("enough")

    p = bl.program(XOR)
    with pytest.raises(StopIteration, match="enough"):
        p.run(progress=stop)
    assert len(p.run(2, progress=False).losses["loss"]) == 2, "it can be used afterwards"


def test_losses_that_are_not_finite() -> None:
    text = "data x : 2 = [0, 1]\nlet loss = sum(log({a} * x))\nrepeat 3:\n  minimise loss by sgd(0.1)\n"
    with pytest.raises(bl.Error, match="not finite|infinite|not a number"):
        bl.program(text).run()
    assert len(bl.program(text).run(keep_going=True).losses["loss"]) == 3


def test_seeds() -> None:
    text = "data x : 3\nlet y = {w : ... -> 2} @ x\n"
    w = [bl.program(text, seed=seed).parameters["w"] for seed in (1, 1, 2)]
    assert np.array_equal(w[0], w[1]) and not np.array_equal(w[0], w[2])


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("BROADLOOM_CC", raising=False)
    yield


def test_without_a_compiler(without_compiler: None) -> None:
    p = bl.program("data x : 3\nlet y = 2 * x\n")
    with pytest.warns(RuntimeWarning, match="reference evaluator"):
        assert p(x=floats(3))["y"].tolist() == [0, 2, 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p(x=floats(3))  # it is said once
    with pytest.raises(bl.Error):
        bl.program("data x : 3\nlet y = 2 * x\n", backend="native")(x=floats(3))


def test_settings() -> None:
    with pytest.raises(bl.Error, match="no backend `gpu`"):
        bl.program("data x : 3\nlet y = 2 * x\n", backend="gpu")(x=floats(3))


def test_arrays_have_names_and_steps_are_counted() -> None:
    p = bl.program("data x : 3\nlet y = 2 * x\n")
    with pytest.raises(TypeError, match=r"`p\(x=array\)`"):
        p(np.ones(3))
    with pytest.raises(bl.Error, match="a whole number from 0 on, not -1"):
        p.run(steps=-1)


def test_every_name_of_a_tensor_is_computed() -> None:
    p = bl.program("data x : 2\ndata t : 2\nlet y = 2 * x\nlet a = y\nlet z = x\nlet b = {w : 2 = ones}\nlet c = t\n")
    found = p(x=np.ones(2, "float32"))
    assert {name: array.tolist() for name, array in found.items()} == {"y": [2, 2], "a": [2, 2], "z": [1, 1], "b": [1, 1]}
    assert list(found) == ["y", "a", "z", "b"]
    with pytest.raises(bl.Error, match="`t`"):
        found["c"]
    assert p.only("y")(x=np.ones(2, "float32")).tolist() == [2, 2]
    # Each name has memory of its own.
    found["y"][:] = 9
    assert found["a"].tolist() == [2, 2]


def test_nothing_is_left_of_a_refused_call() -> None:
    text = "dim n in 1..64\ndata x : n | 3\ndata t : n | 3\nlet l = mean(square({w : 3} * x - t))\nrepeat 2:\n  minimise l by sgd(0.1)\n"
    p, ones = bl.program(text), np.ones((4, 3), "float32")
    p(x=np.full((4, 3), 7.0), t=ones)
    with pytest.raises(bl.Error, match=r"sizes \[4, 5\]"):
        p(x=np.ones((4, 5), "float32"))
    with pytest.raises(bl.Error, match="`x` has no values"):
        p.run(t=ones)
    # An array that was copied, and then one that was not, of another size.
    p(x=np.full((4, 3), 7.0), t=ones)
    p(x=ones[:2], t=ones[:2])
    with pytest.raises(bl.Error, match="`x` has no values"):
        p.run(t=ones[:2])


def test_numbers_of_numpy_say_how_often() -> None:
    p = bl.program("data x : 2 = [1, 2]\nlet l = mean(square({w : 2} - x))\nrepeat 9:\n  minimise l by sgd(0.1)\n")
    assert len(p.run(steps=np.int64(3), progress=False).losses["l"]) == 3  # type: ignore[arg-type]
    with pytest.raises(bl.Error, match="`steps` is a whole number from 0 on"):
        p.run(steps=-1)


def test_nothing_and_masks_are_no_arrays() -> None:
    p = bl.program("data x : 2\nlet y = 2 * x\n")
    with pytest.raises(bl.Error, match="`x` is None"):
        p(x=None)
    with pytest.raises(bl.Error, match="masked"):
        p(x=np.ma.array([1.0, 2.0], mask=[False, True]))
    assert p(x=np.ma.array([1.0, 2.0]))["y"].tolist() == [2, 4]


LEARNS = """
dim n in 1..64
data x : n | 2
data t : n | 1
let y = {w} @ x + {b : 1}
let loss = mse(x |> dropout(0.5) |> linear(1), t)
repeat 8:
  minimise loss by adam(0.05)
repeat 3:
  repeat 2:
    minimise loss by sgd(0.01)
"""


def test_the_program_can_be_used_while_it_tells_its_progress(tmp_path: Path) -> None:
    """Validation and checkpoints between repetitions change nothing of what is learned."""
    x = floats(4, 2)
    t = x.sum(axis=1, keepdims=True)
    p, alone = bl.program(LEARNS), bl.program(LEARNS)
    loss_of = p.only("loss")
    seen: list[tuple[int, int]] = []

    def progress(done: int, of: int, losses: dict[str, float]) -> None:
        seen.append((done, of))
        assert np.isfinite(loss_of(x=x[:3], t=t[:3])) and p(x=x[:1])["y"].shape == (1, 1)
        p.parameters["w"] = p.parameters["w"] + 1
        p.parameters.save(tmp_path / f"{len(seen)}.safetensors")
        copy = pickle.loads(pickle.dumps(p))
        assert np.array_equal(copy.parameters["linear.weight"], p.parameters["linear.weight"])
        with pytest.raises(bl.Error, match="inside of its own `progress` function"):
            p.run(x=x, t=t)

    # Twice: the first array is read where it is, the second has to be copied.
    for given in (x, x.astype("float64")):
        seen.clear()
        ran, other = p.run(x=given, t=t, progress=progress), alone.run(x=given, t=t, progress=False)
        assert seen == [(n + 1, 8) for n in range(8)] + [(n + 1, 6) for n in range(6)]
        assert ran.losses == other.losses
        assert np.array_equal(p.parameters["linear.weight"], alone.parameters["linear.weight"])
    assert list(p.copies.values()) == list(alone.copies.values()) and p.copies["x"]
    assert p.run(steps=2, x=x, t=t, progress=progress).losses == alone.run(steps=2, x=x, t=t).losses


def test_what_other_threads_do_while_progress_is_told() -> None:
    p = bl.program(LEARNS)
    x = floats(4, 2)

    def progress(done: int, of: int, losses: dict[str, float]) -> None:
        with ThreadPoolExecutor(2) as pool:
            assert [pool.submit(p, x=x).result(10)["y"].shape for _ in range(2)] == [(4, 1)] * 2

    p.run(x=x, t=floats(4, 1), steps=2, progress=progress)


def test_an_exception_in_progress_ends_the_run() -> None:
    p, alone = bl.program(LEARNS), bl.program(LEARNS)
    given = {"x": floats(4, 2), "t": floats(4, 1)}

    def progress(done: int, of: int, losses: dict[str, float]) -> None:
        if done == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        p.run(**given, progress=progress)
    alone.run(**given, steps=2, progress=lambda done, of, losses: None)
    assert p(x=given["x"])["y"].shape == (4, 1), "the program can be used afterwards"


@pytest.mark.parametrize("use", [lambda p: p(), lambda p: p.only("y")(), lambda p: p.parameters["w"], lambda p: p.run()])
def test_what_is_called_amidst_the_work_is_refused(use: Callable[[bl.Program], object], capsys: pytest.CaptureFixture[str]) -> None:
    """A line is printed while the program is at work: whoever takes the line cannot use the program, and does not wait for ever."""
    p = bl.program('data x : 3 = [1, 2, 3]\nlet y = {w : 3} * x\nrepeat 2:\n  print "a line"\n')

    class Out(io.StringIO):
        def write(self, text: str) -> int:
            use(p)
            return len(text)

    with contextlib.redirect_stdout(Out()), pytest.raises(bl.Error, match="is at work in this thread|runs in this thread already"):
        p.run()
    p.run()
    assert capsys.readouterr().out == "a line\na line\n"



def test_streams_go_on_where_they_were(tmp_path: Path) -> None:
    """A pause in which other values are given does not lose a batch, nor the place after an earlier run."""
    np.save(tmp_path / "x.npy", floats(10, 2))
    text = "data x = batches(\"x.npy\", 4, shuffle = true)\nlet loss = mean(square({v : ... -> 3} @ x))\nrepeat 2:\n  minimise loss by sgd(0.001)\nrepeat 5:\n  minimise loss by sgd(0.001)\n"
    p, alone = (bl.program(text, folder=tmp_path) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for steps in (None, 1, None):
            other = alone.run(steps=steps, progress=False).losses
            assert p.run(steps=steps, progress=lambda *_: p(x=np.ones((4, 2), "float32"))).losses == other
    assert np.array_equal(p.parameters["v"], alone.parameters["v"])
