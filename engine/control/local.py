"""The verbs on this machine, by processes and files of one root."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.components.catalog import Catalog, environment_of
from engine.components.checking import needed_nodesets
from engine.components.roots import graph_files
from engine.control import checking, hook_trust, look, verify
from engine.control.cancel import cancel_run
from engine.control.comparing import CompareReport, compare_metrics
from engine.control.reports import (
    NOTHING_MORE,
    CheckReport,
    ControlError,
    DoctorItem,
    NotFoundError,
    RefusedError,
    RunReport,
    Sources,
    StartRequest,
    UntrustedHooksError,
    VerifyReport,
)
from engine.control.requests import request_problems, sources_problems, unused_servers
from engine.control.results import Results, results_of
from engine.control.start import RunPlan, start_run
from engine.graph.model import Problem
from engine.graph.read import dump_graph
from engine.store.atomic import write_json
from engine.store.records import EpisodeFile, EpisodeRow, EvalRequest, RunStatus, now_iso
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import RunNotFoundError, find_run, list_runs, read_rows

log = logging.getLogger(__name__)

EXIT_WAIT_SEC = 10.0
"""Given to a run's process to end after its last file; one that hangs there is left to itself."""


class LocalControl:
    """:class:`engine.control.protocol.Control` for a root of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def check(self, graph: str, sources: Sources = NOTHING_MORE) -> CheckReport:
        return self._check([graph], sources)[0]

    def check_folder(self, folder: Path, sources: Sources = NOTHING_MORE) -> list[CheckReport]:
        folder = folder / "graphs" if (folder / "graphs").is_dir() else folder
        files = graph_files(folder)
        if not files:
            raise NotFoundError(f"there is no graph file in {folder}")
        reports = self._check([str(file) for file in files], sources)
        for file, report in zip(files, reports, strict=True):
            report.graph = file.relative_to(folder).with_suffix("").as_posix()
        return reports

    def _check(self, graphs: Sequence[str], sources: Sources) -> list[CheckReport]:
        catalog, problems = checking.borrow(self.nodesets(sources), sources.servers)
        hooks, unread = checking.workspace_hooks(self.root, sources)
        reports = []
        for graph in graphs:
            prepared = checking.prepare(catalog, graph, self.root)
            prepared.problems.extend([*problems, *unread])
            reports.append(checking.check_report(prepared, hooks))
        return reports

    def start(self, request: StartRequest) -> str:
        plan = self._plan(request)
        try:
            run, process = start_run(self.root, plan)
        except OSError as error:
            raise ControlError(f"the run cannot be started: {error}") from error
        self._children[run.run_id] = process
        return run.run_id

    def cancel(self, run: str, grace_sec: float) -> None:
        found = self._find(run)
        cancel_run(found, grace_sec)
        self._reap(found, EXIT_WAIT_SEC)

    def runs(
        self,
        *,
        limit: int | None = None,
        before: str | None = None,
        status: RunStatus | None = None,
        graph: str | None = None,
    ) -> list[RunReport]:
        found = list_runs(self.root, limit=limit, before=before, status=status, graph=graph)
        return [look.light_report(view) for view in found]

    def show(self, run: str) -> RunReport:
        found = self._find(run)
        report = look.full_report(found)
        if report.is_over:
            self._reap(found, EXIT_WAIT_SEC)
        return report

    def episodes(self, run: str) -> list[EpisodeRow]:
        return read_rows(self._find(run))

    def episode(self, run: str, episode: str) -> EpisodeFile:
        return look.read_episode(self._find(run), episode)

    def results(self, run: str, metric: str | None = None) -> Results:
        return results_of(self._find(run), metric)

    def compare(self, runs: Sequence[str]) -> CompareReport:
        return compare_metrics([self._find(run) for run in runs])

    def log(self, run: str, episode: str, *, follow: bool = False) -> Iterator[dict[str, Any]]:
        found = self._find(run)
        return look.read_log(found, look.episode_folder(found, episode), follow=follow)

    def nodesets(self, sources: Sources = NOTHING_MORE) -> Catalog:
        if problems := sources_problems(sources):
            raise RefusedError(problems)
        return checking.open_catalog(self.root, sources)

    def verify(
        self, request: StartRequest, worker_counts: Sequence[int], watch: Callable[[str], None]
    ) -> VerifyReport:
        runs = []
        for count in worker_counts:
            asked = msgspec.structs.replace(request, worker_count=count, retries=verify.INFRA_RETRIES)
            runs.append(self.start(asked))
            watch(runs[-1])
        return self.compare_results(runs)

    def compare_results(self, runs: Sequence[str]) -> VerifyReport:
        found = [self._find(run) for run in runs]
        try:
            return verify.compare_runs(found)
        except RunDirError as error:
            raise ControlError(str(error)) from error

    def doctor(self) -> list[DoctorItem]:
        from engine.control.doctor import examine

        return examine(self.root, self.nodesets())

    def _plan(self, request: StartRequest) -> RunPlan:
        problems = request_problems(request)
        catalog = checking.open_catalog(self.root, request.sources)
        catalog, unlent = checking.borrow(catalog, request.servers, max(request.worker_count, 1))
        problems += unlent
        try:
            prepared = checking.prepare(catalog, request.graph or request.graph_name, self.root)
        except NotFoundError as error:
            problems.append(Problem("no-such-graph", "graph", str(error)))
            raise RefusedError(problems) from None
        problems += [*prepared.errors, *checking.workspace_hooks(self.root, request.sources)[1]]
        if prepared.graph is not None:
            problems += unused_servers(request.servers, needed_nodesets(prepared.graph))
        if prepared.graph is None or problems:
            raise RefusedError(problems)
        saved = dump_graph(prepared.graph)
        self._ask_for_trust(prepared, request, saved)
        env = environment_of(prepared.nodesets)
        return RunPlan(
            request=_eval_request(request, prepared.name),
            graph=saved,
            needs=checking.needs_of(saved, prepared.nodesets),
            env_nodeset=env.name if env else None,
            sources=request.sources,
        )

    def _ask_for_trust(
        self, prepared: checking.Prepared, request: StartRequest, saved: dict[str, Any]
    ) -> None:
        if prepared.hooks_trusted:
            return
        if not request.trust_hooks:
            raise UntrustedHooksError(checking.hook_problems(prepared))
        try:
            hook_trust.remember(checking.graph_hash(saved))
        except OSError as error:  # it is asked again, then
            log.warning("that these hooks are trusted cannot be kept: %s", error)

    def _find(self, run: str) -> RunDir:
        try:
            return find_run(self.root, run)
        except RunNotFoundError as error:
            raise NotFoundError(str(error)) from None

    def _reap(self, run: RunDir, wait_sec: float) -> None:
        """Take down how a run that was started here ended, in its attempt's exit.json."""
        process = self._children.get(run.run_id)
        if process is None:
            return
        try:
            code = process.wait(wait_sec)
        except subprocess.TimeoutExpired:
            return
        if self._children.pop(run.run_id, None) is None:
            return
        job = run.read_job()
        job.state, job.finished_at = "ended", now_iso()
        ended = {"rc": code, "cancelled": job.cancel_requested_at is not None}
        try:
            write_json(run.attempt(job.attempt) / "exit.json", ended)
            write_json(run.job, job)
        except OSError as error:  # a full disk must not hide the run
            log.warning("how run %s ended cannot be written: %s", run.run_id, error)


def _eval_request(request: StartRequest, graph_name: str) -> EvalRequest:
    fields: Mapping[str, Any] = {name: getattr(request, name) for name in EvalRequest.__struct_fields__}
    return EvalRequest(**{**fields, "graph_name": graph_name})
