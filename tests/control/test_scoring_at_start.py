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


def test_what_stands_against_several_sinks_is_told_once(root: Path, reader: Reader) -> None:
    secrets = root / "outputs" / "secrets.toml"
    secrets.parent.mkdir(exist_ok=True)
    secrets.write_text('ingest = "s3cr3t-0123456789"')
    secrets.chmod(0o644)
    sinks = [
        {"name": name, "kind": "otlp", "endpoint": "http://collector:4318", "auth_secret": "ingest"}
        for name in "abc"
    ]
    path = beside(root, {"sinks": sinks})
    (problem,) = reader.check("toy").problems
    assert problem.where == f"{path}: sinks[0].auth_secret"
    assert problem.message == (
        "outputs/secrets.toml has mode 0644, and others may read it: chmod 600 outputs/secrets.toml; it"
        " stands against sinks[1].auth_secret, sinks[2].auth_secret, too"
    )
    secrets.unlink()
    (problem,) = reader.check("toy").problems
    assert problem.message.startswith("there is no secret 'ingest'")


def test_a_grader_without_a_command_is_warned_of(root: Path, reader: Reader) -> None:
    graders = [
        {"id": "tests-pass"},
        {"id": "command", "config": {"cmd": " "}},
        {"id": "swe-bench"},
        {"id": "reward-file", "config": {"metric": "reward"}},
        {"id": "script", "config": {"code": "1"}},
        {"id": "script-score", "config": {"cmd": "true"}},
    ]
    path = beside(root, {"graders": graders})
    report = reader.check("toy")
    assert report.ok
    assert [(problem.severity, problem.where) for problem in report.problems] == [
        ("warning", f"{path}: graders[{place}].config.cmd") for place in (0, 1)
    ]
    assert "only a case that says one (expected.cmd) is graded" in report.problems[0].message


def test_a_judge_without_its_key_is_warned_of_once(control: LiveControl) -> None:
    profile = '[profiles.big]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_env = "BIG_KEY"\n'
    (control.root / "evaltower.toml").write_text(profile)
    control.pause()
    asked = {"judges": [{"id": "a"}, {"id": "b"}]}
    run = control.start(request(scoring=asked))
    (told,) = [notice for notice in control.backend().notices if "BIG_KEY" in notice]
    problem = "profile 'big': the environment variable BIG_KEY is not set: it has to hold the key"
    assert told.endswith(f"{run} starts, but scoring.judges[0].profile: {problem}")
    told_apart = refusal(control, request(scoring=asked, caller_secrets=["BIG_KEY"]))
    assert list(told_apart) == ["scoring.judges[0].profile"]
    assert "BIG_KEY is set here, and not for the backend" in told_apart["scoring.judges[0].profile"]


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
