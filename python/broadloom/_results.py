"""The results of calls and runs of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import Error
from ._names import unknown

if TYPE_CHECKING:
    from ._program import Program

__all__ = ["Copies", "Function", "Results", "Run"]


class Results(dict[str, Any]):
    """Arrays by name. A name that is not there says why.

    >>> import broadloom as bl
    >>> import numpy as np
    >>> p = bl.program("data x : 3\\ndata target : 3\\nlet y = 2 * x\\nlet loss = sum(y - target)\\n")
    >>> results = p(x=np.ones(3, "float32"))
    >>> list(results)
    ['y']
    >>> results["loss"]
    Traceback (most recent call last):
        ...
    broadloom.Error: error: `loss` was not computed: `target` has no values
      = help: give them: `target=array`
    """

    def __init__(self, arrays: dict[str, Any], left_out: dict[str, str | None]) -> None:
        super().__init__(arrays)
        self._left_out = left_out

    def __missing__(self, name: str) -> Any:
        if name not in self._left_out:
            raise unknown("nothing was computed that is called", name, self)
        data = self._left_out[name]
        if data is None:
            raise Error._plain(
                f"`{name}` depends on gradients, and a call learns nothing", "`run()` carries out the program"
            )
        raise Error._plain(f"`{name}` was not computed: `{data}` has no values", f"give them: `{data}=array`")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self._left_out)


class Copies(dict[str, "str | None"]):
    """For each array of a call: None if it was read where it is, or why it was copied."""

    def __repr__(self) -> str:
        rows = (f"{name}: {f'copied, because {why}' if why else 'read where it is'}" for name, why in self.items())
        return "\n".join(rows) or "no arrays were given"


class Run:
    """The losses of a run.

    Attributes:
        losses: The losses of each repetition, by name.
    """

    def __init__(self, losses: list[tuple[str, list[float]]]) -> None:
        self.losses: dict[str, list[float]] = dict(losses)

    def __repr__(self) -> str:
        rows = (f"{name}: {all[0]:.4g} to {all[-1]:.4g} in {len(all):,} steps" for name, all in self.losses.items())
        return "\n".join(rows) or "a run without losses"


class Function:
    """Computes some tensors of a program from arrays."""

    def __init__(self, program: Program, names: tuple[str, ...]) -> None:
        self._program = program
        self._names = names

    def __call__(self, /, **arrays: Any) -> Any:
        results = self._program._call(arrays, list(self._names))
        return results[self._names[0]] if len(self._names) == 1 else tuple(results[name] for name in self._names)

    def __repr__(self) -> str:
        return f"<broadloom function of {', '.join(self._names)}>"
