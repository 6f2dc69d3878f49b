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


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('einsum("..., 1^s | i => ..., s | i", x)', lambda x: x[:, 1:]),
        ('einsum("..., s<+k | i; k => ..., s | i", x, [1, 2])', lambda x: x[:, :-1] + 2 * x[:, 1:]),
        ('einsum("b, s | i; b, t | i => b, s^t | i", x, x)', lambda x: torch.cat([x, x], 1)),
        ('reshape(x, "_ | 3")', lambda x: x.flatten(0, 1)),
    ],
)
def test_sizes_of_outputs_may_be_expressions(text: str, same) -> None:
    module = bl.torch.Module(bl.program(f"dim b in 1..\ndim s in 2..\ndata x : b, s | 3\nlet y = square({text})\n"))
    x = torch.randn(2, 5, 3, requires_grad=True)
    weights = torch.randn(same(x).shape)
    (module(x) * weights).sum().backward()
    own, x.grad = x.grad, None
    (same(x) ** 2 * weights).sum().backward()
    torch.testing.assert_close(own, x.grad)


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


def test_gradients_have_the_draws_of_their_call() -> None:
    module = bl.torch.Module(bl.program("data x : 64 | 32\nlet y = dropout(0.5)(x)\n"), outputs="y")
    first, second = (torch.ones(64, 32, requires_grad=True) for _ in range(2))
    # Two calls before the first backward pass: each keeps what it drew.
    y, z = module(first), module(second)
    assert not torch.equal(y, z)
    y.sum().backward()
    z.sum().backward()
    assert torch.equal(first.grad, y) and torch.equal(second.grad, z)


def test_torch_decides_what_is_drawn() -> None:
    module = bl.torch.Module(bl.program("data x : 64 | 32\nlet y = dropout(0.5)(x)\n"))
    x = torch.ones(64, 32, requires_grad=True)
    torch.manual_seed(5)
    first = module(x)
    torch.manual_seed(5)
    assert torch.equal(module(x), first)
    # A checkpoint computes the forward pass again, with the same draws.
    y = torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad, y)


def test_eval_is_inference() -> None:
    module = bl.torch.Module(bl.program("data x : 64 | 32\nlet y = {w : 32} * dropout(0.5)(x)\n"))
    with torch.no_grad():
        module.w.fill_(3)
    x = torch.ones(64, 32, requires_grad=True)
    assert not torch.equal(module(x), 3 * x)
    module.eval()
    y = module(x)
    y.sum().backward()
    assert torch.equal(y, 3 * x) and torch.equal(x.grad, torch.full((64, 32), 3.0))
    module.train()
    assert not torch.equal(module(x), 3 * x)


NORM = """
dim n in 2..64
data x : n | 3
let net = batch_norm()
let y = net(x)
"""
TRAINED = """
dim n in 2..64
data x : n | 3
let net = batch_norm()
repeat 5:
  let y = net(x)
  let loss = mean(square(y - {w : 3} * x))
  minimise loss by adam(0.01)
"""


