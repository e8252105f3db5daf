"""The backend of a root: queue, scheduler, samplers and launcher put together, for one process at a time.

Every verb that changes something, and every tick, happens under one lock, in whichever thread calls it. What
is slow (discovery, checks, reading runs) belongs outside of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import msgspec

from engine.control import taking_up
from engine.control.cancelling import Cancelling
from engine.control.notices import Notices
from engine.control.reports import ConflictError, ControlError, NoBackendError, RefusedError
from engine.control.rescoring import reopen_to_complete
from engine.control.resuming import kept_on_failure
from engine.control.waiting_notes import WaitingNotes
from engine.graph.model import Problem
from engine.scheduling.calibration import Calibration
from engine.scheduling.elsewhere import ask_of
from engine.scheduling.jobs import QueuedJob
from engine.scheduling.launchers.local import LocalLauncher
from engine.scheduling.launchers.routing import RoutingLauncher
from engine.scheduling.launchers.slurm.commands import (
    SlurmError,
    SlurmLaterError,
    SlurmRefusedError,
    SlurmSilentError,
)
from engine.scheduling.launchers.slurm.launcher import SlurmLauncher
from engine.scheduling.launchers.slurm.servers import ClusterServer
from engine.scheduling.launching import Launcher
from engine.scheduling.ledger import Ledger
from engine.scheduling.machine import Machine
from engine.scheduling.policy import Policy
from engine.scheduling.queue import Queue, QueueError
from engine.scheduling.reasons import Reason
from engine.scheduling.samplers.background import BackgroundSampler
from engine.scheduling.samplers.local import LocalMachine
from engine.scheduling.tick import Scheduler
from engine.statistics.folding import fold_rows
from engine.store.backend_lock import BackendLock, BackendRecord, read_backend, write_backend
from engine.store.process_identity import identity
from engine.store.records import JobKind, RunStatus, Spec, now_iso
from engine.store.rundir import RunDir, RunDirError, runs_folder
from engine.store.runs import view_run
from engine.store.settings import Settings

log = logging.getLogger(__name__)

FIRST_SAMPLE_SEC = 0.05
"""Between the ticks before the machine was sampled for the first time: nothing starts before that."""

_LOCK_LOST = (
    "outputs/backend.lock was removed or replaced, so that another backend could start: this one starts"
    " nothing more. End it (evaltower stop), and start it again"
)


class Backend:
    """The owner of a root's queue. Making one takes up what an earlier one left.

    wanted: set when something is to be done before the next tick is due. ending: it is to end, and admits
    nothing more; see :attr:`may_end`. simulated: its machine is thought.
    """

    def __init__(
        self,
        root: Path,
        lock: BackendLock,
        settings: Settings,
        machine: Machine | None = None,
        *,
        launcher: Launcher | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        """``machine``: a simulated one; None is this one. Raises OSError where the root cannot be written."""
        self.root = root
        self.lock = lock
        self.settings = settings
        self.simulated = machine is not None
        self.wanted = threading.Event()
        self.ending = threading.Event()
        self.notices = Notices()
        self._access = threading.RLock()
        self._cancel_all = False
        before = read_backend(root)
        self.record = self._announce(before)
        outputs = root / "outputs"
        self.queue = Queue(outputs / "system" / "queue.json")
        calibration = Calibration(outputs / "system" / "resource_calibration.json")
        taking_up.tell_the_past(self.notices, before, self.queue, calibration)
        taking_up.reconcile(root, self.queue, self.notices)
        # What is only thought takes nothing from the other backends of this host.
        self._ledger = ledger or (None if machine else Ledger())
        self._sampler = BackgroundSampler(machine or LocalMachine(outputs))
        self._local = self._local_launcher()
        self._slurm = SlurmLauncher(root, settings, fold_rows)
        self.scheduler = Scheduler(
            self.queue,
            calibration,
            launcher or RoutingLauncher(self._local, self._slurm),
            self._sampler.observe,
            self._status_of,
            policy=Policy.of(settings.admission),
            ledger=self._ledger,
            root=str(root),
        )
        self._cancelling = Cancelling(root, self.scheduler)
        self._notes = WaitingNotes(root, self.record.process)
        taking_up.go_on(root, self.scheduler, self._cancelling, self.notices)

    @contextmanager
    def access(self) -> Iterator[Scheduler]:
        """The scheduler, for one thread at a time. What the operator did wrong is told as ConflictError, what
        the disk did as ControlError."""
        with self._access:
            try:
                yield self.scheduler
            except QueueError as error:
                raise ConflictError(str(error)) from None
            except OSError as error:
                raise ControlError(f"it cannot be written down, so it was not done: {error}") from error
        self.wanted.set()

    @contextmanager
    def reading(self) -> Iterator[Scheduler]:
        """The scheduler, for one thread at a time, to look at."""
        with self._access:
            yield self.scheduler

    def tick(self) -> None:
        """What is to be done about once a second, and when ``wanted`` is set. Does not raise."""
        try:
            with self._access:
                self.wanted.clear()
                self._look_after_the_lock()
                self._cancelling.press()
                running = list(self.scheduler.tenants.runs)
                self.scheduler.tick()
                self._complete(run_id for run_id in running if not self.is_ours(run_id))
                self._end_play()
                self._notes.write(self.waiting())
        except Exception:
            log.exception("a tick failed; the next one tries again")

    def run_ticks(self, until: threading.Event, every_sec: float = 1.0) -> None:
        """Tick until told to end, in the calling thread. Set ``wanted``, too, to be heard at once."""
        while not until.is_set():
            self.tick()
            self.wanted.wait(every_sec if self.scheduler.sample else FIRST_SAMPLE_SEC)

    def submit(self, spec: Spec, submitted_at: str, kind: JobKind = "run") -> None:
        """Queue a run whose folder is written. It is durable when this returns. Raises ControlError."""
        with self.access() as scheduler:
            self.refuse_if_closed()
            play = kind == "play"
            if play and scheduler.playing:
                raise ConflictError(f"{scheduler.playing} is being played already: end that one first")
            self.queue.submit(QueuedJob.of(spec, submitted_at, kind), first=play)
            self._cancelling.forget(spec.run_id)
            if play:
                scheduler.playing = spec.run_id

    def cancel(self, run_id: str, grace_sec: float | None) -> Literal["cancelled", "cancelling"]:
        """End a run of this backend: ``cancelled`` or ``cancelling``. QueueError where it is none."""
        with self._access:
            return self._cancelling.begin(run_id, grace_sec)

    def is_ours(self, run_id: str) -> bool:
        """Whether it is queued, or was let in and has not been seen to end."""
        with self._access:
            return run_id in self.scheduler.tenants.runs or any(
                job.run_id == run_id for job in self.queue.jobs
            )

    def waiting(self) -> dict[str, Reason]:
        """Why each run waits that is queued, or let in and not started, as of the last tick."""
        queued = {job.run_id for job in self.queue.jobs}
        let_in = {run.run_id for run in self.scheduler.tenants.runs.values() if not run.launched}
        reasons = self.scheduler.decisions.waiting
        return {run_id: reason for run_id, reason in reasons.items() if run_id in queued | let_in}

    def ask_cluster(self, spec: Spec) -> None:
        """Whether such a run could ever start there. RefusedError where not, or where there is no cluster;
        one that does not answer is asked again when the run is submitted to it."""
        job = QueuedJob.of(spec, spec.created_at)
        with self.reading() as scheduler:
            ask = ask_of(job.on, job.nodes, job.need.worker_count, scheduler.estimate(job.need))
        try:
            self._slurm.could_run(ask)
        except (SlurmSilentError, SlurmLaterError) as error:
            log.warning("%s", error)
        except SlurmRefusedError as error:
            remedy = (
                "ask for less (fewer workers, --vram 0 where no GPU is needed), or set [slurm] in"
                " evaltower.toml; evaltower doctor --cluster tells what there is"
            )
            raise RefusedError([Problem("cluster", "on", str(error), remedy)]) from None
        except SlurmError as error:
            remedy = (
                f"the backend submits it, process {self.record.process.pid}: are SLURM_CONF and PATH set"
                " where that was started? Stop it, and start it where sinfo answers"
            )
            raise RefusedError([Problem("cluster", "on", str(error), remedy)]) from None

    def cluster_servers(self) -> list[ClusterServer]:
        """The shared servers that it has on a cluster."""
        with self._access:
            return self._slurm.servers()

    def refuse_if_closed(self) -> None:
        """NoBackendError where nothing is taken in any more."""
        if self.ending.is_set():
            raise NoBackendError("the backend is ending: ask again when another serves this root")
        if not self.scheduler.admitting:
            raise NoBackendError(_LOCK_LOST)

    def end(self, *, cancel: bool) -> None:
        """Admit nothing more, and be ended; ``cancel``: when all runs have been cancelled."""
        with self.access():
            self.scheduler.admitting = False
            self.ending.set()
            if cancel:
                self._cancel_all = True
                for run_id in [*(job.run_id for job in self.queue.jobs), *self.scheduler.tenants.runs]:
                    self._cancelling.begin(run_id, None)

    @property
    def may_end(self) -> bool:
        """Whether it was told to end, and nothing is left to wait for."""
        if not self.ending.is_set():
            return False
        with self._access:
            return not (self._cancel_all and self.scheduler.tenants.runs)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued, and nothing runs."""
        with self._access:
            return not (self.queue.jobs or self.scheduler.tenants.runs)

    def announce(self, url: str, socket: str) -> None:
        """Say in backend.json where it is listened for callers. Raises OSError."""
        self._write_record(url=url, socket=socket)

    def name_successor(self, successor: int) -> None:
        """Say in backend.json which process goes on: before this one ends, and after its last tick."""
        self._write_record(successor=identity(successor), handed_over_at=now_iso())

    def close(self, *, ended: bool = False) -> None:
        """End what it has of its own: not the runs, not the lock. ``ended``: say that nobody goes on."""
        self._sampler.close()
        self._local.close()
        self._slurm.close()
        if self._ledger is not None:
            self._ledger.close()
        if ended:
            try:
                self._write_record(ended_at=now_iso())
            except OSError as error:
                log.warning("that the backend has ended cannot be written: %s", error)

    def _announce(self, before: BackendRecord | None) -> BackendRecord:
        """Be in backend.json before anything else: the shims of running runs look there for who goes on."""
        own = identity()
        inherits = before is not None and before.successor == own
        record = BackendRecord(
            process=own,
            root=str(self.root),
            version=_version(),
            started_at=now_iso(),
            url=before.url if before and inherits else "",
            socket=before.socket if before and inherits else "",
        )
        write_backend(self.root, record)
        return record

    def _write_record(self, **changes: object) -> None:
        self.record = msgspec.structs.replace(self.record, **changes)
        write_backend(self.root, self.record)

    def _local_launcher(self) -> LocalLauncher:
        from engine.scheduling.launchers.servers import ServerLauncher
        from engine.scheduling.launchers.spawning import Graces

        admission = self.settings.admission
        servers = ServerLauncher(self.root, Graces.of(self.root, admission))
        return LocalLauncher(self.root, admission, servers, fold_rows)

    def _status_of(self, run_id: str) -> RunStatus | None:
        run = RunDir(runs_folder(self.root) / run_id)
        return view_run(run).status if run.path.is_dir() else None

    def _look_after_the_lock(self) -> None:
        if self.scheduler.admitting and not self.lock.still_ours():
            self.scheduler.admitting = False
            self.notices.add(_LOCK_LOST)

    def _complete(self, ended: Iterable[str]) -> None:
        """Queue what those have left to be done behind them."""
        if not (self.scheduler.admitting or self.ending.is_set()):
            return
        for run_id in ended:
            run = RunDir(runs_folder(self.root) / run_id)
            try:
                with kept_on_failure(run):
                    spec = reopen_to_complete(run)
                    if spec is not None:
                        self.queue.submit(QueuedJob.of(spec, now_iso(), "score"))
            except (OSError, RunDirError, QueueError) as error:
                self.notices.add(
                    f"what {run_id} left to be scored behind it is not queued: {error}; evaltower rescore"
                    f" {run_id} does it"
                )

    def _end_play(self) -> None:
        playing = self.scheduler.playing
        if playing is not None and not self.is_ours(playing):
            self.scheduler.playing = None


def _version() -> str:
    try:
        return version("evaltower")
    except PackageNotFoundError:  # a checkout that is not installed
        return "unknown"
