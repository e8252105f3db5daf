"""A pipeline in the test's own process: its files in memory, its environment, chat and platforms as told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.models.answer import Answer, Usage
from engine.models.call import ChatCall, Reply
from engine.scoring.context import ComputeError, ComputeUnsupported, Executed
from engine.scoring.graders import AnyGrader, make_grader
from engine.scoring.judging import JudgePanel
from engine.scoring.pipeline import Pipeline
from engine.scoring.scored import Means
from engine.scoring.sinks import ExportItem
from engine.scoring.spec import GraderSpec, ScoringSpec
from engine.store.records import EpisodeRow
from engine.store.scores import ExportOutcome
from tests.scoring.judges import a_verdict

RUN = "20260518_143052"
PICTURE = b"\x89PNG a picture"


@dataclass
class Files:
    """``rows``: all that were recorded, in order."""

    rows: list[EpisodeRow] = field(default_factory=list)

    async def record(self, row: EpisodeRow, folder: Path) -> None:
        self.rows.append(row)

    async def write_bytes(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@dataclass
class Desk:
    """An environment: ``files`` of it, and what was ``done`` with it. ``held`` until it is released."""

    files: dict[str, bytes] = field(default_factory=dict)
    snapshot_: dict[str, Any] | None = None
    exit_code: int = 0
    offers: tuple[str, ...] = ("exec", "read_file", "write_file", "snapshot")
    done: list[str] = field(default_factory=list)
    held: bool = True

    def _asked(self, what: str) -> None:
        assert self.held, f"{what} after the release"
        self.done.append(what)
        if what not in self.offers:
            raise ComputeUnsupported(f"no {what} here")

    async def exec(
        self, command: str, *, cwd: str = "", timeout_sec: float, env: Mapping[str, str] | None = None
    ) -> Executed:
        self._asked("exec")
        return Executed(self.exit_code, "out")

    async def read_file(self, path: str) -> bytes:
        self._asked("read_file")
        if path not in self.files:
            raise ComputeError(f"there is no {path}")
        return self.files[path]

    async def write_file(self, path: str, data: bytes) -> None:
        self._asked("write_file")
        self.files[path] = data

    async def snapshot(self) -> dict[str, Any] | None:
        self._asked("snapshot")
        return self.snapshot_


@dataclass
class Chat:
    """``says``: what a judge answers, given the call; what it raises, asking raises."""

    says: Callable[[ChatCall], Awaitable[str]] | None = None
    asked: list[ChatCall] = field(default_factory=list)

    async def ask(self, profile: str, model: str, call: ChatCall) -> Reply:
        self.asked.append(call)
        text = a_verdict() if self.says is None else await self.says(call)
        answer = Answer(texts=[text], usage=Usage(), finish_reasons=["stop"])
        return Reply(answer, profile, {}, 1, None)


@dataclass
class Source:
    """``gives``: what each fetch finds, in turn; the last again and again. An exception is raised."""

    gives: Sequence[Any] = ([],)
    fetched: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None

    async def fetch(self, run_id: str) -> list[dict[str, Any]]:
        self.fetched.append(run_id)
        if self.gate is not None:
            await self.gate.wait()
        found = self.gives[min(len(self.fetched), len(self.gives)) - 1]
        if isinstance(found, Exception):
            raise found
        return list(found)


@dataclass
class Exporter:
    """``items``: what it was given. ``errors``: of the outcomes, by the number of the episode."""

    items: list[ExportItem] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)

    async def export(self, item: ExportItem) -> list[ExportOutcome]:
        self.items.append(item)
        return [ExportOutcome(sink="otlp", name="main", error=self.errors.get(item.row.episode_index))]


@dataclass
class Bench:
    """A pipeline and all around it. ``spec``: its fields as in a request, graders by their kinds."""

    folder: Path
    spec: ScoringSpec
    graders: Sequence[AnyGrader]
    chat: Chat = field(default_factory=Chat)
    source: Source | None = None
    exporter: Exporter | None = None
    in_backend: bool = False
    files: Files = field(default_factory=Files)
    final: list[EpisodeRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.means = Means(
            self.spec,
            RUN,
            "graph",
            self.graders,
            JudgePanel(self.spec.judges, self.chat) if self.spec.judges else None,
            self.source,
            "no source was made",
            self.exporter,  # type: ignore[arg-type]
        )
        self.pipeline = Pipeline(
            self.means,
            self.files,
            lambda: None,
            lambda at, row, folder: self.final.append(row),
            in_backend=self.in_backend,
        )

    async def play(self, index: int = 0, desk: Desk | None = None, **row: Any) -> EpisodeRow:
        """One episode up to the release of its environment, after which ``desk`` is of no use; pushed."""
        desk = desk or Desk()
        fresh = an_episode(index, **row)
        held = await self.pipeline.hold(fresh, self.place(index), desk)
        desk.held = False
        await self.files.record(held, self.place(index))
        self.pipeline.push(index, held, self.place(index))
        return held

    async def played(self, index: int = 0, desk: Desk | None = None, **row: Any) -> EpisodeRow:
        """One episode to its end: the row as it is on disk."""
        await self.play(index, desk, **row)
        await self.pipeline.settle()
        return self.last(index)

    def place(self, index: int) -> Path:
        found = self.folder / f"ep{index:04d}"
        found.mkdir(exist_ok=True)
        return found

    def last(self, index: int = 0) -> EpisodeRow:
        return [row for row in self.files.rows if row.episode_index == index][-1]


def an_episode(index: int = 0, **fields: Any) -> EpisodeRow:
    told = {"status": "completed", "termination": "stopped", "instruction": "tidy up", "seed": 7 + index}
    return EpisodeRow(**{"episode_index": index, **told, **fields})


def graders(*kinds: str) -> list[AnyGrader]:
    config = {"tests-pass": {"cmd": "true"}}
    return [make_grader(GraderSpec(id=kind, config=config.get(kind, {}))) for kind in kinds]


def stages(row: EpisodeRow) -> list[str]:
    return [stage.name for stage in row.stages]


def values(row: EpisodeRow) -> dict[str, Any]:
    """Metric → value, None where there is none, in the order of the scores."""
    return {score.metric: getattr(score, "value", None) for score in row.scores}
