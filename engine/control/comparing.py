"""Runs compared by their episodes: what each run is, and how far it can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from engine.control.reports import ControlError
from engine.control.results import results_of
from engine.control.version_notes import version_notes
from engine.statistics.comparison import Comparison, compare
from engine.statistics.pairing import Side
from engine.statistics.rows import columns
from engine.store.environment_record import EnvironmentRecord
from engine.store.records import EpisodeRow, RunStatus
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import RunView, read_rows, view_run


class ComparedRun(msgspec.Struct, kw_only=True):
    """A run of a comparison. episodes: finished ones."""

    run_id: str
    label: str
    graph_name: str
    status: RunStatus
    episodes: int


class CompareReport(msgspec.Struct, kw_only=True):
    """Each run after the first against the first. notes: in words, what bears on all of it."""

    runs: list[ComparedRun]
    comparisons: list[Comparison]
    notes: list[str] = []

    @property
    def pairs(self) -> int:
        """Pairs of values that were compared, over all metrics."""
        return sum(metric.pairs for found in self.comparisons for metric in found.metrics)


def compare_metrics(runs: Sequence[RunDir]) -> CompareReport:
    """Compare every metric that all runs have measured. ControlError for fewer than two runs."""
    if len(runs) < 2:
        raise ControlError("a comparison takes two runs or more")
    views = [view_run(run) for run in runs]
    rows = [read_rows(run) for run in runs]
    ran_in = [_environment(view) for view in views]
    sides = [_side(*side) for side in zip(views, rows, ran_in, strict=True)]
    environments = [found for found in ran_in if found is not None]
    notes = [*_run_notes(views), *version_notes(environments), *_metric_notes(sides)]
    return CompareReport(
        runs=[_compared(view, found) for view, found in zip(views, rows, strict=True)],
        comparisons=compare(sides),
        notes=list(dict.fromkeys(notes)),
    )


def _side(view: RunView, rows: Sequence[EpisodeRow], ran_in: EnvironmentRecord | None) -> Side:
    config, spec = view.head.config, view.spec
    environment = config.env_nodeset or "episodes without an environment"
    parts = {"data set": spec.eval.dataset if spec else "", "split": config.split}
    return Side(
        name=view.run.run_id,
        rows=rows,
        episodes=", ".join([environment, *(f"{part} {value}" for part, value in parts.items() if value)]),
        graph_hash=spec.needs.graph_hash if spec else "",
        determinism=ran_in.determinism if ran_in is not None else "none",
        seed=config.seed,
    )


def _environment(view: RunView) -> EnvironmentRecord | None:
    with suppress(RunDirError):
        return view.run.read_environment()
    return None


def _compared(view: RunView, rows: Sequence[EpisodeRow]) -> ComparedRun:
    return ComparedRun(
        run_id=view.run.run_id,
        label=view.label,
        graph_name=view.head.config.graph_name,
        status=view.status,
        episodes=len(rows),
    )


def _run_notes(views: Sequence[RunView]) -> list[str]:
    notes = []
    for view in views:
        if view.status != "completed":
            notes.append(f"{view.run.run_id} is {view.status}: what it has finished is compared")
        results = results_of(view.run)
        if results.metrics and results.headline.withheld:
            notes.append(f"{view.run.run_id}: {results.headline.withheld}")
    budgets = [view.head.config.step_budget for view in views]
    if len(set(budgets)) > 1:
        told = ", ".join("its own" if budget is None else str(budget) for budget in budgets)
        notes.append(f"the step budgets differ: {told}")
    return notes


def _metric_notes(sides: Sequence[Side]) -> list[str]:
    measured = [set(columns(side.rows)) for side in sides]
    notes = [
        f"{side.name} has measured no metric"
        for side, found in zip(sides, measured, strict=True)
        if not found
    ]
    only_some = sorted(measured[0].union(*measured) - measured[0].intersection(*measured))
    if only_some and not notes:
        notes.append(f"not measured in every run, so not compared: {', '.join(only_some)}")
    return notes
