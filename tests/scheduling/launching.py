"""A root with runs that can be started, and a launcher for them that is polled as a backend does."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.scheduling.jobs import QueuedJob
from engine.scheduling.launchers.local import LocalLauncher
from engine.scheduling.launching import RunEnd, ServerState
from engine.scheduling.need import Claim
from engine.scheduling.starts import Seated, Start
from engine.statistics.folding import fold_rows
from engine.store.atomic import write_json
from engine.store.attempts import Attempt
from engine.store.process_identity import ProcessIdentity, identity, is_alive
from engine.store.records import Job, Summary, SummaryConfig
from engine.store.rundir import RunDir, create_run_dir
from engine.store.settings import Admission
from tests.fakes.family import KINDS, bury, living, read_family
from tests.fakes.family_run import FAMILY
from tests.fakes.finished_runs import CREATED, make_spec
from tests.scheduling.making import job, shared

GRACE = ORPHAN_GRACE = 0.5
DEADLINE = 60.0
POLL_SEC = 0.05


def wait_for(condition: Callable[[], object], what: str, seconds: float = DEADLINE) -> float:
    """Seconds until the condition holds."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"waited in vain for {what}"
        time.sleep(0.01)
    return time.monotonic() - began


@dataclass
class FakeServers:
    """Servers that are only named."""

    calls: list[str] = field(default_factory=list)

    def start(self, seated: Seated) -> None:
        self.calls.append(f"start {seated.owner}")

    def stop(self, key: str) -> None:
        self.calls.append(f"stop {key}")

    def poll(self, keys: Collection[str]) -> dict[str, ServerState]:
        return {key: ServerState(7, ready=True) for key in keys}

    def url(self, key: str) -> str:
        return f"unix:/there/{key}"


@dataclass
class Box:
    """A root, and the backend's launcher. ``restart`` is what a new backend begins with."""

    root: Path
    grace: float = GRACE
    orphan_grace: float = ORPHAN_GRACE

    def __post_init__(self) -> None:
        (self.root / "outputs").mkdir(parents=True)
        self.says(identity())
        self.runs: list[RunDir] = []
        self.servers = FakeServers()
        self.restart()

    def says(self, process: ProcessIdentity) -> None:
        write_json(self.root / "outputs" / "backend.json", {"process": process})

    def restart(self) -> None:
        settings = Admission(grace=self.grace, orphan_grace=self.orphan_grace)
        self.launcher = LocalLauncher(self.root, settings, self.servers, fold_rows)

    def run(self, fake: str = "hang") -> RunDir:
        """One that waits in the queue."""
        run = create_run_dir(self.root)
        write_json(run.spec, make_spec(run.run_id, selectors={"fake": fake}))
        token = secrets.token_hex(16)
        write_json(run.job, Job(run_id=run.run_id, state="queued", token=token, process=identity()))
        write_json(run.shared_urls, {"borrowed": "http://there"})
        config = SummaryConfig(graph_name="fake_follow")
        write_json(
            run.summary, Summary(run_id=run.run_id, config=config, status="pending", created_at=CREATED)
        )
        self.runs.append(run)
        return run

    def start(self, run: RunDir, *, visible: tuple[str, ...] | None = None, **more: Any) -> None:
        self.launcher.start_run(queued(run, **more), start_of(run, visible))

    def started(self, fake: str = "hang", **more: Any) -> tuple[RunDir, dict[str, ProcessIdentity]]:
        """One that runs, and its whole family."""
        run = self.run(fake)
        self.start(run, **more)
        return run, self.family(run)

    def family(self, run: RunDir) -> dict[str, ProcessIdentity]:
        wait_for(lambda: read_family(run.path / FAMILY), "the family")
        family = read_family(run.path / FAMILY)
        assert set(living(family)) == set(KINDS)
        return family

    def shim(self, run: RunDir) -> ProcessIdentity:
        def claim() -> ProcessIdentity | None:
            found = Attempt.of(run.path, run.read_job().attempt).read_shim()
            return found.process if found else None

        wait_for(claim, "the claim")
        process = claim()
        assert process is not None
        return process

    def end(self, run: RunDir, seconds: float = DEADLINE) -> RunEnd | None:
        """How it ended, as a backend learns it; None where it never began."""
        ends = time.monotonic() + seconds
        while True:
            state = self.launcher.poll([run.run_id], []).runs.get(run.run_id)
            if state is None or state.end:
                return state.end if state else None
            assert time.monotonic() < ends, f"waited in vain for the end of {run.run_id}"
            time.sleep(POLL_SEC)

    def close(self) -> None:
        """Nothing of it is left."""
        self.launcher.close()
        for run in self.runs:
            bury(read_family(run.path / FAMILY))
            for attempt in (run.path / "attempts").glob("*"):
                claim = Attempt(attempt).read_shim()
                if claim and claim.process and is_alive(claim.process):
                    os.kill(claim.process.pid, 9)


def wait_until_all_are_gone(box: Box, run: RunDir, family: dict[str, ProcessIdentity]) -> float:
    """Seconds until none is alive, with a backend that polls."""

    def none_lives() -> bool:
        box.launcher.poll([run.run_id], [])
        return not living(family)

    return wait_for(none_lives, "the end of the family")


def run_processes(box: Box, run: RunDir) -> list[ProcessIdentity]:
    """The run process itself; none once it has ended."""
    command = ["ps", "--ppid", str(box.shim(run).pid), "-o", "pid=,args="]
    found = []
    for line in subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout.decode().splitlines():
        with suppress(ProcessLookupError):
            found += [identity(int(line.split()[0]))] if "family_run" in line else []
    return found


def queued(run: RunDir, **more: Any) -> QueuedJob:
    return job(run.run_id, **more)


def start_of(run: RunDir, visible: tuple[str, ...] | None = None) -> Start:
    """An admission with one shared server."""
    claims = {"GPU-0": Claim(2000.0, 500.0), "ram": Claim(1000.0)}
    of_run = Seated(
        owner=run.run_id,
        server=None,
        load=False,
        cards=("GPU-0",),
        visible=visible,
        claims=claims,
        after_sec=0.0,
    )
    model = Seated(
        owner="server:model@aa",
        server=shared("model"),
        load=False,
        cards=(),
        visible=None,
        claims={},
        after_sec=0.0,
    )
    return Start(
        run_id=run.run_id,
        run=of_run,
        servers=(model,),
        basis={"vram": "declared", "ram": None},
        cold=False,
        exclusive=False,
        workers=1,
    )


@contextmanager
def no_open_files_left() -> Iterator[None]:
    """Every descriptor that this process may have is taken, meanwhile."""
    taken: list[int] = []
    try:
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
