"""What nodesets need of this machine, asked of each in a process under its own interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from engine.components.catalog import NodesetManifest
from engine.components.requirements import Requirement

_HOST = Path(__file__).with_name("host.py")
DEADLINE_SEC = 60.0


def ask_requirements(
    nodesets: Sequence[NodesetManifest], deadline: float = DEADLINE_SEC
) -> list[list[Requirement]]:
    """The answers, in order. ``deadline`` in seconds, of each process; none outlives the call.

    A process that does not answer, because a module that it tries crashes or hangs, is one requirement that
    is not met.
    """
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(lambda manifest: _ask(manifest, deadline), nodesets))


def _ask(manifest: NodesetManifest, deadline: float) -> list[Requirement]:
    command = [manifest.server_python or sys.executable, str(_HOST), "--requirements"]
    command += ["--nodeset", manifest.path, "--name", manifest.name]
    command += [word for folder in manifest.workspaces for word in ("--workspace", folder)]
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as told:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=told,
                start_new_session=True,
                env={**os.environ, **manifest.env},
            )
        except OSError as error:
            return [Requirement("its interpreter", False, str(error))]
        try:
            code = process.wait(deadline)
        except subprocess.TimeoutExpired:
            return [Requirement("an answer", False, f"asking it took longer than {deadline:g} s")]
        finally:
            _end(process)
        answer.seek(0)
        told.seek(0)
        try:
            return msgspec.json.decode(answer.read(), type=list[Requirement])
        except msgspec.MsgspecError:
            last = told.read().decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
            return [Requirement("an answer", False, f"its process ended with {_cause(code)}; {last}")]


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _cause(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
