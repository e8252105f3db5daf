"""``scoring`` of a start request, and the whole of a ``<graph>.scoring.json``. Read by
:func:`engine.scoring.reading.read_scoring`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from engine.graph.model import Problem

TraceKind = Literal["none", "otel", "mlflow", "langfuse", "langsmith", "phoenix", "file"]
SinkKind = Literal["mlflow", "langfuse", "langsmith", "phoenix", "otlp"]

DEFAULT_LADDER: tuple[tuple[str, ...], ...] = (
    ("state",),
    ("tests_pass", "resolved"),
    ("answer_match", "url_matches", "dom_contains", "command", "score"),
    ("judge",),
    ("*",),
)
"""Metrics by their authority over the verdict; see :func:`engine.scoring.ladder.verdict`."""

_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_AtOnce = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class ScoringError(Exception):
    """What is asked of scoring cannot be done; ``problems`` holds every reason. ``where`` of one is the path
    of its field, from ``scoring`` on."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(
            "\n".join(f"{p.where}: {p.message}" + (f" ({p.remedy})" if p.remedy else "") for p in problems)
        )


class GraderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """id: the kind of grader. config: its fields, and ``id``, by which the grader is called where that is not
    its kind."""

    id: str
    config: dict[str, Any] = {}

    @property
    def called(self) -> str:
        """The ``grader_id`` of its scores."""
        return str(self.config.get("id") or self.id)


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge also scores. In a file a text alone is a criterion of this name."""

    name: str
    description: str = ""


class JudgeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A chat model that scores an episode as ``judge:<id>``, and each criterion as
    ``judge:<id>:<criterion>``.

    profile: in evaltower.toml; "" is the active one. prompt: what it is to judge by. pass_threshold: the
    least score, in [0, 1], that passes; None leaves that to the judge. runs_on: where it is asked from; only
    "", the run's own process.
    """

    id: str
    profile: str = ""
    prompt: str = ""
    criteria: list[Criterion] = []
    pass_threshold: _Share | None = None
    runs_on: str = ""

    @property
    def called(self) -> str:
        """The ``grader_id`` of its scores, its metric, and the name of its stage."""
        return f"judge:{self.id}"

    @property
    def metrics(self) -> list[str]:
        """Its own, and one a criterion."""
        return [self.called, *(f"{self.called}:{criterion.name}" for criterion in self.criteria)]


class TraceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Where the graph's harness sends its trace.

    endpoint: a URL; of kind ``file`` a path within the episode's folder, of a JSON or JSONL file: in the
    environment, or, where that reads no files, among the run's. collect: ``job``, the run fetches it before
    the episode's row is final; ``control-plane``, the backend does so after the run. correlate: found by its
    own id, or by a tag ``evaltower.run_id``. auth_secret: a secret's name. on_pull_error: ``defer``, what
    needs it waits for a later pull; ``degrade``, grading goes on without it. mapping: the harness's own names
    of span attributes, ``{"model": "acme.model"}``, of what :data:`engine.scoring.attributes.NAMES` lists.
    """

    kind: TraceKind = "none"
    endpoint: str = ""
    collect: Literal["job", "control-plane"] = "job"
    correlate: Literal["id", "tag"] = "id"
    experiment: str = ""
    project: str = ""
    service: str = ""
    auth_secret: str = ""
    on_pull_error: Literal["defer", "degrade"] = "defer"
    mapping: dict[str, str | list[str]] = {}


class SinkSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A platform that finished episodes are exported to. auth_secret: a secret's name."""

    name: str
    kind: SinkKind
    endpoint: str = ""
    project: str = ""
    experiment: str = ""
    auth_secret: str = ""


class Concurrency(msgspec.Struct, frozen=True, kw_only=True):
    """Episodes that are judged, and exported, at once."""

    judges: _AtOnce = 4
    exports: _AtOnce = 2


class ScoringSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How the episodes of a run are scored.

    verdict: rungs, the highest authority first, each a metric or several; see
    :func:`engine.scoring.ladder.verdict`. error_budget: the share of episodes without a number above which a
    run has no headline. deadline_sec: wall seconds that the graders of one episode may take together.
    """

    graders: list[GraderSpec] = []
    judges: list[JudgeSpec] = []
    verdict: list[str | list[str]] = msgspec.field(
        default_factory=lambda: [list(rung) for rung in DEFAULT_LADDER]
    )
    trace: TraceSpec = TraceSpec()
    sinks: list[SinkSpec] = []
    concurrency: Concurrency = Concurrency()
    error_budget: _Share = 0.1
    deadline_sec: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 1800.0

    @property
    def asks_nothing(self) -> bool:
        """Whether a run of it is as one of which no scoring is asked."""
        return not (self.graders or self.judges or self.sinks) and self.trace.kind == "none"