@pytest.mark.parametrize("text", [NORM, TRAINED])
def test_running_statistics_are_buffers(text: str) -> None:
    module = bl.torch.Module(bl.program(text), outputs="y")
    same = torch.nn.BatchNorm1d(3)
    assert {"net.gain", "net.shift"} <= dict(module.named_parameters()).keys()
    assert list(dict(module.named_buffers())) == ["net.mean", "net.variance"]
    torch.manual_seed(0)
    for _ in range(50):
        x = 5 + 2 * torch.randn(32, 3)
        mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
        ours, wanted = module(mine), same(theirs)
        torch.testing.assert_close(ours, wanted, atol=1e-5, rtol=1e-5)
    (ours**3).sum().backward()
    (wanted**3).sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(module.net.mean, same.running_mean, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(module.net.variance, same.running_var, atol=1e-5, rtol=1e-5)
    again = copy.deepcopy(module).eval()
    torch.testing.assert_close(again(x), same.eval()(x), atol=1e-5, rtol=1e-5)
    assert torch.equal(again.net.mean, module.net.mean)


def test_nothing_is_left_of_an_earlier_call() -> None:
    module = bl.torch.Module(bl.program("dim n in 1..64\ndata x : n | 3\ndata t : n | 3\nlet y = {w : 3} * x - t\n"))
    wide, narrow = torch.ones(4, 3, dtype=torch.float64), torch.ones(2, 3)
    module(wide, wide)
    with pytest.raises(bl.Error, match=r"sizes \[4, 5\]"):
        module(torch.ones(4, 5), wide)
    with pytest.raises(bl.Error, match="`x` has no values"):
        module(t=wide)
    module(wide, wide).sum().backward()
    module(narrow, narrow).sum().backward()
    with pytest.raises(bl.Error, match="`x` has no values"):
        module(t=narrow)


def test_two_names_of_one_tensor() -> None:
    module = bl.torch.Module(bl.program("data x : 2\nlet y = 2 * x\nlet a = y\nlet z = x\n"), outputs=["y", "a", "z"])
    x = torch.ones(2, requires_grad=True)
    y, a, z = module(x)
    (y + 10 * a + 100 * z).sum().backward()
    assert torch.equal(y, a) and torch.equal(z, x) and x.grad.tolist() == [122.0, 122.0]


def test_other_tensors_for_parameters() -> None:
    text = "data x : 2 | 3\nlet y = {w : 3 -> 2} @ x\n"
    module, x = bl.torch.Module(bl.program(text)), torch.ones(2, 3)
    w = torch.ones(2, 3, requires_grad=True)
    torch.func.functional_call(module, {"w": w}, (x,)).sum().backward()
    assert w.grad.tolist() == [[2.0] * 3] * 2
    before = module(x)
    torch.nn.utils.parametrizations.weight_norm(module, "w")
    torch.testing.assert_close(module(x), before)
    module(x).sum().backward()
    assert module.parametrizations.w.original0.grad is not None


@pytest.mark.parametrize("name", ["train", "eval", "type", "forward", "_program"])
def test_names_that_modules_have_already(name: str) -> None:
    module = bl.torch.Module(bl.program(f"data x : 3\nlet y = {{{name} : 3 = ones}} * x\n"))
    assert list(module.state_dict()) == [f"{name}_"]
    assert module(torch.ones(3)).tolist() == [1.0] * 3


def test_outputs_by_default() -> None:
    module = bl.torch.Module(bl.program("data x : 3\nlet y = 2 * x\nlet z = y + 1\n"))
    assert module(torch.ones(3)).tolist() == [3.0] * 3
    with pytest.raises(bl.Error, match="2 results, `y` and `z`"):
        bl.torch.Module(bl.program("data x : 3\nlet y = 2 * x\nlet z = 3 * x\n"))
    with pytest.raises(bl.Error, match="computes nothing"):
        bl.torch.Module(bl.program("data x : 3\n"))
    with pytest.raises(TypeError, match="made of a program, not of str"):
        bl.torch.Module("let y = 1", outputs="y")


def test_several_results() -> None:
    p = bl.program("data x : 2 | 3\nlet y = {w} @ x + {b : 2}\nlet z = sum(y)\nlet q = 2 * x\n")
    with pytest.raises(bl.Error, match="2 results, `z` and `q`") as error:
        bl.torch.Module(p)
    assert error.value.help == ('`outputs="q"` returns one, `outputs=["z", "q"]` a tuple of all',)
    module = bl.torch.Module(p, outputs=["z", "q", "y"])
    z, q, y = module(torch.ones(2, 3))
    assert (z.shape, q.shape, y.shape) == ((), (2, 3), (2, 2)) and torch.allclose(y.sum(), z)
    (z + y.sum()).backward()
    assert module.get_parameter("b").grad is not None and module.get_parameter("b").grad.tolist() == [4.0, 4.0]
    assert module.program is p
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(again(torch.ones(2, 3))[0], z)


def test_shapes_of_it_are_those_of_the_program() -> None:
    module = bl.torch.Module(bl.program(TEXT), outputs="y")
    with pytest.raises(bl.Error, match="shapes are inferred already") as error:
        bl.shapes_of(module, "batch, 4")
    assert "module.program.shapes" in error.value.help[0]
