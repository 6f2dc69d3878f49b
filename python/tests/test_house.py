"""Rules of the house for the sources of the package."""

from __future__ import annotations

import ast
from pathlib import Path

import broadloom

FILES = sorted(Path(broadloom.__path__[0]).glob("*.py"))
#: Words that leave a docstring without a subject.
QUESTIONS = {"What", "Whether", "Where", "How", "Why", "When", "Which", "Who"}
#: Methods that look into a text, and the names of texts that are sentences for people.
READERS = {"replace", "removesuffix", "removeprefix", "partition", "rpartition", "split", "startswith", "endswith", "find", "index"}
SENTENCES = {"summary", "message", "shown", "help"}
#: The places that may look into a sentence: the end of the file's name, the code, and the reason.
EXCEPTIONS = {
    ("_recorded.py", "str(error).partition"): "the first line of an exception of PyTorch",
    ("_traced_inference.py", "str(mistake).partition"): "the lines below a message are shown below another one",
}


def documented(tree: ast.Module) -> list[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]


def test_docstrings_have_a_subject() -> None:
    found = [
        (file.name, text.splitlines()[0])
        for file in FILES
        for text in documented(ast.parse(file.read_text(encoding="utf-8")))
        if text.split(maxsplit=1)[:1] and text.split()[0].strip("`") in QUESTIONS
    ]
    assert not found


def is_sentence(value: ast.expr) -> bool:
    """True for a message, and for the text of an exception."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "str" and value.args:
        return isinstance(value.args[0], ast.Name) and value.args[0].id in ("error", "wrong", "mistake")
    return isinstance(value, ast.Attribute) and value.attr in SENTENCES


def test_sentences_are_for_people() -> None:
    """Code that adds to messages, or chooses between them, reads their data, so that a better wording changes nothing else."""
    found = set()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in READERS and is_sentence(node.value):
                found.add((file.name, ast.unparse(node)))
    assert found == set(EXCEPTIONS)
