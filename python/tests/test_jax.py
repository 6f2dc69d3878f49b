"""Arrays of JAX: same kind in, same kind out, without a copy."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import broadloom as bl
import numpy as np
import pytest
from broadloom import _arrays, _to_jax
from needed import needed

jax = needed("jax")

TWICE = "data x : 2 | 3\nlet y = 2 * x\n"


def test_jax_in_jax_out() -> None:
    p = bl.program(TWICE)
    x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
    y = p(x=x)["y"]
    assert isinstance(y, jax.Array) and y.tolist() == (2 * x).tolist()
    assert p.copies == {"x": None}


def aligned(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers in memory that JAX takes without a copy, as results of programs are."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(64 + count, "uint8")
    begin = -memory.ctypes.data % 64
    array = memory[begin : begin + count].view(dtype).reshape(shape)
    array[...] = np.arange(array.size).reshape(shape) % 2
    return array


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_the_short_way_into_jax_gives_what_the_public_one_gives(dtype: str, shape: tuple[int, ...]) -> None:
    array = aligned(shape, dtype)
    ours, public = _to_jax.to_jax({"y": array})["y"], jax.numpy.from_dlpack(array)
    assert (ours.aval, ours.committed, ours.sharding) == (public.aval, public.committed, public.sharding)
    assert ours.tolist() == public.tolist() == array.tolist()
    if array.dtype.itemsize < 8 and array.size:
        assert ours.unsafe_buffer_pointer() == array.ctypes.data


def test_the_short_way_out_of_jax_is_for_arrays_with_numbers_on_one_cpu() -> None:
    """The second array of a kind is read by the short way: it must refuse and copy what the long one does."""
    p = bl.program(TWICE)
    for _ in range(2):
        x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
        assert p(x=x)["y"].tolist() == (2 * x).tolist() and p.copies == {"x": None}
        assert _arrays.arranged("x", x).array.ctypes.data == x.unsafe_buffer_pointer()
        with pytest.raises(bl.Error, match="being traced by JAX"):
            jax.jit(lambda x: p(x=x)["y"])(x)
        assert p(x=x.astype("bfloat16"))["y"].tolist() == (2 * x).tolist() and "bfloat16" in (p.copies["x"] or "")
        assert p(x=x[:, ::-1])["y"].tolist() == (2 * x[:, ::-1]).tolist()
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        p(x=x)


def test_a_jax_without_the_short_way_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _to_jax._direct(jax) is not None, "this version of JAX has it"
    monkeypatch.setattr(_to_jax, "_direct", lambda jax: None)
    x = jax.numpy.arange(3, dtype="float32")
    y = bl.program("data x : 3\nlet y = 2 * x\n")(x=x)["y"]
    assert isinstance(y, jax.Array) and y.tolist() == [0, 2, 4]


def test_the_same_memory() -> None:
    """JAX takes memory without a copy only if it is aligned to 64 bytes."""
    y = bl.program(TWICE)(x=np.ones((2, 3), "float32"))["y"]
    assert jax.numpy.from_dlpack(y).unsafe_buffer_pointer() == y.ctypes.data


def test_half_precision() -> None:
    p = bl.program(TWICE)
    assert p(x=jax.numpy.ones((2, 3), "bfloat16"))["y"].tolist() == [[2.0] * 3] * 2
    assert "bfloat16" in (p.copies["x"] or "")


def test_traced_arrays_are_refused() -> None:
    p = bl.program(TWICE)
    with pytest.raises(bl.Error, match="being traced by JAX"):
        jax.jit(lambda x: p(x=x)["y"])(jax.numpy.ones((2, 3)))


def test_arrays_that_are_elsewhere() -> None:
    """The advice is that of the library: JAX has no `x.cpu()`."""
    with pytest.raises(bl.Error, match="`x` is on cuda, and programs run on the CPU") as caught:
        _arrays._from_jax("x", SimpleNamespace(devices=lambda: [SimpleNamespace(platform="cuda")]))
    assert caught.value.help == ('move it first: `jax.device_put(x, jax.devices("cpu")[0])`',)


def test_arrays_that_are_divided() -> None:
    """A process with several devices: what is divided over them is put together first, and `copies` says so."""
    program = """
