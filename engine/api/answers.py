"""What routes answer, where it is more or other than what control says. Field names are AgentCanvas's."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from engine.control.queue_reports import QueueReport, RunningRun, ServerReport
from engine.control.reports import CheckReport, RunReport
from engine.control.scoring_report import ScoringReport
from engine.graph.model import Problem
from engine.store.environment_record import EnvironmentRecord
from engine.store.records import EpisodeRow, Progress, RunStatus, Summary, SummaryHead

SchedulerState = Literal["queued", "cancelling"] | RunStatus


class Failure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Every answer that is not 2xx. code: a word for programs. problems: all reasons against a request."""

    detail: str
    code: str
    problems: list[Problem] = []


class Health(msgspec.Struct, kw_only=True):
    """Who answers here."""

    status: Literal["ok"] = "ok"
    version: str
    pid: int
    root: str


class Started(msgspec.Struct, kw_only=True):
    """It is on disk, and waits to be admitted."""

    run_id: str
    status: Literal["queued"] = "queued"
    via_subprocess: bool = True


class Queued(msgspec.Struct, kw_only=True):
    run_id: str
    status: Literal["queued"] = "queued"


class Deleted(msgspec.Struct, kw_only=True):
    deleted: str


class Placed(msgspec.Struct, kw_only=True):
    """position: in the queue, from 1."""

    run_id: str
    position: int


class Held(msgspec.Struct, kw_only=True):
    run_id: str
    held: bool


class Paused(msgspec.Struct, kw_only=True):
    paused: bool


class Ending(msgspec.Struct, kw_only=True):
    status: Literal["ending"] = "ending"


class RunRow(SummaryHead, kw_only=True):
    """A run without its episodes. The fields of ``config`` that AgentCanvas shows in a list stand here, too.

    episode_count_saved: finished episodes. waits: why it is not let in; empty of one that is.
    """

    graph_name: str
    env_nodeset: str | None
    selectors: dict[str, Any]
    dataset: str
    split: str
    episode_count: int
    episode_count_saved: int
    label: str
    waits: str = ""


class Runs(msgspec.Struct, kw_only=True):
    """Newest first. next_before: what to ask for as ``before`` to go on; None at the end."""

    runs: list[RunRow]
    next_before: str | None = None


class Current(msgspec.Struct, kw_only=True):
    """The run that runs, else the first that is queued, else none. status: its, or ``none``."""

    status: RunStatus | Literal["none"] = "none"
    run: RunRow | None = None


class CurrentEpisodes(Current, kw_only=True):
    """The same with its finished episodes."""

    episodes: list[EpisodeRow] = []


class Run(Summary, kw_only=True):
    """summary.json, and how the run stands.

    scheduler_state: ``queued``, ``running``, ``cancelling``, else as ``status``. waits: why it is not let in;
    empty of one that is. stderr_tail: of an aborted run. scoring: null of a run that is not scored.
    """

    scheduler_state: SchedulerState
    label: str
    waits: str = ""
    progress: Progress | None = None
    environment: EnvironmentRecord | None = None
    stderr_tail: list[str] = msgspec.field(default_factory=list)
    scoring: ScoringReport | None = None


class LogPage(msgspec.Struct, kw_only=True):
    """Firings, as log.jsonl has them. next_offset: where to go on. more: whether there are any by now."""

    lines: list[dict[str, Any]]
    offset: int
    next_offset: int
    more: bool


class RunningAnswer(RunningRun, kw_only=True):
    """admit_basis: where its charges come from, as one text, which AgentCanvas shows. admit_bases: the same
    by resource."""

    admit_basis: str  # type: ignore[assignment]
    admit_bases: dict[str, str]


class QueueAnswer(QueueReport, kw_only=True):
    running: list[RunningAnswer]  # type: ignore[assignment]


class Nodeset(ServerReport, kw_only=True):
    """loaded: it is ready to be used."""

    loaded: bool


class Validation(CheckReport, kw_only=True):
    """ok: no problem is an error."""

    ok: bool


class Narrated(msgspec.Struct, kw_only=True):
    """What an ``eval_progress`` event holds. snapshot: it stands for all that was not sent before it."""

    run: RunRow
    progress: Progress | None
    snapshot: bool = False


def row_of(report: RunReport) -> RunRow:
    """A run's report as its row."""
    head, config = report.summary, report.summary.config
    fields = {name: getattr(head, name) for name in SummaryHead.__struct_fields__}
    return RunRow(
        **{**fields, "status": report.status},
        graph_name=config.graph_name,
        env_nodeset=config.env_nodeset,
        selectors=config.selectors,
        dataset=str(config.selectors.get("dataset", "")),
        split=config.split,
        episode_count=config.episode_count,
        episode_count_saved=head.completed_count,
        label=report.label,
        waits=report.waits,
    )


def queue_answer(report: QueueReport) -> QueueAnswer:
    """The queue, with the basis of each charge as one text."""
    fields = {name: getattr(report, name) for name in QueueReport.__struct_fields__}
    return QueueAnswer(**{**fields, "running": [_running(run) for run in report.running]})


def _running(run: RunningRun) -> RunningAnswer:
    fields = {name: getattr(run, name) for name in RunningRun.__struct_fields__}
    bases = run.admit_basis
    words = sorted(set(bases.values()))
    told = words[0] if len(words) == 1 else ", ".join(f"{name}: {basis}" for name, basis in bases.items())
    return RunningAnswer(**{**fields, "admit_basis": told}, admit_bases=bases)
