"""Code that static checkers have to accept as it is: they see the array types and ignore the shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

import jax
import numpy as np
import torch

import broadloom as bl


@bl.shaped
def attention(
    x: bl.Float[np.ndarray, "..b.., s | d"],
    w: bl.Float[np.ndarray, "d -> h, k"],
    mask: Optional[bl.Bool[np.ndarray, "s, s"]] = None,
) -> bl.Float[np.ndarray, "..b.., s | h, k"]:
    return bl.einsum("... | d; d -> h, k => ... | h, k", x, w)


@bl.shaped
def halves(x: bl.Int[np.ndarray, "2*n"]) -> tuple[bl.Int[np.ndarray, "n"], bl.Int[np.ndarray, "n"]]:
    size: int = bl.sizes()["n"]
    return x[:size], x[size:]


@bl.shaped
def batches(x: bl.Float[np.ndarray, "n, d"]) -> Iterator[bl.Float[np.ndarray, "d"]]:
    yield from x


@bl.shaped
@dataclass
class Batch:
    x: bl.Float[np.ndarray, "n, d"]
    y: bl.Int[np.ndarray, "n"]


class Net(torch.nn.Module):
    @bl.shaped
    def forward(self, x: bl.Float[torch.Tensor, "batch | d"]) -> bl.Float[torch.Tensor, "batch | h"]:
        scaled: torch.Tensor = x.mul(2)
        return torch.relu(scaled)


@bl.shaped
def loss(
    x: bl.Float[jax.Array, "batch | d"], labels: Optional[bl.Int[jax.Array, "batch"]] = None
) -> bl.Float[jax.Array, ""]:
    total: jax.Array = x.sum()
    return total


numbers: torch.Tensor = Net().forward(torch.ones(2, 3))
less: jax.Array = loss(jax.numpy.ones((2, 3)))

y: np.ndarray = attention(np.ones((2, 3)), np.ones((4, 5, 3)))
total: np.ndarray = bl.sum("i j k => k", y)
pieces: tuple[np.ndarray, ...] = bl.split("..., a^b => ..., a; ..., b", y, b=1)
batch = Batch(np.ones((2, 3)), np.arange(2))
fields: np.ndarray = batch.x
