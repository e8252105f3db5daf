"""env_workspace in whole runs and under its graders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.scoring.context import Case, Evidence
from engine.scoring.graders.swe_bench import SweBench
from tests.command import evaltower
from tests.fakes.chat_server import chat_server
from tests.fakes.real_runs import RUN_DEADLINE_SEC, attempt, finished, make_root, write_run
from tests.nodesets.workspace_player import NODESET, DeskCompute, desk, write_cases

GOLD = json.loads((NODESET / "graphs" / "swe_gold.json").read_text("utf-8"))
BUILT_IN = ""


def graph(command: str, **config: Any) -> dict[str, Any]:
    """The gold graph with another command."""
    copied: dict[str, Any] = json.loads(json.dumps(GOLD))
    (node,) = (node for node in copied["nodes"] if node["id"] == "harness")
    node["config"] = {"command": command, **config}
    return copied


@pytest.mark.parametrize("index", range(4))
async def test_gold_patches_resolve_the_built_in_issues_and_nothing_else_does(
    tmp_path: Path, index: int
) -> None:
    async def resolved(command: str) -> float:
        async with desk() as player:
            await player.choose(BUILT_IN, index, split="issues")
            task = (await player.fire("episode"))["instruction"]
            assert (await player.harness(command, task))["exit_code"] == 0
            compute = DeskCompute(player)
            snapshot = await compute.snapshot()
            evidence = Evidence(Case(index, task, snapshot["expected"]), [], snapshot, tmp_path)
            (score,) = await SweBench({}).grade(evidence, compute)
            return score.value

    assert await resolved("printf %s {{gold_patch}} | git apply") == 1
    assert await resolved("true") == 0


@pytest.mark.slow
def test_the_result_does_not_know_how_many_workers_there_were(tmp_path: Path) -> None:
    root, temporary = make_root(tmp_path / "root"), tmp_path / "tmp"
    temporary.mkdir()
    cases = write_cases(tmp_path, *({"files": {"n.txt": f"{n}\n"}, "params": {"n": n}} for n in range(6)))
    command = (
        "pwd; cat n.txt; for i in $(seq {{n}}); do echo $i >> n.txt; done;"
        " git commit -qam mine; git log --format=%H"
    )
    runs = []
    for workers in (1, 3):
        asked = {"episode_count": -1, "selectors": {"cases": str(cases)}, "worker_count": workers}
        run = write_run(root, graph(command), **asked)
        with attempt(run, TMPDIR=str(temporary)) as process:
            process.wait(RUN_DEADLINE_SEC)
        runs.append(run)
    one, three = (run.read_summary() for run in runs)
    assert (one.status, one.completed_count, one.error_count) == ("completed", 6, 0), one.error
    assert one.result_digest == three.result_digest
    assert [row.metrics["files_changed"] for row in three.episodes] == [0, 1, 1, 1, 1, 1]
    assert len({row.trajectory_digest for row in three.episodes}) == 6
    assert {row.worker_id for row in three.episodes} == {0, 1, 2}
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_harness_that_never_ends_is_an_error_of_its_episode_alone(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    cases = write_cases(tmp_path, {"params": {"n": 1000}}, {"params": {"n": 0}})
    run = finished(
        root, graph("sleep {{n}}", timeout_sec=1), episode_count=2, selectors={"cases": str(cases)}
    )
    first, second = run.read_summary().episodes
    assert (first.status, first.termination) == ("error", "node_error")
    assert "still running after 1 s" in str(first.error)
    assert second.status == "completed"
    trace = (run.episodes / "ep0000" / "trace.jsonl").read_text("utf-8")
    assert [json.loads(line)["kind"] for line in trace.splitlines()] == ["message", "error", "env_action"]


@pytest.mark.slow
def test_a_case_that_cannot_be_laid_out_is_an_error_of_its_episode_alone(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    cases = write_cases(tmp_path, {"setup": "exit 3"}, {})
    run = finished(root, graph("true"), episode_count=-1, selectors={"cases": str(cases)})
    first, second = run.read_summary().episodes
    assert first.error == "the environment refused episode 0: case case_0: setup exited 3: "
    assert (first.error_class, second.status) == ("config", "completed")


@pytest.mark.slow
def test_the_command_line_runs_any_harness_on_any_cases(tmp_path: Path) -> None:
    cases = write_cases(tmp_path, {"files": {"a.txt": "1\n"}}, {})
    code, run, summary = evaltower(
        tmp_path,
        *("swe_harness", "--all", "--select", f"cases={cases}"),
        *("--select", "command=echo {{task}} {{model}} > a.txt", "--select", "model=big"),
    )
    assert (code, summary["completed_count"]) == (1, 2), "without tests in its cases there is no headline"
    assert [row["episode_id"] for row in summary["episodes"]] == ["case_0", "case_1"]
    assert "+do it big" in (run / "episodes" / "ep0000" / "log.jsonl").read_text("utf-8")


SAID = (
    "I look around.\n```sh\ncat spans.py; pwd\n```",
    "I forget how to answer.",
    "```sh\ntrue\n```",
    "```bash\nsed -i 's/in spans:/in sorted(spans):/' spans.py\n```",
    "```\nsubmit\n```",
)


def turn(body: dict[str, Any]) -> str:
    """The next line of an agent that has said so many."""
    return SAID[sum(message["role"] == "assistant" for message in body["messages"])]


@pytest.mark.slow
def test_a_model_mends_an_issue_by_shell_commands_until_it_submits(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    graph = json.loads((NODESET / "graphs" / "swe_shell.json").read_text("utf-8"))
    with chat_server(answer=turn) as server:
        profile = f'[profiles.local]\nbase_url = "{server.url}"\nmodel = "tiny"\nactive = true\n'
        (root / "evaltower.toml").write_text(profile)
        run = finished(root, graph, episode_indices=[3], episode_count=1)
    (row,) = run.read_summary().episodes
    assert (row.status, row.termination, row.step_count) == ("completed", "stopped", 5), row.error
    assert row.metrics == {"files_changed": 1}
    asked = [body["messages"][-1]["content"] for body in server.bodies]
    assert asked[0].startswith("merge() loses the end of a span")
    assert asked[1].endswith("$EVALTOWER_WORKSPACE\n")
    assert asked[3] == "(it printed nothing)"
    assert asked[2] == "There is no command: give one between ```sh and ```.\n"


ORPHANS = """
import asyncio, psutil, sys
from engine.components.loading import load_nodeset

async def main(home, cases, mark):
    nodeset = load_nodeset(home, "env_workspace")
    await nodeset.initialize()
    panel = nodeset.env_panel()
    panel._context = {"nodeset": nodeset}
    await panel.on_field_change("cases", cases)
    assert (await panel.on_action("play", {}))["ok"]
    hidden = f"env -i setsid sh -c 'touch up; exec sleep {mark}' >/dev/null 2>&1 &"
    await panel.on_action("exec", {"command": f"({hidden}); while [ ! -e up ]; do sleep 0.01; done"})
    print(sum(process.info["cmdline"] == ["sleep", mark] for process in psutil.process_iter(["cmdline"])))
    await nodeset.shutdown()

asyncio.run(main(*sys.argv[1:]))
"""


def test_in_its_own_process_not_even_what_hides_outlives_its_command(tmp_path: Path) -> None:
    mark = str(10_000_000 + os.getpid())
    words = (sys.executable, "-c", ORPHANS, str(NODESET), str(write_cases(tmp_path, {})), mark)
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, cwd=NODESET.parents[1], timeout=60
    )
    assert done.stdout.strip() == "0"
