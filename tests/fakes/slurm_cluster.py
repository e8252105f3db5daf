"""The two-node cluster of ``examples/slurm``, with what goes wrong on clusters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SCRIPT = Path(__file__).parents[2] / "examples" / "slurm" / "two_nodes.py"


class ClusterFailed(Exception):
    """It did not come up, or could not do what was asked; says why."""


class Cluster:
    """Up until the end of ``with``; everything that ran on it is then gone. It ends with the process that
    started it, however that ends, since it ends with its input."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), "--commands"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout
        first = self.process.stdout.readline()
        if not first.startswith("export SLURM_CONF="):
            raise ClusterFailed(self.process.communicate()[1].strip())
        self.conf = Path(first.strip().partition("=")[2])
        self.environ = {"SLURM_CONF": str(self.conf)}

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.process.communicate()
        if self.process.returncode:
            raise ClusterFailed(f"it ended with {self.process.returncode}")

    def start_controller(self) -> None:
        self._ask("start controller")

    def kill_controller(self) -> None:
        self._ask(f"signal controller {signal.SIGKILL:d}")

    def silence_controller(self) -> None:
        """It hears, and does not answer, until ``wake_controller``."""
        self._ask(f"signal controller {signal.SIGSTOP:d}")

    def wake_controller(self) -> None:
        self._ask(f"signal controller {signal.SIGCONT:d}")

    def start_node(self, name: str) -> None:
        self._ask(f"start {name}")

    def kill_node(self, name: str) -> None:
        """Its slurmd alone; its jobs go on."""
        self._ask(f"signal {name} {signal.SIGKILL:d}")

    def power_off(self, name: str) -> None:
        """It and all that runs on it."""
        self._ask(f"signal {name}/jobs {signal.SIGKILL:d}")

    def cut(self, name: str) -> None:
        """The controller loses it, while its jobs go on."""
        self._ask(f"signal {name}/steps {signal.SIGSTOP:d}")

    def uncut(self, name: str) -> None:
        self._ask(f"signal {name}/steps {signal.SIGCONT:d}")

    def run(self, *command: str | Path) -> str:
        """What a command of Slurm's prints. ClusterFailed where it fails."""
        done = subprocess.run(
            [str(word) for word in command],
            env={**os.environ, **self.environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            raise ClusterFailed(done.stderr.strip())
        return done.stdout.strip()

    def state(self, job_id: str) -> str:
        """In Slurm's word; "" for one that it does not know."""
        return self.run("squeue", "-h", "-a", "-t", "all", "-j", job_id, "-o", "%T")

    def node_state(self, name: str) -> str:
        # Asked for one alone, sinfo tells "mixed" as "allocated".
        nodes = self.run("sinfo", "-h", "-a", "-N", "-o", "%N %T").splitlines()
        return dict(line.split() for line in nodes)[name]

    def wait_for(self, so: Callable[[], T], within_sec: float = 60.0) -> T:
        """What ``so`` gives once it is true; where it is not in time, what the cluster stands at is told."""
        deadline = time.monotonic() + within_sec
        while not (found := so()):
            if time.monotonic() > deadline:
                raise ClusterFailed(f"not within {within_sec} s: {so}; {self._standing()}")
            time.sleep(0.1)
        return found

    def clear(self) -> None:
        """No job is left that waits or runs."""
        self.run("scancel", "--quiet", "--user", str(os.getuid()))
        self.wait_for(lambda: not self.run("squeue", "-h", "-a", "-o", "%i"))

    def _standing(self) -> str:
        try:
            return self.run("squeue", "-a", "-t", "all") + "\n" + self.run("sinfo", "-N", "-o", "%N %T %E")
        except ClusterFailed as failed:
            return str(failed)

    def _ask(self, command: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "done":
            raise ClusterFailed(f"{command}: {answer or 'the cluster has ended'}")
