"""A Slurm cluster of two nodes on this machine, to try things out: no root, no services, fake GPUs.

    python examples/slurm/two_nodes.py

It wants the Debian packages slurmctld, slurmd and slurm-client, and the standard library alone. It prints
``export SLURM_CONF=…`` for the shells that are to use the cluster, and stays until Ctrl-C; then everything
that ran on it is ended at once, as by a power cut. Each node, n1 and n2, has 4 CPUs and 2 GPUs that are none.

``--commands`` is for programs: it obeys its input, line by line, and answers each with a line. ``start WHO``
and ``signal WHO NUMBER`` (WHO is controller, n1 or n2; or n1/steps, with what Slurm itself runs for its jobs;
or n1/jobs, with the jobs too). It ends with its input.
"""

from __future__ import annotations

import argparse
import ctypes
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

DAEMONS = ("slurmctld", "slurmd", "sbatch")
NODES = ("n1", "n2")
WHO = ("controller", *NODES)
UP_WITHIN_SEC, TRIES, LOOK_AGAIN_SEC = 30.0, 3, 0.05
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MARK = "TWO_NODES_OF"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None)

CONF = """\
ClusterName=two-nodes
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/log/controller
SlurmdLogFile={folder}/log/%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=200
GresTypes=gpu
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=10
MessageTimeout=5
KillWait=5
MinJobAge=300
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs=4 RealMemory=8000 Gres=gpu:2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs=4 RealMemory=8000 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
PartitionName=small Nodes=n2 MaxTime=60 State=UP
"""
GRES = """\
NodeName=n1 Name=gpu File={folder}/gpu[0-1]
NodeName=n2 Name=gpu File={folder}/gpu[2-3]
"""


class Failed(Exception):
    """The cluster cannot be had; says why."""


