"""What a shell waits for: the interpreter, its command line library, and ``evaltower`` on top."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.finished_runs import make_run

pytestmark = pytest.mark.benchmark

ROUNDS = 15


def test_time_to_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path)
    evaltower = ["-m", "engine.main", "--root", str(tmp_path)]
    commands = {
        "python": ["-c", "pass"],
        "python, import click": ["-c", "import click"],
        "evaltower --help": [*evaltower, "--help"],
        "evaltower runs": [*evaltower, "runs"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, words in commands.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, *words], capture_output=True, check=True, timeout=60)
            seconds[name].append(time.perf_counter() - began)
    with capsys.disabled():
        print(f"\nstart-up: ms of wall time, median (best) of {ROUNDS} interleaved rounds")
        for name, taken in seconds.items():
            print(f"  {name:24} {statistics.median(taken) * 1e3:6.0f} ({min(taken) * 1e3:.0f})")
    # Most of it is the library's: ours must stay the smaller part.
    assert min(seconds["evaltower --help"]) < 2 * min(seconds["python, import click"])
