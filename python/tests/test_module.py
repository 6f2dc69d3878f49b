"""Programs as modules of PyTorch."""

from __future__ import annotations

import copy
import pickle

import broadloom as bl
import numpy as np
import pytest
from needed import needed

torch = needed("torch")

TEXT = """
dim n in 1..64
data x : n | 4
def dense(size)(x) = tanh({w} @ x + {b : size})
let y = x |> dense(8) |> dense(3)
"""


class Same(torch.nn.Module):
    """The same model in PyTorch alone."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
        state = module.state_dict()
        names = {"first.weight": "dense.w", "first.bias": "dense.b", "second.weight": "dense2.w", "second.bias": "dense2.b"}
        self.load_state_dict({own: state[name].clone() for own, name in names.items()})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.second(torch.tanh(self.first(x))))


def test_names_and_values() -> None:
    p = bl.program(TEXT, seed=4)
    module = bl.torch.Module(p, outputs="y")
    assert list(module.state_dict()) == ["dense.w", "dense.b", "dense2.w", "dense2.b"]
    for name, parameter in module.named_parameters():
        assert np.array_equal(parameter.detach().numpy(), p.parameters[name])


def test_it_trains_like_torch() -> None:
    module = bl.torch.Module(bl.program(TEXT), outputs="y")
    same = Same(module)
    torch.manual_seed(0)
    x, target = torch.randn(16, 4), torch.rand(16, 3)
    by = [torch.optim.SGD(each.parameters(), lr=0.1, momentum=0.9) for each in (module, same)]
    for _ in range(50):
        losses = []
        for each, optimiser in zip((lambda: module(x=x), lambda: same(x)), by):
            optimiser.zero_grad()
            loss = torch.nn.functional.mse_loss(each(), target)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    for own, other in zip(module.parameters(), same.parameters()):
        torch.testing.assert_close(own, other, atol=1e-5, rtol=1e-5)
    assert losses[0] < 0.2


def test_gradients_of_data() -> None:
    module = bl.torch.Module(bl.program(TEXT), outputs="y")
    same = Same(module)
    x = torch.randn(5, 4)
    mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    (module(x=mine) ** 2).sum().backward()
    (same(theirs) ** 2).sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-5, rtol=1e-5)


def test_several_outputs_inside_of_a_model() -> None:
    p = bl.program("data x : 2 | 3\nlet y = 2 * x\nlet z = sum(x)\n")
    module = torch.nn.ModuleDict({"own": bl.torch.Module(p, outputs=["y", "z"])})
    x = torch.ones(2, 3, requires_grad=True)
    y, z = module["own"](x=x)
    (y.sum() + 10 * z).backward()
    assert x.grad is not None and x.grad.tolist() == [[12.0] * 3] * 2


def test_only_one_of_two_outputs_is_used() -> None:
    module = bl.torch.Module(bl.program("data x : 3\nlet y = 2 * x\nlet z = 3 * x\n"), outputs=["y", "z"])
    x = torch.ones(3, requires_grad=True)
    module(x=x)[1].sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0] * 3


def test_states_and_copies() -> None:
    module = bl.torch.Module(bl.program(TEXT, seed=1), outputs="y")
    other = bl.torch.Module(bl.program(TEXT, seed=2), outputs="y")
    x = torch.randn(3, 4)
    assert not torch.equal(module(x=x), other(x=x))
    other.load_state_dict(module.state_dict())
    assert torch.equal(module(x=x), other(x=x))
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(module(x=x), again(x=x))
    assert "outputs=y" in repr(module)


def test_tensors_without_names() -> None:
    module = bl.torch.Module(bl.program(TEXT), outputs="y")
    x = torch.ones(3, 4)
    assert torch.equal(module(x), module(x=x))
    assert torch.nn.Sequential(torch.nn.Linear(5, 4), module)(torch.ones(3, 5)).shape == module(x).shape
    with pytest.raises(TypeError, match="`x` twice, by its place and by its name"):
        module(x, x=x)
    with pytest.raises(TypeError, match="9 tensors were given without a name"):
        module(*[x] * 9)


def test_without_gradients() -> None:
    module = bl.torch.Module(bl.program(TEXT), outputs="y")
    with torch.no_grad():
        assert not module(x=torch.randn(3, 4)).requires_grad


def test_mistakes() -> None:
    p = bl.program(TEXT)
    with pytest.raises(bl.Error, match="computes no `q`"):
        bl.torch.Module(p, outputs="q")
    with pytest.raises(bl.Error, match="at least one"):
        bl.torch.Module(p, outputs=[])
    module = bl.torch.Module(p, outputs="y")
    with pytest.raises(bl.Error, match="no data called `z`"):
        module(z=torch.ones(3, 4))
    with pytest.raises(bl.Error, match="sizes"):
        module(x=torch.ones(3, 5))
    with pytest.raises(RuntimeError):
        x = torch.ones(3, 4, requires_grad=True)
        (first,) = torch.autograd.grad(module(x=x).sum(), x, create_graph=True)
        first.sum().backward()
