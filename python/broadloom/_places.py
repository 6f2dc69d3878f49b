"""The places in Python where something was written."""

from __future__ import annotations

import itertools
import linecache
import os
import sys
import warnings
from collections.abc import Iterable
from types import FrameType

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: A file, a line from 1, and columns in bytes if they are known.
Written = tuple[str, int, "tuple[int, int] | None"]


def here() -> Written:
    """The place from which this package was called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    if frame is None:
        return "<unknown>", 1, None
    line, columns = frame.f_lineno, None
    if sys.version_info >= (3, 11) and frame.f_lasti >= 0:
        # Instructions are two bytes long, and each knows which piece of the text it comes from.
        positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
        begin, end, start, stop = next(positions, (None, None, None, None))
        if begin is not None and begin == end and start is not None and stop is not None:
            line, columns = begin, (start, stop)
    return frame.f_code.co_filename, line, columns


def warned(notices: Iterable[str]) -> None:
    """Warns at the line from which this package was called."""
    for notice in notices:
        level, frame = 1, sys._getframe(0)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
            level, frame = level + 1, frame.f_back
        warnings.warn(notice, RuntimeWarning, stacklevel=level)


def source(file: str) -> tuple[str, str]:
    """The name of a file as messages show it, and its text as far as it is known."""
    text = "".join(linecache.getlines(file))
    return _cell(file) or _near(file), text


def _near(file: str) -> str:
    """A file as seen from where the program runs, if it lies there."""
    if not os.path.isabs(file):
        return file
    near = os.path.relpath(file)
    return near if not near.startswith("..") else file


def _cell(file: str) -> str | None:
    """The name of a cell of a notebook, which is no file: `Cell In[3]`."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    named = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    return " ".join(named) if named else None
