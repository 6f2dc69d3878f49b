"""Arrays of PyTorch: same kind in, same kind out, without a copy."""

from __future__ import annotations

import warnings

import broadloom as bl
import numpy as np
import pytest
from needed import needed

torch = needed("torch")

TWICE = "data x : 2 | 3\nlet y = 2 * x\n"


def test_torch_in_torch_out() -> None:
    p = bl.program(TWICE)
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    y = p(x=x)["y"]
    assert isinstance(y, torch.Tensor) and torch.equal(y, 2 * x)
    assert p.copies == {"x": None}
    assert y.data_ptr() % 64 == 0
    y += 1  # results can be written to
    assert torch.equal(p(x=x)["y"], 2 * x)


def test_the_same_memory() -> None:
    """What torch shows is what we computed, where we computed it."""
    y = bl.program(TWICE)(x=np.ones((2, 3), "float32"))["y"]
    assert torch.from_numpy(y).data_ptr() == y.ctypes.data


def test_mixed_arrays_give_numpy() -> None:
    p = bl.program("data x : 3\ndata y : 3\nlet z = x + y\n")
    z = p(x=torch.ones(3), y=np.ones(3, "float32"))["z"]
    assert isinstance(z, np.ndarray) and z.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("array", "why"),
    [
        (lambda: torch.ones(3, 2).T, "not one after another"),
        (lambda: torch.ones(2, 3, dtype=torch.float64), "f64"),
        (lambda: torch.ones(2, 3, dtype=torch.bfloat16), "bfloat16"),
        (lambda: torch.ones(2, 3, dtype=torch.bool), "bool"),
    ],
)
def test_copies(array, why: str) -> None:
    p = bl.program(TWICE)
    assert torch.equal(p(x=array())["y"], torch.full((2, 3), 2.0))
    assert why in (p.copies["x"] or "")


def test_gradients_do_not_matter() -> None:
    p = bl.program(TWICE)
    with pytest.warns(RuntimeWarning, match="requires gradients"):
        y = p(x=torch.ones(2, 3, requires_grad=True))["y"]
    assert not y.requires_grad and p.copies == {"x": None}
    g = bl.Graph()
    y = 2 * g.data("x", "2 | 3")
    with pytest.warns(RuntimeWarning, match="requires gradients, and results of a session have none"):
        assert not g.session().run(y, x=torch.ones(2, 3, requires_grad=True)).requires_grad
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error")
        g.session().run(y, x=torch.nn.Parameter(torch.ones(2, 3)))


def test_what_cannot_be_read() -> None:
    p = bl.program(TWICE)
    with pytest.raises(bl.Error, match="on the device `meta`: it has a shape, and no numbers"):
        p(x=torch.ones(2, 3, device="meta"))
    with pytest.raises(bl.Error, match="sparse"):
        p(x=torch.ones(2, 3).to_sparse())
    with pytest.raises(bl.Error, match="complex64"):
        p(x=torch.ones(2, 3, dtype=torch.complex64))


def test_parameters_and_graphs() -> None:
    p = bl.program("data x : 3\nlet y = {w : ... -> 2} @ x\n")
    p.parameters["w"] = torch.ones(2, 3)
    assert torch.equal(p(x=torch.ones(3))["y"], torch.full((2,), 3.0))
    g = bl.Graph()
    x = g.data("x", "3")
    y = g.session().run(2 * x, x=torch.ones(3))
    assert isinstance(y, torch.Tensor) and y.tolist() == [2, 2, 2]


def test_gradients_that_would_be_lost() -> None:
    p = bl.program("data x : 3\nlet y = 2 * x\n")
    x = torch.ones(3, requires_grad=True)
    with pytest.warns(RuntimeWarning, match="`x` requires gradients.*bl.torch.Module") as caught:
        assert not p(x=x)["y"].requires_grad
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.no_grad():
            p(x=x)
        p(x=x.detach())
        bl.torch.Module(p, outputs="y")(x).sum().backward()
    assert x.grad is not None
