from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.store import atomic
from engine.store.atomic import replacing, write_bytes, write_json


def test_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_json(path, {"a": list(range(100))})
    write_json(path, {"a": 1})
    assert json.loads(path.read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["summary.json"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "summary.json"
    write_json(path, {"good": True})

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic.os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_json(path, {"good": False})
    assert json.loads(path.read_text()) == {"good": True}
    assert os.listdir(tmp_path) == ["summary.json"]


def test_what_a_block_raises_is_passed_on_and_leaves_the_old_file(tmp_path: Path) -> None:
    path, other = tmp_path / "film.mp4", tmp_path / "frame.png"
    path.write_text("before")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half")
            other.read_bytes()

    with pytest.raises(FileNotFoundError) as raised:
        fail()
    assert raised.value.filename == str(other)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["film.mp4"]


def test_a_write_that_the_kernel_cuts_short_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_json(path, {"good": True})
    code = (
        "import sys; from pathlib import Path; from engine.store.atomic import write_bytes\n"
        "try: write_bytes(Path(sys.argv[1]), b'x' * 100_000)\n"
        "except OSError: sys.exit(7)"
    )
    child = subprocess.run([sys.executable, "-c", code, str(path)], preexec_fn=_small_files, timeout=60)
    assert child.returncode == 7
    assert json.loads(path.read_text()) == {"good": True}
    assert os.listdir(tmp_path) == ["summary.json"]


def _small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_killed_writer_never_leaves_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    code = (
        "import sys; from pathlib import Path; from engine.store.atomic import write_json\n"
        "n = 0\n"
        "while True:\n"
        "    n += 1; write_json(Path(sys.argv[1]), {'n': n, 'rows': [n] * 20_000}, durable=False)\n"
        "    print(n, flush=True)\n"
    )
    for _ in range(5):
        child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(3):
            child.stdout.readline()
        child.kill()
        child.wait()
        child.stdout.close()
        content = json.loads(path.read_text())
        assert content["rows"] == [content["n"]] * 20_000


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_bytes(tmp_path / "_DONE", b"2026\n")
    assert (tmp_path / "_DONE").read_bytes() == b"2026\n"


def test_processes_with_one_number_on_two_machines_share_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 7)
    path = tmp_path / "job.json"
    with replacing(path) as mine, replacing(path) as theirs:
        mine.write(b"mine")
        theirs.write(b"theirs, which is longer")
    assert path.read_bytes() == b"mine"
    assert os.listdir(tmp_path) == ["job.json"]
