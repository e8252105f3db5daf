"""Full runs from the command line against published and exact figures.

BabyAI: mean undiscounted returns of JAT (Gallouédec et al. 2024, arXiv 2402.09844), from huggingface/jat at
09a9a21, ``jat/eval/rl/scores_dict.json``. Its random agent draws uniformly for a million steps, which is at
least 15,625 episodes of these levels of at most 64 steps. How many episodes its bot's figures have is not
said; 1,000 are taken. FrozenLake-v1: the exact optimum within 100 steps, by backward induction over the
environment's own transition table.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import engine


class Figure(NamedTuple):
    mean: float
    sd: float
    episodes: int

    @property
    def stderr(self) -> float:
        return self.sd / math.sqrt(self.episodes)


JAT = {
    ("babyai_bot", "GoToLocal"): Figure(0.925005, 0.042449, 1_000),
    ("babyai_bot", "OpenRedDoor"): Figure(0.915012, 0.027701, 1_000),
    ("babyai_bot", "PickupLoc"): Figure(0.914503, 0.042843, 1_000),
    ("babyai_random", "GoToLocal"): Figure(0.162485, 0.297820, 15_625),
    ("babyai_random", "OpenRedDoor"): Figure(0.077872, 0.212422, 15_625),
    ("babyai_random", "PickupLoc"): Figure(0.084721, 0.226370, 15_625),
}
FROZENLAKE_OPTIMUM = Figure(0.7441903, 0.0, 1)
RUN_DEADLINE_SEC = 900.0


def evaltower(root: Path, *words: str) -> tuple[int, Path, dict[str, Any]]:
    """``evaltower run … --json`` in a root of its own: exit code, the run's folder, its summary."""
    done = subprocess.run(
        [sys.executable, "-m", "engine.main", "--root", str(root), "run", *words, "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_DEADLINE_SEC,
        cwd=Path(engine.__file__).parent.parent,
        env={**os.environ, "XDG_CACHE_HOME": str(root / "cache")},
    )
    assert done.stdout, done.stderr
    json.loads(done.stdout)
    (run,) = (root / "outputs" / "eval_runs").glob("2*")
    assert (run / "_DONE").is_file()
    return done.returncode, run, json.loads((run / "summary.json").read_text("utf-8"))


def assert_agrees(summary: dict[str, Any], metric: str, published: Figure, n: int) -> None:
    """All episodes are in, and the means differ by less than three standard errors of their difference."""
    stats = summary["metric_stats"][metric]
    assert (summary["completed_count"], summary["error_count"], stats["n"]) == (n, 0, n)
    z = (stats["mean"] - published.mean) / math.hypot(stats["stderr"], published.stderr)
    assert abs(z) < 3, f"{metric} {stats['mean']:.4f}, published {published.mean:.4f}, z {z:+.1f}"


def test_the_bot_on_gotolocal(tmp_path: Path) -> None:
    code, _, summary = evaltower(
        tmp_path, "babyai_bot", "--select", "env_id=BabyAI-GoToLocal-v0", "-n", "40", "-w", "2"
    )
    assert code == 0
    assert_agrees(summary, "return", JAT["babyai_bot", "GoToLocal"], 40)
    assert summary["aggregate_metrics"]["success"] == 1


@pytest.mark.slow
@pytest.mark.timeout(RUN_DEADLINE_SEC)
@pytest.mark.parametrize(("graph", "level"), JAT)
def test_babyai_returns_are_the_published_ones(graph: str, level: str, tmp_path: Path) -> None:
    code, _, summary = evaltower(
        tmp_path, graph, "--select", f"env_id=BabyAI-{level}-v0", "-n", "300", "-w", "4"
    )
    assert code == 0
    assert_agrees(summary, "return", JAT[graph, level], 300)


@pytest.mark.slow
@pytest.mark.timeout(RUN_DEADLINE_SEC)
def test_optimal_play_of_frozenlake_has_the_exact_success_rate(tmp_path: Path) -> None:
    code, _, summary = evaltower(tmp_path, "frozenlake_optimal", "-n", "600", "-w", "4")
    assert code == 0
    assert_agrees(summary, "success", FROZENLAKE_OPTIMUM, 600)
    assert summary["aggregate_metrics"]["return"] == summary["aggregate_metrics"]["success"]


@pytest.mark.slow
def test_a_bot_that_never_returns_is_a_timeout_of_its_episode_alone(tmp_path: Path) -> None:
    """Of run seed 0 the bot hangs in episodes 0 and 1 of this level and solves 2 and 3."""
    code, run, summary = evaltower(
        tmp_path,
        *("babyai_bot", "--select", "env_id=BabyAI-UnlockToUnlock-v0", "--step-timeout", "5"),
        *("-n", "4", "-w", "2", "--seed", "0"),
    )
    rows = sorted(summary["episodes"], key=lambda row: row["episode_index"])
    assert code == 1
    assert [row["termination"] for row in rows] == ["timeout", "timeout", "stopped", "stopped"]
    assert [row["error_class"] for row in rows] == ["infra", "infra", None, None]
    assert "env_gymnasium__babyai_bot_action" in rows[0]["error"]
    assert summary["metric_stats"]["success"]["n"] == 2
    assert (run / "episodes" / "ep0000" / "log.jsonl").stat().st_size > 0


def test_the_selector_env_seed_reaches_the_environment(tmp_path: Path) -> None:
    """With environment seed 4 the bot hangs after one action, whatever the episode's own seed."""
    code, _, summary = evaltower(
        tmp_path,
        *("babyai_bot", "--select", "env_id=BabyAI-UnlockToUnlock-v0", "--select", "env_seed=4"),
        *("-n", "1", "--seed", "5", "--step-timeout", "5"),
    )
    (row,) = summary["episodes"]
    assert code == 1
    assert (row["termination"], row["error_class"], row["step_count"]) == ("timeout", "infra", 1)
    assert row["episode_id"] == "BabyAI-UnlockToUnlock-v0#4"
