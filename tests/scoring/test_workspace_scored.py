"""Command-line agents in folders, graded there and judged behind: whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.store.runs import read_rows, view_run
from tests.evaluation.run_checks import assert_all_gone, assert_counted_once, until
from tests.fakes.chat_server import chat_server, hangs
from tests.fakes.real_runs import RUN_DEADLINE_SEC, attempt, finished, make_root, resumed, write_run
from tests.nodesets.workspace_player import NODESET, write_cases
from tests.scoring.scored_runs import JUDGES, assert_never_held_behind, scores, settle, verdicts

GRAPH = json.loads((NODESET / "graphs" / "workspace_answer.json").read_text("utf-8"))
GRADERS = [
    {"id": "steps"},
    {"id": "tests-pass", "config": {"cmd": "test -s made.txt"}},
    {"id": "answer-match"},
]
METRICS = ["tool_calls", "tests_pass", "answer_match", "judge:j1", "judge:j2", "judge:j2:tone"]


@pytest.mark.slow
def test_agents_are_graded_in_their_folders_and_never_run_again(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    cases = write_cases(
        tmp_path, *({"files": {"n.txt": f"{n}\n"}, "expected": f"the answer is {n}"} for n in range(5))
    )
    fired = tmp_path / "fired"
    command = f"cat n.txt >> {fired}; cp n.txt made.txt; echo the answer is $(cat n.txt)"
    request: dict[str, Any] = {
        "scoring": {"graders": GRADERS, "judges": JUDGES},
        "selectors": {"cases": str(cases), "command": command},
    }
    with chat_server(answer=verdicts) as server:
        runs = []
        for number, workers in enumerate((1, 3)):
            settle(root, server, cache=f"{number}.jsonl")
            runs.append(finished(root, GRAPH, **request, worker_count=workers))
            assert_counted_once(runs[-1], 5)
        one, three = runs
        assert view_run(one).head.result_digest == view_run(three).head.result_digest
        assert scores(one) == scores(three)
        for row in read_rows(one):
            assert [score.metric for score in row.scores] == METRICS
            assert dict(scores(one)[row.episode_index])["answer_match"] == 1.0
            assert row.verdict is True
            assert_never_held_behind(row)

        fired.unlink()
        settle(root, server, cache="killed.jsonl")
        server.acts.extend([hangs] * 20)
        run = write_run(root, GRAPH, **request, worker_count=2)
        with attempt(run) as process:
            until(lambda: len(read_rows(run)) == 5 and all(row.scores for row in read_rows(run)), process)
            until(lambda: server.inside == 4, process)
            process.kill()
            process.wait(RUN_DEADLINE_SEC)
        assert_all_gone(run)
        server.acts.clear()
        resumed(run)
    assert_counted_once(run, 5, attempts=2)
    assert scores(run) == scores(one)
    assert sorted(fired.read_text().split()) == list("01234"), "no agent ran twice"


def test_a_secret_that_an_agent_prints_is_in_no_file_of_the_run(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    value = "correct-horse-battery"
    secrets = root / "outputs" / "secrets.toml"
    secrets.parent.mkdir(exist_ok=True)
    secrets.write_text(f'SINK = "{value}"\n')
    secrets.chmod(0o600)
    cases = write_cases(tmp_path, {"files": {"n.txt": "1\n"}})
    command = f"cat {secrets} | tee copied.txt; echo done"
    graders = [{"id": "command", "config": {"cmd": "cat copied.txt; exit 1"}}]
    run = finished(
        root, GRAPH, scoring={"graders": graders}, selectors={"cases": str(cases), "command": command}
    )
    (row,) = read_rows(run)
    assert "[key]" in str(row.scores[0].detail)
    files = [path for path in run.path.rglob("*") if path.is_file()]
    assert any(b"[key]" in path.read_bytes() for path in files if path.name == "snapshot.json")
    assert [path for path in files if value.encode() in path.read_bytes() and path.name != "stdout.log"] == []
