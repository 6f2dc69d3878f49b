"""Static checkers accept the annotations, and still see the types behind them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "static"
BIN = Path(sys.executable).parent
CHECKERS = {
    "mypy": ["--strict"],  # as for the package itself, so that both share what mypy keeps of libraries
    "pyright": ["--pythonpath", sys.executable],
    "ty": ["check", "--python", sys.executable],
    "pyrefly": ["check", "--preset", "default", "--python-interpreter-path", sys.executable],
}
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def said(checker: str) -> tuple[int, str]:
    """What a checker says of both files. It reads NumPy and the package for that, which is most of its work: so it runs once."""
    program = shutil.which(checker, path=str(BIN)) or shutil.which(checker)
    if program is None:
        assert not os.environ.get("BROADLOOM_REQUIRE_ALL"), f"{checker} is not installed"
        pytest.skip(f"{checker} is not installed")
    files = [str(FOLDER / name) for name in ("annotations.py", "mistakes.py")]
    done = subprocess.run([program, *CHECKERS[checker], *files], capture_output=True, text=True, timeout=300, cwd=FOLDER)
    if checker == "pyright" and "npm" in done.stderr and done.returncode not in (0, 1):
        pytest.skip("pyright cannot get the Node that it needs")
    return done.returncode, COLOURS.sub("", done.stdout + done.stderr)


@pytest.mark.parametrize("checker", CHECKERS)
def test_annotations_are_accepted_and_the_types_behind_them_are_seen(checker: str) -> None:
    status, shown = said(checker)
    assert status == 1, shown
    assert "no_such_attribute_at_all" in shown, shown
    places = set(re.findall(r"(annotations|mistakes)\.py:(\d+)", shown))
    assert {("mistakes", "15"), ("mistakes", "16")} <= places, shown
    assert all(file == "mistakes" for file, _ in places), f"{checker} refuses an annotation:\n{shown}"
