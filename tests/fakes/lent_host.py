"""A host of ours that somebody started by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass
class Lent:
    url: str
    pid: int
    process: subprocess.Popen[str]

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextmanager
def lent(*words: str) -> Iterator[Lent]:
    """``python -m engine.hosting.lend`` with these words, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.hosting.lend", *words],
        cwd=ROOT,
        env={**os.environ, "MKL_NUM_THREADS": "8"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, f"it did not start: exit code {process.wait()}"
        said = json.loads(line)
        yield Lent(said["url"], said["pid"], process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
