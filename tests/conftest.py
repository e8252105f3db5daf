from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def ledger_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The backends of the tests meet apart from those of the host, which would wait for each other's runs."""
    folder = tmp_path_factory.mktemp("ledger") / "evaltower"
    os.environ["EVALTOWER_LEDGER"] = str(folder)
    return folder
