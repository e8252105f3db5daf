"""What the files of a run directory hold. Unknown fields of a newer writer are ignored.

Times are ISO 8601 texts with offset, durations seconds (``_sec``) or milliseconds (``_ms``), memory MB of
2**20 bytes (``_mb``), unless a field says otherwise.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from engine.store.cluster_note import ClusterNote
from engine.store.process_identity import ProcessIdentity
from engine.store.scores import (
    ExportOutcome,
    ModelUse,
    Score,
    ScoringTally,
    Stage,
    graded_values,
    measured_values,
)

RunStatus = Literal["pending", "running", "completed", "cancelled", "error", "aborted"]
EpisodeStatus = Literal["completed", "error", "cancelled"]
Termination = Literal[
    "stopped",
    "budget",
    "drained",
    "timeout",
    "exception",
    "node_error",
    "no_verdict",
    "env_crash",
    "cancelled",
]
ErrorClass = Literal["infra", "graph", "config"]
Scoring = Literal["none", "pending", "final"]
WorkerState = Literal["starting", "resetting", "running", "waiting", "done"]
Determinism = Literal["exact", "seeded", "none"]

SCHEMA = 1
VERDICT = "pass"
"""The metric under which verdicts are averaged."""


def now_iso() -> str:
    """The local time with its offset, to the millisecond."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


class EvalRequest(msgspec.Struct, kw_only=True):
    """What to run: the start request of the REST API, and ``eval`` of spec.json.

    graph_name: a saved graph's name. dataset: the environment's data set ("" its own default). split: "" is
    the environment's ``val_unseen`` where it has one, else its first. selectors: panel field → value, the
    same for every episode. episode_count: episodes, from ``start_episode_index`` on; -1 is all that the
    environment has. step_budget: root-loop steps an episode; None is the environment's, else the graph's.
    worker_count: episodes that run at once. per_step_budget_sec: wall seconds that one call of a node may
    take; None is the nodeset's. episode_indices: exactly these instead of a count. episode_selectors: one
    dict for each of ``episode_indices``. seed: the run's; every source of chance comes from it and the
    episode. timeout_sec: wall seconds the run may take; None is no limit. label: a name by which the
    run is found again. retries: times that an ``infra`` episode is played again before its row counts.
    repeats: times that every episode is played, with a seed of its own each; ``episode_count`` counts none.
    until_width: end once the 95 % interval of ``until_metric`` over the first episodes of the list is at
    most so wide, end to end, in the metric's unit; None plays all.
    """

    graph_name: str
    dataset: str = ""
    split: str = ""
    selectors: dict[str, Any] = {}
    episode_count: int = -1
    start_episode_index: int = 0
    step_budget: int | None = None
    worker_count: int = 1
    per_step_budget_sec: float | None = None
    episode_indices: list[int] | None = None
    episode_selectors: list[dict[str, Any]] | None = None
    seed: int = 0
    timeout_sec: float | None = None
    label: str = ""
    retries: int = 0
    repeats: int = 1
    until_width: float | None = None
    until_metric: str = "success"

    @property
    def asked_episodes(self) -> int:
        """Episodes, each as often as it is played; 0 where all are asked for that the environment has."""
        return (len(self.episode_indices or ()) or max(self.episode_count, 0)) * self.repeats


class NodesetNeed(msgspec.Struct, kw_only=True):
    """A nodeset that the graph uses, as it was found at start. source_hash: BLAKE2b-128 hex of its source.

    python, env, workspaces, start_deadline_sec: how its process is to be started; no ``python`` is ours.
    call_deadline_sec: what a call of it may take where a request says nothing else. scenes_are_tasks: what it
    calls an episode's scene names its task.
    """

    name: str
    path: str
    source_hash: str
    parallelism: Literal["shared", "replicated"]
    expected_vram_mb: int | None = None
    expected_ram_mb: int | None = None
    python: str = ""
    env: dict[str, str] = {}
    workspaces: tuple[str, ...] = ()
    start_deadline_sec: float = 300.0
    call_deadline_sec: float = 120.0
    scenes_are_tasks: bool = False


class Needs(msgspec.Struct, kw_only=True):
    """What the run will load. graph_hash: BLAKE2b-128 hex of the graph's canonical JSON."""

    graph_hash: str
    nodesets: list[NodesetNeed] = []


class Spec(msgspec.Struct, kw_only=True):
    """spec.json: everything that was asked, frozen before the run process exists.

    graph: the saved graph, whole. workspaces: absolute paths whose nodesets come before the root's own, the
    first before the others. active_workspace_dir: one whose nodesets come before all others.
    """

    run_id: str
    created_at: str
    eval: EvalRequest
    needs: Needs
    graph: dict[str, Any]
    scheduling: dict[str, Any] = {}
    scoring: dict[str, Any] = {}
    workspaces: list[str] = []
    active_workspace_dir: str | None = None


