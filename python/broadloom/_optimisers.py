"""Rules that change parameters along gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._errors import Error
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

    def __post_init__(self) -> None:
        _check_numbers(self, positive=(), shares=())

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

    def __post_init__(self) -> None:
        _check_numbers(self, positive=("epsilon",), shares=("beta1", "beta2"))

    def _settings(self) -> tuple[float, float, float, float, bool]:
        return self.beta1, self.beta2, self.epsilon, self.weight_decay, self.decoupled


def _check_numbers(rule: Sgd | Adam, positive: tuple[str, ...], shares: tuple[str, ...]) -> None:
    """Refuses numbers with which a rule would go uphill, or divide by zero: what is no number, as a rate that is data, has no value yet."""
    for name, value in vars(rule).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if name in shares:
            fits, wanted = 0 <= value < 1, "must be at least 0 and below 1"
        elif name in positive:
            fits, wanted = value > 0, "must be positive"
        else:
            fits, wanted = value >= 0, "must not be negative"
        if not fits:
            kind = type(rule)
            default = getattr(kind, name, None)
            example = f"`bl.{kind.__name__}(0.01)`" if default is None else f"`{name}={default}` is usual"
            raise Error._plain(f"`{name}` of `bl.{kind.__name__}` is {value}, and {wanted}", example)
