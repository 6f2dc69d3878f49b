"""The parameters of a program, as named arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _broadloom
from ._arrays import arranged
from ._errors import Error, not_copied
from ._names import unknown

if TYPE_CHECKING:
    from ._broadloom import Running

__all__ = ["Parameters", "lasting"]


class Parameters(MutableMapping[str, "np.ndarray[Any, Any]"]):
    """The parameters of a program by name. Reading copies one, and assigning sets one.

    A copy is read-only, so that what is written to it is not lost without a word: change `array.copy()`, and assign that.

    >>> import broadloom as bl
    >>> import numpy as np
    >>> p = bl.program("data x : 3\\nlet y = {w} @ x + {b : 2}\\n")
    >>> list(p.parameters)
    ['w', 'b']
    >>> p.parameters["w"] = np.ones((2, 3), "float32")
    >>> p(x=np.array([1, 2, 3], "float32"))["y"]
    array([6., 6.], dtype=float32)
    """

    def __init__(self, running: Running) -> None:
        self._running = running
        self._names = running.parameters()

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        self._known(name)
        return lasting(self._running.parameter(name))

    def __setitem__(self, name: str, value: Any) -> None:
        self._known(name)
        self._running.set_parameter(name, arranged(name, value).array)

    def __delitem__(self, name: str) -> None:
        raise Error._plain(f"`{name}` belongs to the program and cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_copied("the parameters of a program", "`dict(p.parameters)` has copies of the arrays; a program can be copied with its parameters")

    def __repr__(self) -> str:
        rows = [f"{name}: {array.dtype}, {list(array.shape)}" for name, array in self.items()]
        return "\n".join(rows) or "no parameters"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all parameters, and the states of optimisers, to a safetensors file."""
        self._running.save(os.fspath(path))

    def load(
        self,
        path: str | os.PathLike[str],
        *,
        names: Mapping[str, str] | Callable[[str], str | None] | None = None,
        partly: bool = False,
    ) -> list[str]:
        """Reads parameters from a safetensors file, and returns the names of those that were set.

        Args:
            path: The file.
            names: How names of the file are called in the program: a mapping (names that it lacks stay as they are), or a
                function, which can return None to leave an array out.
            partly: True to keep the parameters that the file does not have; otherwise that is an error.
        """
        path = os.fspath(path)
        if names is None and not partly:
            self._running.load(path)
            return list(self._names)
        found, there = {}, _broadloom.read_safetensors(path)
        for name in names if isinstance(names, Mapping) else ():
            if name not in there:
                raise unknown(f"{path} has no array called", name, list(there))
        for name, array in there.items():
            own = names(name) if callable(names) else (names or {}).get(name, name)
            if own in self._names:
                found[own] = array
        missing = [name for name in self._names if name not in found]
        if missing and not partly:
            listed = ", ".join(f"`{name}`" for name in missing)
            raise Error._plain(f"{path} has no {listed}", "load what there is with `partly=True`, or say `names`")
        self._set_all(found)
        return list(found)

    def _set_all(self, found: dict[str, np.ndarray[Any, Any]]) -> None:
        """Sets some parameters, or none of them if one does not fit."""
        before = {name: self[name] for name in found}
        try:
            for name, array in found.items():
                self[name] = array
        except Error:
            for name, array in before.items():
                self[name] = array
            raise

    def _known(self, name: str) -> None:
        if name not in self._names:
            raise unknown("the program has no parameter", name, self._names)


def lasting(copy: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of values that a session keeps, read-only: a change to it would not reach the session."""
    copy.flags.writeable = False
    return copy
