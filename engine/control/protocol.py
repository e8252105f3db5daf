"""The verbs. Whoever shows or serves them knows this interface, not who stands behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from engine.components.catalog import Catalog
from engine.control.comparing import CompareReport
from engine.control.queue_reports import (
    BackendReport,
    CancelReport,
    EstimateReport,
    GraphEntry,
    IntrospectReport,
    PlayReport,
    QueueReport,
    ResourcesReport,
    ServerReport,
)
from engine.control.reports import (
    NOTHING_MORE,
    CheckReport,
    DoctorItem,
    RunReport,
    Sources,
    StartRequest,
    VerifyReport,
)
from engine.control.results import Results
from engine.control.scoring_report import ScoringReport
from engine.scheduling.need import Priority
from engine.store.records import EpisodeFile, EpisodeRow, RunStatus


class Control(Protocol):
    """What an operator can do. ``run``: an id, a beginning of only one, a label, or ``last``.

    Every verb raises ControlError with a message for the operator.
    """

    root: Path

    def check(self, graph: str, sources: Sources = NOTHING_MORE, scoring: Path | None = None) -> CheckReport:
        """Every problem of a saved graph (a file or a name), and of how it is scored: as ``scoring`` says,
        else the file beside it."""

    def check_folder(
        self, folder: Path, sources: Sources = NOTHING_MORE, scoring: Path | None = None
    ) -> list[CheckReport]:
        """The same of every graph file in a folder and below, by the path within it; a workspace's are in
        ``graphs``. NotFoundError where there is none."""

    def start(self, request: StartRequest) -> str:
        """Queue a run and give its id: it is on disk then. RefusedError with every problem; nothing is left
        behind then. UntrustedHooksError where the same request with ``trust_hooks`` would start.
        """

    def cancel(self, run: str, grace_sec: float | None = None) -> CancelReport:
        """End a run, queued or running: asked first, its whole tree killed ``grace_sec`` later (None: as
        configured). Answers at once. Again, with a shorter grace, is no error. AlreadyOverError where it has
        ended."""

    def resume(self, run: str, *, errors: bool = False) -> None:
        """Queue a run again for the episodes that have no finished row; ``errors``: for those of class
        ``infra``, too. StillAliveError while it is queued or runs."""

    def rescore(
        self, run: str, scoring: Mapping[str, Any] | None = None, caller_secrets: Collection[str] = ()
    ) -> None:
        """Queue a run that has ended to be scored again, without playing anything: traces that could not be
        fetched, graders that do not need the environment, judges, exports that have not succeeded.
        ``scoring``: in place of what it was scored with. ``caller_secrets``: as of a start. StillAliveError
        while it is queued or runs."""

    def delete(self, run: str) -> None:
        """Remove a run's folder. StillAliveError while it is queued or runs."""

    def queue(self) -> QueueReport:
        """Who waits, why, and what runs."""

    def pause(self) -> None:
        """Start nothing until :meth:`unpause`; what runs goes on."""

    def unpause(self) -> None:
        """End a pause."""

    def hold(self, run: str) -> None:
        """Keep a queued run from starting. ConflictError where it is not queued, as for the next three."""

    def release(self, run: str) -> None:
        """Let a held run start again."""

    def move(self, run: str, position: int) -> int:
        """Put a queued run at a position, from 1; where it is then."""

    def prioritize(self, run: str, priority: Priority) -> int:
        """Give a queued run another priority; its position then."""

    def estimate(
        self,
        graph: str | dict[str, Any],
        worker_count: int,
        sources: Sources = NOTHING_MORE,
        selectors: Mapping[str, Any] | None = None,
    ) -> EstimateReport:
        """What such a run would need, and whether it would start now. Loads nothing."""

    def resources(self) -> ResourcesReport:
        """The machine now: who holds what."""

    def servers(self) -> list[ServerReport]:
        """Every nodeset, and the shared servers that run."""

    def load_server(self, nodeset: str) -> ServerReport:
        """Load a shared nodeset, or keep the one that runs, until it is unloaded. ConflictError, with
        numbers, where there is no room; answers before it is ready."""

    def unload_server(self, nodeset: str) -> ServerReport:
        """Let a shared nodeset go after its last user."""

    def graphs(self, sources: Sources = NOTHING_MORE) -> list[GraphEntry]:
        """The saved graphs that can be run by name, each name once, the workspace's first."""

    def graph(self, name: str) -> dict[str, Any]:
        """A saved graph, as it is in its file."""

    def validate(self, graph: dict[str, Any], sources: Sources = NOTHING_MORE) -> CheckReport:
        """Every problem of a graph that is not saved."""

    def introspect(self, graph: str, sources: Sources = NOTHING_MORE) -> IntrospectReport:
        """A graph's environment: its splits, counts, metrics, panel. Starts and ends it where it must."""

    def play(self, request: StartRequest) -> str:
        """Queue one episode to be played by hand: it goes before all others, and nothing is admitted until it
        has ended. ConflictError while another is played."""

    def play_state(self, run: str) -> PlayReport:
        """How a played run stands."""

    def play_step(self, run: str, steps: int = 1) -> PlayReport:
        """Let a played run take its next steps of the root loop. ConflictError where it is not waiting."""

    def play_run(self, run: str) -> PlayReport:
        """Let a played run go on to its end."""

    def play_stop(self, run: str) -> PlayReport:
        """End a played run."""

    def backend(self) -> BackendReport:
        """Who owns the queue."""

    def stop_backend(self, *, cancel: bool = False) -> None:
        """End the backend. Its runs have the orphans' grace; ``cancel``: they are cancelled first."""

    def runs(
        self,
        *,
        limit: int | None = None,
        before: str | None = None,
        status: RunStatus | None = None,
        graph: str | None = None,
    ) -> list[RunReport]:
        """The runs of the root, newest first, without progress and environment: the first ``limit`` of those
        older than the run ``before``, in this status, of the graph of this name. The fewer, the cheaper."""

    def show(self, run: str) -> RunReport:
        """One run as it stands now."""

    def episodes(self, run: str) -> list[EpisodeRow]:
        """A run's finished episodes, in index order."""

    def episode(self, run: str, episode: str) -> EpisodeFile:
        """One finished episode (an index or a folder's name)."""

    def scoring(self, run: str) -> ScoringReport:
        """What came of a run's scoring so far: verdicts, exports, what is not measured, and what waits."""

    def results(self, run: str, metric: str | None = None) -> Results:
        """A run's numbers so far; ``metric``: the one to tell first, in place of its best known."""

    def compare(self, runs: Sequence[str]) -> CompareReport:
        """The metrics of each run after the first against the first, paired by episode."""

    def log(self, run: str, episode: str, *, follow: bool = False) -> Iterator[dict[str, Any]]:
        """The firings of an episode (an index or a folder's name); ``follow``: until it has ended."""

    def nodesets(self, sources: Sources = NOTHING_MORE) -> Catalog:
        """What is installed, and what failed to load."""

    def verify(
        self, request: StartRequest, worker_counts: Sequence[int], watch: Callable[[str], None]
    ) -> VerifyReport:
        """Run the same at each worker count and compare. ``watch(run_id)`` returns when that run is over."""

    def compare_results(self, runs: Sequence[str]) -> VerifyReport:
        """Are the results of these the same, bit for bit? Compares finished runs as ``verify`` does."""

    def doctor(self, *, cluster: bool = False) -> list[DoctorItem]:
        """What this machine offers, and what would stop a run. ``cluster``: have a small job of its Slurm
        cluster look at a node, which may take half a minute."""
