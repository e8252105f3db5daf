from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tui.stderr_guard import MAX_LOG_BYTES, StderrGuard

SCRIPT = """
import os, sys
from pathlib import Path
from tui.stderr_guard import StderrGuard
sys.stdout.write("before ")
with StderrGuard(Path(sys.argv[1])) as guard:
    print("a print", flush=True); sys.stderr.write("an error\\x1b[31m\\n")
    os.write(1, b"raw\\n"); os.system("echo child")
    os.write(guard.terminal_fd, b"for the terminal ")
    lines = guard.tail()
print("after", *lines, sep="|")
"""


def test_only_what_is_meant_for_the_terminal_gets_there(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "screen.log"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, log],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
        timeout=60,
    )
    assert done.stdout.decode() == "before for the terminal after|a print|an error␛[31m|raw|child\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_nothing_stays_open(tmp_path: Path) -> None:
    def descriptors() -> set[str]:
        return set(os.listdir("/proc/self/fd"))

    before = descriptors()
    with StderrGuard(tmp_path / "log"):
        pass
    assert descriptors() == before


def test_a_log_that_grew_too_long_begins_anew(tmp_path: Path) -> None:
    with StderrGuard(tmp_path / "log") as guard:
        os.write(2, b"x" * (MAX_LOG_BYTES + 1))
        guard.trim()
        os.write(2, b"next\n")
        assert (tmp_path / "log").read_bytes() == b"next\n"


def test_a_log_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with StderrGuard(tmp_path / "file" / "log") as guard:
        os.write(2, b"lost\n")
        assert guard.tail() == []
