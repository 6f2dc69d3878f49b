"""The numbers of a graph, and running it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _broadloom
from ._arrays import Given, arranged, as_kind
from ._errors import Error, not_copied
from ._graph import Expr, Graph, Routine
from ._names import unknown
from ._parameters import lasting
from ._places import here, warned
from ._results import Copies

__all__ = ["Session"]


class Session:
    """The numbers of a graph: it computes tensors, gradients, and steps of training. Parameters last from run to run.

    >>> import broadloom as bl
    >>> import numpy as np
    >>> g = bl.Graph()
    >>> x, target = g.data("x", "4 | 1"), g.data("target", "4 | 1")
    >>> loss = bl.square(g.param("a", "") * x - target).mean("..b.. | o => ", "b", "o")
    >>> step = g.minimise(loss, bl.Sgd(0.1))
    >>> s = g.session()
    >>> numbers = np.arange(4, dtype="float32").reshape(4, 1)
    >>> losses = [s.run(step, x=numbers, target=2 * numbers) for _ in range(30)]
    >>> losses[-1] < 1e-6 < losses[0]
    True
    >>> round(s["a"].item(), 3)
    2.0
    """

    def __init__(self, graph: Graph, *, seed: int = 0, backend: str = "auto", threads: int | None = None) -> None:
        self._graph = graph
        self._session = _broadloom.Session(graph._graph, backend, seed, threads)
        self._copies = Copies()
        self._leaves: dict[str, int] = {}
        self._states: dict[str, int] = {}
        #: The routines that compute expressions, by the numbers of these.
        self._routines: dict[tuple[int, ...], int] = {}

    def run(self, *what: Expr | Routine, **arrays: Any) -> Any:
        """Computes expressions, or runs gradients or a step of training, with arrays for the data by name.

        Returns:
            The array of one expression, or a tuple of those of several; a tuple of gradients; the new value of an assignment; or
            the loss before a step.

        >>> import broadloom as bl
        >>> import numpy as np
        >>> g = bl.Graph()
        >>> x = g.data("x", "n | 2")
        >>> g.session().run(2 * x, x.sum(), x=np.ones((1, 2), "float32"))
        (array([[2., 2.]], dtype=float32), array(2., dtype=float32))
        """
        if not what or not isinstance(what[0], (Expr, Routine)):
            raise TypeError("run() takes expressions, as in `run(y, loss)`, or what `gradients` or `minimise` made")
        given = Given(arrays)
        pairs = [(self._given(name), array) for name, array in given.arrays.items()]
        lost = given.lost
        if lost:
            warned([f"`{lost}` requires gradients, and results of a session have none: `graph.gradients` has them; `{lost}.detach()` wants none"])
        routine, number = self._number(what)
        results, why, notices = self._session.run(number, pairs)
        self._copies = Copies(given.copies(why))
        if notices:
            warned(notices)
        if routine is not None and routine._kind == "step of training":
            return float(results[0].item())
        named = as_kind({str(at): array for at, array in enumerate(results)}, given.kind)
        is_one = len(what) == 1 if routine is None else routine._kind == "assignment"
        return named["0"] if is_one else tuple(named.values())

    def stablehlo(self, *what: Expr | Routine, precision: str = "highest") -> str:
        """A module of StableHLO, which XLA takes, for what `run` would compute. Sizes are those of the last run.

        Args:
            precision: The precision of products of 32-bit floats, as for `Program.stablehlo`.

        >>> import broadloom as bl
        >>> g = bl.Graph()
        >>> y = 2 * g.data("x", "4 | 3")
        >>> "stablehlo.multiply" in g.session().stablehlo(y)
        True
        """
        if not what:
            raise TypeError("stablehlo() takes expressions, or what `gradients` or `minimise` made")
        return self._session.stablehlo(self._number(what)[1], precision)

    @property
    def copies(self) -> Copies:
        """The arrays of the last run, each with why it was copied, if it was."""
        return self._copies

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """A copy of a parameter or a state, or of data that has values. It is read-only: assign to change one."""
        return lasting(self._session.get(self._leaf(name)))

    def __setitem__(self, name: str, array: Any) -> None:
        """Sets a parameter or a state, or data from now on."""
        self._session.set(self._leaf(name), arranged(name, array).array)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes parameters and states to a safetensors file."""
        self._session.save(os.fspath(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Reads parameters and states from a safetensors file. A warning says which states it lacks, and which of its arrays have no use."""
        warned(self._session.load(os.fspath(path)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_copied("a session", "make another one, `graph.session()`, and transfer its numbers: `session.save(path)`, `load(path)`")

    def _number(self, what: tuple[Expr | Routine, ...]) -> tuple[Routine | None, int]:
        """The routine, if there is one, and its number or that of the routine that computes expressions."""
        first = what[0]
        if not isinstance(first, Routine):
            return None, self._forward(what)
        if len(what) > 1 or first._of is not self._graph:
            raise Error._plain("run one routine of this graph at a time, or expressions")
        return first, first._number

    def _forward(self, what: tuple[Expr | Routine, ...]) -> int:
        numbers = []
        for each in what:
            if not isinstance(each, Expr):
                raise Error._plain("run one routine of this graph at a time, or expressions")
            numbers.append(self._graph._own(each))
        known = self._routines.get(tuple(numbers))
        if known is None:
            known = self._routines[tuple(numbers)] = self._graph._graph.forward(numbers, here())
        return known

    def _given(self, name: str) -> int:
        """The number of data or a parameter that a run is given an array for."""
        number = self._leaf(name)
        if name in self._states:
            raise Error._plain(f"`{name}` is a state, which lasts from run to run", f"set it: `session[{name!r}] = array`")
        return number

    def _leaf(self, name: str) -> int:
        """The number of data, a parameter or a state."""
        if name not in self._leaves:
            graph = self._graph._graph
            self._states = dict(graph.states())
            self._leaves = dict(graph.leaves() + graph.parameters()) | self._states
        if name not in self._leaves:
            raise unknown("the graph has no data, parameter or state called", name, self._leaves)
        return self._leaves[name]