class EndedAs(msgspec.Struct, kw_only=True):
    """How a run stood that is scored again, and stands again afterwards. kind: of the attempt that played
    it."""

    kind: Literal["run", "play"] = "run"
    status: RunStatus
    error: str | None = None
    finished_at: str | None = None


JobKind = Literal["run", "score", "play"]


class Job(msgspec.Struct, kw_only=True):
    """job.json: who runs it, and what was intended. Written by whoever starts the run, never by the run.

    attempt counts from 1; only the holder of ``token`` may write the run's files. process: the shim above the
    run's processes, or the backend until there is one. cancel_requested_at: the intent to end it, which holds
    until its tree is empty; stop_reason: why it is to end as ``error``, empty where as ``cancelled``. reason:
    why it waits, in words. rerun_errors: what the box failed is played again, too. may_retry: where the box
    fails this attempt, the run is queued again. admit_charges: resource → MB. ended_as: of kind ``score``,
    which plays nothing. rescore: what is scored is scored again, too, and not only what waits for it.
    cluster: of an attempt that was given to one; then ``process`` is None.
    """

    run_id: str
    state: Literal["queued", "started", "ended"]
    attempt: int = 1
    token: str = ""
    kind: JobKind = "run"
    process: ProcessIdentity | None = None
    cancel_requested_at: str | None = None
    stop_reason: str = ""
    reason: str = ""
    rerun_errors: bool = False
    may_retry: bool = False
    gpus: list[str] = []
    admit_charges: dict[str, float] = {}
    admit_basis: dict[str, str] = {}
    submitted_at: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    ended_as: EndedAs | None = None
    rescore: bool = False
    cluster: ClusterNote | None = None

    @property
    def plays_as(self) -> Literal["run", "play"]:
        """The kind of an attempt that plays what is left of the run."""
        if self.kind == "score":
            return self.ended_as.kind if self.ended_as else "run"
        return self.kind


class EpisodeRow(msgspec.Struct, kw_only=True):
    """One finished episode: a line of episodes.jsonl, and an entry of ``episodes`` in summary.json.

    metrics: finite numbers, or null for one that was not finite. step_count: root-loop iterations.
    elapsed_sec: wall seconds from reset to the last step. failure: what is known of a host's end (exit
    code, signal, last lines of stderr). seed: the environment's, in [0, 2**31). repeat counts from 1.
    trajectory_digest: BLAKE2b-128 hex over the firings. A failed episode keeps the metrics, steps and log
    that it had. beyond_stop: it lies after the last one that counts of a run that ended early. scores: in the
    order of their graders, then of the judges; verdict: what they come to, None where nothing decides.
    trace_ref: where its trace is to be had ({kind, endpoint, run_id, …}); a secret in it by name alone.
    judges_used: what its judges took of their models, over all attempts; no part of what the agent took.
    """

    episode_index: int
    status: EpisodeStatus
    termination: Termination
    episode_id: str = ""
    scene_id: str = ""
    instruction: str = ""
    metrics: dict[str, float | None] = {}
    step_count: int = 0
    elapsed_sec: float = 0.0
    error: str | None = None
    error_class: ErrorClass | None = None
    failure: dict[str, Any] | None = None
    selectors: dict[str, Any] = {}
    repeat: int = 1
    worker_id: int = 0
    trace_ref: dict[str, Any] | None = None
    scoring: Scoring = "none"
    started_at: str = ""
    finished_at: str = ""
    seed: int = 0
    scores: list[Score] = []
    verdict: bool | None = None
    stages: list[Stage] = []
    exports: list[ExportOutcome] = []
    judges_used: ModelUse | None = None
    trajectory_digest: str = ""
    beyond_stop: bool = False

    @property
    def identity(self) -> Identity:
        """What tells this episode from every other of its run."""
        return identity_of(self.episode_index, self.selectors, self.repeat)

    @property
    def measures(self) -> dict[str, float | None]:
        """Its metrics, and of its scores those that were measured; ``pass`` is the verdict as 0 or 1.

        A metric of the episode itself stands against a score of the same name.
        """
        if not self.scores and self.verdict is None:
            return self.metrics
        found: dict[str, float | None] = {**self.metrics, **measured_values(self.scores)}
        if self.verdict is not None:
            found[VERDICT] = float(self.verdict)
        return {**found, **self.metrics}

    @property
    def graded(self) -> dict[str, bool]:
        """Of its scores that count among the measures, whether the value is nothing but a pass or a fail."""
        if not self.scores and self.verdict is None:
            return {}
        found = {VERDICT: True, **graded_values(self.scores)}
        return {name: graded for name, graded in found.items() if name not in self.metrics}

    def awaits(self, metric: str) -> bool:
        """Whether the metric, which is not among its measures, may still come to be by its scoring."""
        return self.scoring == "pending" and metric not in self.metrics

    @property
    def task(self) -> str:
        """What it counts under: its ``task_id``, else its selectors as JSON, else ``_default``."""
        return task_of(self.selectors)


