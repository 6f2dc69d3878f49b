"""What tests share: a cache of compiled programs, apart from that of the user."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compiled programs are kept for the length of the tests, or in a folder that several runs of them share."""
    shared = os.environ.get("BROADLOOM_TEST_CACHE")
    if shared is None:
        folder = tmp_path_factory.mktemp("cache")
        folder.chmod(0o700)
        shared = str(folder)
    os.environ["BROADLOOM_CACHE"] = shared