import broadloom as bl, jax, numpy as np
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("n",))
x = jax.device_put(np.arange(8, dtype="float32"), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("n")))
p = bl.program("data x : 8\\nlet y = 2 * x\\n", backend="reference")
p(x=jax.numpy.ones(8))  # after which such arrays are read by a shorter way
print(p(x=x)["y"].tolist() == [2 * n for n in range(8)], p.copies)
"""
    # Whoever runs the tests may have limited the devices.
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stdout == "True x: copied, because it is divided over several devices\n", done.stderr


STEPS = """
data x : 4 | 3
data target : 4 | 2
let y = tanh({w} @ x + {b : 2})
let loss = mse(y, target)
repeat 5:
  minimise loss by sgd(0.1)
"""


def numbers(*sizes: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=sizes).astype("float32")


def test_the_forward_pass_as_a_function_of_jax() -> None:
    p = bl.program(STEPS)
    x, target = numbers(4, 3), numbers(4, 2)
    f = p.jax()
    assert list(f.inputs) == ["x", "target", "w", "b"] and list(f.outputs) == ["y", "loss"]
    wanted = p(x=x, target=target)
    for given in (f(x=x, target=target), jax.jit(f)(x=x, target=target)):
        np.testing.assert_allclose(given["y"], wanted["y"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(given["loss"], wanted["loss"], rtol=1e-5)
    # It is a part of a larger function of JAX, and parameters are arguments like data.
    other = jax.jit(lambda x, w: 2 * f(x=x + 1, target=target, w=w)["y"])(x, numbers(2, 3))
    p.parameters["w"] = numbers(2, 3)
    np.testing.assert_allclose(other, 2 * p(x=x + 1, target=target)["y"], rtol=1e-5, atol=1e-6)


def test_a_step_of_training_as_a_function_of_jax() -> None:
    p = bl.program(STEPS)
    x, target = numbers(4, 3), numbers(4, 2)
    with pytest.raises(bl.Error, match="no routine `step9`") as caught:
        p.jax("step9")
    assert caught.value.help == ("it has `forward`, `step1`",)
    made = p.jax("step1")(x=x, target=target)
    p.run(1, x=x, target=target, progress=False)
    for name in ("w", "b"):
        np.testing.assert_allclose(made[name], p.parameters[name], rtol=1e-5, atol=1e-6)


def test_jax_differentiates_the_forward_pass() -> None:
    """The gradients are those of the same function written in JAX: of parameters and data, in and outside of `jit`, of several outputs."""
    p, jnp = bl.program(STEPS), jax.numpy
    f = p.jax()
    given = {"x": numbers(4, 3), "target": numbers(4, 2), "w": p.parameters["w"], "b": numbers(2)}

    def ours(given: dict) -> jax.Array:
        made = f(**given)
        return made["loss"] + jnp.sin(made["y"]).sum()

    def theirs(given: dict) -> jax.Array:
        y = jnp.tanh(given["x"] @ given["w"].T + given["b"])
        return ((y - given["target"]) ** 2).mean() + jnp.sin(y).sum()

    wanted = jax.grad(theirs)(given)
    for made in (jax.grad(ours)(given), jax.jit(jax.grad(ours))(given)):
        for name in given:
            np.testing.assert_allclose(made[name], wanted[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_gradients_beside_whole_numbers() -> None:
    f = bl.program('data x : 4 | 3\ndata i : 4 as i32\nlet z = 2 * i\nlet y = sum(max("... | v => ... |", x))\nlet w = 3\n').jax()
    x = numbers(4, 3)
    gradient = jax.grad(lambda x: f(x=x, i=np.arange(4, dtype="int32"))["y"])(x)
    assert np.array_equal(gradient, x == x.max(1, keepdims=True))


def test_what_a_function_of_jax_refuses() -> None:
    f = bl.program("dim n in 1..64 = 4\ndata x : n | 3\ndata i : n as i32\nlet y = 2 * x\nlet z = 2 * i\n").jax()
    x, i = numbers(4, 3), np.arange(4, dtype="int32")
    assert f(x=x, i=i)["z"].tolist() == [0, 2, 4, 6]
    with pytest.raises(bl.Error, match="reads `i`, which was not given"):
        f(x=x)
    with pytest.raises(bl.Error, match="does not read `t`"):
        f(x=x, i=i, t=x)
    with pytest.raises(bl.Error, match=r"shape \(5, 3\), and the function was made for \(4, 3\)"):
        f(x=numbers(5, 3), i=i)
    with pytest.raises(bl.Error, match="`i` is float32, and the program stores int32"):
        f(x=x, i=i.astype("float32"))


def test_a_module_is_for_one_size() -> None:
    text = "dim n in 1..64\ndata x : n | 3\nlet y = 2 * x\n"
    made = bl.program(text, sizes={"n": 5}).stablehlo()
    assert made.startswith("// The program at n = 5, and no other size.\n// `forward`, of the routines `forward`\n")
    assert "tensor<5x3xf32>" in made
    with pytest.raises(bl.Error, match="computes nothing"):
        bl.program("data x : 3\n").stablehlo()


def test_the_precision_of_products_is_chosen() -> None:
    p = bl.program("data x : 4 | 3\nlet y = {w : ... -> 2} @ x\n")
    assert "precision = [HIGHEST, HIGHEST]" in p.stablehlo()
    for name, word in [("high", "HIGH"), ("default", "DEFAULT")]:
        assert f"precision = [{word}, {word}] : (tensor<2x3xf32>" in p.stablehlo(precision=name)
    with pytest.raises(bl.Error, match=r'called `tf32`(.|\n)*"highest", "high", "default", "bf16"'):
        p.stablehlo(precision="tf32")
    x, w = numbers(4, 3), numbers(2, 3)
    short = lambda array: array.astype("bfloat16").astype("float32")
    f = p.jax(precision="bf16")
    np.testing.assert_allclose(f(x=x, w=w)["y"], short(x) @ short(w).T, rtol=1e-5, atol=1e-6)
    # Gradients are computed alike.
    slope = jax.grad(lambda w: (f(x=x, w=w)["y"] * numbers(4, 2)).sum())(w)
    np.testing.assert_allclose(slope, short(numbers(4, 2)).T @ short(x), rtol=1e-5, atol=1e-6)
    g = bl.Graph()
    y = g.param("w") @ g.data("x", "4 | 3") + g.param("b", "2")
    assert "precision = [HIGH, HIGH]" in g.session().stablehlo(y, precision="high")


def test_graphs_are_modules_too() -> None:
    g = bl.Graph()
    loss = bl.square(g.param("w") @ g.data("x", "4 | 3") + g.param("b", "2")).mean("..b.. | o => ", "b", "o")
    session = g.session()
    assert "stablehlo.dot_general" in session.stablehlo(loss)
    step = g.minimise(loss, bl.Sgd(0.1))
    f = bl.JaxFunction(session.stablehlo(step), {name: session[name] for name in ("w", "b")})
    made = f(x=numbers(4, 3))
    session.run(step, x=numbers(4, 3))
    np.testing.assert_allclose(made["w"], session["w"], rtol=1e-5, atol=1e-6)


def test_every_name_is_returned() -> None:
    f = bl.program("data x : 2\nlet y = 2 * x\nlet a = y\nlet z = x\n").jax()
    x = jax.numpy.ones(2)
    assert {name: array.tolist() for name, array in f(x=x).items()} == {"y": [2, 2], "a": [2, 2], "z": [1, 1]}
    assert f.outputs["a"].shape == f.outputs["z"].shape == (2,)
    gradient = jax.grad(lambda x: sum(f(x=x)[name].sum() for name in ("y", "a", "z")))(x)
    assert gradient.tolist() == [5, 5]


def test_arrays_of_a_function_have_names() -> None:
    f = bl.program("data x : 2\nlet y = 2 * x\n").jax()
    with pytest.raises(TypeError, match=r"takes arrays by name: `f\(x=array\)`"):
        f(jax.numpy.ones(2))


def test_functions_that_stablehlo_itself_does_not_have() -> None:
    x = numbers(6) + 3
    made = bl.program("data x : 6\nlet y = lgamma(x) + digamma(x) + tan(x)\n").jax()(x=x)["y"]
    wanted = jax.scipy.special.gammaln(x) + jax.scipy.special.digamma(x) + jax.numpy.tan(x)
    np.testing.assert_allclose(made, wanted, rtol=1e-5)


def test_random_numbers_of_a_key_of_jax() -> None:
    f = bl.program("data x : 4\nlet y = x + noise()\n").jax()
    x, key = numbers(4), jax.random.key(3)
    made = f(x=x, key=key)["y"]
    assert not np.array_equal(made, x) and np.array_equal(made, f(x=x, key=jax.random.key_data(key))["y"])
    np.testing.assert_allclose(jax.jit(f)(x=x, key=key)["y"], made, rtol=1e-6)
    assert jax.grad(lambda x: f(x=x, key=key)["y"].sum())(x).tolist() == [1] * 4
    with pytest.raises(bl.Error, match="reads `key`, which was not given") as caught:
        f(x=x)
    assert caught.value.help == ("give it: `key=jax.random.key(0)`",)
    # Data may have that name, too.
    f = bl.program("data key : 4\nlet y = key * key + noise()\n").jax()
    assert list(f.inputs) == ["key", "key_"]
    np.testing.assert_allclose(jax.grad(lambda x: f(key=x, key_=key)["y"].sum())(x), 2 * x, rtol=1e-6)


LOOKUP = "data ids : 3 | as i32\nlet {name} = gather({{t : 4 -> 2}}, ids)\nlet z = sum({name})\n"


def test_an_index_that_is_out_of_range() -> None:
    f = bl.program(LOOKUP.format(name="y")).jax()
    good, wrong, t = np.array([0, 3, 1], "int32"), np.array([0, 9, 1], "int32"), numbers(2, 4)
    np.testing.assert_allclose(f(ids=good, t=t)["y"], t.T[good])
    with pytest.raises(bl.Error, match=r"index 9 at \[1\] of `ids` is outside `t`, which has 4 rows"):
        f(ids=wrong, t=t)
    # What is compiled cannot raise, and says it.
    assert jax.jit(f)(ids=wrong, t=t)["checks"].tolist() == [[1, 9]]
    f = bl.program(LOOKUP.format(name="checks")).jax()
    assert list(f.outputs) == ["checks", "z", "checks_"] and f(ids=good, t=t)["checks"].shape == (3, 2)


def test_a_loss_that_is_not_finite() -> None:
    step = bl.program(STEPS).jax("step1")
    with pytest.raises(bl.Error, match="`loss` is not finite"):
        step(x=np.full((4, 3), np.nan, "float32"), target=numbers(4, 2))


def test_numbers_of_64_bits_need_them_in_jax() -> None:
    f = bl.program("data ids : 3 as i64\nlet y = 2 * ids\n").jax()
    with pytest.raises(bl.Error, match="stores `ids` as int64, and JAX has no numbers of 64 bits now") as caught:
        f(ids=np.arange(3))
    assert "as i32" in caught.value.help[0] and "jax_enable_x64" in caught.value.help[0]


def test_memory_that_a_step_may_use_again() -> None:
    step, x, target = bl.program(STEPS).jax("step1"), numbers(4, 3), numbers(4, 2)
    train = jax.jit(lambda w, b: step(x=x, target=target, w=w, b=b), donate_argnames=("w", "b"))
    made = train(w=jax.numpy.ones((2, 3)), b=jax.numpy.zeros(2))
    made = train(w=made["w"], b=made["b"])
    assert made["w"].shape == (2, 3)
