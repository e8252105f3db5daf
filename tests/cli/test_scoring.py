"""Runs that are scored, in the shell: asked for with a file, shown with verdicts, reasons and exports."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.control.look import light_report
from engine.control.plans import plan_run
from engine.control.reports import RefusedError, StartRequest
from engine.store.atomic import write_json
from engine.store.records import EpisodeRow, EpisodeWaits, MetricStats
from engine.store.rundir import RunDir
from engine.store.runs import view_run
from engine.store.scores import ExportOutcome, Measured, ModelUse, Stage, Unmeasured
from engine.store.scoring_tally import scoring_tally
from tests.cli.conftest import Operate, Shell
from tests.fakes.fake_control import FakeControl
from tests.fakes.finished_runs import CREATED, fake_line, fake_row, make_run

LINK = "https://traces.example/t/1"
REASON = "it went <b>straight\nthere"
TESTS = Measured(grader_id="tests-pass", metric="tests_pass", value=0.0, passed=False, detail="1 failed")
JUDGED = Measured(grader_id="judge:style", metric="judge:style", value=0.75, passed=True, detail=REASON)
USD = Measured(grader_id="cost", metric="usd", value=0.25)
LATE = Unmeasured(
    grader_id="judge:style",
    metric="judge:style",
    reason="grader_timeout",
    retryable=True,
    detail="no answer within 120 s",
)
TOOK = ModelUse(asked=2, prompt_tokens=1000, completion_tokens=20, usd=0.3)
SENT = ExportOutcome(sink="mlflow", name="ours", external_id="tr-1", url=LINK)
LOST = ExportOutcome(sink="mlflow", name="ours", error="the platform answered 503")


def scored(index: int, **more: Any) -> EpisodeRow:
    return fake_row(index, **{"scoring": "final", "metrics": {"success": 1.0}, **more})


@pytest.fixture
def run(root: Path) -> RunDir:
    """One that passed, one that did not, one whose judge is late and that waits, one that is not scored."""
    rows = [
        scored(0, scores=[JUDGED], verdict=True, exports=[SENT]),
        scored(1, scores=[TESTS, JUDGED], verdict=False, exports=[LOST]),
        scored(2, scores=[LATE], scoring="pending", judges_used=TOOK),
        fake_row(3, status="error", termination="env_crash", error_class="infra", error="exit code 1"),
    ]
    run = make_run(root, rows=rows, logs={1: [fake_line(0, "reset")]})
    spec = run.read_spec()
    spec.scoring = {
        "error_budget": 0.5,
        "judges": [{"id": "style"}],
        "sinks": [
            {"name": "ours", "kind": "mlflow", "endpoint": "http://mlflow:5000", "experiment": "1"},
            {"name": "theirs", "kind": "otlp", "endpoint": "http://collector:4318"},
        ],
    }
    write_json(run.spec, spec)
    progress = run.read_progress()
    assert progress is not None
    progress.scoring = [
        EpisodeWaits(episode_index=2, folder="ep0002", waits_for="judge:style", since=CREATED)
    ]
    write_json(run.progress, progress)
    return run


def test_a_run_is_shown_with_verdicts_exports_and_what_waits(shell: Shell, run: RunDir) -> None:
    told = " ".join(shell("show", "last").out.split())
    for part in (
        "verdicts 1 passed, 1 failed, 0 without one, 1 pending",
        "not judged 1 episode (grader_timeout 1): no answer within 120 s",
        "judges took 1,000 prompt and 20 completion tokens, $0.300",
        "not measured judge:style in 1",
        "waiting 1 episode: judge:style 1",
        f"evaltower rescore {run.run_id} does what is left",
        f"ours (mlflow) pending 1/3 {LINK} 1 to come; 1/2 episodes failed to export",
        "theirs (otlp) pending 0/3 - 3 to come",
        "pass 0.500 [",
        "judge:style 0.750",
    ):
        assert part in told
    scoring = shell("show", "last", "--json").json["scoring"]
    assert (scoring["passed"], scoring["failed"], scoring["undecided"], scoring["pending"]) == (1, 1, 0, 1)
    assert (scoring["retryable"], scoring["left"]) == (1, "rescore")
    assert [(sink["name"], sink["status"]) for sink in scoring["sinks"]] == [
        ("ours", "pending"),
        ("theirs", "pending"),
    ]


def test_a_run_that_is_not_scored_is_shown_as_ever(shell: Shell, root: Path) -> None:
    make_run(root)
    assert "scoring" not in shell("show", "last").out
    assert "verdict" not in shell("episodes", "last").out
    assert "verdict" not in shell("export", "last", "--format", "csv").out.splitlines()[0]
    assert "verdict" not in shell("log", "last", "0").out


def test_episodes_have_a_verdict_and_those_that_failed_by_it_count_as_failed(
    shell: Shell, run: RunDir
) -> None:
    lines = shell("episodes", "last").out.splitlines()
    assert "verdict" in lines[0].split()
    assert "pass" not in lines[0].split()
    assert [line.split()[2] for line in lines[1:]] == ["pass", "fail", "pending", "-"]
    failed = shell("episodes", "last", "--failed", "--json").json
    assert [row["episode_index"] for row in failed] == [1, 3]


def test_an_episode_is_shown_with_its_scores_and_what_its_judges_said(shell: Shell, run: RunDir) -> None:
    lines = shell("log", "last", "1").out.splitlines()
    assert lines[1:] == [
        "",
        "verdict: fail",
        "tests_pass by tests-pass: 0.000, fail: 1 failed",
        "judge:style: 0.750, pass: it went <b>straight there",
        "exported to ours (mlflow): the platform answered 503",
    ]
    assert f"exported to ours (mlflow): {LINK}" in shell("log", "last", "0").out
    late = shell("log", "last", "2").out
    assert "verdict: pending" in late
    assert "not measured (grader_timeout, may be tried again): no answer within 120 s" in late
    assert "verdict" not in shell("log", "last", "1", "--node", "reset").out
    *lines, told = shell("log", "last", "1", "--json").json
    assert [line["node_id"] for line in lines] == ["reset"]
    assert [score["metric"] for score in told["episode"]["scores"]] == ["tests_pass", "judge:style"]
    assert [score["pass"] for score in told["episode"]["scores"]] == [False, True]
    assert len(shell("log", "last", "1", "--json", "--node", "reset").json) == 1
    (ended,) = shell("log", "last", "3", "--json").json
    assert ended["episode"]["error"] == "exit code 1"


def test_a_run_whose_judges_all_failed_has_no_other_headline(shell: Shell, root: Path) -> None:
    rows = [scored(i, scores=[LATE, USD], metrics={}) for i in range(4)]
    run = make_run(root, rows=rows, metric_stats={}, scored=scoring_tally(rows))
    spec = run.read_spec()
    spec.scoring = {"judges": [{"id": "style"}], "graders": [{"id": "cost"}]}
    write_json(run.spec, spec)
    told = " ".join(shell("show", "last").out.split())
    assert "pass is withheld: 4 of 4 episodes gave no pass: 4 unmeasured; 100 % is above the error" in told
    assert "not judged 4 episodes (grader_timeout 4): no answer within 120 s" in told
    assert "usd 0.250" not in told
    found = shell("show", "last", "--json").json
    assert (found["results"]["headline"]["metric"], found["results"]["headline"]["estimate"]) == (
        "pass",
        None,
    )
    assert found["summary"]["scored"]["not_judged"] == 4
    assert "pass is withheld" in shell("show", "last", "--metric", "pass").out
    standing = light_report(view_run(run)).standing
    assert standing is not None
    assert (standing.metric, standing.withheld, standing.lost) == ("pass", True, 4)


@pytest.mark.parametrize(("scores", "verdict", "code"), [([LATE], None, 1), ([JUDGED], True, 0)])
def test_a_run_whose_headline_is_withheld_ends_with_1(
    control: FakeControl, operate: Operate, scores: list[Any], verdict: bool | None, code: int
) -> None:
    rows = [scored(i, scores=scores, verdict=verdict, metrics={}) for i in range(4)]
    stats = {"pass": MetricStats(mean=1.0, n=4)} if verdict else {}
    run = make_run(control.root, rows=rows, metric_stats=stats, scored=scoring_tally(rows))
    spec = run.read_spec()
    spec.scoring = {"judges": [{"id": "style"}]}
    write_json(run.spec, spec)
    for form in ((), ("--json",)):
        said = operate("rescore", run.run_id, *form)
        assert said.code == code
    assert ("withheld" in operate("show", run.run_id).out) is bool(code)


def test_a_long_word_of_a_reason_is_cut_where_it_is_too_long(shell: Shell, root: Path) -> None:
    word = "x" * 5000
    make_run(root, rows=[scored(0, scores=[msgspec.structs.replace(LATE, detail=word)])])
    said = shell("log", "last", "0").out
    assert "x" * 1900 in said
    assert "characters left out] (--json has all)" in said
    assert word in shell("log", "last", "0", "--json").out


def test_a_long_error_is_cut_and_whole_in_json(shell: Shell, root: Path) -> None:
    word = "x" * 5000
    ended = fake_row(0, status="error", error_class="graph", error=word)
    make_run(root, rows=[ended, fake_row(1)], logs={1: [{**fake_line(0, "reset"), "error": word}]})
    for episode in ("0", "1"):
        said = shell("log", "last", episode).out
        assert "characters left out] (--json has all)" in said
        assert word not in said
        assert word in shell("log", "last", episode, "--json").out


def test_a_score_that_the_graphs_own_metric_hides_is_told_once(shell: Shell, root: Path) -> None:
    hidden = Measured(grader_id="own", metric="success", value=0.0, passed=False)
    make_run(root, rows=[scored(0, scores=[hidden]), scored(1, scores=[hidden, USD]), scored(2)])
    told = " ".join(shell("show", "last").out.split())
    remedy = "the graph's own metric of that name counts; give the grader another config.metric"
    assert told.count(f"hidden success in 2: {remedy}") == 1
    assert "success: the graph's own metric of that name counts" in shell("log", "last", "0").out
    assert "counts" not in shell("log", "last", "2").out
    assert shell("show", "last", "--json").json["scoring"]["hidden"] == {"success": 2}


@pytest.mark.parametrize("again", [False, True])
def test_a_rescore_is_named_only_where_it_may_bring_more(shell: Shell, root: Path, again: bool) -> None:
    gone = {"stage": "collect", "class": "infra", "message": "the file is gone", "retryable": again}
    broken = Unmeasured(grader_id="own", metric="own", reason="grader_error")
    make_run(root, rows=[scored(0, failure=gone, scores=[broken])])
    said = shell("show", "last").out
    assert "could not be fetched" in said
    assert ("evaltower rescore" in said) is again


def test_a_trace_that_was_done_without_is_told(shell: Shell, root: Path) -> None:
    stage = Stage(name="collect", started_at=CREATED, finished_at=CREATED, error="connection refused")
    make_run(root, rows=[scored(0, stages=[stage]), scored(1)])
    told = " ".join(shell("show", "last").out.split())
    assert "traces 1 graded without: it could not be fetched" in told
    assert "collect: connection refused" in shell("log", "last", "0").out
    assert "collect" not in shell("log", "last", "1").out


def test_what_could_not_be_collected_is_told(shell: Shell, root: Path) -> None:
    failure = {"stage": "collect", "class": "infra", "message": "connection refused"}
    stage = Stage(name="snapshot", started_at=CREATED, finished_at=CREATED, error="the panel hung")
    make_run(root, rows=[scored(0, failure=failure, stages=[stage])])
    assert "traces 1 could not be fetched" in " ".join(shell("show", "last").out.split())
    said = shell("log", "last", "0").out
    assert "collect: connection refused" in said
    assert "snapshot: the panel hung" in said


def test_exports_have_verdicts_reasons_and_links(shell: Shell, run: RunDir) -> None:
    whole = shell("export", "last", "--format", "json").json
    assert whole["scoring"]["sinks"][0]["url"] == LINK
    assert whole["episodes"][0]["scores"][0]["detail"] == REASON
    rows = list(csv.DictReader(io.StringIO(shell("export", "last", "--format", "csv").out, newline="")))
    assert [row["verdict"] for row in rows] == ["pass", "fail", "", ""]
    assert [row["metric.judge:style"] for row in rows] == ["0.75", "0.75", "", ""]
    assert rows[0]["score.judge:style"] == "0.750, pass: it went <b>straight there"
    assert rows[2]["score.judge:style"].startswith("not measured (grader_timeout")
    assert [row["export.ours"] for row in rows] == [LINK, "the platform answered 503", "", ""]
    page = shell("export", "last", "--format", "html").out
    assert "1/2 episodes failed to export" in page
    assert "1 passed, 1 failed, 0 without one, 1 pending" in page
    assert "<b>straight" not in page
    page = shell("export", "last", "--episode", "1", "--format", "html").out
    assert "it went &lt;b&gt;straight there" in page


def test_scores_are_a_table_of_their_own(shell: Shell, run: RunDir, tmp_path: Path) -> None:
    said = shell("export", "last", "--scores", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(said, newline="")))
    assert [(row["episode_index"], row["metric"], row["value"], row["pass"]) for row in rows] == [
        ("0", "judge:style", "0.75", "True"),
        ("1", "tests_pass", "0.0", "False"),
        ("1", "judge:style", "0.75", "True"),
        ("2", "judge:style", "", ""),
    ]
    assert (rows[3]["status"], rows[3]["reason"], rows[3]["retryable"]) == (
        "unmeasured", "grader_timeout", "True",
    )  # fmt: skip
    one = shell("export", "last", "--episode", "1", "--scores", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["detail"] for line in one] == ["1 failed", REASON]
    assert shell("export", "last", "--scores", "--format", "html").code == 2


def test_what_is_measured_in_milliseconds_says_so(shell: Shell, root: Path) -> None:
    took = Measured(grader_id="latency", metric="span", value=34.64)
    make_run(root, rows=[scored(0, scores=[took])], metric_stats={"span": MetricStats(mean=34.64, n=1)})
    assert "span by latency: 34.640 ms" in shell("log", "last", "0").out
    for words in (("show", "last"), ("episodes", "last"), ("export", "last", "--format", "html")):
        assert "span (ms)" in shell(*words).out
    assert "span 34.640 ms" in shell("show", "last", "--metric", "span").out
    rows = list(csv.DictReader(io.StringIO(shell("export", "last", "--format", "csv").out, newline="")))
    assert (rows[0]["metric.span"], rows[0]["score.span"]) == ("34.64", "34.640 ms")
    assert json.loads(shell("export", "last", "--scores", "--format", "jsonl").out)["unit"] == "ms"


def test_a_file_says_how_a_run_is_scored(control: FakeControl, operate: Operate, tmp_path: Path) -> None:
    asked = {"graders": [{"id": "steps"}], "error_budget": 0.5}
    path = tmp_path / "own.json"
    path.write_text(json.dumps(asked))
    assert operate("run", "toy", "--scoring", str(path), "--no-follow").code == 0
    assert operate("run", "toy", "--no-follow").code == 0
    assert [request.scoring for request in control.started] == [asked, {}]
    run = make_run(control.root).run_id
    assert operate("rescore", run, "--scoring", str(path), "--json").json["run_id"] == run
    assert control.calls[-1] == ("rescore", run, asked)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{torn", ": cannot be read: JSON is malformed"),
        ("", ': is empty (write what is asked for, such as {"graders": [{"id": "steps"}]})'),
        (" \n", ": is empty (write what"),
        ('[{"id": "steps"}]', ": holds a list, and no JSON object (write what"),
        ("null", ": holds null, and no JSON object"),
        ('"steps"', ": holds a text, and no JSON object"),
        ("7", ": holds a number, and no JSON object"),
        ('{"graders": [{"id": "stepps"}]}', ": graders[0].id: there is no kind of grader 'stepps'"),
        ('{"error_budget": 7}', ": error_budget: must be"),
    ],
)
@pytest.mark.parametrize("words", [("run", "toy"), ("rescore", "last")])
def test_what_is_wrong_with_that_file_is_one_message_with_file_and_field(
    control: FakeControl, operate: Operate, tmp_path: Path, content: str, told: str, words: tuple[str, ...]
) -> None:
    make_run(control.root)
    path = tmp_path / "own.json"
    path.write_text(content)
    said = operate(*words, "--scoring", str(path))
    assert (said.code, len(said.err.splitlines())) == (2, 1)
    assert said.err.startswith(f"error: {path}{told}")
    assert not [call for call in control.calls if call[0] in ("start", "rescore")]


def test_check_tells_how_a_graph_is_scored(shell: Shell, root: Path) -> None:
    path = root / "workspace" / "graphs" / "toy.scoring.json"
    sink = {"name": "ours", "kind": "otlp", "endpoint": "http://collector:4318", "auth_secret": "ingest"}
    path.write_text(json.dumps({"graders": [{"id": "steps"}], "judges": [{"id": "style"}], "sinks": [sink]}))
    said = shell("check", "toy")
    assert said.code == 0
    expected = "graders steps; judges style; exports to ours (otlp http://collector:4318)"
    assert f"scored as {path} says: {expected}" in said.out
    assert "not installed: profile (none is active), for judge style" in said.out
    assert "warning" in said.out
    assert "EVALTOWER_SECRET_INGEST" in said.out
    wrong = root / "own.json"
    wrong.write_text('{"graders": [{"id": "stepps"}], "error_budget": 7}')
    for words, file in (((), path), (("--scoring", str(wrong)), wrong)):
        path.write_text(wrong.read_text() if file == path else '{"graders": [{"id": "cost"}]}')
        said = shell("check", "toy", *words)
        assert said.code == 1
        assert f"error {file}: graders[0].id: there is no kind of grader 'stepps' (did you mean" in said.out
        assert f"error {file}: error_budget: must be" in said.out
    wrong.write_text('{"graders": [{"id": "steps"}]}')
    said = shell("check", "toy", "--scoring", str(wrong))
    assert (said.code, f"scored as {wrong} says: graders steps" in said.out) == (0, True)
    of_folder = shell("check", str(path.parent), "--scoring", str(wrong), "--json").json
    assert [one["report"]["scoring"]["path"] for one in of_folder] == [str(wrong)]


@pytest.mark.parametrize("graph", ["swe_harness", "workspace_answer"])
def test_what_every_run_must_select_is_told_by_check_and_before_a_start(
    control: FakeControl, shell: Shell, graph: str
) -> None:
    said = shell("check", graph)
    assert said.code == 0
    assert f"{graph}: good, 1 warning (" in said.out
    assert "warning node 'harness': the graph gives no command, and there is no default" in said.out
    assert "(select one: evaltower run --select command=…)" in said.out
    assert "select" not in shell("check", "swe_gold").out
    request = StartRequest(graph_name=graph, marginal_vram_mb=0)
    assert _refused(control.root, request) == ["selectors.command"]
    request.episode_indices, request.episode_selectors = [0, 1], [{"command": "true"}, {}]
    assert _refused(control.root, request) == ["selectors.command"]
    request.selectors = {"command": "true"}
    assert plan_run(control.root, request).request.selectors == {"command": "true"}


def _refused(root: Path, request: StartRequest) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        plan_run(root, request)
    return [problem.where for problem in refused.value.problems]


def test_a_verdict_that_stands_counts_while_the_episode_still_waits(shell: Shell, root: Path) -> None:
    rows = [scored(index, scores=[JUDGED], verdict=True, scoring="pending", metrics={}) for index in range(2)]
    make_run(root, rows=[*rows, scored(2, scoring="pending", metrics={})], status="running")
    told = " ".join(shell("show", "last").out.split())
    assert "verdicts 2 passed, 0 failed, 0 without one, 1 pending" in told
    assert "waiting 3 episodes" in told
    assert "from 2 of" in told
    assert "verdict: pass" in shell("log", "last", "0").out
    assert "verdict: pending" in shell("log", "last", "2").out


def test_verdicts_of_a_lower_rung_are_told(shell: Shell, run: RunDir) -> None:
    lacking = Unmeasured(grader_id="tests-pass", metric="tests_pass", reason="grader_error", detail="no make")
    judged = scored(0, scores=[lacking, JUDGED], verdict=True)
    rows = [judged, scored(1, scores=[TESTS, JUDGED], verdict=False)]
    run.episode_rows.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    spec = run.read_spec()
    spec.scoring = {"graders": [{"id": "tests-pass", "config": {"cmd": "make"}}], "judges": [{"id": "style"}]}
    write_json(run.spec, spec)
    told = "1 of 2 verdicts came from judge:style, as tests_pass could not be measured there"
    assert told in " ".join(shell("show", "last").out.split())
    assert f"{told}." in shell("export", "last", "--format", "html").out
    report = shell("show", "last", "--json").json["scoring"]
    assert report["fallbacks"] == [{"episodes": 1, "by": ["judge:style"], "lacking": ["tests_pass"]}]


def test_a_run_that_was_cut_short_is_taken_up_and_not_scored_again(shell: Shell, root: Path) -> None:
    rows = [scored(0, scores=[JUDGED], verdict=True), scored(1, scoring="pending")]
    run = make_run(root, rows=rows, status="cancelled")
    said = shell("show", "last").out
    assert "verdicts  1 passed, 0 failed, 0 without one, 1 pending" in said
    assert f"evaltower resume {run.run_id} goes on with them" in said
    assert "rescore" not in said
    assert shell("show", "last", "--json").json["scoring"]["left"] == "resume"


def test_the_help_tells_what_counts_without_a_file(shell: Shell) -> None:
    told = {name: " ".join(shell(name, "--help").out.split()) for name in ("run", "check", "rescore")}
    assert "(default: as RUN was scored before)" in told.pop("rescore")
    assert all("(default: <graph>.scoring.json beside a saved graph)" in text for text in told.values())
