"""The verbs. Whoever shows or serves them knows this interface, not who stands behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from engine.components.catalog import Catalog
from engine.control.comparing import CompareReport
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
from engine.store.records import EpisodeFile, EpisodeRow


class Control(Protocol):
    """What an operator can do. ``run``: an id, a beginning of only one, a label, or ``last``.

    Every verb raises ControlError with a message for the operator.
    """

    root: Path

    def check(self, graph: str, sources: Sources = NOTHING_MORE) -> CheckReport:
        """Every problem of a saved graph (a file or a name)."""

    def check_folder(self, folder: Path, sources: Sources = NOTHING_MORE) -> list[CheckReport]:
        """The same of every graph file in a folder and below, by the path within it; a workspace's are in
        ``graphs``. NotFoundError where there is none."""

    def start(self, request: StartRequest) -> str:
        """Start a run and give its id. RefusedError with every problem; nothing is left behind then.

        UntrustedHooksError where the same request with ``trust_hooks`` would start.
        """

    def cancel(self, run: str, grace_sec: float) -> None:
        """Ask a run to end, and kill it after ``grace_sec``. AlreadyOverError where it has ended."""

    def runs(self) -> list[RunReport]:
        """Every run of the root, newest first, without progress and environment."""

    def show(self, run: str) -> RunReport:
        """One run as it stands now."""

    def episodes(self, run: str) -> list[EpisodeRow]:
        """A run's finished episodes, in index order."""

    def episode(self, run: str, episode: str) -> EpisodeFile:
        """One finished episode (an index or a folder's name)."""

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

    def doctor(self) -> list[DoctorItem]:
        """What this machine offers, and what would stop a run."""
