"""Rules that change parameters along gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._graph import Operand

__all__ = ["Adam", "Sgd"]


@dataclass(frozen=True)
class Sgd:
    """Gradient descent, with momentum and weight decay. The rate is a number, or data that changes from run to run."""

    rate: Operand
    momentum: float = 0.0
    weight_decay: float = 0.0
    _kind: ClassVar[str] = "sgd"

    def _settings(self) -> tuple[float, float]:
        return self.momentum, self.weight_decay


@dataclass(frozen=True)
class Adam:
    """Adam; AdamW if the weight decay is decoupled from the gradient."""

    rate: Operand
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False
    _kind: ClassVar[str] = "adam"

    def _settings(self) -> tuple[float, float, float, float, bool]:
        return self.beta1, self.beta2, self.epsilon, self.weight_decay, self.decoupled
