from __future__ import annotations

import json
from pathlib import Path

from engine.store.records import MetricStats
from tests.cli.conftest import Shell
from tests.fakes.finished_runs import fake_line, fake_row, make_run
from tests.fakes.workspace import toy_graph

EVIL = "\x1b[31m[bold]go\u202e\nleft"


def test_runs_are_listed_newest_first_and_filtered(shell: Shell, root: Path) -> None:
    assert shell("runs").err.startswith("no runs")
    assert shell("runs", "--json").json == []
    ids = [make_run(root, label="a").run_id, make_run(root, status="cancelled").run_id]
    lines = shell("runs").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ids[::-1]
    assert [run["run_id"] for run in shell("runs", "--status", "cancelled", "--json").json] == ids[1:]
    assert shell("runs", "--graph", "other", "--json").json == []


def test_showing_a_run(shell: Shell, root: Path) -> None:
    run = make_run(root, label="mine")
    said = shell("show", "mine")
    assert said.code == 0
    for part in (run.run_id, "completed", "success  0.500  [0.095, 0.905]  2", str(run.path), "mine"):
        assert part in said.out
    assert shell("show", "last", "--json").json["summary"]["result_digest"]
    assert shell("show", "last", "--json").json["results"]["headline"]["missing"]["measured"] == 2


def test_episodes_and_the_failed_ones(shell: Shell, root: Path) -> None:
    crash = fake_row(2, status="error", termination="env_crash", error_class="infra", error="exit code 1")
    make_run(root, rows=[fake_row(0), fake_row(1, instruction=EVIL), crash])
    said = shell("episodes", "last")
    assert "infra: exit code 1" in said.out
    assert "␛[31m[bold]go‹U+202E› …" in said.out
    failed = shell("episodes", "last", "--failed", "--json").json
    assert [row["episode_index"] for row in failed] == [0, 2]


def test_the_log_of_an_episode_that_no_firing_ended_tells_its_error(shell: Shell, root: Path) -> None:
    refused = fake_row(0, status="error", error_class="config", error="the environment refused episode 0")
    raised = fake_row(1, status="error", error_class="graph", error="step at step 1: ValueError: boom")
    logs = {0: [], 1: [fake_line(1, "step", error="ValueError: boom")]}
    make_run(root, rows=[refused, raised], logs=logs)
    for more in ((), ("--errors",)):
        said = shell("log", "last", "0", *more)
        assert (said.code, said.out) == (0, "config: the environment refused episode 0\n")
    assert [line["episode"]["error_class"] for line in shell("log", "last", "0", "--json").json] == ["config"]
    assert shell("log", "last", "1").out.count("boom") == 1  # the firing has told it
    assert len(shell("log", "last", "1", "--json").json) == 1


def test_a_log_one_row_a_firing(shell: Shell, root: Path) -> None:
    frame = {"$asset": "assets/0_reset_rgb.png", "shape": [64, 64, 3], "dtype": "uint8"}
    array = {"$array": {"shape": [3], "dtype": "float32", "min": 0, "max": 1, "mean": 0.5}}
    lines = [
        fake_line(0, "reset", outputs={"rgb": frame, "state": {"at": array}, "text": EVIL}),
        fake_line(1, "step", error="ValueError: boom"),
        fake_line(1, "think", inner_log=[{"key": "why", "value": "x" * 500}]),
    ]
    make_run(root, rows=[fake_row(0)], logs={0: lines})
    rows = shell("log", "last", "0").out.splitlines()
    assert len(rows) == 3
    assert "rgb=<assets/0_reset_rgb.png>" in rows[0]
    assert "state={at: <float32 [3]>}" in rows[0]
    assert "\x1b" not in rows[0]
    assert "ERROR ValueError: boom" in rows[1]
    assert rows[2].endswith("…)")
    assert "step" in shell("log", "last", "0", "--errors").out
    assert len(shell("log", "last", "0", "--errors").out.splitlines()) == 1
    assert len(shell("log", "last", "0", "--node", "think").out.splitlines()) == 1
    assert shell("log", "last", "0", "--json").json == lines
    unknown = shell("log", "last", "0", "--json", "--node", "none")
    assert unknown.code == 2
    assert "no firing is of a node 'none'; there are:" in unknown.err
    assert "think" in unknown.err
    assert shell("log", "last", "9").code == 2


def test_checking_graphs(shell: Shell, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(toy_graph(edges=[])))
    good = shell("check", "toy")
    assert good.code == 0
    assert "assumed" in good.out
    both = shell("check", "toy", str(bad))
    assert both.code == 1
    assert "toy: good" in both.out
    assert "evaluate" in both.out
    assert [item["ok"] for item in shell("check", "toy", str(bad), "--json").json] == [True, False]


