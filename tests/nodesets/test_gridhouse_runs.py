"""The saved graphs of gridhouse as whole runs, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import evaltower, invoke


def test_the_expert_graph_succeeds_everywhere_along_shortest_paths(tmp_path: Path) -> None:
    code, _, summary = evaltower(tmp_path, "gridhouse_expert", "--split", "val_seen", "-n", "6", "-w", "2")
    means = {name: stats["mean"] for name, stats in summary["metric_stats"].items()}
    assert (code, summary["completed_count"], summary["error_count"]) == (0, 6, 0)
    assert means.pop("path_length") > 2
    assert means == {"success": 1, "spl": 1, "oracle_success": 1, "navigation_error": 0, "ndtw": 1}
    assert [row["termination"] for row in summary["episodes"]] == ["stopped"] * 6
    assert {row["episode_id"] for row in summary["episodes"]} == {f"val_seen_{n:03d}" for n in range(6)}


@pytest.mark.slow
def test_the_random_graph_takes_the_step_budget_that_it_is_given(tmp_path: Path) -> None:
    words = ("gridhouse_random", "--split", "val_unseen", "-n", "4", "--step-budget", "5")
    code, _, summary = evaltower(tmp_path, *words)
    assert (code, summary["completed_count"], summary["error_count"]) == (0, 4, 0)
    assert all(row["step_count"] <= 5 for row in summary["episodes"])


@pytest.mark.slow
def test_the_follow_graph_shows_frames_and_beliefs(tmp_path: Path) -> None:
    code, run, summary = evaltower(tmp_path, "gridhouse_follow", "-n", "2", "--step-budget", "6")
    assert (code, summary["completed_count"], summary["error_count"]) == (0, 2, 0)
    shown = {path.name.split("_", 1)[1] for path in (run / "episodes" / "ep0000" / "assets").iterdir()}
    assert shown >= {"step_rgb.png", "agent_belief.png"}


def test_a_slip_that_is_no_probability_starts_nothing(tmp_path: Path) -> None:
    done = invoke(tmp_path, "run", "gridhouse_expert", "--select", "slip=2", "-n", "1")
    assert (done.returncode, done.stderr) == (2, "error: selectors.slip: is 2 (it takes a number, 0 to 1)\n")
    assert not (tmp_path / "outputs" / "eval_runs").exists()
