"""Arrays of JAX: same kind in, same kind out, without a copy."""

from __future__ import annotations

import broadloom as bl
import numpy as np
import pytest
from needed import needed

jax = needed("jax")

TWICE = "data x : 2 | 3\nlet y = 2 * x\n"


def test_jax_in_jax_out() -> None:
    p = bl.program(TWICE)
    x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
    y = p(x=x)["y"]
    assert isinstance(y, jax.Array) and y.tolist() == (2 * x).tolist()
    assert p.copies == {"x": None}


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
