"""Libraries that some tests need."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def needed(name: str) -> Any:
    """A library, or a skipped test without it. Where all libraries have to be there, its absence is a failure."""
    if os.environ.get("BROADLOOM_REQUIRE_ALL"):
        return importlib.import_module(name)
    return pytest.importorskip(name)
