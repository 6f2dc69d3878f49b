"""Names that are nearly right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ._errors import Error, UnknownName


def unknown(what: str, name: object, known: Iterable[str]) -> Error:
    """The exception for a name that is not there, with the one that is probably meant."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=1)
    if near:
        return UnknownName._plain(f"{what} `{name}`", f"did you mean `{near[0]}`?")
    listed = ", ".join(f"`{each}`" for each in known[:12]) + (", …" if len(known) > 12 else "")
    return UnknownName._plain(f"{what} `{name}`", f"there is {listed}" if known else None)
