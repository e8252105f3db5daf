"""Real servers, one of each for all processes of a test session, gone when the last of them lets go."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.scoring.live.venvs import locked

KEEPER = Path(__file__).with_name("keeper.py")
START_SEC = 240.0
"""Of 20 to 30 that they take on two free cores."""

GONE_SEC = 2.0


@dataclass(frozen=True)
class Launch:
    """How a server is started in ``folder``; it is up when ``health`` of ``url`` answers 200."""

    url: str
    health: str
    command: Sequence[str]
    environ: Mapping[str, str]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def shared(folder: Path, launch: Launch) -> Iterator[str]:
    """The URL of the server that whoever came first has started there, as ``launch`` says."""
    folder.mkdir(parents=True, exist_ok=True)
    users, running = folder / "users.lock", folder / "running.json"
    with locked(users, fcntl.LOCK_SH):
        keeper = None
        with locked(folder / "start.lock"):
            url = json.loads(running.read_text("utf-8")) if running.exists() else None
            if url is None or not _is_up(url + launch.health):
                url, keeper = launch.url, _start(folder, users, launch)
                running.write_text(json.dumps(url), "utf-8")
        yield url
    if keeper is not None:
        with suppress(subprocess.TimeoutExpired):  # another process may use it for longer
            keeper.wait(GONE_SEC)


def _start(folder: Path, users: Path, launch: Launch) -> subprocess.Popen[bytes]:
    log = folder / "server.log"
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with log.open("wb") as out:
        keeper = subprocess.Popen(
            [sys.executable, str(KEEPER), str(users), *launch.command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**inherited, **launch.environ},
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SEC
    while not _is_up(launch.url + launch.health):
        told = log.read_text("utf-8", "replace")[-4000:]
        assert keeper.poll() is None, f"{launch.command[0]} ended at its start:\n{told}"
        if time.monotonic() > deadline:
            raise AssertionError(f"{launch.command[0]} was not up within {START_SEC:g} s:\n{told}")
        time.sleep(0.1)
    return keeper


def _is_up(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
