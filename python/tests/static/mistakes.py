"""Code that static checkers have to refuse: the types behind the annotations are real to them."""

from __future__ import annotations

import numpy as np

import broadloom as bl


@bl.shaped
def double(x: bl.Float[np.ndarray, "n"]) -> bl.Float[np.ndarray, "n"]:
    return 2 * x


double("text")
double(np.ones(3)).no_such_attribute_at_all
