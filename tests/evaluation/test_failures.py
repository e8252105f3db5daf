"""What one episode's failure costs: that episode. The rest finish, and ``_DONE`` is there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.control.results import results_of
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import finished, make_root

GRAPH = env_graph("env_faulty")
EPISODES = 3
STRUCK = 1


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


def play(root: Path, fault: str, **request: Any) -> RunDir:
    selectors = {"fault": fault, "at": STRUCK, **request.pop("selectors", {})}
    return finished(root, GRAPH, **{"episode_count": EPISODES, "selectors": selectors, **request})


def rows_of(run: RunDir) -> dict[int, EpisodeRow]:
    return {row.episode_index: row for row in run.read_summary().episodes}


@dataclass(frozen=True)
class Case:
    fault: str
    termination: str
    error_class: str
    told: str
    cause: str = ""
    stderr: str = ""


CALLED = "during env_faulty__step_discrete"
FATAL = [
    Case(
        "exit",
        "env_crash",
        "infra",
        f"ended with exit code 1 {CALLED}, at step 1",
        "exit code 1",
        "about to exit",
    ),
    Case(
        "segv",
        "env_crash",
        "infra",
        f"env_faulty ended by signal SIGSEGV (11) {CALLED}, at step 1",
        "signal SIGSEGV (11)",
    ),
    Case(
        "kill",
        "env_crash",
        "infra",
        f"env_faulty ended by signal SIGKILL (9) {CALLED}, at step 1",
        "signal SIGKILL (9)",
    ),
    Case("hang_step", "timeout", "infra", "no answer within 2 s", "killed"),
    Case("hang_reset", "timeout", "infra", "no answer within", "killed"),
    Case("late", "timeout", "infra", "no answer within 2 s", "killed"),
    Case("raise", "node_error", "graph", "step at step 1: RuntimeError: the simulator is unhappy"),
    Case("raise_reset", "exception", "graph", "RuntimeError: a panel of somebody else's"),
    Case("broken", "env_crash", "infra", "ConnectionError: the simulator is gone", "killed"),
    Case("refuse", "exception", "config", "no such episode here"),
]
QUICK = ("segv", "hang_step", "raise", "refuse")
"""One of each class: a crash, a timeout, an error of the graph, a refusal. The others are slow ones."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.fault, marks=() if c.fault in QUICK else pytest.mark.slow) for c in FATAL],
)
def test_a_failure_ends_its_episode_and_no_other(root: Path, case: Case) -> None:
    run = play(root, case.fault)
    rows = rows_of(run)
    struck = rows.pop(STRUCK)
    assert (struck.status, struck.termination, struck.error_class) == (
        "error",
        case.termination,
        case.error_class,
    )
    assert case.told in (struck.error or "")
    if case.cause:
        assert struck.failure is not None
        assert case.cause in struck.failure["cause"]
        assert case.stderr in "\n".join(struck.failure["stderr_tail"])
    assert [row.status for row in rows.values()] == ["completed"] * (EPISODES - 1)
    assert run.is_done()
    summary = run.read_summary()
    assert (summary.status, summary.completed_count, summary.error_count) == ("completed", EPISODES, 1)
    assert summary.aggregate_metrics["success"] == 1.0


def test_what_an_episode_had_before_its_host_died_is_kept(root: Path) -> None:
    run = play(root, "kill")
    folder = run.episodes / "ep0001"
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_bytes().splitlines()]
    assert [line["node_id"] for line in lines if line["node_id"] == "step" and not line["error"]] == ["step"]
    told = f"env_faulty ended by signal SIGKILL (9) {CALLED}"
    assert told in [line["error"] for line in lines if line["node_id"] == "step"]
    assert rows_of(run)[STRUCK].step_count == 1
    assert rows_of(run)[STRUCK].instruction == "walk"


def test_a_node_that_raises_leaves_the_verdict_reachable(root: Path) -> None:
    assert rows_of(play(root, "raise"))[STRUCK].metrics == {"success": 1.0, "length": 2.0}


