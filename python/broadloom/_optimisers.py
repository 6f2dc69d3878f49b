"""Rules that change parameters along gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._graph import Operand

__all__ = ["Adam", "Sgd"]


@dataclass(frozen=True)
class Sgd:
    """Gradient descent, with momentum and weight decay. The rate is a number, or data that changes from run to run.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> a, rate = g.param("a", "", initial=1), g.data("rate", "")
    >>> step, session = g.minimise(a * a, bl.Sgd(rate)), g.session()
    >>> [session.run(step, rate=rate) for rate in (0.25, 0.5, 0.5)]
    [1.0, 0.25, 0.0]
    """

    rate: Operand
    momentum: float = 0.0
    weight_decay: float = 0.0
    _kind: ClassVar[str] = "sgd"

    def _settings(self) -> tuple[float, float]:
        return self.momentum, self.weight_decay


@dataclass(frozen=True)
class Adam:
    """Adam; AdamW if the weight decay is decoupled from the gradient.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> a = g.param("a", "", initial=1)
    >>> step, session = g.minimise(a * a, bl.Adam(0.1, weight_decay=0.01, decoupled=True)), g.session()
    >>> losses = [session.run(step) for _ in range(40)]
    >>> losses[-1] < 0.1 < losses[0]
    True
    """

    rate: Operand
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False
    _kind: ClassVar[str] = "adam"

    def _settings(self) -> tuple[float, float, float, float, bool]:
        return self.beta1, self.beta2, self.epsilon, self.weight_decay, self.decoupled
