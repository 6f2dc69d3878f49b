"""What can be copied and pickled, and what says how to do without."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import broadloom as bl
import numpy as np
import pytest

WAYS: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]


def trained() -> bl.Program:
    p = bl.program("dim n in 1..8\ndata x : n | 3\nlet y = {w} @ x + {b : 2}\nlet total = sum(y)\n", name="a.loom")
    p.parameters["w"] = np.full((2, 3), 0.5)
    return p


@pytest.mark.parametrize("way", WAYS)
def test_programs_and_their_functions(way: Callable[[Any], Any]) -> None:
    p, x = trained(), np.ones((2, 3), "float32")
    again = way(p)
    assert again(x=x)["total"] == p(x=x)["total"] == 6
    again.parameters["w"] = np.zeros((2, 3))
    assert p(x=x)["total"] == 6, "a copy learns by itself"
    y, total = way(p.only("y", "total"))(x=x)
    assert total == 6 and y.shape == (2, 2)


@pytest.mark.parametrize("way", WAYS)
def test_answers(way: Callable[[Any], Any]) -> None:
    p = trained()
    results = p(x=np.ones((2, 3), "float32"))
    for answer in (p.shapes, p.shapes["w"], p.explain("y"), p.graph(), p.memory(), results, p.copies, p.check()):
        assert str(way(answer)) == str(answer)


@pytest.mark.parametrize("way", WAYS)
def test_what_belongs_to_a_graph(way: Callable[[Any], Any]) -> None:
    g = bl.Graph()
    loss = (g.param("a", "") * g.data("x", "3")).sum()
    step, session = g.minimise(loss, bl.Sgd(0.1)), g.session()
    for thing, advice in ((g, "build it again"), (loss, "build the graph again"), (step, "build the graph again"), (session, "session.save")):
        with pytest.raises(TypeError, match="neither copied nor pickled") as refused:
            way(thing)
        assert advice in str(refused.value)
    with pytest.raises(TypeError, match="dict\\(p.parameters\\)"):
        way(trained().parameters)
