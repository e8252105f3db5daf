"""What the verbs take and answer. Plain records, so that every interface shows the same."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from engine.graph.model import Problem
from engine.scheduling.need import Priority
from engine.statistics.budget import ERROR_BUDGET, headline_metric
from engine.store.cluster_note import ClusterNote
from engine.store.environment_record import EnvironmentRecord
from engine.store.records import (
    VERDICT,
    Determinism,
    EvalRequest,
    MetricStats,
    Progress,
    RunStatus,
    SummaryHead,
)


class ControlError(Exception):
    """A verb was refused. The message says why and what helps."""


class NotFoundError(ControlError):
    """No run, episode, graph or nodeset of that name; the message names what is near."""


class AlreadyOverError(ControlError):
    """The run has ended, so that there is nothing to cancel."""


class StillAliveError(ControlError):
    """The run is queued or runs, so that this must wait for its end."""


class ConflictError(ControlError):
    """It cannot be done as things stand now; the message says what stands against it."""


class NoBackendError(ControlError):
    """No backend answers, or it is ending, and this verb needs one that goes on."""


class RefusedError(ControlError):
    """A start is refused; ``problems`` holds every reason, not the first."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(problem_text(problem) for problem in problems))


def problem_text(problem: Problem) -> str:
    """A problem in one line."""
    return f"{problem.where}: {problem.message}" + (f" ({problem.remedy})" if problem.remedy else "")


class UntrustedHooksError(RefusedError):
    """The only reason against a start: the graph's hooks would run commands, and nobody has said they may."""


class Sources(msgspec.Struct, kw_only=True, frozen=True):
    """Where nodesets and graphs come from, beside the root's own workspace and what is installed.

    workspaces: absolute paths of folders with ``nodesets/**`` and ``graphs/**``; the first to have a name
    wins. active_workspace_dir: one more, an overlay before all others. servers: nodeset → URL of a running
    server that is borrowed in place of a process of the run's own.
    """

    workspaces: list[str] = []
    active_workspace_dir: str | None = None
    servers: dict[str, str] = {}


NOTHING_MORE = Sources()


class StartRequest(EvalRequest, kw_only=True):
    """``graph_name`` is a file or a name; ``graph``, where given, stands instead of a saved one.

    marginal_vram_mb: what it takes of a card's memory; None is unknown, 0 is no card. exclusive_gpu: alone on
    its card. gpus: UUIDs or labels of the cards to give it, all of them; [] is one of the scheduler's choice.
    depends_on: runs that must complete first. on: "" is this machine, else a cluster, ``slurm`` or
    ``slurm:PARTITION``; nodes: over so many of its nodes the run is split, with ``worker_count`` workers on
    each. scoring: see scoring.md; {} is what the file beside the saved graph says, where there is one.
    caller_secrets: those, and keys of models, that are set where the caller stands, by the names of their
    variables; one of them that the run needs and would not have is a reason against the start. trust_hooks:
    the graph's hooks may run their commands, now and later. The last three are those of Sources.
    """

    graph: dict[str, Any] | None = None
    marginal_vram_mb: float | None = None
    exclusive_gpu: bool = False
    priority: Priority = "normal"
    gpus: list[str] = msgspec.field(default_factory=list)
    depends_on: list[str] = msgspec.field(default_factory=list)
    on: str = ""
    nodes: int = 1
    scoring: dict[str, Any] = msgspec.field(default_factory=dict)
    caller_secrets: list[str] = msgspec.field(default_factory=list)
    trust_hooks: bool = False
    workspaces: list[str] = msgspec.field(default_factory=list)
    active_workspace_dir: str | None = None
    servers: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def sources(self) -> Sources:
        return Sources(
            workspaces=self.workspaces,
            active_workspace_dir=self.active_workspace_dir,
            servers=self.servers,
        )


class NodesetUse(msgspec.Struct, kw_only=True):
    """A nodeset that a graph needs. parallelism_assumed: its author declared none."""

    name: str
    path: str
    parallelism: str
    parallelism_assumed: bool
    determinism: Determinism


MissingKind = Literal["nodeset", "tool", "profile", "package", "program", "condition"]


class Missing(msgspec.Struct, kw_only=True):
    """Something that a graph needs and that is not installed. name: of a profile, "" for the active one.

    wanted: the node types that a nodeset would provide; the nodes that ask for a tool or a profile; the
    nodesets whose interpreter lacks a package, that start a program, or that need a
    condition to hold.
    """

    kind: MissingKind
    name: str
    wanted: list[str] = []
    remedy: str = ""