Identity = tuple[int, str, int]
"""(episode index, canonical text of its selectors, repeat)."""


def identity_of(episode_index: int, selectors: dict[str, Any], repeat: int = 1) -> Identity:
    """The identity of an episode; two tasks that share an index differ in their selectors."""
    return episode_index, msgspec.json.encode(selectors, order="sorted").decode(), repeat


def task_of(selectors: dict[str, Any]) -> str:
    """The task that selectors stand for; see :attr:`EpisodeRow.task`."""
    if "task_id" in selectors:
        return str(selectors["task_id"])
    return msgspec.json.encode(selectors, order="sorted").decode() if selectors else "_default"


class EpisodeFile(msgspec.Struct, kw_only=True):
    """episode.json: a folder's episode, readable without its run."""

    run_id: str
    graph_name: str
    graph_hash: str
    seed: int
    episode: EpisodeRow


class MetricStats(msgspec.Struct, kw_only=True):
    """A metric over the n completed episodes that have it. ci95: 95 % interval, None where there is none."""

    mean: float | None
    n: int
    stderr: float | None = None
    ci95: tuple[float, float] | None = None


class SummaryConfig(msgspec.Struct, kw_only=True):
    """What was run, in short. episode_count: as asked (-1 is all). step_budget: as asked."""

    graph_name: str
    env_nodeset: str | None = None
    selectors: dict[str, Any] = {}
    episode_selectors: list[dict[str, Any]] | None = None
    split: str = ""
    episode_count: int = -1
    step_budget: int | None = None
    worker_count: int = 1
    seed: int = 0
    repeats: int = 1
    until_width: float | None = None
    until_metric: str = "success"


class EarlyStop(msgspec.Struct, kw_only=True):
    """Why a run ended before its list did: the interval was narrow. planned: episodes of the list. beyond:
    those after the last that counts which had begun by then; they have rows, and are in no number."""

    planned: int
    beyond: int


class SummaryHead(msgspec.Struct, kw_only=True):
    """summary.json without its rows: cheap to read, whatever the run's size.

    completed_count: every finished episode; error_count: those among them that errored. total_episodes:
    planned, or those that count where the run ended early. aggregate_by_task: task → metric → mean.
    nonfinite: metric → episodes in which it was not finite. unmeasured: metric → episodes that completed
    without it. scored: what came of their scoring, None of a run that is not scored. result_digest:
    BLAKE2b-128 hex, the same at every worker count.
    """

    run_id: str
    config: SummaryConfig
    status: RunStatus
    created_at: str
    aggregate_metrics: dict[str, float] = {}
    aggregate_by_task: dict[str, dict[str, float]] = {}
    total_episodes: int = 0
    completed_count: int = 0
    error_count: int = 0
    started_at: str | None = None
    finished_at: str | None = None
    elapsed_sec: float = 0.0
    error: str | None = None
    metric_stats: dict[str, MetricStats] = {}
    nonfinite: dict[str, int] = {}
    unmeasured: dict[str, int] = {}
    result_digest: str | None = None
    early_stop: EarlyStop | None = None
    scored: ScoringTally | None = None
    schema: int = SCHEMA


class Summary(SummaryHead, kw_only=True):
    """summary.json: the run as it stands, rows in identity order."""

    episodes: list[EpisodeRow] = []


class WorkerProgress(msgspec.Struct, kw_only=True):
    """One worker now. step counts root-loop iterations begun; budget is its limit; node: id of the node
    firing, or to fire where it is ``waiting`` for whoever plays it by hand.

    since: when that node (or this state) began. episodes_done of episodes_total: this worker's share.
    steps_done: root-loop iterations over all its episodes.
    """

    worker_id: int
    state: WorkerState = "starting"
    episode_index: int | None = None
    task: str = ""
    step: int = 0
    budget: int | None = None
    node: str = ""
    since: str = ""
    episodes_done: int = 0
    episodes_total: int = 0
    steps_done: int = 0


class EpisodeWaits(msgspec.Struct, kw_only=True):
    """A finished episode whose row is not final. folder: its name. waits_for: what goes on for it now, as a
    :class:`engine.store.scores.Stage` is named, or whose turn it waits for; since: when that began."""

    episode_index: int
    folder: str
    waits_for: str
    since: str


class Progress(msgspec.Struct, kw_only=True):
    """progress.json, rewritten at most 4 times a second. activity: what goes on outside the episodes.
    scoring: what finished episodes wait for; scored: what came of it so far."""

    run_id: str
    updated_at: str
    activity: str = ""
    workers: list[WorkerProgress] = []
    scoring: list[EpisodeWaits] = []
    scored: ScoringTally | None = None
