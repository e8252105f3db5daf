"""Runs as processes of this machine, each under a shim. All there is to know of them is on disk, so that the
next backend goes on with them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, Protocol

from engine.scheduling.jobs import QueuedJob
from engine.scheduling.launchers import closing
from engine.scheduling.launchers.processes import Processes
from engine.scheduling.launchers.spares import NONE_LEFT, Spares
from engine.scheduling.launchers.spawning import Graces, cards_environment, spawn_shim
from engine.scheduling.launchers.tree import Standing, Tree
from engine.scheduling.launching import LaunchError, Poll, RunEnd, RunState, ServerState
from engine.scheduling.machine import RAM
from engine.scheduling.starts import Seated, Start
from engine.store.atomic import write_json
from engine.store.attempts import Attempt
from engine.store.process_identity import identity, is_alive
from engine.store.records import Job, now_iso
from engine.store.rundir import RunDir, RunDirError, runs_folder
from engine.store.settings import Admission

log = logging.getLogger(__name__)


class Servers(Protocol):
    """Whoever starts shared servers, by their key. See :class:`engine.scheduling.launching.Launcher`."""

    def start(self, seated: Seated) -> None: ...

    def stop(self, key: str) -> None: ...

    def poll(self, keys: Collection[str]) -> Mapping[str, ServerState]: ...

    def url(self, key: str) -> str: ...


class LocalLauncher:
    """:class:`engine.scheduling.launching.Launcher` for the runs of a root. Use it in one thread at a time.

    A run that the box failed waits again, where its job may be tried again; else it is closed off with what
    it has. A cancel that cannot be written down, on a full disk, is heeded all the same, while we live.
    """

    def __init__(self, root: Path, settings: Admission, servers: Servers, fold: closing.Fold) -> None:
        """``fold``: makes the numbers of a run that could not do so itself."""
        self._root = root
        self._graces = Graces.of(root, settings)
        self._servers = servers
        self._fold = fold
        self._spares = Spares()
        self._trees: dict[str, Tree] = {}
        self._ends: dict[str, RunEnd] = {}
        self._working: set[str] = set()
        self._intents: dict[str, str] = {}

    def close(self) -> None:
        """Give back the files that it holds; what runs goes on."""
        self._spares.close()

    def start_run(self, job: QueuedJob, start: Start) -> None:
        """One that has ended, or is to end, is not started: the next poll tells its end."""
        run = self.run(job.run_id)
        self._forget(job.run_id)
        try:
            record, urls = run.read_job(), run.read_shared_urls()
        except RunDirError as error:
            raise LaunchError(str(error)) from error
        if run.is_done():
            return
        if record.cancel_requested_at is not None:
            closing.close_as_intended(run, record, self._fold)
            return
        attempt = _next_attempt(run, record)
        ours = {use.server.name: self._servers.url(use.owner) for use in start.servers if use.server}
        write_json(run.shared_urls, {**urls, **ours})
        run.progress.unlink(missing_ok=True)  # an earlier attempt's
        _note_start(record, job, start)
        write_json(run.job, record)
        try:
            spawned = spawn_shim(
                attempt,
                [sys.executable, "-m", closing.RUN_PROCESS, "--run-dir", str(run.path)],
                graces=self._graces,
                mark=closing.mark_of(record),
                cwd=self._root,
                environment=cards_environment(start.run.visible),
            )
        except (OSError, LaunchError):
            closing.queue_again(run, record)
            raise
        self._trees[job.run_id] = tree = Tree(attempt, closing.mark_of(record), self._graces, spawned)
        _note_shim(run, record, tree)

    def stop_run(self, run_id: str, why: str, grace_sec: float | None = None) -> None:
        """Raises OSError where there are no open files, not even those that are kept back for this."""
        self._spares.use_if_needed(lambda: self._stop(self.run(run_id), why, grace_sec))

    def end_unstarted(self, run_id: str, status: Literal["cancelled", "error"], why: str) -> None:
        run = self.run(run_id)
        try:
            record = run.read_job()
        except RunDirError as error:
            log.error("%s cannot be closed off: %s", run_id, error)
            return
        if run.is_done():
            closing.end_job(run, record)
            return
        if record.state == "started":
            _attempt(run, record).void()
        closing.close_off(run, record, status, why if status == "error" else None, self._fold)

    def start_server(self, server: Seated) -> None:
        self._servers.start(server)

    def stop_server(self, key: str) -> None:
        self._servers.stop(key)

    def poll(self, runs: Collection[str], servers: Collection[str]) -> Poll:
        """Raises OSError where nothing can be seen, so that nobody is taken for lost."""
        states = self._spares.use_if_needed(lambda: self._states(runs))
        return Poll(states, self._servers.poll(servers))

    def _states(self, runs: Collection[str]) -> dict[str, RunState]:
        processes = Processes.read() if runs else Processes({})
        for run_id in self._ends.keys() - set(runs):
            self._forget(run_id)
        states = {run_id: self._state(self.run(run_id), processes) for run_id in runs}
        return {run_id: state for run_id, state in states.items() if state}

    def _state(self, run: RunDir, processes: Processes) -> RunState | None:
        if end := self._ends.get(run.run_id):
            return RunState(0, end=end)
        record = self._read_job(run)
        tree = self._tree(run, record)
        if tree is None:
            return RunState(0, end=closing.as_written(run)) if run.is_done() else None
        standing = tree.look(processes)
        if standing == "alive":
            self._look_after(run, record, tree)
            return RunState(tree.pid, self._works(run))
        try:
            end = self._end(run, record, tree, standing)
        except OSError as error:
            if error.errno in NONE_LEFT:
                raise
            log.error("how %s ended cannot be written yet: %s", run.run_id, error)
            return RunState(tree.pid, self._works(run))
        if end is None:
            self._forget(run.run_id)
            return None
        self._ends[run.run_id] = end
        return RunState(0, end=end)

    def _look_after(self, run: RunDir, record: Job | None, tree: Tree) -> None:
        self._trees[run.run_id] = tree
        if record is not None:
            _note_shim(run, record, tree)
        if run.run_id in self._intents or (record is not None and record.cancel_requested_at is not None):
            tree.ask_to_end()

    def _end(self, run: RunDir, record: Job | None, tree: Tree, standing: Standing) -> RunEnd | None:
        """How a run ended whose processes are gone, written down; None where it never began, and may yet."""
        if record is None:
            return RunEnd("failed", f"{run.job} cannot be read")
        if run.is_done():
            closing.end_job(run, record)
            return closing.as_written(run)
        if record.cancel_requested_at is not None:
            return closing.close_as_intended(run, record, self._fold)
        if standing == "never" and not tree.is_ours:
            closing.queue_again(run, record)
            return None
        why = f"its shim ended before it began: see {tree.attempt.stderr}"
        if standing == "ended":
            why = closing.told(run, tree.attempt.read_exit(), self._graces.orphan_grace_sec)
        if record.may_retry:
            closing.queue_again(run, record, why)
        else:
            closing.close_off(run, record, "aborted", why, self._fold)
        return RunEnd("infra", why)

    def _stop(self, run: RunDir, why: str, grace_sec: float | None) -> None:
        record = self._read_job(run)
        if record is None or record.cancel_requested_at is None:
            self._intents.setdefault(run.run_id, why)
        if record is not None and record.cancel_requested_at is None and not run.is_done():
            _intend(record, self._intents[run.run_id])
            try:
                write_json(run.job, record)
            except OSError as error:
                if error.errno in NONE_LEFT:
                    raise
                log.error("that %s is to end is not written yet: %s", run.run_id, error)
        tree = self._tree(run, record)
        if tree is not None:
            self._trees[run.run_id] = tree
            tree.ask_to_end(grace_sec)

    def _tree(self, run: RunDir, record: Job | None) -> Tree | None:
        """The processes of its current attempt; None where that was never started.

        Where its job.json was removed or spoilt, those of its last attempt.
        """
        if tree := self._trees.get(run.run_id):
            return tree
        attempt = _attempt(run, record) if record else Attempt.latest(run.path)
        if attempt is None:
            return None
        unclaimed = attempt.read_shim() is None
        if unclaimed and (record is None or record.state == "queued" or run.is_done()):
            return None
        return Tree(attempt, closing.mark_of(record) if record else "", self._graces)

    def _read_job(self, run: RunDir) -> Job | None:
        """With the intent that could not be written. None where it cannot be read."""
        try:
            record = run.read_job()
        except RunDirError as error:
            log.error("%s", error)
            return None
        if record.cancel_requested_at is None and run.run_id in self._intents:
            _intend(record, self._intents[run.run_id])
        return record

    def _works(self, run: RunDir) -> bool:
        if run.run_id not in self._working:
            try:
                progress = run.read_progress()
            except RunDirError:
                return False
            if progress and any(worker.step or worker.steps_done for worker in progress.workers):
                self._working.add(run.run_id)
        return run.run_id in self._working

    def _forget(self, run_id: str) -> None:
        self._trees.pop(run_id, None)
        self._ends.pop(run_id, None)
        self._intents.pop(run_id, None)
        self._working.discard(run_id)

    def run(self, run_id: str) -> RunDir:
        """The folder of a run."""
        return RunDir(runs_folder(self._root) / run_id)


def _attempt(run: RunDir, record: Job) -> Attempt:
    return Attempt.of(run.path, record.attempt)


def _next_attempt(run: RunDir, record: Job) -> Attempt:
    """The one that ``record`` names, or the next where that was begun, or may have been.

    LaunchError where it runs.
    """
    attempt = _attempt(run, record)
    if record.state != "queued":
        attempt.void()
    claim = attempt.read_shim()
    if claim is None:
        return attempt
    if claim.process is not None and is_alive(claim.process):
        raise LaunchError(f"its attempt {record.attempt} runs already, under process {claim.process.pid}")
    closing.renew(record)
    return _attempt(run, record)


def _note_start(record: Job, job: QueuedJob, start: Start) -> None:
    record.state, record.process, record.reason = "started", identity(), ""
    record.started_at, record.finished_at = now_iso(), None
    record.may_retry = job.failures < job.retries
    record.gpus = list(start.run.visible or ())
    claims = {pool: claim.mb + claim.margin_mb for pool, claim in start.run.claims.items()}
    record.admit_charges = {
        "vram": sum(mb for pool, mb in claims.items() if pool != RAM),
        "ram": claims.get(RAM, 0.0),
    }
    record.admit_basis = {name: basis for name, basis in start.basis.items() if basis is not None}


def _note_shim(run: RunDir, record: Job, tree: Tree) -> None:
    """Whose processes the run's are; where that cannot be written, the next poll tries again."""
    if tree.shim is None or record.process == tree.shim:
        return
    record.process = tree.shim
    try:
        write_json(run.job, record)
    except OSError as error:
        log.warning("the process of %s is not written yet: %s", run.run_id, error)


def _intend(record: Job, why: str) -> None:
    record.cancel_requested_at = now_iso()
    record.stop_reason = "" if why == closing.CANCELLED else why