class TwoNodes:
    """The daemons and all that they start, as descendants of this process, which must have no others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conf = folder / "slurm.conf"
        self._pids: dict[str, int] = {}

    def start(self) -> None:
        """All of it, until both nodes are idle."""
        missing = [name for name in DAEMONS if shutil.which(name, path=_path()) is None]
        if missing:
            raise Failed(
                f"{', '.join(missing)}: not installed. On Debian 12: "
                "apt-get install --no-install-recommends slurmctld slurmd slurm-client"
            )
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for name in ("state", "log"):
            (self.folder / name).mkdir()
        for index in range(2 * len(NODES)):
            (self.folder / f"gpu{index}").symlink_to("/dev/null")
        (self.folder / "gres.conf").write_text(GRES.format(folder=self.folder))
        for left in reversed(range(TRIES)):
            # A port may be taken between being found free and being listened on.
            self.conf.write_text(self._conf())
            for who in WHO:
                self.start_one(who)
            if self._idle():
                return
            self.end()
            if not left:
                raise Failed(f"the cluster did not come up:\n{self._last_words()}")

    def start_one(self, who: str) -> None:
        daemon = ["slurmctld"] if who == "controller" else ["slurmd", "-N", who]
        # What a node runs is found by the mark; it must not find the cluster of whoever started this one.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        parent = os.getpid()

        def dies_with_us() -> None:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

        with (self.folder / "log" / f"{who}.out").open("ab") as output:
            process = subprocess.Popen(
                [*daemon, "-D", "-f", str(self.conf)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**environment, "PATH": _path(), MARK: who},
                start_new_session=True,
                preexec_fn=dies_with_us,
            )
        self._pids[who] = process.pid

    def signal(self, who: str, number: int) -> None:
        """``who`` alone; of a node also ``NODE/steps`` and ``NODE/jobs``."""
        who, _, width = who.partition("/")
        marks = {f"{MARK}={who}"} | ({f"SLURMD_NODENAME={who}"} if width == "jobs" else set())
        below, daemon = _below(), self._pids[who]
        # The daemon goes first, so that it does not see, and tell, how the rest ends.
        for pid in (pid for pid in below if pid == daemon):
            _send(pid, number)
        for pid in (pid for pid in below if pid != daemon and width and marks & _environment(pid)):
            _send(pid, number)
        if number == signal.SIGKILL:
            _wait_until_gone(daemon)

    def end(self) -> None:
        """Nothing below this process is left."""
        while below := _below():
            for pid in below:
                _send(pid, signal.SIGKILL)
            _reap()
            time.sleep(LOOK_AGAIN_SEC)

    def _conf(self) -> str:
        with socket.socket() as one, socket.socket() as two, socket.socket() as three:
            for each in (one, two, three):
                each.bind(("127.0.0.1", 0))
            controller, n1, n2 = (each.getsockname()[1] for each in (one, two, three))
        host = socket.gethostname().partition(".")[0]
        user = getpass.getuser()
        return CONF.format(folder=self.folder, host=host, user=user, controller=controller, n1=n1, n2=n2)

    def _idle(self) -> bool:
        deadline = time.monotonic() + UP_WITHIN_SEC
        command = ["sinfo", "-h", "-N", "-p", "main", "-o", "%T"]
        environment = {**os.environ, "SLURM_CONF": str(self.conf)}
        while time.monotonic() < deadline and all(_alive(pid) for pid in self._pids.values()):
            states = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if states.stdout.split() == ["idle"] * len(NODES):
                return True
            time.sleep(LOOK_AGAIN_SEC)
        return False

    def _last_words(self) -> str:
        told = []
        for file in sorted((self.folder / "log").iterdir()):
            lines = file.read_text(errors="replace").splitlines()
            told += [f"{file.name}: {line}" for line in lines if "error" in line or "fatal" in line][-5:]
        return "\n".join(told)


def _path() -> str:
    """Debian's daemons lie where only root looks."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _below() -> list[int]:
    """Every descendant of this process; whoever lost its parent has fallen to it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path("/proc", entry, "stat").read_text(errors="replace")
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    found, new = [], [os.getpid()]
    while new:
        new = [child for parent in new for child in children.get(parent, [])]
        found += new
    return found


def _environment(pid: int) -> set[str]:
    try:
        return set(Path("/proc", str(pid), "environ").read_text(errors="replace").split("\0"))
    except OSError:
        return set()


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _alive(pid: int) -> bool:
    _reap()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_until_gone(pid: int) -> None:
    while _alive(pid):
        time.sleep(LOOK_AGAIN_SEC)


def _lines() -> Iterator[str]:
    """Of stdin, while what ends on the cluster is reaped."""
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    _reap()
    yield from sys.stdin


def obey(cluster: TwoNodes) -> None:
    for line in _lines():
        try:
            match line.split():
                case ["start", who] if who in WHO:
                    cluster.start_one(who)
                case ["signal", who, number] if who.partition("/")[0] in WHO:
                    cluster.signal(who, int(number))
                case _:
                    raise Failed(f"no such command: {line.strip()}")
            print("done", flush=True)
        except Exception as error:
            print(f"failed: {error}", flush=True)


def stay() -> None:
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    _reap()
    while True:
        signal.pause()


def main() -> int:
    asked = argparse.ArgumentParser(description="A Slurm cluster of two nodes on this machine, until Ctrl-C.")
    asked.add_argument("--commands", action="store_true", help="obey the input, and end with it")
    commands = asked.parse_args().commands
    for number in ENDS:
        signal.signal(number, lambda *_: sys.exit(0))
    # Sockets lie in it, whose paths must be short.
    folder = Path(tempfile.mkdtemp(prefix="two-nodes-"))
    cluster = TwoNodes(folder)
    try:
        cluster.start()
        print(f"export SLURM_CONF={cluster.conf}", flush=True)
        if commands:
            obey(cluster)
        else:
            print("Two nodes are up, until Ctrl-C.", file=sys.stderr)
            stay()
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    finally:
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)
        cluster.end()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
