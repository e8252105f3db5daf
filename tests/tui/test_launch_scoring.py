"""How a run is to be scored, in the launch form: from a file, from beside the graph, as another run was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from engine.control.reports import CheckReport, RefusedError, StartRequest
from engine.control.scoring import NOT_SCORED
from engine.graph.model import Problem
from engine.store.atomic import write_json
from engine.store.rundir import RunDir
from tests.fakes.control import FakeControl, fake_report
from tests.fakes.finished_runs import make_run
from tests.tui.offers import offering
from tests.tui.screen import centre, settled, until, until_seen
from tests.tui.test_launch import go_to, opened, remembering, shown
from tui.episode.inks import text_of
from tui.launch_fields import fields, with_problems
from tui.launch_form import form_of, remembered, request_of, scoring_file
from tui.launch_scoring import AS_THE_RUN, BESIDE, NONE, asked_lines, asked_text, read_scored
from tui.screens.launch import LaunchView

SCORING: dict[str, Any] = {
    "graders": [
        {"id": "answer-match", "config": {"id": "where", "expect": "desk"}},
        {"id": "steps"},
    ],
    "judges": [
        {"id": "helpful", "profile": "tiny", "prompt": "?", "criteria": ["tone"], "pass_threshold": 0.7}
    ],
    "trace": {"kind": "mlflow", "endpoint": "http://mlflow.lab:5000", "correlate": "id"},
    "sinks": [{"name": "lake", "kind": "otlp", "endpoint": "http://lake:4318", "auth_secret": "LAKE"}],
}
WRONG = {"graders": [{"id": "stepz"}], "judges": [{"id": "helpful", "profile": "nobody"}]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """With one profile, and a graph that has a scoring file beside it."""
    profile = '[profiles.tiny]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "tiny"\n'
    (tmp_path / "evaltower.toml").write_text(profile)
    (tmp_path / "g.json").write_text("{}")
    (tmp_path / "g.scoring.json").write_text(json.dumps(SCORING))
    return tmp_path


def text(lines: Any) -> str:
    return "\n".join(map(text_of, lines))


def test_what_lies_beside_the_graph_is_listed_by_name(root: Path) -> None:
    scored = read_scored(root, "", {}, str(root / "g.json"))
    assert scored.path == root / "g.scoring.json"
    assert not scored.problems
    assert asked_text(scored) == "2 graders, 1 judge, 1 sink"
    told = text(asked_lines(scored))
    assert "graders  where, steps" in told
    assert "judges   helpful (model tiny, tone, passes from 0.7)" in told
    assert "traces   mlflow http://mlflow.lab:5000" in told
    assert "sinks    lake (otlp http://lake:4318)" in told
    assert "LAKE" in told, "the secret that is not there"


def test_every_problem_of_a_file_is_told_under_its_field(root: Path) -> None:
    file = root / "wrong.json"
    file.write_text(json.dumps(WRONG))
    told = text(asked_lines(read_scored(root, str(file), {}, "")))
    assert "wrong.json: graders[0]" in told
    assert "stepz" in told
    assert str(root) not in told.partition(": o opens it")[0].rpartition("\n")[0]
    file.write_text(json.dumps({"judges": WRONG["judges"]}))
    assert "wrong.json: judges[0].profile" in text(asked_lines(read_scored(root, str(file), {}, "")))


@pytest.mark.parametrize("typed", ["no-such.json", "/", "evaltower.toml"])
def test_what_is_no_such_file_is_told(root: Path, typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    scored = read_scored(root, typed, {}, "")
    assert "cannot be read" in text(asked_lines(scored))
    assert not scored.asked


def test_none_and_a_graph_without_a_file_score_nothing(root: Path) -> None:
    for typed, graph in ((NONE, str(root / "g.json")), ("", str(root / "other.json")), ("", "named")):
        assert asked_text(read_scored(root, typed, {}, graph)) == "nothing is scored"


def test_a_clone_is_scored_as_its_run_was(root: Path) -> None:
    form = form_of(StartRequest(graph_name="g", scoring=SCORING))
    assert form.values["scoring"] == AS_THE_RUN
    assert request_of(form).scoring == SCORING
    assert read_scored(root, AS_THE_RUN, SCORING, "").asked == SCORING
    assert "scoring" not in remembered(form)
    assert request_of(form.with_value("scoring", "")).scoring == {}
    assert request_of(form.with_value("scoring", NONE)).scoring == NOT_SCORED
    assert form_of(StartRequest(graph_name="g", scoring=NOT_SCORED)).values["scoring"] == NONE


def test_a_file_is_read_when_it_is_started_and_not_before() -> None:
    form = form_of(StartRequest(graph_name="g")).with_value("scoring", "a/b.json")
    assert scoring_file(form) == Path("a/b.json")
    assert request_of(form).scoring == {}
    assert remembered(form) == {"scoring": "a/b.json"}
    for typed in ("", BESIDE, NONE, AS_THE_RUN):
        assert scoring_file(form.with_value("scoring", typed)) is None


def test_what_the_backend_says_of_scoring_stands_at_its_field() -> None:
    problem = Problem("scoring", "scoring.judges[0].profile", "there is no 'nobody'", "name another")
    form = with_problems(form_of(StartRequest(graph_name="g")), [problem])
    [field] = [one for one in fields(form) if one.key == "scoring"]
    assert field.problem == "judges[0].profile: there is no 'nobody' (name another)"


async def on_scoring(pilot: Pilot[Any]) -> LaunchView:
    view = await opened(pilot)
    go_to(view, "scoring")
    await until(pilot, lambda: view.form.scored is not None)
    view._redraw()
    return view


def launching(root: Path) -> FakeControl:
    control = offering(FakeControl(root))
    control.answers["check"] = CheckReport(graph="g", path=str(root / "g.json"), problems=[])
    return control


async def test_the_form_shows_it_and_a_file_can_be_named_instead(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    control = launching(root)
    other = Path("b.json")
    other.write_text('{"graders": [{"id": "steps"}]}')
    app = centre(control, state=remembering())
    async with app.run_test(size=(100, 30)) as pilot:
        view = await on_scoring(pilot)
        await until_seen(pilot, "beside the graph")
        await until_seen(pilot, "2 graders, 1 judge, 1 sink")
        await until_seen(pilot, "helpful (model tiny, tone, passes from 0.7)")
        await pilot.press("enter", *"b.json", "enter")
        await until(pilot, lambda: view.form.scored is not None and view.form.scored.path == other)
        await until_seen(pilot, "1 grader")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: control.calls)
    assert control.calls[0][1].scoring == {"graders": [{"id": "steps"}]}


async def test_problems_of_a_file_keep_the_form_and_the_cursor_goes_there(root: Path) -> None:
    control = launching(root)
    (root / "g.scoring.json").write_text(json.dumps(WRONG))
    app = centre(control, state=remembering())
    async with app.run_test(size=(100, 30)) as pilot:
        view = await on_scoring(pilot)
        await until_seen(pilot, "g.scoring.json: graders[0]")
        go_to(view, "seed")
        await pilot.press("ctrl+g")
        assert view.form_view.current is not None
        assert view.form_view.current.key == "scoring"
        assert not control.calls
        await pilot.press("right")
        await until(pilot, lambda: view.form.scored is not None and not view.form.scored.problems)
        assert view.form.values["scoring"] == NONE
        await pilot.press("ctrl+g")
        await until(pilot, lambda: control.calls)
    assert control.calls[0][1].scoring == NOT_SCORED


async def test_what_only_the_start_finds_out_is_told_at_the_field(root: Path) -> None:
    control = launching(root)
    late = root / "late.json"
    late.write_text('{"graders": [{"id": "steps"}]}')
    app = centre(control, state=remembering(scoring=str(late)))
    async with app.run_test(size=(100, 30)) as pilot:
        view = await on_scoring(pilot)
        late.write_text(json.dumps(WRONG))
        await pilot.press("ctrl+g")
        await until_seen(pilot, "late.json: graders[0]")
        assert not control.calls
        late.write_text('{"graders": [{"id": "steps"}]}')
        control.refuses["start"] = RefusedError([Problem("scoring", "scoring.sinks", "are too many")])
        await pilot.press("ctrl+g")
        await until_seen(pilot, "sinks: are too many")
        assert view.form_view.current is not None
        assert view.form_view.current.key == "scoring"


async def test_the_file_is_opened_in_an_editor_and_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = centre(launching(root), state=remembering())
    opened_files: list[str] = []

    async def edit(command: list[str], folder: Path) -> int:
        opened_files.append(command[-1])
        (root / "g.scoring.json").write_text('{"graders": [{"id": "steps"}]}')
        return 0

    monkeypatch.setattr(app, "run_in_terminal", edit)
    async with app.run_test(size=(100, 30)) as pilot:
        await on_scoring(pilot)
        await pilot.press("o")
        await until_seen(pilot, "1 grader")
    assert opened_files == [str(root / "g.scoring.json")]


@pytest.mark.parametrize(("scoring", "line"), [(SCORING, AS_THE_RUN), ({}, NONE)])
async def test_e_clones_a_run_with_its_scoring(tmp_path: Path, scoring: dict[str, Any], line: str) -> None:
    run = make_run(tmp_path)
    write_scoring(run, scoring)
    control = offering(FakeControl(tmp_path))
    report = fake_report(run.run_id, total=4)
    report.path = str(run.path)
    control.reports = [report]
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.view, LaunchView))
        assert shown(app).form.values["scoring"] == line
        await until_seen(pilot, line)
        assert request_of(shown(app).form).scoring == (scoring or NOT_SCORED)


def write_scoring(run: RunDir, scoring: dict[str, Any]) -> None:
    spec = run.read_spec()
    spec.scoring = scoring
    write_json(run.spec, spec)
