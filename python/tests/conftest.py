"""What tests share: each has a cache of compiled programs of its own session only."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compiled programs are kept for the length of the tests, apart from those of the user."""
    import os

    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    os.environ["BROADLOOM_CACHE"] = str(folder)
