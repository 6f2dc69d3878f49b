"""The command that comes with the wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

COMMANDS = [[sys.executable, "-m", "broadloom"], [str(Path(sysconfig.get_path("scripts")) / "broadloom")]]


@pytest.mark.parametrize("command", COMMANDS)
def test_check(command: list[str], tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.fail(f"{command[0]} is not installed")
    program = tmp_path / "a.loom"
    program.write_text("data x : 3\nlet y = x + 1\n", encoding="utf-8")
    ran = subprocess.run([*command, "check", str(program)], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.split()[:2]) == (0, ["tensor", "shape"])
    program.write_text("let y = q\n", encoding="utf-8")
    ran = subprocess.run([*command, "check", str(program)], capture_output=True, text=True)
    assert ran.returncode == 1 and "`q`" in ran.stderr
    ran = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert ran.stdout.startswith("broadloom ")


def test_standard_input() -> None:
    ran = subprocess.run([*COMMANDS[0], "check", "-"], input="data x : 3\n", capture_output=True, text=True)
    assert ran.returncode == 0 and "declared" in ran.stdout
