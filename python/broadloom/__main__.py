"""The command `broadloom`: `python -m broadloom` is the same."""

from __future__ import annotations

import signal
import sys

from ._broadloom import command


def main() -> int:
    """Carries out the command with the arguments of this process, and returns its exit status."""
    # Ctrl-C ends the command at once, or is held by it, as in the command that is built without Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["broadloom", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
