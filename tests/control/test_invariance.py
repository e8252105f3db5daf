"""worker_count changes no bit, in real runs of real graphs; what would change one is found."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from engine.control.reports import StartRequest, VerifyReport
from engine.control.scoring_report import scoring_report
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from tests.fakes.graphs import env_graph
from tests.fakes.live_backend import live
from tests.fakes.real_runs import make_root

UNTIDY = env_graph("env_untidy")
LONGEST_RUN_SEC = 600.0


def verify(root: Path, workers: list[int], **request: object) -> VerifyReport:
    with live(root) as control:

        def watch(run: str) -> None:
            deadline = time.monotonic() + LONGEST_RUN_SEC
            while not control.show(run).is_over:
                assert time.monotonic() < deadline
                time.sleep(0.05)

        return control.verify(StartRequest(**request), workers, watch)  # type: ignore[arg-type]


def with_habit(tmp_path: Path, habit: str) -> VerifyReport:
    root = make_root(tmp_path)
    graphs = root / "workspace" / "graphs"
    graphs.mkdir()
    (graphs / "untidy.json").write_text(json.dumps(UNTIDY))
    return verify(root, [1, 3], graph_name="untidy", episode_count=6, selectors={"habit": habit})


@pytest.mark.slow
def test_an_environment_that_remembers_is_named_with_its_step_node_and_port(tmp_path: Path) -> None:
    report = with_habit(tmp_path, "remembers")
    assert report.verdict == "different"
    found = report.difference
    assert found is not None
    # Three workers have two episodes each: the third episode is the first that has another past.
    assert (found.episode_index, found.step, found.node, found.port) == (2, 1, "step", "reward")


@pytest.mark.slow
def test_an_environment_with_a_generator_that_nobody_seeds_is_named(tmp_path: Path) -> None:
    report = with_habit(tmp_path, "global_rng")
    assert report.verdict == "different"
    found = report.difference
    assert found is not None
    assert (found.episode_index, found.step, found.node, found.port) == (0, 1, "step", "reward")


@pytest.mark.slow
def test_an_environment_that_is_slow_under_load_is_harmless(tmp_path: Path) -> None:
    report = with_habit(tmp_path, "sleeps")
    assert report.verdict == "same"
    assert len({run.result_digest for run in report.runs}) == 1


@pytest.mark.parametrize(
    ("graph", "request_"),
    [
        pytest.param("gridhouse_follow", {"step_budget": 40}, marks=pytest.mark.slow),
        ("babyai_bot", {"selectors": {"env_id": "BabyAI-GoToLocal-v0"}}),
    ],
)
def test_one_digest_at_every_worker_count(tmp_path: Path, graph: str, request_: dict[str, object]) -> None:
    report = verify(tmp_path, [1, 3], graph_name=graph, episode_count=6, **request_)
    assert (report.verdict, report.determinism, report.notes) == ("same", "exact", [])
    assert len({run.result_digest for run in report.runs}) == 1
    for run in (RunDir(Path(verified.path)) for verified in report.runs):
        assert {row.scoring for row in read_rows(run)} == {"none"}
        assert scoring_report(run).is_empty


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("graph", "request_"),
    [
        ("gridhouse_follow", {}),
        ("babyai_bot", {"selectors": {"env_id": "BabyAI-GoToLocal-v0"}}),
        ("cartpole_torch", {}),
    ],
)
def test_one_digest_for_24_episodes_at_1_3_and_8_workers(
    tmp_path: Path, graph: str, request_: dict[str, object]
) -> None:
    report = verify(tmp_path, [1, 3, 8], graph_name=graph, episode_count=24, **request_)
    assert report.verdict == "same", report
    assert len({run.result_digest for run in report.runs}) == 1