class HookUse(msgspec.Struct, kw_only=True):
    """A hook that would run. matches: the nodes that it is told of. origin: a graph, or the workspace."""

    event: str
    command: str
    matches: str
    origin: Literal["workspace", "graph"]


class ScoringUse(msgspec.Struct, kw_only=True):
    """How a saved graph's runs are scored where a request says nothing. path: of the file that says so.
    trace: where traces are fetched; "" is nowhere. sinks: where episodes are exported."""

    path: str
    graders: list[str] = []
    judges: list[str] = []
    trace: str = ""
    sinks: list[str] = []


class CheckReport(msgspec.Struct, kw_only=True):
    """Everything wrong with a graph, and with how it is scored; ``ok`` where no problem is an error.

    loads: it could be read. missing: what it needs beside, without which it does not start. hooks_trusted:
    whether the graph's hooks may run. scoring: None where no file says how it is scored.
    """

    graph: str
    path: str
    problems: list[Problem]
    loads: bool = True
    nodesets: list[NodesetUse] = []
    nodes: int = 0
    missing: list[Missing] = []
    hooks: list[HookUse] = []
    hooks_trusted: bool = True
    scoring: ScoringUse | None = None

    @property
    def ok(self) -> bool:
        return not any(problem.severity == "error" for problem in self.problems)


class Standing(msgspec.Struct, kw_only=True):
    """The metric that stands for a run so far. lost: episodes that ended on their own and gave none, errors
    among them; withheld: too many for it to be told."""

    metric: str
    stats: MetricStats
    errors: int
    lost: int
    withheld: bool


class RunReport(msgspec.Struct, kw_only=True):
    """A run as it stands. status: as its files and processes say together. stderr_tail: of an aborted run.
    wants_verdicts: its episodes are to pass or fail by their scores. waits: why it is not let in, in words
    with numbers; empty of one that is. cluster: where on one it runs, or ran last; None is this machine, and
    in a list.

    error_budget: the share of ended episodes that may give no number before a headline is withheld.
    """

    run_id: str
    path: str
    status: RunStatus
    label: str
    summary: SummaryHead
    error_budget: float = ERROR_BUDGET
    wants_verdicts: bool = False
    waits: str = ""
    progress: Progress | None = None
    environment: EnvironmentRecord | None = None
    stderr_tail: list[str] = []
    cluster: ClusterNote | None = None

    @property
    def is_over(self) -> bool:
        return self.status not in ("pending", "running")

    @property
    def standing(self) -> Standing | None:
        """None before anything was measured, or is known not to be."""
        found, unmeasured = self.summary.metric_stats, self.summary.unmeasured
        errors = self.summary.error_count
        wanted = {VERDICT} if self.wants_verdicts else set()
        name = headline_metric([*found, *sorted((unmeasured.keys() | wanted) - found.keys())])
        if name is None:
            return None
        stats = found.get(name, MetricStats(mean=None, n=0))
        scored = self.summary.scored
        undecided = scored.undecided if name == VERDICT and scored else 0  # also where no row has a verdict
        lost = errors + max(undecided, unmeasured.get(name, 0))
        if not stats.n + lost:
            return None
        withheld = not stats.n or lost > self.error_budget * (stats.n + lost)
        return Standing(metric=name, stats=stats, errors=errors, lost=lost, withheld=withheld)


class Difference(msgspec.Struct, kw_only=True):
    """The first thing in which two runs differ; ``left`` and ``right`` tell it of each.

    step, node, port: None where the difference lies outside the firings (a row, a log's length).
    """

    left_run: str
    right_run: str
    episode_index: int
    episode: str
    what: str
    left: str
    right: str
    step: int | None = None
    node: str | None = None
    port: str | None = None


class VerifiedRun(msgspec.Struct, kw_only=True):
    """One run of a verification. infra: episodes that the box failed, which say nothing about results."""

    run_id: str
    path: str
    worker_count: int
    status: RunStatus
    result_digest: str | None
    episodes: int
    infra: list[int] = []


class VerifyReport(msgspec.Struct, kw_only=True):
    """``same``: every compared episode is equal. ``undecided``: so far, but episodes could not be compared.

    determinism: the weakest label of the runs. notes: what bears on the comparison, in words.
    """

    verdict: Literal["same", "different", "undecided"]
    runs: list[VerifiedRun]
    compared: int
    determinism: Determinism
    difference: Difference | None = None
    notes: list[str] = []


class DoctorItem(msgspec.Struct, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warning", "failure"]
    detail: str
    remedy: str = ""
