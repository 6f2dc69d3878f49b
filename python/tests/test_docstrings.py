"""Examples in docstrings run, and say what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import broadloom
import pytest
from needed import needed

MODULES = ["broadloom"] + [
    f"broadloom.{module.name}"
    for module in pkgutil.iter_modules(broadloom.__path__)
    if module.name not in ("_broadloom", "__main__")
]

#: Modules that import PyTorch, and are imported by what needs it.
WITH_TORCH = {"broadloom.torch", "broadloom._exported", "broadloom._recorded", "broadloom._torch_shapes"}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    if name in WITH_TORCH:
        needed("torch")
    failed = doctest.testmod(importlib.import_module(name), optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert failed.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(name) for name in MODULES if name not in WITH_TORCH]
    examples = sum(len(test.examples) for module in modules for test in finder.find(module))
    assert examples > 40


def test_everything_public_is_documented() -> None:
    for name in broadloom.__all__:
        if name.startswith("__"):
            continue
        public = getattr(broadloom, name)
        assert public.__doc__, name
        methods = (each for each in vars(public).items() if not each[0].startswith("_")) if isinstance(public, type) else ()
        for method, value in methods:
            if callable(value) or isinstance(value, property):
                assert value.__doc__, f"{name}.{method}"
