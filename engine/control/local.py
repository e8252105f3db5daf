"""The verbs in the process that is the backend."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from engine.control import checking, playing, queue_views, resource_views, server_views, verify
from engine.control.backend import Backend
from engine.control.estimate_views import estimate_report
from engine.control.plans import RunPlan, plan_run
from engine.control.queue_reports import (
    BackendReport,
    CancelReport,
    EstimateReport,
    PlayReport,
    QueueReport,
    ResourcesReport,
    ServerReport,
)
from engine.control.reader import Reader
from engine.control.reports import (
    NOTHING_MORE,
    AlreadyOverError,
    ConflictError,
    ControlError,
    RefusedError,
    Sources,
    StartRequest,
    StillAliveError,
    VerifyReport,
    problem_text,
)
from engine.control.rescoring import reopen_to_score
from engine.control.resuming import kept_on_failure, refuse_to_touch, reopen
from engine.control.scoring import warnings_of
from engine.control.start import spec_of, write_run
from engine.control.taking_up import DELETED
from engine.graph.model import Problem
from engine.scheduling.need import Need, Priority
from engine.scheduling.queue import QueueError
from engine.store.atomic import fsync_folder
from engine.store.records import Spec
from engine.store.rundir import RunDir, runs_folder
from engine.store.runs import view_run


class LocalControl(Reader):
    """:class:`engine.control.protocol.Control` over a backend of this process."""

    def __init__(self, root: Path, backend: Backend) -> None:
        super().__init__(root)
        self._backend = backend

    def start(self, request: StartRequest) -> str:
        self._backend.refuse_if_closed()
        return self._submit(plan_run(self.root, request))

    def _submit(self, plan: RunPlan, kind: Literal["run", "play"] = "run") -> str:
        self._refuse_what_never_fits(plan)
        try:
            run, spec = write_run(self.root, plan, kind)
        except OSError as error:
            raise ControlError(f"the run cannot be written: {error}") from error
        try:
            self._backend.submit(spec, spec.created_at, kind)
        except BaseException:
            shutil.rmtree(run.path, ignore_errors=True)
            raise
        self._tell_what_scoring_lacks(spec)
        return run.run_id

    def _refuse_what_never_fits(self, plan: RunPlan) -> None:
        if plan.scheduling.on:
            self._backend.ask_cluster(spec_of(plan))
            return
        need = Need.of(spec_of(plan))
        with self._backend.reading() as scheduler:
            reason = scheduler.forecast(need).refused
        if reason:
            raise RefusedError([Problem(reason.code, "scheduling", reason.text, "ask for less")])

    def cancel(self, run: str, grace_sec: float | None = None) -> CancelReport:
        found = self.find(run)
        try:
            if not found.is_done():
                return CancelReport(run_id=found.run_id, status=self._backend.cancel(found.run_id, grace_sec))
        except QueueError:
            pass
        except OSError as error:
            raise ControlError(f"run {found.run_id} cannot be cancelled: {error}") from error
        status = view_run(found).status
        if status in ("pending", "running"):
            raise ConflictError(f"run {found.run_id} is {status}, but not of this backend: cancel it there")
        raise AlreadyOverError(f"run {found.run_id} is over already: {status}")

    def resume(self, run: str, *, errors: bool = False) -> None:
        self._queue_again(run, lambda found: reopen(found, errors=errors))

    def rescore(
        self, run: str, scoring: Mapping[str, Any] | None = None, caller_secrets: Collection[str] = ()
    ) -> None:
        spec = self._queue_again(
            run, lambda found: reopen_to_score(self.root, found, scoring, caller_secrets)
        )
        self._tell_what_scoring_lacks(spec)

    def _queue_again(self, run: str, reopened: Callable[[RunDir], Spec]) -> Spec:
        found = self.find(run)
        with self._backend.access():
            self._backend.refuse_if_closed()
            self._refuse_if_ours(found)
            with kept_on_failure(found):
                spec = reopened(found)
                job = found.read_job()
                self._backend.submit(spec, job.submitted_at, job.kind)
        return spec

    def _tell_what_scoring_lacks(self, spec: Spec) -> None:
        """It starts all the same: what it costs is told again by each score and export that it costs."""
        for lack in warnings_of(self.root, spec.scoring):
            self._backend.notices.add(f"{spec.run_id} starts, but {problem_text(lack)}")

    def delete(self, run: str) -> None:
        found = self.find(run)
        with self._backend.access():
            self._refuse_if_ours(found)
            refuse_to_touch(found)
            folder = runs_folder(self.root)
            going = folder / f"{DELETED}{found.run_id}-{secrets.token_hex(4)}"
            found.path.rename(going)
            fsync_folder(folder)
        # No reader takes the hidden name for a run. Of a link only the link itself goes.
        if going.is_symlink():
            going.unlink()
        else:
            shutil.rmtree(going, ignore_errors=True)

    def _refuse_if_ours(self, run: RunDir) -> None:
        if self._backend.is_ours(run.run_id):
            told = "has just ended, and its processes end: try again" if run.is_done() else ""
            raise StillAliveError(f"run {run.run_id} {told or 'is queued or runs: cancel it first'}")

    def queue(self) -> QueueReport:
        return queue_views.queue_report(self._backend)

    def pause(self) -> None:
        with self._backend.access() as scheduler:
            scheduler.queue.pause()

    def unpause(self) -> None:
        with self._backend.access() as scheduler:
            scheduler.queue.resume()

    def hold(self, run: str) -> None:
        found = self.find(run)
        with self._backend.access() as scheduler:
            scheduler.queue.hold(found.run_id)

    def release(self, run: str) -> None:
        found = self.find(run)
        with self._backend.access() as scheduler:
            scheduler.queue.release(found.run_id)

    def move(self, run: str, position: int) -> int:
        found = self.find(run)
        with self._backend.access() as scheduler:
            return scheduler.queue.move(found.run_id, position)

    def prioritize(self, run: str, priority: Priority) -> int:
        found = self.find(run)
        with self._backend.access() as scheduler:
            return scheduler.queue.prioritize(found.run_id, priority)

    def estimate(
        self,
        graph: str | dict[str, Any],
        worker_count: int,
        sources: Sources = NOTHING_MORE,
        selectors: Mapping[str, Any] | None = None,
    ) -> EstimateReport:
        if worker_count < 1:
            raise RefusedError([Problem("bad-request", "worker_count", f"is {worker_count}", "at least 1")])
        prepared = checking.prepare(self.nodesets(sources), graph, self.root)
        if prepared.graph is None:
            raise RefusedError(prepared.problems)
        return estimate_report(self._backend, prepared, worker_count, selectors or {})

    def resources(self) -> ResourcesReport:
        return resource_views.resources_report(self._backend)

    def servers(self) -> list[ServerReport]:
        return server_views.server_reports(self._backend, self.nodesets())

    def load_server(self, nodeset: str) -> ServerReport:
        return server_views.load(self._backend, self.nodesets(), nodeset)

    def unload_server(self, nodeset: str) -> ServerReport:
        return server_views.unload(self._backend, self.nodesets(), nodeset)

    def play(self, request: StartRequest) -> str:
        self._backend.refuse_if_closed()
        if already := self._backend.scheduler.playing:
            raise ConflictError(f"{already} is being played already: end that one first")
        return self._submit(plan_run(self.root, playing.one_episode(request)), "play")

    def play_state(self, run: str) -> PlayReport:
        return playing.state(self.find(run))

    def play_step(self, run: str, steps: int = 1) -> PlayReport:
        if steps < 1:
            raise RefusedError([Problem("bad-request", "steps", f"is {steps}", "at least 1")])
        return playing.step(self.find(run), steps)

    def play_run(self, run: str) -> PlayReport:
        return playing.go_on(self.find(run))

    def play_stop(self, run: str) -> PlayReport:
        found = self.find(run)
        if not playing.stop(found) and not found.is_done():
            self.cancel(found.run_id)
        return playing.state(found)

    def backend(self) -> BackendReport:
        return queue_views.backend_report(self._backend)

    def stop_backend(self, *, cancel: bool = False) -> None:
        self._backend.end(cancel=cancel)

    def verify(
        self, request: StartRequest, worker_counts: Sequence[int], watch: Callable[[str], None]
    ) -> VerifyReport:
        return verify.run_and_compare(self, request, worker_counts, watch)
