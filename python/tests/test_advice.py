"""Advice about graphs is written in Python: no word of it is that of the language, whatever the mistake is."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import broadloom as bl
import numpy as np
import pytest


class Made:
    """A graph with a tensor of each kind, to make mistakes with."""

    def __init__(self) -> None:
        self.graph = g = bl.Graph()
        self.x, self.y = g.data("x", "batch | 3"), g.data("y", "batch | 4")
        self.w, self.v, self.u = g.param("w", "3 -> 4"), g.data("v", "5"), g.param("u")
        self.ones = np.ones((2, 3), "float32")

    def run(self, *what: bl.Expr | bl.Routine, **arrays: np.ndarray) -> object:
        return self.graph.session().run(*what, **arrays)


#: Mistakes, and a part of the advice that each has to get.
MISTAKES: list[tuple[str, Callable[[Made], object], str]] = [
    ("a sum", lambda m: m.x + m.y, "make both 3 or both 4"),
    ("a product", lambda m: m.w @ m.y, "declare `w` as `4 -> 3`"),
    ("a product written as in NumPy", lambda m: m.x @ m.w, "w @ x"),
    ("gradients of several numbers", lambda m: m.graph.gradients(m.w @ m.x, m.w), "`loss.sum()`, `loss.mean()`"),
    ("a loss of several numbers", lambda m: m.graph.minimise(m.w @ m.x, bl.Sgd(0.1)), "`loss.sum()`, `loss.mean()`"),
    ("data that is assigned to", lambda m: m.graph.assign(m.x, 2 * m.x), '`graph.state("total", "3")`'),
    ("bits of floats", lambda m: m.run(bl.bit_and(m.x, 3), x=m.ones), 'array.astype("int64")'),
    ("a parameter that nothing determines", lambda m: (m.u @ m.x).shape, "`u` with the shape `... -> 64`"),
    ("an axis that is not there", lambda m: m.x.take(m.v, "rows"), '`"batch"`, `"input"` or `"output"`'),
    ("a spec with the wrong arrow", lambda m: bl.einsum("b i -> b", m.x), "=>"),
    ("a mean over what has no name", lambda m: bl.mean("b | _ => b |", m.x), "a label in the place of `_`"),
    ("data without values", lambda m: m.run(m.w @ m.x), "give an array"),
    ("arrays of another size", lambda m: m.run(m.w @ m.x, x=np.ones((2, 4))), ""),
    ("another number of elements", lambda m: m.v.reshape("2, 3").shape, ""),
    ("a vector for a matrix", lambda m: bl.solve(m.x, m.v), ""),
    ("a turn of a scan outside of it", lambda m: _leaked(m) + 1, "behind what is carried"),
    ("a plan in a turn", lambda m: bl.scan(lambda x, s: m.run(m.x.sum()), 0, m.x), "what the scan gives back"),
]


#: Signs of shapes and of Python that advice is about.
SIGNS = {"@", "*", "->", "|", ";"}


def _leaked(m: Made) -> bl.Expr:
    kept: list[bl.Expr] = []
    bl.scan(lambda x, s: kept.append(s + x) or s + x, 0, m.x)
    return kept[0]


def snippets(error: bl.Error) -> list[str]:
    """What stands in backticks in the advice."""
    return [code for help in error.help for code in re.findall(r"`([^`]+)`", help)]


def is_shape(text: str) -> bool:
    """True for a shape as it is declared, and for a part of one."""
    try:
        bl.Graph().data("x", text)
    except (bl.Error, TypeError):
        return False
    return True


def is_python(code: str) -> bool:
    """True for an expression of Python that calls no bare function, as those of the language would be."""
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        return False
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return not any(isinstance(call, ast.Name) for call in calls) and not any(isinstance(node, ast.Set) for node in ast.walk(tree))


@pytest.mark.parametrize(("mistake", "part"), [(make, part) for _, make, part in MISTAKES], ids=[name for name, _, _ in MISTAKES])
def test_advice_is_python(mistake: Callable[[Made], object], part: str) -> None:
    with pytest.raises(bl.Error) as caught:
        mistake(Made())
    error = caught.value
    assert error.help and part in "\n".join(error.help), error.help
    foreign = [code for code in snippets(error) if not (is_python(code) or is_shape(code) or "=>" in code or code in SIGNS)]
    assert not foreign, str(error)


def test_the_judge_knows_the_language() -> None:
    """What the advice must not be, the test would notice."""
    for code in ("mean(loss)", "let y = x", "x |> relu", "{w} @ x", "set y.h = 64", "dim n in 1..64 = 32", "x by \"@\""):
        assert not is_python(code), code
    assert is_python("graph.einsum(\"... | i => ... | i\", x)") and is_python("w.T @ x") and is_shape("batch | 3 -> 4")
