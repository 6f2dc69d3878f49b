"""Static checkers accept the annotations, and still see the types behind them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "static"
BIN = Path(sys.executable).parent
CHECKERS = {
    "mypy": ["--no-incremental", "--strict-optional"],
    "pyright": ["--pythonpath", sys.executable],
    "ty": ["check", "--python", sys.executable],
    "pyrefly": ["check", "--preset", "default", "--python-interpreter-path", sys.executable],
}


def run(checker: str, file: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which(checker, path=str(BIN)) or shutil.which(checker)
    if program is None:
        assert not os.environ.get("BROADLOOM_REQUIRE_ALL"), f"{checker} is not installed"
        pytest.skip(f"{checker} is not installed")
    done = subprocess.run(
        [program, *CHECKERS[checker], str(FOLDER / file)], capture_output=True, text=True, timeout=300, cwd=FOLDER
    )
    if checker == "pyright" and "npm" in done.stderr and done.returncode not in (0, 1):
        pytest.skip("pyright cannot get the Node that it needs")
    return done


@pytest.mark.parametrize("checker", CHECKERS)
def test_annotations_are_accepted(checker: str) -> None:
    done = run(checker, "annotations.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("checker", CHECKERS)
def test_types_behind_annotations_are_seen(checker: str) -> None:
    done = run(checker, "mistakes.py")
    shown = done.stdout + done.stderr
    assert done.returncode == 1 and "no_such_attribute_at_all" in shown, shown
