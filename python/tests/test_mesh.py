"""Programs on a mesh of devices: nothing that a program says about devices is left out silently."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import broadloom as bl
import numpy as np
import pytest
from needed import needed

LINES = """
dim batch = 8
dim hidden = 4
{mesh}
data x : batch | 3 = normal(1)
data target : batch | 2 = normal(1)
let y = {{down}} @ relu({{up}} @ x + {{b : hidden}})
let loss = mse(y, target)
repeat 4:
  minimise loss by adam(0.1)
"""
OWN = LINES.format(mesh='mesh(data = 2, model = 2, shard = ["batch=data", "hidden=model"])')
BARE = LINES.format(mesh="")
ASKED: dict[str, dict[str, object]] = {"mesh": {"data": 2, "model": 2}, "shard": {"batch": "data", "hidden": "model"}}


def command(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "broadloom", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("text,asked", [(OWN, {}), (BARE, ASKED)], ids=["block", "arguments"])
def test_the_division_is_that_of_the_command(tmp_path: Path, text: str, asked: dict[str, dict[str, object]]) -> None:
    path = tmp_path / "net.loom"
    path.write_text(text)
    division = bl.load(path, **asked).mesh()  # type: ignore[arg-type]
    options = ["--mesh", "data=2,model=2"]
    if asked:
        options += ["--shard", "batch=data", "--shard", "hidden=model"]
    assert division.data == json.loads(command("check", str(path), "--json", *options))["mesh"]
    assert f"{division}\n".replace("`shapes` has them", "--all lists them") == command("check", str(path), *options)
    assert division.axes == {"data": 2, "model": 2}
    assert division.shapes["x"] == "8/data | 3" and division.shapes["up"] == "3 -> 4/model"
    assert division.lasting < division.peak


def test_a_division_in_a_notebook() -> None:
    shown = bl.program(OWN, name="a <b>.loom").mesh()._repr_html_()
    assert "<td" in shown and "8/data | 3" in shown and "all-reduce" in shown and "a &lt;b&gt;.loom:" in shown
    assert shown.count("<table>") == shown.count("</table>") == 3
    alone = bl.program("data x : 8 | 3\nlet y = 2 * x\n", mesh={"data": 2}, shard={"x.batch.0": "data"}).mesh()
    assert "devices send each other nothing" in alone._repr_html_()


def test_arguments_are_beside_the_block() -> None:
    fewer = bl.program(OWN, mesh={"data": 4, "model": 1}).mesh()
    assert fewer.axes == {"data": 4, "model": 1} and fewer.shapes["x"] == "8/data | 3"
    replaced = bl.program(OWN, shard={"hidden": "data", "batch": "model"}).mesh()
    assert replaced.shapes["x"] == "8/model | 3" and replaced.shapes["up"] == "3 -> 4/data"
    stored = bl.program(OWN, fsdp="data").mesh()
    assert stored.lasting < bl.program(OWN).mesh().lasting


def test_one_device_is_said() -> None:
    p = bl.program(OWN, mesh={})
    assert "sdy." not in p.stablehlo() and p.memory(planned=True).peak > 0
    with pytest.raises(bl.Error, match="for one device") as caught:
        p.mesh()
    assert "mesh={" in caught.value.help[0] and "mesh(data = 4" in caught.value.help[0]


@pytest.mark.parametrize(
    "asked,message",
    [
        ({"shard": {"batch": "data"}}, 'needs devices\n  = help: write `mesh={"data": 4}`'),
        ({"fsdp": "data"}, '`fsdp="data"` needs devices'),
        ({"mesh": {}, "shard": {"batch": "data"}}, "there is one device"),
        ({"mesh": {"a b": 2}}, "`a b` is not a name of a mesh axis"),
        ({"mesh": {"data": 0}}, "whole number from 1 on"),
        ({"mesh": {"data": 1 << 40}}, "a mesh has at most"),
        ({"mesh": "data=4"}, 'write `mesh={"data": 4}`'),
        ({"mesh": {"data": 2}, "shard": ["batch=data"]}, 'write `shard={"batch": "data"}`'),
    ],
)
def test_wrong_requests(asked: dict[str, object], message: str) -> None:
    with pytest.raises(bl.Error) as caught:
        bl.program(BARE, **asked)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_what_cannot_be_divided() -> None:
    """It is found by every question about devices, at the rule and at the tensor."""
    uneven = bl.program(OWN, sizes={"batch": 7}, name="net.loom")
    for ask in (uneven.check, uneven.mesh, uneven.memory, uneven.stablehlo):
        with pytest.raises(bl.Error, match="7") as caught:
            ask()
        assert any(end.file == "net.loom" and "batch=data" in end.text for end in caught.value.ends), caught.value
    with pytest.raises(bl.Error, match="no axis is called `batsh`"):
        bl.program(BARE, mesh={"data": 2}, shard={"batsh": "data"}).check()
    with pytest.raises(bl.Error, match="the mesh has no axis `model`") as caught:
        bl.program(OWN, mesh={"data": 2}).check()
    # In the words of Python, though the rule stands in the program.
    assert caught.value.help[-1].endswith('`mesh={"data": 2, "model": 1}`')
    assert bl.program(OWN).check() == bl.program(BARE).check() == []


def test_memory_of_one_device() -> None:
    used, whole = bl.program(OWN).memory(fits="1MB"), bl.program(OWN, mesh={}).memory()
    assert used.fits is True and used.largest == {} and used.lasting < whole.lasting
    assert "memory of one device" in used and "fits into" in used
    assert bl.program(OWN).memory(fits=10).fits is False
    assert bl.program(OWN).memory().fits is None
    with pytest.raises(bl.Error, match="for one machine") as caught:
        bl.program(OWN).memory(train="loss")
    assert "mesh={}" in caught.value.help[0]


def test_the_module_is_divided() -> None:
    for text in (bl.program(OWN).stablehlo("step1"), bl.program(BARE, **ASKED).stablehlo("step1")):  # type: ignore[arg-type]
        assert '<["data"=2, "model"=2]>' in text and "sdy.sharding_constraint" in text


def test_this_machine_alone_is_said() -> None:
    for use in (lambda p: p(), lambda p: p.run(), lambda p: p.only("y")()):
        with pytest.warns(RuntimeWarning, match='alone, and not on the 4 devices.*`backend="xla"`'):
            use(bl.program(OWN))
    p = bl.program(OWN)
    with pytest.warns(RuntimeWarning):
        p.run(progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p()
        bl.program(OWN, mesh={}).run(progress=False)


def test_modules_of_pytorch_are_for_one_device() -> None:
    needed("torch")
    with pytest.warns(RuntimeWarning, match="alone"):
        bl.torch.Module(bl.program(OWN), outputs="y")
    with pytest.raises(bl.Error, match="one device"):
        bl.torch.Module(bl.program(OWN, backend="xla"), outputs="y")


def test_a_copy_has_the_same_devices() -> None:
    p = pickle.loads(pickle.dumps(bl.program(BARE, fsdp="data", **ASKED)))  # type: ignore[arg-type]
    assert p.mesh() == bl.program(BARE, fsdp="data", **ASKED).mesh()  # type: ignore[arg-type]
    division = p.mesh()
    again = pickle.loads(pickle.dumps(division))
    assert again == division and again.data == division.data and again._repr_html_() == division._repr_html_()


def test_runs_on_the_devices() -> None:
    needed("jax")
    alone = bl.program(BARE).run(progress=False)
    for asked in ({}, {"mesh": {}}, {"fsdp": "data"}):
        p = bl.program(OWN, backend="xla", **asked)  # type: ignore[arg-type]
        ran = p.run(progress=False)
        np.testing.assert_allclose(ran.losses["loss"], alone.losses["loss"], rtol=1e-5)
        assert p.parameters["up"].shape == (4, 3)


def test_calls_on_the_devices() -> None:
    needed("jax")
    text = OWN.replace("dim batch = 8", "dim batch in 1..64 = 8").replace(" = normal(1)", "")
    p, alone = bl.program(text, backend="xla"), bl.program(text, mesh={})
    for name in alone.parameters:
        p.parameters[name] = alone.parameters[name]
    for batch in (4, 8, 4):
        x = np.random.default_rng(batch).normal(size=(batch, 3)).astype("float32")
        np.testing.assert_allclose(p(x=x)["y"], alone(x=x)["y"], rtol=1e-5, atol=1e-6)
    with pytest.raises(bl.Error, match="5"):
        p(x=np.ones((5, 3), "float32"))
    assert p(x=np.ones((2, 3), "float32"))["y"].shape == (2, 2)


ON_JAX = """
import jax, numpy as np, broadloom as bl
p, alone = bl.program({text!r}), bl.program({text!r}, mesh={{}})
f, g, x, target = p.jax(), alone.jax(), np.ones((8, 3), "float32"), np.zeros((8, 2), "float32")
made, wanted = f(x=x, target=target), g(x=x, target=target)
print(len(made["y"].devices()), made["y"].addressable_shards[0].data.shape, np.allclose(made["y"], wanted["y"]))
print(len(jax.jit(lambda x: f(x=2 * x, target=target)["y"])(x).devices()))
loss = lambda f: lambda x: f(x=x, target=target)["loss"]
print(np.allclose(jax.grad(loss(f))(x), jax.grad(loss(g))(x)), np.allclose(jax.jit(jax.grad(loss(f)))(x), jax.grad(loss(g))(x)))
step = p.jax("step1")
first = step(x=x, target=target)
print(np.allclose(step(x=x, target=target, up=first["up"])["loss"], alone.jax("step1")(x=x, target=target, up=first["up"])["loss"]))
"""


def test_functions_of_jax_on_the_devices() -> None:
    needed("jax")
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    text = OWN.replace("adam(0.1)", "sgd(0.1)").replace(" = normal(1)", "")
    done = subprocess.run([sys.executable, "-c", ON_JAX.format(text=text)], capture_output=True, text=True, env=environment)
    assert done.stdout == "4 (4, 2) True\n4\nTrue True\nTrue\n", done.stdout + done.stderr


def test_fewer_devices_than_the_mesh_has() -> None:
    jax = needed("jax")
    devices = len(jax.devices())
    with pytest.raises(bl.Error, match=f"the mesh has {4 * devices} devices, and JAX has {devices}") as caught:
        bl.program(OWN, mesh={"data": 2 * devices, "model": 2}, sizes={"batch": 8 * devices}).jax()
    assert "mesh={}" in caught.value.help[0]
