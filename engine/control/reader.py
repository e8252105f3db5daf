"""What only reads: the verbs that need no backend, whoever does the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from engine.components.catalog import Catalog
from engine.components.roots import graph_files, lost_links
from engine.control import checking, look, verify
from engine.control.comparing import CompareReport, compare_metrics
from engine.control.queue_reports import GraphEntry, IntrospectReport
from engine.control.reports import (
    NOTHING_MORE,
    CheckReport,
    ControlError,
    DoctorItem,
    NotFoundError,
    RefusedError,
    RunReport,
    Sources,
    VerifyReport,
)
from engine.control.requests import sources_problems
from engine.control.results import Results, results_of
from engine.control.saved_graphs import graph_entries, read_saved
from engine.store.records import EpisodeFile, EpisodeRow, RunStatus
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import RunNotFoundError, find_run, list_runs, read_rows

if TYPE_CHECKING:
    from engine.control.scoring_report import ScoringReport

T = TypeVar("T")


class Reader:
    """The reading half of :class:`engine.control.protocol.Control`, from the files of a root."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self, graph: str, sources: Sources = NOTHING_MORE, scoring: Path | None = None) -> CheckReport:
        return self._check([graph], sources, scoring)[0]

    def check_folder(
        self, folder: Path, sources: Sources = NOTHING_MORE, scoring: Path | None = None
    ) -> list[CheckReport]:
        folder = folder / "graphs" if (folder / "graphs").is_dir() else folder
        files = sorted([*graph_files(folder), *lost_links(folder)])
        if not files:
            raise NotFoundError(f"there is no graph file in {folder}")
        reports = self._check([str(file) for file in files], sources, scoring)
        for file, report in zip(files, reports, strict=True):
            report.graph = file.relative_to(folder).with_suffix("").as_posix()
        return reports

    def validate(self, graph: dict[str, Any], sources: Sources = NOTHING_MORE) -> CheckReport:
        return self._check([graph], sources)[0]

    def _check(
        self, graphs: Sequence[str | dict[str, Any]], sources: Sources, scoring: Path | None = None
    ) -> list[CheckReport]:
        from engine.control.scoring import described

        catalog, problems = checking.borrow(self.nodesets(sources), sources.servers)
        hooks, unread = checking.workspace_hooks(self.root, sources)
        reports = []
        for graph in graphs:
            prepared = checking.prepare(catalog, graph, self.root)
            use, unfit, missing = described(self.root, prepared.source, scoring)
            prepared.problems.extend([*problems, *unread, *unfit])
            prepared.missing.extend(missing)
            reports.append(checking.check_report(prepared, hooks))
            reports[-1].scoring = use
        return reports

    def graphs(self, sources: Sources = NOTHING_MORE) -> list[GraphEntry]:
        return graph_entries(self.nodesets(sources))

    def graph(self, name: str) -> dict[str, Any]:
        return read_saved(self.nodesets(), name)

    def introspect(self, graph: str, sources: Sources = NOTHING_MORE) -> IntrospectReport:
        from engine.control.introspection import introspect

        return introspect(checking.prepare(self.nodesets(sources), graph, self.root), self.root)

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
        return self._whole(run, look.full_report)

    def episodes(self, run: str) -> list[EpisodeRow]:
        return self._whole(run, read_rows)

    def episode(self, run: str, episode: str) -> EpisodeFile:
        return self._whole(run, lambda found: look.read_episode(found, episode))

    def scoring(self, run: str) -> ScoringReport:
        from engine.control.scoring_report import scoring_report

        return self._whole(run, scoring_report)

    def results(self, run: str, metric: str | None = None) -> Results:
        return self._whole(run, lambda found: results_of(found, metric))

    def compare(self, runs: Sequence[str]) -> CompareReport:
        return compare_metrics([self.find(run) for run in runs])

    def log(self, run: str, episode: str, *, follow: bool = False) -> Iterator[dict[str, Any]]:
        found = self.find(run)
        return look.read_log(found, look.episode_folder(found, episode), follow=follow)

    def nodesets(self, sources: Sources = NOTHING_MORE) -> Catalog:
        if problems := sources_problems(sources):
            raise RefusedError(problems)
        return checking.open_catalog(self.root, sources)

    def compare_results(self, runs: Sequence[str]) -> VerifyReport:
        found = [self.find(run) for run in runs]
        try:
            return verify.compare_runs(found)
        except RunDirError as error:
            raise ControlError(str(error)) from error

    def doctor(self, *, cluster: bool = False) -> list[DoctorItem]:
        from engine.control.doctor import examine

        return examine(self.root, self.nodesets(), cluster=cluster)

    def _whole(self, run: str, read: Callable[[RunDir], T]) -> T:
        """What ``read`` gives; NotFoundError where the run was deleted under it, and so reads as empty."""
        found = self.find(run)
        told = read(found)
        if not found.path.exists():
            raise NotFoundError(f"run {found.run_id} was deleted as it was read")
        return told

    def find(self, run: str) -> RunDir:
        """The folder of the run that is meant. NotFoundError where there is none."""
        try:
            return find_run(self.root, run)
        except RunNotFoundError as error:
            raise NotFoundError(str(error)) from None
