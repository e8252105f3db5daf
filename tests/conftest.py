from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDS = {
    "av": ["report/test_video.py"],
    "onnxruntime": ["nodesets/test_model_onnx.py"],
    "stable_baselines3": ["nodesets/test_policy_sb3.py"],
    "transformers": ["nodesets/test_policy_hf.py", "control/test_model_invariance.py"],
}
"""What the extra ``test`` has and ``simulators`` has not: where it lacks, these tests cannot be read."""

collect_ignore = [path for module, paths in NEEDS.items() if find_spec(module) is None for path in paths]

pytest_plugins = ["tests.reference.table", "tests.simulators.conformance.growth"]


def pytest_configure() -> None:
    """What the tests start must heed signals, also where they are run by nohup or in the background. It finds
    bytecode: there are hundreds of processes, each of which would compile everything anew."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def ledger_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The backends of the tests meet apart from those of the host, which would wait for each other's runs."""
    folder = tmp_path_factory.mktemp("ledger") / "evaltower"
    os.environ["EVALTOWER_LEDGER"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is kept what is known of the nodesets, so that not every root finds them anew."""
    return tmp_path_factory.mktemp("manifests")
