"""What a run is scored with: the request, or the file beside its graph; all that is wrong with it at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.control.reader import Reader
from engine.control.remote import _whole
from engine.control.reports import RefusedError, StartRequest
from engine.control.scoring import NOT_SCORED, checked_file
from engine.store.rundir import RunDir, runs_folder
from tests.control.waiting import wait_until_over
from tests.fakes.live_backend import LiveControl

GOOD: dict[str, Any] = {"graders": [{"id": "steps"}], "error_budget": 0.25}
WRONG: dict[str, Any] = {
    "graders": [{"id": "stepps"}],
    "judges": [{"id": "j", "profile": "nowhere"}],
    "error_budget": 2,
}


def request(**more: Any) -> StartRequest:
    return StartRequest(graph_name="toy", marginal_vram_mb=0.0, **more)


def beside(root: Path, content: Any) -> Path:
    path = root / "workspace" / "graphs" / "toy.scoring.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def scoring_of(control: LiveControl, run: str) -> Any:
    return RunDir(runs_folder(control.root) / run).read_spec().scoring


def refusal(control: LiveControl, asked: StartRequest) -> dict[str, str]:
    with pytest.raises(RefusedError) as refused:
        control.start(asked)
    return {problem.where: problem.message for problem in refused.value.problems}


def test_everything_wrong_with_it_is_told_with_all_else(control: LiveControl) -> None:
    told = refusal(control, request(scoring=WRONG, worker_count=0))
    assert set(told) >= {"worker_count", "scoring.graders[0].id", "scoring.error_budget"}
    told = refusal(control, request(scoring={**WRONG, "graders": [], "error_budget": 0.1}))
    assert told == {"scoring.judges[0].profile": "there is no profile 'nowhere'"}
    assert not list(runs_folder(control.root).glob("*"))


def test_the_file_beside_a_saved_graph_counts_where_the_request_says_nothing(control: LiveControl) -> None:
    control.pause()
    assert scoring_of(control, control.start(request())) == {}
    path = beside(control.root, GOOD)
    assert scoring_of(control, control.start(request())) == GOOD
    assert scoring_of(control, control.start(request(scoring=NOT_SCORED))) == NOT_SCORED
    as_file = request().graph_name, str(path.with_name("toy.json"))
    asked = StartRequest(graph_name=as_file[1], marginal_vram_mb=0.0)
    assert scoring_of(control, control.start(asked)) == GOOD
    assert _whole(control.root, asked).scoring == GOOD


@pytest.mark.parametrize(
    ("content", "where"),
    [("{torn", ""), ("[]", ""), (WRONG, ": graders[0].id"), ({"grader": []}, ": grader")],
)
def test_what_is_wrong_with_that_file_is_told_by_its_name(
    control: LiveControl, content: Any, where: str
) -> None:
    path = beside(control.root, content)
    assert f"{path}{where}" in refusal(control, request())
    with pytest.raises(RefusedError, match=str(path)):
        checked_file(control.root, path)


def test_a_secret_that_is_not_there_keeps_no_run_from_starting(control: LiveControl) -> None:
    sink = {"name": "ours", "kind": "otlp", "endpoint": "http://127.0.0.1:9", "auth_secret": "ingest"}
    run = control.start(request(scoring={"sinks": [sink]}))
    notices = "\n".join(control.backend().notices)
    assert f"{run} starts, but scoring.sinks[0].auth_secret: there is no secret 'ingest'" in notices
    wait_until_over(control, run)


def test_the_error_budget_is_that_of_the_request(control: LiveControl) -> None:
    run = control.start(request(scoring=GOOD))
    assert control.show(run).error_budget == 0.25
    wait_until_over(control, run)
    assert control.results(run).headline.budget == 0.25


def test_check_tells_how_a_graph_is_scored_and_what_that_lacks(root: Path, reader: Reader) -> None:
    assert reader.check("toy").scoring is None
    asked = {
        "graders": [{"id": "steps"}],
        "judges": [{"id": "style", "profile": "big"}],
        "sinks": [
            {"name": "ours", "kind": "otlp", "endpoint": "http://collector:4318", "auth_secret": "ingest"}
        ],
    }
    path = beside(root, asked)
    report = reader.check("toy")
    assert report.ok
    assert report.scoring is not None
    assert (report.scoring.path, report.scoring.graders) == (str(path), ["steps"])
    assert report.scoring.sinks == ["ours (otlp http://collector:4318)"]
    assert [(missing.kind, missing.name, missing.wanted) for missing in report.missing] == [
        ("profile", "big", ["judge style"])
    ]
    assert [(problem.severity, problem.where) for problem in report.problems] == [
        ("warning", f"{path}: sinks[0].auth_secret")
    ]
    beside(root, WRONG)
    report = reader.check_folder(path.parent)[0]
    assert not report.ok
    assert f"{path}: graders[0].id" in {problem.where for problem in report.problems}
