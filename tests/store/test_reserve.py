from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from engine.store.disk import advice, box_failure, named
from engine.store.reserve import BYTES, Reserve
from tests.fakes.small_disk import small_disk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outputs").mkdir()
    return tmp_path


def test_it_is_made_given_up_and_made_again(root: Path) -> None:
    reserve = Reserve(root)
    assert not reserve.release()
    assert reserve.ensure()
    assert reserve.path.stat().st_size == BYTES
    assert stat.S_IMODE(reserve.path.stat().st_mode) == 0o600
    before = reserve.path.stat().st_ino
    assert reserve.ensure()
    assert reserve.path.stat().st_ino == before
    assert reserve.release()
    assert not reserve.path.exists()
    assert reserve.ensure()
    reserve.path.write_bytes(b"")  # holds no room
    assert reserve.ensure()
    assert reserve.path.stat().st_blocks * 512 >= BYTES


def test_without_outputs_there_is_none_and_nothing_is_raised(tmp_path: Path) -> None:
    assert not Reserve(tmp_path).ensure()
    assert not Reserve(tmp_path).release()


def test_a_disk_that_is_nearly_full_keeps_the_rest_for_others(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 512) as root:
        (root / "outputs").mkdir()
        (root / "outputs" / "fill").write_bytes(b"x" * (300 << 10))
        assert not Reserve(root).ensure()
        assert sorted(path.name for path in (root / "outputs").iterdir()) == ["fill"]
        (root / "outputs" / "fill").unlink()
        assert Reserve(root).ensure()


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "/x/y: No space left on device: make room on that disk"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "mounted for writing"),
        (errno.EACCES, "writable for the user"),
        (errno.EMFILE, "ulimit -n"),
        (errno.ENFILE, "fs.file-max"),
        (errno.EIO, "dmesg"),
        (errno.ENOTDIR, "/x/y: Not a directory"),
    ],
)
def test_a_refusal_says_what_and_what_to_do(number: int, told: str) -> None:
    assert told in advice(OSError(number, os.strerror(number), "/x/y"))


def test_a_disk_without_inodes_is_told_from_one_without_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1024, inodes=8) as root:
        for number in range(7):  # the folder itself has one
            (root / str(number)).touch()
        with pytest.raises(OSError, match="No space left") as raised:
            (root / "one more").touch()
        assert "it has no inodes left" in advice(raised.value)


def test_what_lies_behind_a_failure_is_found() -> None:
    full = named(OSError(errno.ENOSPC, "No space left on device"), Path("/x/y"))
    assert full.filename == "/x/y"
    outer = RuntimeError("it did not start")
    outer.__cause__ = full
    assert box_failure(outer) is full
    assert box_failure(RuntimeError("else")) is None
    assert box_failure(FileNotFoundError(errno.ENOENT, "No such file")) is None
