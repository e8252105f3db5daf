"""Real runs of a command-line agent that traces itself to a platform."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.control.rescoring import reopen_to_complete, reopen_to_score
from engine.scoring.evidence import read_events
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.scores import Measured
from tests.fakes.real_runs import RUN_DEADLINE_SEC, attempt, write_run
from tests.nodesets.workspace_player import NODESET, write_cases
from tests.scoring.live.platforms import LivePlatform

AGENT = Path(__file__).with_name("agent.py")
TESTS_PASS = {"id": "tests-pass", "config": {"cmd": "test -s answer.txt"}}
"""Ground truth, for which no trace is needed."""


@dataclass(frozen=True)
class Lab:
    """A root, and a place on a platform, of a test's own."""

    live: LivePlatform
    place: str
    root: Path

    def trace(self, **more: Any) -> dict[str, Any]:
        """``trace`` of a request to be scored: found there by the tag."""
        return self.live.asked(self.place, **{"correlate": "tag", **more})

    def sink(self, place: str = "", **more: Any) -> dict[str, Any]:
        """Of a request: there, or in another place."""
        return self.live.asked(place or self.place, **{"name": "main", **more})

    def run(self, *cases: Mapping[str, Any], options: str = "", **scoring: Any) -> RunDir:
        """One that has not begun. ``cases``: an episode each; ``{{more}}`` of one are words for its agent.
        ``options``: of every agent."""
        cases = tuple({"params": {"more": []}, **case} for case in cases)
        kind = scoring.get("trace", {}).get("kind", self.live.kind)
        agent = f"{shlex.quote(sys.executable)} {shlex.quote(str(AGENT))} {{{{task}}}} {options} {{{{more}}}}"
        return write_run(
            self.root,
            _graph(agent, kind),
            scoring={"graders": [TESTS_PASS], **scoring},
            selectors={"cases": str(write_cases(self.root, *cases))},
            episode_count=len(cases),
        )

    @contextmanager
    def going(self, run: RunDir, **secrets: str) -> Iterator[subprocess.Popen[bytes]]:
        """An attempt at it, whose agents know the platform. ``secrets``: others than the right one."""
        known = {"live": self.live.secret, **secrets}
        environ: dict[str, Any] = self.live.otel(self.place)
        environ |= {f"EVALTOWER_SECRET_{name.upper()}": value for name, value in known.items()}
        with attempt(run, **environ) as process:
            yield process

    def ended(self, run: RunDir, **secrets: str) -> list[EpisodeRow]:
        """Its rows, once an attempt at it has ended by itself."""
        with self.going(run, **secrets) as process:
            process.wait(RUN_DEADLINE_SEC)
        return rows(run)

    def completed(self, run: RunDir) -> list[EpisodeRow]:
        """What the backend left to itself is done."""
        assert reopen_to_complete(run) is not None
        return self.ended(run)

    def scored_again(self, run: RunDir, **scoring: Any) -> list[EpisodeRow]:
        """As ``evaltower rescore`` does it, with this instead of what was asked."""
        reopen_to_score(self.root, run, {**run.read_spec().scoring, **scoring})
        return self.ended(run)


def rows(run: RunDir) -> list[EpisodeRow]:
    """All of a run that has completed."""
    summary = run.read_summary()
    assert summary.status == "completed", summary.error
    assert run.is_done()
    return summary.episodes


def values(row: EpisodeRow) -> dict[str, float]:
    """Metric → value, of what was measured."""
    return {score.metric: score.value for score in row.scores if isinstance(score, Measured)}


def collected(run: RunDir, row: EpisodeRow) -> list[dict[str, Any]]:
    """The part of the episode's trace that came from the platform."""
    events = read_events(run.episodes / f"ep{row.episode_index:04d}")
    return [event for event in events if event.get("collected")]


def _graph(command: str, kind: str) -> dict[str, Any]:
    graph: dict[str, Any] = json.loads((NODESET / "graphs" / "workspace_answer.json").read_text("utf-8"))
    (node,) = (node for node in graph["nodes"] if node["id"] == "harness")
    node["config"] = {"command": command, "trace_kind": kind}
    return graph
