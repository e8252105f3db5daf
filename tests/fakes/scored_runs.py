"""Runs of ``env_graded`` whose judge is a real chat server, and what a backend does to score them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.control.rescoring import reopen_to_score
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from tests.fakes.chat_server import ChatServer
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import RUN_DEADLINE_SEC, attempt, finished, make_root

GRAPH = env_graph("env_graded")
TESTS = {"id": "tests-pass", "config": {"cmd": "true"}}
STEPS = {"id": "steps"}
JUDGE = {"id": "quality", "prompt": "Is the desk tidy?"}
JUDGED: dict[str, Any] = {"graders": [TESTS, STEPS], "judges": [JUDGE]}


def verdict(score: Any = 0.75, reason: str = "the desk is tidy") -> str:
    return json.dumps({"score": score, "reason": reason})


def scored_root(folder: Path, server: ChatServer) -> Path:
    """A root whose one profile is that server."""
    root = make_root(folder)
    settle(root, server)
    return root


def settle(root: Path, server: ChatServer) -> None:
    """Write evaltower.toml with one profile for the server."""
    profile = {"base_url": server.url, "model": "tiny", "retries": 0}
    lines = [f"{name} = {json.dumps(value)}" for name, value in profile.items()]
    (root / "evaltower.toml").write_text("\n".join(["[profiles.local]", *lines]))


def played(root: Path, scoring: Mapping[str, Any], episodes: int = 2, **selectors: Any) -> RunDir:
    """A run that has ended."""
    own = {"journal": str(root / "journal.jsonl"), **selectors}
    return finished(root, GRAPH, scoring=scoring, episode_count=episodes, selectors=own)


def journal(run: RunDir) -> bytes:
    """What was done with the environment."""
    return Path(run.read_spec().eval.selectors["journal"]).read_bytes()


def rescored(run: RunDir, scoring: Mapping[str, Any] | None = None) -> RunDir:
    """The run, once an attempt that scores it again has ended by itself."""
    reopen_to_score(run.root, run, scoring)
    with attempt(run) as process:
        process.wait(RUN_DEADLINE_SEC)
        return run


def values(row: EpisodeRow) -> dict[str, Any]:
    """Metric → its value, or why it has none."""
    return {score.metric: getattr(score, "value", getattr(score, "reason", None)) for score in row.scores}


def all_values(run: RunDir) -> list[dict[str, Any]]:
    return [values(row) for row in read_rows(run)]