HARMLESS = [
    "noise",
    "nan",
    "numpy",
    "surrogate",
    "line_separators",
    "long_text",
    "metric_nan",
    "metric_numpy",
]
LONG = ("long_text", "numpy", "line_separators", "metric_nan", "metric_numpy")


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=pytest.mark.slow if fault in LONG else []) for fault in HARMLESS],
)
def test_strange_values_and_noise_cost_nothing(root: Path, fault: str) -> None:
    run = play(root, fault)
    assert [row.status for row in rows_of(run).values()] == ["completed"] * EPISODES
    for path in run.path.rglob("*.json*"):
        assert_strict_json(path)


def assert_strict_json(path: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in {path}")

    data = path.read_bytes()
    for document in data.split(b"\n") if path.suffix == ".jsonl" else [data]:
        if document:
            json.loads(document.decode("utf-8"), parse_constant=refuse)


@pytest.mark.slow
def test_a_metric_that_is_not_finite_is_null_and_counted(root: Path) -> None:
    run = play(root, "metric_nan")
    assert rows_of(run)[STRUCK].metrics == {"success": 1.0, "length": 4.0, "nan": None, "inf": None}
    assert run.read_summary().nonfinite == {"nan": 1, "inf": 1}


@pytest.mark.slow
def test_numpy_numbers_are_metrics(root: Path) -> None:
    metrics = rows_of(play(root, "metric_numpy"))[STRUCK].metrics
    assert {name: metrics[name] for name in "ifbhu"} == {"i": 3.0, "f": 0.5, "b": 1.0, "h": 2.0, "u": 7.0}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["hang_shutdown", "segv_at_exit"])
def test_a_bad_end_after_the_last_result_changes_nothing(root: Path, fault: str) -> None:
    run = play(root, fault)
    assert run.read_summary().status == "completed"
    assert [row.status for row in rows_of(run).values()] == ["completed"] * EPISODES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("raise_in_constructor", "RuntimeError: no constructor for this simulator"),
        ("raise", "RuntimeError: no licence for this simulator"),
        ("exit", "exit code 7"),
    ],
)
def test_an_environment_that_never_starts_ends_the_run_with_its_reason(
    root: Path, monkeypatch: pytest.MonkeyPatch, mode: str, told: str
) -> None:
    monkeypatch.setenv("FAULTY_START", mode)
    run = play(root, "none")
    summary = run.read_summary()
    assert summary.status == "error"
    assert told in (summary.error or "")
    if mode == "raise":
        assert "\n" not in (summary.error or "")
        log = (run.path / "stderr.log").read_text()
        assert "Traceback" in log
        assert told in log
    assert run.is_done()


@pytest.mark.slow
def test_the_sixteenth_rebuild_fails_alone(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTY_START", "16")
    monkeypatch.setenv("FAULTY_COUNTER", str(tmp_path / "starts"))
    everywhere = [{"fault": "kill", "at": index} for index in range(16)] + [{}]
    run = finished(
        root,
        GRAPH,
        episode_indices=list(range(17)),
        episode_selectors=everywhere,
        worker_count=1,
    )
    rows = rows_of(run)
    assert [rows[i].termination for i in range(16)] == ["env_crash"] * 16
    assert "start 16 fails" in (rows[15].error or "")
    assert rows[16].status == "completed"


@pytest.mark.slow
def test_an_infra_failure_is_played_again_when_asked(root: Path, tmp_path: Path) -> None:
    run = play(root, "kill_once", retries=1, selectors={"marker": str(tmp_path / "struck")})
    assert rows_of(run)[STRUCK].status == "completed"
    assert (tmp_path / "struck").exists()


@pytest.mark.slow
def test_a_metric_that_is_never_finite_withholds_the_headline_and_is_not_replaced(root: Path) -> None:
    run = play(root, "all_nan")
    results = results_of(run)
    assert results.headline.metric == "success"
    assert results.headline.withheld is not None
    assert "length" in results.metrics
