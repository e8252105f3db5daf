from __future__ import annotations

import shlex
from pathlib import Path

from engine.cli.request import parse_selectors
from engine.evaluation.environment import command_line
from engine.store.atomic import write_json
from engine.store.records import EvalRequest, Needs, Spec
from engine.store.rundir import create_run_dir

SELECTORS = {"flag": True, "text": "5", "table": {"a": 1}, "nothing": None, "number": 2.5}


def test_the_command_that_runs_it_again_says_all_that_was_asked(tmp_path: Path) -> None:
    request = EvalRequest(
        graph_name="g",
        dataset="d",
        split="s",
        episode_count=3,
        selectors=SELECTORS,
        step_budget=7,
        per_step_budget_sec=9.0,
        timeout_sec=60.0,
        retries=2,
        seed=4,
    )
    run = create_run_dir(tmp_path)
    write_json(run.shared_urls, {})
    spec = Spec(
        run_id=run.run_id,
        created_at="",
        eval=request,
        needs=Needs(graph_hash=""),
        graph={},
        active_workspace_dir="/over",
        workspaces=["/work"],
    )
    words = shlex.split(command_line(spec, run))
    for option, value in {
        "--dataset": "d",
        "--split": "s",
        "-n": "3",
        "--step-budget": "7",
        "--step-timeout": "9.0",
        "--timeout": "60.0",
        "--retries": "2",
        "--seed": "4",
        "--overlay": "/over",
        "--workspace": "/work",
    }.items():
        assert words[words.index(option) + 1] == value
    selected = tuple(words[i + 1] for i, word in enumerate(words) if word == "--select")
    assert parse_selectors(selected) == SELECTORS
