"""The examples of docs/python.md run, and print what it says.

All blocks of code under one heading are one program; a block of text is what was printed since the last one.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from needed import needed

GUIDE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def sections() -> list[tuple[str, str]]:
    if not GUIDE.exists():
        return []  # the tests run beside a wheel, without the documents
    parts = re.split(r"^## (.*)$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize(("title", "text"), sections(), ids=lambda value: value if len(value) < 60 else "")
def test_section(title: str, text: str) -> None:
    if "PyTorch" in title:
        needed("torch")
    if "JAX" in title:
        needed("jax")
    names: dict[str, object] = {}
    printed = io.StringIO()
    compared = 0
    for kind, block in BLOCK.findall(text):
        if kind == "python":
            with contextlib.redirect_stdout(printed):
                exec(compile(block, f"{title}.py", "exec"), names)
        elif kind == "text":
            assert printed.getvalue() == block
            printed = io.StringIO()
            compared += 1
    assert compared > 0 or "```python" not in text, "a section with code shows what it prints"
