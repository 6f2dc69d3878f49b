"""The parameters of a program, as named arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _broadloom
from ._arrays import arranged
from ._errors import Error, not_copied
from ._names import unknown
from ._places import warned

if TYPE_CHECKING:
    from ._broadloom import Running

__all__ = ["Parameters", "lasting"]

#: How names of a file are called in a program; None leaves an array out.
Names = Union[Mapping[str, "str | None"], Callable[[str], "str | None"]]


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
        """Writes all parameters, and the states of optimisers, to a safetensors file.

        >>> import broadloom as bl
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
        >>> p = bl.program("data x : 3\\nlet y = {w} @ x + {b : 2}\\n", seed=1)
        >>> p.parameters.save(path)
        >>> q = bl.program(p.text, seed=2)
        >>> q.parameters.load(path)
        ['w', 'b']
        >>> (p.parameters["w"] == q.parameters["w"]).all().item()
        True
        """
        self._running.save(os.fspath(path))

    def load(
        self,
        path: str | os.PathLike[str],
        *,
        names: Names | None = None,
        partly: bool = False,
    ) -> list[str]:
        """Reads parameters from a safetensors file, and returns the names of those that were set.

        Without `names` and `partly` it also reads states, such as those of optimisers; a warning says which of them the file lacks, and
        which arrays of the file have no use. With either of them it reads parameters alone, and states stay as they are.

        Args:
            path: The file.
            names: How names of the file are called in the program: a mapping (names that it lacks stay as they are), or a
                function. None in place of a name leaves an array out.
            partly: True to keep the parameters that the file does not have; otherwise that is an error. One of them has to be
                there.

        >>> import broadloom as bl
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
        >>> bl.program("data x : 3\\nlet y = {w} @ x + {b : 2}\\n", seed=1).parameters.save(path)
        >>> other = bl.program("data x : 3\\nlet y = {weight : ... -> 2} @ x + {offset}\\n")
        >>> other.parameters.load(path, names={"w": "weight"}, partly=True)
        ['weight']
        """
        path = os.fspath(path)
        if names is None and not partly:
            warned(self._running.load(path))
            return list(self._names)
        there = _broadloom.read_safetensors(path)
        found = self._found(path, there, names)
        missing = [name for name in self._names if name not in found]
        if missing and not partly:
            listed = ", ".join(f"`{name}`" for name in missing)
            raise Error._plain(f"{path} has no {listed}", "load what there is with `partly=True`, or say `names`")
        if not found and self._names:
            has = ", ".join(f"`{name}`" for name in list(there)[:12]) or "nothing"
            raise Error._plain(f"{path} has none of the parameters: it has {has}", "say what they are called in the file: `names={\"theirs\": \"ours\"}`")
        self._set_all({own: there[name] for own, name in found.items()})
        return list(found)

    def _found(self, path: str, there: Iterable[str], names: Names | None) -> dict[str, str]:
        """The name in the file of each parameter that it has."""
        chosen = names if isinstance(names, Mapping) else {}
        for name, own in chosen.items():
            if name not in there:
                raise unknown(f"{path} has no array called", name, list(there))
            if own is not None:
                self._known(own)
        found: dict[str, str] = {}
        for name in there:
            own = names(name) if callable(names) else chosen.get(name, name)
            if own is None or (own == name and own not in self._names):
                continue
            self._known(own)
            if own in found:
                raise Error._plain(
                    f"`{found[own]}` and `{name}` of {path} are both to be the parameter `{own}`",
                    f"leave one of them out: `names={{\"{name}\": None, …}}`",
                )
            found[own] = name
        return found

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
