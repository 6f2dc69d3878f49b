"""Recurrent layers of the library beside those of PyTorch: values, and gradients of all weights and of the data."""

from __future__ import annotations

from typing import Any, NamedTuple

import broadloom as bl
import pytest
from needed import needed

torch = needed("torch")

TEXT = """
dim n in 1..64
dim length in 1..64
data x : n, length | 5
let y = x |> {layer}(4)
"""

# The gates of PyTorch's weights, in its order, and the parameters that they are here.
LSTM = ["into", "forget", "new", "out"]
GRU = ["reset", "keep"]


class Part(NamedTuple):
    """What a parameter here is in PyTorch: a part of some weights, added up."""

    weights: list[Any]
    at: int


def lstm_weights(theirs: Any) -> dict[str, Part]:
    """For each parameter of an LSTM here, what it is in PyTorch."""
    found: dict[str, Part] = {}
    for part, gate in enumerate(LSTM):
        name = f"lstm.lstm_cell.{gate}"
        found[f"{name}.read"] = Part([theirs.weight_ih_l0], part)
        found[f"{name}.recall"] = Part([theirs.weight_hh_l0], part)
        found[f"{name}.bias"] = Part([theirs.bias_ih_l0, theirs.bias_hh_l0], part)
    return found


def gru_weights(theirs: Any) -> dict[str, Part]:
    """The same for a GRU, whose last gate has two biases."""
    found: dict[str, Part] = {}
    for part, gate in enumerate(GRU):
        name = f"gru.gru_cell.{gate}"
        found[f"{name}.read"] = Part([theirs.weight_ih_l0], part)
        found[f"{name}.recall"] = Part([theirs.weight_hh_l0], part)
        found[f"{name}.bias"] = Part([theirs.bias_ih_l0, theirs.bias_hh_l0], part)
    found["gru.gru_cell.read"] = Part([theirs.weight_ih_l0], 2)
    found["gru.gru_cell.read_bias"] = Part([theirs.bias_ih_l0], 2)
    found["gru.gru_cell.recall"] = Part([theirs.weight_hh_l0], 2)
    found["gru.gru_cell.recall_bias"] = Part([theirs.bias_hh_l0], 2)
    return found


@pytest.mark.parametrize("layer", ["lstm", "gru"])
def test_the_layers_of_torch(layer: str) -> None:
    torch.manual_seed(0)
    theirs = torch.nn.LSTM(5, 4, batch_first=True) if layer == "lstm" else torch.nn.GRU(5, 4, batch_first=True)
    weights = lstm_weights(theirs) if layer == "lstm" else gru_weights(theirs)
    gates = 4 if layer == "lstm" else 3
    module = bl.torch.Module(bl.program(TEXT.replace("{layer}", layer)), outputs="y")

    state = {
        name: sum(weight.detach().chunk(gates)[part.at] for weight in part.weights) for name, part in weights.items()
    }
    module.load_state_dict(state)
    assert set(state) == set(module.state_dict())
    for sizes in [(3, 7), (2, 1), (1, 20)]:
        x = torch.randn(*sizes, 5)
        own, other = x.clone().requires_grad_(), x.clone().requires_grad_()
        module.zero_grad()
        theirs.zero_grad()
        mine, expected = module(x=own), theirs(other)[0]
        torch.testing.assert_close(mine, expected, atol=1e-6, rtol=1e-5)
        (mine**2).sum().backward()
        (expected**2).sum().backward()
        torch.testing.assert_close(own.grad, other.grad, atol=1e-5, rtol=1e-5)
        gradients = dict(module.named_parameters())
        for name, part in weights.items():
            # The two biases of a gate have one gradient.
            wanted = part.weights[0].grad.chunk(gates)[part.at]
            torch.testing.assert_close(gradients[name].grad, wanted, atol=1e-5, rtol=1e-5)
