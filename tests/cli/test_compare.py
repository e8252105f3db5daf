from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.store.environment_record import EnvironmentRecord
from engine.store.records import EpisodeRow
from tests.cli.conftest import Shell
from tests.fakes.finished_runs import fake_row, make_run

WIDTH = 80


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def walks(passed: Any = lambda index: index % 2, count: int = 100) -> list[EpisodeRow]:
    return [
        fake_row(i, metrics={"success": float(passed(i)), "navigation_error": 3.0 + i % 7 - passed(i)})
        for i in range(count)
    ]


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_run_and_itself_have_no_difference(shell: Shell, root: Path) -> None:
    run = make_run(root, rows=walks()).run_id
    said = shell("compare", run, run)
    assert said.code == 0
    assert "No difference: 100 episodes, and every metric is the same in each pair." in words(said.out)
    assert "flipped" not in said.out
    verdicts = {
        m["found"]["verdict"] for m in shell("compare", run, run, "--json").json["comparisons"][0]["metrics"]
    }
    assert verdicts == {"same"}


def test_three_flipped_episodes_of_a_hundred_are_named(shell: Shell, root: Path) -> None:
    left = make_run(root, rows=walks()).run_id
    right = make_run(root, rows=walks(lambda i: i % 2 if i not in (4, 17, 62) else 1 - i % 2)).run_id
    said = shell("compare", left, right)
    assert said.code == 0
    assert "success: 3 of 100 episodes flipped: 0 → 1 in 4, 62; 1 → 0 in 17" in words(said.out)
    assert "more episodes would settle" in words(said.out)
    assert max(map(len, said.out.splitlines())) <= WIDTH
    found = shell("compare", left, right, "--json").json["comparisons"][0]["metrics"]
    success = next(metric["found"] for metric in found if metric["metric"] == "success")
    assert [flip["episode_index"] for flip in success["flipped"]] == [4, 17, 62]
    assert (success["test"], success["p_value"], success["verdict"]) == ("mcnemar", 1.0, "unsettled")


def test_a_clear_difference_is_told_as_one(shell: Shell, root: Path) -> None:
    left = make_run(root, rows=walks()).run_id
    right = make_run(root, rows=walks(lambda i: 1)).run_id
    lines = {line.split()[0]: line for line in shell("compare", left, right).out.splitlines() if line}
    assert lines["success"].split()[1:4] == ["0.500", "1.000", "+0.500"]
    assert lines["success"].endswith("<0.001  higher")


def test_three_runs_are_compared_with_the_first(shell: Shell, root: Path) -> None:
    runs = [make_run(root, rows=walks(count=n)).run_id for n in (10, 8, 6)]
    report = shell("compare", *runs, "--json").json
    assert [(c["left"], c["right"], c["shared"]) for c in report["comparisons"]] == [
        (runs[0], runs[1], 8),
        (runs[0], runs[2], 6),
    ]
    said = shell("compare", *runs).out
    assert f"right: {runs[2]}" in said
    assert "compared: 8 episodes; only in" in words(said)


def test_what_limits_a_comparison_is_said(shell: Shell, root: Path) -> None:
    left = make_run(root, rows=walks(count=20))
    crashes = [fake_row(i, status="error", error_class="infra", metrics={}) for i in range(5)]
    weak = EnvironmentRecord(run_id="x", determinism="seeded")
    right = make_run(
        root, rows=[*crashes, *(fake_row(i) for i in range(5, 20))], environment=weak, status="cancelled"
    )
    said = words(shell("compare", left.run_id, right.run_id).out)
    for part in (
        "success: 15 pairs; not measured in 5 (right only)",
        f"determinism of {right.run_id} is seeded",
        f"{right.run_id} is cancelled",
        "25 % is above the error budget",
        "not measured in every run, so not compared: navigation_error",
    ):
        assert part in said


def test_runs_without_a_shared_episode_or_metric_are_1(shell: Shell, root: Path) -> None:
    left = make_run(root, rows=walks(count=5)).run_id
    other = make_run(root, rows=[fake_row(i) for i in range(5, 9)]).run_id
    said = shell("compare", left, other)
    assert said.code == 1
    assert "the runs share no finished episode" in said.out
    lost = [fake_row(i, status="error", error_class="graph", metrics={}) for i in range(5)]
    nothing = make_run(root, rows=lost).run_id
    said = shell("compare", left, nothing)
    assert said.code == 1
    assert f"{nothing} has measured no metric" in words(said.out)
    assert shell("compare", left).code == 2
    assert shell("compare", left, "nope").code == 2
