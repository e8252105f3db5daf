from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from engine.hosting.process import make_socket_dir
from tests.hosting.helpers import eventually, is_gone, pids_in

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("what", ["hangs", "spins", "holds the gil"])
async def test_when_the_parent_is_killed_its_host_and_the_host_s_child_are_gone(
    tmp_path: Path, what: str
) -> None:
    sockets = make_socket_dir()
    mark = tmp_path / "pids"
    command = [
        sys.executable,
        "-m",
        "tests.hosting.parent",
        str(sockets),
        str(tmp_path / "log"),
        what,
        str(mark),
    ]
    parent = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    family = [int(parent.stdout.readline())]
    try:
        written = await eventually(lambda: pids_in(mark))
        child, others = written[0], written[1:]
        family += written
        assert not is_gone(child)
        parent.kill()
        parent.wait()
        await eventually(lambda: is_gone(family[0]) and is_gone(child))
        assert len(others) == (2 if what == "hangs" else 0)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
        for pid in family:
            if not is_gone(pid):
                psutil.Process(pid).kill()
        shutil.rmtree(sockets)
