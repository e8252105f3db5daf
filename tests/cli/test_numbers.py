"""What ``show`` says of a run's numbers, and what it does not say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.store.records import EarlyStop, EpisodeRow, SummaryConfig
from tests.cli.conftest import Shell
from tests.fakes.finished_runs import fake_row, make_run


def crash(index: int) -> EpisodeRow:
    return fake_row(index, status="error", termination="env_crash", error_class="infra", metrics={})


def test_the_headline_tells_what_is_missing_and_how_much_it_could_change(shell: Shell, root: Path) -> None:
    rows = [fake_row(i) for i in range(18)] + [crash(18), fake_row(19, metrics={"success": None})]
    make_run(root, rows=rows, total_episodes=22)
    said = shell("show", "last").out
    # 20 ended without a number in 2 of them: 10 % is within the budget.
    assert said.splitlines()[0].startswith("success 0.500, 95 % interval [0.290, 0.710], from 18 of 22")
    told = " ".join(said.split())
    assert "4 without it: 1 errored (1 infra), 1 unmeasured, 2 not run" in told
    assert "it would be 0.409 or 0.591" in told


def test_above_the_error_budget_no_mean_is_shown(shell: Shell, root: Path) -> None:
    rows = [fake_row(i, metrics={"success": 1.0, "spl": 0.875}) for i in range(8)] + [crash(8), crash(9)]
    make_run(root, rows=rows, total_episodes=10)
    said = shell("show", "last")
    told = " ".join(said.out.split())
    assert (
        "success is withheld: 2 of 10 episodes gave no success: 2 errored (2 of them infra); 20 % is above"
        in told
    )
    assert "0.875" not in said.out
    assert "enough was measured" not in told
    assert "success withheld: 2 of 10 with errors" in shell("runs").out
    assert shell("show", "last", "--json").json["results"]["headline"]["estimate"] is None


def test_where_the_headline_is_withheld_what_can_be_told_is_named(shell: Shell, root: Path) -> None:
    rows = [
        fake_row(
            index,
            selectors={"task_id": "pong" if index < 4 else "fetch"},
            metrics={"length": 9.0, "return": index / 8, "success": None if index < 4 else 1.0},
        )
        for index in range(8)
    ]
    run = make_run(root, rows=rows, total_episodes=8).run_id
    told = " ".join(shell("show", "last").out.split())
    named = f"Of return and length enough was measured: evaltower show {run} --metric return"
    assert "success is withheld: 4 of 8 episodes gave no success: 4 unmeasured" in told
    assert named in told
    assert named in shell("report", "last", "-o", "-").out
    other = shell("show", "last", "--metric", "return").out
    assert "return by task" in other
    assert "enough was measured" not in other
    assert shell("show", "last", "--json").json["results"]["instead"] == ["return", "length"]


def test_a_run_in_which_nothing_completed(shell: Shell, root: Path) -> None:
    make_run(root, rows=[crash(0), crash(1)])
    said = shell("show", "last")
    assert said.code == 0
    told = "success is withheld: no episode was measured: all 2 failed with infra: env_crash"
    assert told in " ".join(said.out.split())
    assert "The means over what completed" not in said.out
    assert "nothing measured: 2 of 2 episodes failed" in shell("runs").out
    assert shell("show", "last", "--json").json["results"]["errors"] == [
        {"error_class": "infra", "termination": "env_crash", "error": "env_crash", "episodes": 2,
         "episode_index": 0}
    ]  # fmt: skip


def test_the_commonest_errors_are_told_at_the_end(shell: Shell, root: Path) -> None:
    refused = [
        fake_row(i, status="error", error_class="config", error=f"the environment refused episode {i}: no x")
        for i in range(20, 23)
    ]
    others = [fake_row(i, status="error", error_class="graph", error=f"kind {'abcd'[i]}") for i in range(4)]
    make_run(root, rows=[*others, *refused, fake_row(30)])
    lines = shell("show", "last").out.splitlines()
    told = lines[lines.index("errors") :]
    assert told[1:4] == [
        "3 × config: the environment refused episode …: no x",
        "1 × graph: kind a",
        "1 × graph: kind b",
    ]
    assert told[4].startswith("2 further errors: evaltower episodes ")


def test_scenes_are_what_is_independent(shell: Shell, root: Path) -> None:
    make_run(root, rows=[fake_row(i, scene_id=f"house {i % 6}") for i in range(24)])
    assert "in 6 scenes" in " ".join(shell("show", "last").out.split())


def test_tasks_with_the_mean_over_episodes_and_over_tasks(shell: Shell, root: Path) -> None:
    easy = [fake_row(i, selectors={"task_id": "easy"}, metrics={"success": 1.0}) for i in range(3)]
    hard = [fake_row(9, selectors={"task_id": "hard"}, metrics={"success": 0.0, "spl": 0.0})]
    make_run(root, rows=[*easy, *hard])
    lines = shell("show", "last").out.splitlines()
    starts = {" ".join(line.split()[:-1]) for line in lines}
    assert "easy 1.000 [0.439, 1.000] 3" in starts
    assert "hard 0.000 [0.000, 0.793] 1" in starts
    assert "every episode alike 0.750 [0.301, 0.954]" in starts
    assert "every task alike 0.500 [0.000, 1.000]" in starts


@pytest.mark.parametrize(("scenes", "told"), [(1, False), (2, True), (100, True), (101, False)])
def test_scenes_stand_for_tasks_where_there_is_one_task(
    shell: Shell, root: Path, scenes: int, told: bool
) -> None:
    rows = [fake_row(i, scene_id=f"task-v{i % scenes}", metrics={"success": 1.0}) for i in range(102)]
    make_run(root, rows=rows)
    lines = [line.split() for line in shell("show", "last").out.splitlines()]
    assert (["success", "by", "scene"] in [line[:3] for line in lines]) == told
    assert (["every", "scene", "alike"] in [line[:3] for line in lines]) == told
    assert ("task-v0" in [line[0] for line in lines if line]) == told


def test_a_scene_for_each_episode_is_no_table(shell: Shell, root: Path) -> None:
    make_run(root, rows=[fake_row(i, scene_id=f"house {i}") for i in range(24)])
    assert "by scene" not in shell("show", "last").out


@pytest.mark.parametrize("told", [{"scenes_are_tasks": True}, {"scenes_are_tasks": False}, {}])
def test_where_scenes_are_tasks_one_episode_of_each_is_a_table(
    shell: Shell, root: Path, told: dict[str, bool]
) -> None:
    """A run that was recorded before its nodeset said so has none."""
    run = make_run(
        root, rows=[fake_row(i, scene_id=f"task-v{i}", metrics={"success": 1.0}) for i in range(3)]
    )
    spec = json.loads(run.spec.read_text())
    need = {"name": "env_arm", "path": "/arm", "source_hash": "", "parallelism": "replicated", **told}
    spec["needs"]["nodesets"] = [need]
    run.spec.write_text(json.dumps(spec))
    said, told_so = shell("show", "last").out, told.get("scenes_are_tasks", False)
    assert ("success by scene" in said, "task-v2" in said) == (told_so, told_so)
    assert ("By scene" in shell("report", "last", "-o", "-").out) == told_so


def test_another_metric_is_told_first_where_it_was_measured(shell: Shell, root: Path) -> None:
    make_run(root, rows=[fake_row(i, metrics={"success": 1.0, "spl": 0.5}) for i in range(4)])
    assert shell("show", "last", "--metric", "spl").out.startswith("spl 0.500")
    said = shell("show", "last", "--metric", "slp")
    assert said.code == 2
    assert "measured: spl, success" in said.err


def test_where_a_width_ended_the_run_and_where_it_did_not(shell: Shell, root: Path) -> None:
    config = SummaryConfig(graph_name="fake_follow", until_width=0.25)
    make_run(root, config=config, total_episodes=40, early_stop=EarlyStop(planned=400, beyond=3))
    told = " ".join(shell("show", "last").out.split())
    assert "until width 0.25 of success after 40 of 400 episodes; 3 more had begun, and do not count" in told
    make_run(root, config=config)
    told = " ".join(shell("show", "last").out.split())
    assert "until width 0.25 of success asked; 0.8 at the end of the list" in told


def test_pass_rates_of_repeats(shell: Shell, root: Path) -> None:
    passed = {0: [1, 1], 1: [1, 0], 2: [0, 0], 3: [1, 1]}
    make_run(
        root,
        rows=[
            fake_row(i, repeat=r, metrics={"success": float(found)})
            for i, tries in passed.items()
            for r, found in enumerate(tries, start=1)
        ],
    )
    said = shell("show", "last").out
    rates = {line.split()[0]: line.split() for line in said.splitlines() if line.startswith(("1   ", "2   "))}
    assert [rates[k][1] for k in "12"] == ["0.625", "0.750"]
    assert [rates[k][4] for k in "12"] == ["0.625", "0.500"]
    assert "4 episodes with 2 tries each; 1 passed only sometimes" in " ".join(said.split())


def test_what_an_errored_episode_measured_stands_in_parentheses(shell: Shell, root: Path) -> None:
    crashed = fake_row(1, status="error", error_class="infra", error="gone", metrics={"success": 1.0})
    make_run(root, rows=[fake_row(0, metrics={"success": 1.0}), crashed])
    said = shell("episodes", "last").out
    assert (said.count("(1.000)"), said.count("1.000")) == (1, 2)
