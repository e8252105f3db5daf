"""Real runs that are scored: of env_graded, judged by a chat server, exported to a collector."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from engine.store.scores import Stage
from tests.fakes.chat_server import ChatServer
from tests.fakes.graphs import env_graph
from tests.fakes.platforms.sink_server import AServer, running
from tests.scoring.judges import a_verdict

GRAPH = env_graph("env_graded")
TESTS = {"id": "tests-pass", "config": {"cmd": "true"}}
JUDGES = [{"id": "j1", "profile": "local"}, {"id": "j2", "profile": "local", "criteria": ["tone"]}]
METRICS = ["tests_pass", "judge:j1", "judge:j2", "judge:j2:tone"]
BEHIND = ("collect", "observe", "judge:", "export:")
"""What no environment is held for."""


@dataclass
class Journal:
    """What was done with the environments of a run, as :mod:`tests.fakes.nodesets.env_graded` keeps it."""

    path: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def count(self, what: str) -> Counter[int]:
        """How often it was done, by the number of the episode."""
        return Counter(line["episode"] for line in self.lines if line["what"] == what)

    def order(self, episode: int) -> list[str]:
        """What was done in an episode but its steps, in order."""
        return [line["what"] for line in self.lines if line["episode"] == episode and line["what"] != "step"]


def settle(root: Path, server: ChatServer, **fields: Any) -> None:
    """Write evaltower.toml with one profile for the server."""
    profile = {"base_url": server.url, "model": "tiny", "retries": 1, "cache": "answers.jsonl", **fields}
    lines = [f"{name} = {json.dumps(value)}" for name, value in profile.items()]
    (root / "evaltower.toml").write_text("\n".join(["[profiles.local]", *lines]))


def verdicts(body: dict[str, Any]) -> str:
    """A verdict for any judge, the same for the same question."""
    text = json.dumps(body["messages"])
    score = (sum(text.encode()) % 101) / 100
    return a_verdict(score, criteria={"tone": {"score": 1 - score, "reason": "so"}}, **{"pass": score > 0.5})


def scoring(**more: Any) -> dict[str, Any]:
    return {"graders": [TESTS], "judges": JUDGES, **more}


def scores(run: RunDir) -> dict[int, list[tuple[str, Any]]]:
    """What was measured, by the number of the episode."""
    return {
        row.episode_index: [(score.metric, getattr(score, "value", None)) for score in row.scores]
        for row in read_rows(run)
    }


def stage_of(row: EpisodeRow, name: str) -> Stage:
    (found,) = (stage for stage in row.stages if stage.name == name)
    return found


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def assert_never_held_behind(row: EpisodeRow) -> None:
    """Read off the timeline: the environment was let go before anything began that does without it."""
    released = at(stage_of(row, "release").finished_at)
    behind = [stage for stage in row.stages if stage.name.startswith(BEHIND)]
    assert behind
    for stage in behind:
        assert at(stage.started_at) >= released, f"{stage.name} began while the environment was held"
    for stage in row.stages:
        if stage not in behind:
            assert at(stage.finished_at) <= released
    assert [stage.name for stage in row.stages] == [
        stage.name for stage in sorted(row.stages, key=lambda stage: at(stage.started_at))
    ]


@contextmanager
def in_thread(server: AServer) -> Iterator[AServer]:
    """A double of a platform, on an event loop of its own."""
    import asyncio

    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with running(server):
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join()
