"""Six kinds of descendants, as a run may leave them behind. Nothing but SIGKILL ends them.

``python -m tests.fakes.family FILE [hang|deaf|CODE]`` starts them, writes FILE, and then waits for SIGTERM,
or does not listen to it, or ends with an exit code.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity, identity, is_alive, send_signal
from engine.store.rundir import read_json

KINDS = ("plain", "setsid", "deaf", "daemon", "bare", "orphan")
_SLEEP = "sleep 300"


def start_family(file: Path) -> None:
    """Start one of each kind, and write down who they are."""
    waiting = subprocess.Popen(_SLEEP.split())
    apart = subprocess.Popen(_SLEEP.split(), start_new_session=True)
    deaf = subprocess.Popen(["sh", "-c", f"trap '' TERM; exec {_SLEEP}"])
    bare = subprocess.Popen(["env", "-i", "setsid", *_SLEEP.split()])
    pids = {"plain": waiting.pid, "setsid": apart.pid, "deaf": deaf.pid, "bare": bare.pid}
    pids["daemon"] = _daemon()
    pids["orphan"] = int(_said(f"{_SLEEP} >/dev/null & echo $!", start_new_session=True))
    write_json(file, {kind: identity(pid) for kind, pid in pids.items()})


def _daemon() -> int:
    """Forked twice, in a session of its own, below whoever takes in orphans."""
    return int(_said(f"setsid sh -c '{_SLEEP} >/dev/null & echo $!'"))


def _said(shell: str, **options: bool) -> bytes:
    return subprocess.run(["sh", "-c", shell], stdout=subprocess.PIPE, check=True, **options).stdout  # type: ignore[call-overload]


def read_family(file: Path) -> dict[str, ProcessIdentity]:
    """Who they are, by kind; empty while they are being started."""
    return read_json(file, dict[str, ProcessIdentity]) if file.exists() else {}


def living(family: dict[str, ProcessIdentity]) -> list[str]:
    return [kind for kind, who in family.items() if is_alive(who)]


def bury(family: dict[str, ProcessIdentity]) -> None:
    """For the end of a test that failed."""
    for who in family.values():
        send_signal(who, signal.SIGKILL)


def main() -> None:
    file, then = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "hang"
    told = threading.Event()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if then == "deaf" else lambda *_: told.set())
    start_family(file)
    if then in ("hang", "deaf"):
        told.wait()
    os._exit(0 if then in ("hang", "deaf") else int(then))


if __name__ == "__main__":
    main()
