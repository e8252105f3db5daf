from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest

from engine.control.reader import Reader
from engine.store.rundir import RunDir
from tests.cli.conftest import Shell
from tests.control.waiting import wait_for, wait_until_over, wait_until_running

EVALTOWER = (
    "from engine.scheduling.launchers import closing; closing.RUN_PROCESS = 'tests.fakes.run_process'\n"
    "from engine.main import main; main()"
)
"""The console script, with the stand-in for the run process."""


UNTIL = ("--until-width", "0.1", "--until-metric", "spl")


def test_a_run_shows_its_result_and_where_to_look(shell: Shell, root: Path) -> None:
    said = shell("run", "toy", "-n", "2", "--label", "first")
    assert said.code == 0
    assert "2: 2 completed" in said.out
    assert str(root / "outputs" / "eval_runs") in said.out
    assert "evaltower episodes" in said.err
    assert "evaltower log" in said.err


def test_json_is_one_document(shell: Shell) -> None:
    said = shell("run", "toy", "--json", "--seed", "3")
    assert said.code == 0
    assert (said.json["status"], said.json["summary"]["config"]["seed"]) == ("completed", 3)


@pytest.mark.slow
def test_not_following_prints_the_id_alone_and_leaves_the_run_to_a_successor(
    shell: Shell, root: Path
) -> None:
    said = shell("run", "toy", "-n", "1", "--no-follow")
    run = said.out.strip()
    assert said.code == 0
    assert wait_until_over(Reader(root), run).status == "completed"
    said = shell("run", "toy", "-n", "1", "--no-follow", "--json")
    assert set(said.json) == {"run_id", "path"}
    assert wait_until_over(Reader(root), said.json["run_id"]).status == "completed"
    assert shell("queue", "--json").code == 0


def test_a_run_that_dies_is_1_and_shows_its_last_words(shell: Shell) -> None:
    said = shell("run", "toy", "--select", "fake=crash")
    assert said.code == 1
    assert "aborted" in said.out
    assert "stderr: Segmentation ␛[31mfault" in said.err


def test_a_metric_to_watch_needs_a_width(shell: Shell) -> None:
    said = shell("run", "toy", "--until-metric", "spl")
    assert (said.code, "--until-metric belongs to --until-width" in said.err) == (2, True)


def test_what_was_asked_reaches_the_run(shell: Shell, root: Path, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for workspace in (mine, theirs):
        (workspace / "graphs").mkdir(parents=True)
    words = (
        "-w 3 --episodes 0,4-5 --split s --dataset d --step-budget 9 --seed 8 --timeout 60 --step-timeout 2"
    )
    places = ("--workspace", str(mine), "--workspace", str(theirs))
    said = shell("run", "toy", *words.split(), "--retries", "1", "--repeats", "4", *UNTIL, *places, "--json")
    spec = json.loads((Path(said.json["path"]) / "spec.json").read_bytes())
    asked: dict[str, Any] = {
        "graph_name": "toy", "worker_count": 3, "episode_indices": [0, 4, 5], "split": "s", "dataset": "d",
        "step_budget": 9, "seed": 8, "timeout_sec": 60.0, "per_step_budget_sec": 2.0, "retries": 1,
        "repeats": 4, "until_width": 0.1, "until_metric": "spl",
    }  # fmt: skip
    assert {name: spec["eval"][name] for name in asked} == asked
    assert spec["workspaces"] == [str(mine), str(theirs)]
    assert spec["active_workspace_dir"] is None


def start_and_wait(root: Path, behaviour: str, cache_home: Path) -> tuple[subprocess.Popen[str], str]:
    """``evaltower run`` in a process of its own, once the first episode is there; and the run's id."""
    child = subprocess.Popen(
        [sys.executable, "-c", EVALTOWER, "--root", str(root), "run", "toy", "--select", f"fake={behaviour}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache_home)},
    )
    assert child.stderr is not None
    run = child.stderr.readline().split()[1].rstrip(":")
    wait_until_running(Reader(root), run)
    return child, run


@pytest.mark.parametrize(("behaviour", "presses"), [("hang", 1), ("deaf", 2)])
def test_ctrl_c_cancels_cleanly_and_a_second_at_once(
    root: Path, cache_home: Path, behaviour: str, presses: int
) -> None:
    child, run = start_and_wait(root, behaviour, cache_home)
    assert child.stderr is not None
    child.send_signal(signal.SIGINT)
    while "press Ctrl-C again" not in (line := child.stderr.readline()):
        assert line, "it ended without a word"
    if presses == 2:
        child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "cancelled" in out
    report = Reader(root).show(run)
    assert (report.status, report.summary.completed_count) == ("cancelled", 1)


@pytest.mark.slow
@pytest.mark.parametrize(("behaviour", "presses"), [("hang", 1), ("deaf", 2)])
def test_ctrl_c_cancels_where_it_has_ended_our_reader_first(
    root: Path, cache_home: Path, behaviour: str, presses: int
) -> None:
    """As of ``evaltower run … 2>&1 | tee log``."""
    child, run = start_and_wait(root, behaviour, cache_home)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    child.stderr.close()
    child.send_signal(signal.SIGINT)
    job = RunDir(root / "outputs" / "eval_runs" / run).job
    wait_for(lambda: json.loads(job.read_text()).get("cancel_requested_at"), "the cancel")
    if presses == 2:
        assert child.poll() is None, "it waits for a second Ctrl-C"
        child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130
    assert Reader(root).show(run).status == "cancelled"


def test_a_run_is_followed_to_its_end_when_nobody_reads_of_it(root: Path, cache_home: Path) -> None:
    child, run = start_and_wait(root, "nap", cache_home)
    assert child.stderr is not None
    child.stderr.close()
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert "2 completed" in out
    assert Reader(root).show(run).status == "completed"


@pytest.mark.slow
def test_bars_on_a_terminal(root: Path, cache_home: Path) -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-c", EVALTOWER, "--root", str(root), "run", "toy", "--select", "fake=hang"],
        env={**os.environ, "XDG_CACHE_HOME": str(cache_home), "TERM": "xterm"},
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 120),
    )
    child.expect("1/2")
    child.sendintr()
    child.expect("press Ctrl-C again")
    child.expect("cancelled")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