def test_a_folder_of_graphs_is_a_table(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    llm = {"id": "ask", "type": "llmCall"}
    (folder / "a.json").write_text(json.dumps(toy_graph()))
    (folder / "b.json").write_text(json.dumps(toy_graph(nodes=[*toy_graph()["nodes"], llm])))
    said = shell("check", str(folder))
    assert (said.code, said.out.splitlines()) == (
        0,
        [
            "graph  loads  not installed             wires  problems",
            "a      yes    -                         fine   none",
            "b      yes    profile (none is active)  fine   none",
        ],
    )
    (folder / "c.json").write_text(
        json.dumps(toy_graph(edges=toy_graph()["edges"][1:], nodes=toy_graph()["nodes"]))
    )
    (folder / "d.json").write_text("[]")
    said = shell("check", str(folder))
    assert said.code == 1
    assert [line.split()[1:5] for line in said.out.splitlines()[3:]] == [
        ["yes", "-", "1", "error"],
        ["no", "-", "-", "file:"],
    ]
    assert "'trigger'" in said.out
    assert said.err.splitlines()[-1] == "4 graphs: 2 without an error, 2 with"
    assert [item["ok"] for item in shell("check", str(folder), "--json").json] == [True, True, False, False]


def test_what_is_not_installed_is_no_error(shell: Shell, tmp_path: Path) -> None:
    far = tmp_path / "far.json"
    far.write_text(json.dumps(toy_graph(nodes=[*toy_graph()["nodes"], {"id": "f", "type": "far__look"}])))
    said = shell("check", str(far))
    assert said.code == 0
    assert "good, but what it needs is not all here" in said.out
    assert "not installed: nodeset far, for far__look" in said.out


def test_hooks_are_shown(shell: Shell, tmp_path: Path) -> None:
    hooked = tmp_path / "hooked.json"
    hooked.write_text(json.dumps(toy_graph(hooks=[{"event": "GraphStart", "command": f"rm {EVIL}"}])))
    said = shell("check", str(hooked))
    assert (
        "runs 'rm \\x1b[31m[bold]go\\u202e\\nleft' on GraphStart of * (graph's hook, asks before" in said.out
    )
    assert shell("run", str(hooked), "--no-follow").code == 1
    assert "--trust-hooks" in shell("run", str(hooked), "--no-follow").err


def test_nodesets_and_what_failed(shell: Shell, root: Path) -> None:
    broken = root / "workspace" / "nodesets" / "broken.py"
    broken.write_text("from engine.components import BaseNodeSet\n1 / 0\n")
    said = shell("nodesets")
    assert "env_toy" in said.out
    assert f"failed: {broken}: ZeroDivisionError" in said.out
    assert "trigger:ANY" in shell("nodesets", "env_toy").out
    assert "env_toy" in shell("nodesets", "--json").json["nodesets"]
    unknown = shell("nodesets", "nope")
    assert unknown.code == 2
    assert "there are:" in unknown.err


def test_verify_of_runs_that_are_there(shell: Shell, root: Path) -> None:
    same = [make_run(root).run_id for _ in range(2)]
    said = shell("verify", *same)
    assert said.code == 0
    assert "same: 2 episodes compared" in said.out
    assert "determinism claimed: exact (the weakest label of these runs)\n" in said.out
    line = fake_line(4, "step", output_digests={"value": "x"})
    other = make_run(
        root, rows=[fake_row(0), fake_row(1, trajectory_digest="f" * 32)], logs={1: [line]}
    ).run_id
    said = shell("verify", same[0], other)
    assert said.code == 1
    assert "first difference: episode 1" in said.out
    assert (
        "determinism claimed: exact (the weakest label of these runs), which the difference refutes"
        in said.out
    )
    assert shell("verify", same[0], other, "--json").json["verdict"] == "different"


def test_verify_runs_a_graph_at_each_worker_count(shell: Shell) -> None:
    said = shell("verify", "toy", "-n", "2", "--workers", "1,2")
    assert said.code == 0
    assert "1 worker: run" in said.err
    assert "2 workers: run" in said.err
    assert len({line.split()[-1] for line in said.out.splitlines()[1:3]}) == 1
    assert shell("verify", "toy", "--workers", "1").code == 2


def test_doctor(shell: Shell) -> None:
    said = shell("doctor")
    assert said.code == 0
    assert "processes" in said.out
    assert {item["state"] for item in shell("doctor", "--json").json} <= {"ok", "warning"}


def test_a_metric_without_an_interval(shell: Shell, root: Path) -> None:
    make_run(
        root,
        rows=[fake_row(0, metrics={"return": 1.5})],
        metric_stats={"return": MetricStats(mean=1.5, n=1)},
    )
    assert "return  1.500              -  1" in shell("show", "last").out
    assert "return 1.500" in shell("runs").out
