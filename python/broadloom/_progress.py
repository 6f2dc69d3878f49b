"""The progress of a run: a line in a terminal, a bar in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "shown"]

#: Called after each step with how many there were, of how many, and the losses by name.
Progress = Callable[[int, int, dict[str, float]], None]

_PAUSE = 0.1  # seconds between two updates
_BAR = 30  # columns


class Silent:
    """Shows nothing but the lines that a program prints."""

    #: True if it wants to be called after each repetition.
    counts = False
    #: True if it may use the program, which pauses for it.
    pauses = False

    def __call__(self, done: int, of: int, losses: dict[str, float]) -> None:
        pass

    def compiling(self, number: int, of: int) -> None:
        pass

    def line(self, text: str) -> None:
        print(text)

    def end(self) -> None:
        pass


class Own(Silent):
    """Calls a function of the user."""

    counts = True
    pauses = True

    def __init__(self, call: Progress) -> None:
        self._call = call

    def __call__(self, done: int, of: int, losses: dict[str, float]) -> None:
        self._call(done, of, losses)


class Line(Silent):
    """One line at the bottom of a terminal."""

    counts = True

    def __init__(self) -> None:
        self._shown = 0.0
        self._begun = time.monotonic()
        self._is_there = False

    def __call__(self, done: int, of: int, losses: dict[str, float]) -> None:
        now = time.monotonic()
        if now - self._shown < _PAUSE and done < of:
            return
        self._shown = now
        self._draw(text(done, of, losses, now - self._begun))

    def compiling(self, number: int, of: int) -> None:
        self._draw(f"compiling {number} of {of}")

    def line(self, text: str) -> None:
        self._clear()
        print(text)

    def end(self) -> None:
        self._clear()

    def _draw(self, text: str) -> None:
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()
        self._is_there = True

    def _clear(self) -> None:
        if self._is_there:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_there = False


class Notebook(Line):
    """A line below the cell of a notebook, which changes in place."""

    def __init__(self, display: Callable[..., Any]) -> None:
        super().__init__()
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def _draw(self, text: str) -> None:
        self._handle.update({"text/plain": text}, raw=True)

    def _clear(self) -> None:
        pass


def text(done: int, of: int, losses: dict[str, float], seconds: float) -> str:
    """The line after a repetition.

    >>> text(250, 500, {"loss": 0.0412}, 2.0)
    ' 50% ███████████████···············  250/500  125/s  loss 0.0412'
    """
    share = done / of if of else 1.0
    full = int(share * _BAR)
    parts = [f"{done:,}/{of:,}"]
    if seconds > 0:
        parts.append(f"{done / seconds:,.0f}/s" if done / seconds >= 10 else f"{done / seconds:.2f}/s")
    parts += [f"{name} {loss:.4g}" for name, loss in losses.items()]
    return f"{share:4.0%} {'█' * full}{'·' * (_BAR - full)}  {'  '.join(parts)}"


def shown(progress: bool | Progress | None) -> Silent:
    """The display of the progress of a run: by default a line, on a terminal."""
    if callable(progress):
        return Own(progress)
    if progress is False:
        return Silent()
    display = _notebook()
    if display is not None:
        return Notebook(display)
    return Line() if progress or sys.stderr.isatty() else Silent()


def _notebook() -> Callable[..., Any] | None:
    """The function that shows something in a notebook, if this is one."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    return display  # type: ignore[no-any-return, unused-ignore]
