"""Scores without a screen: what waits, what failed, and how both are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.store.outcomes import is_fault, outcome_of
from engine.store.records import EpisodeRow, Progress
from engine.store.scores import Measured, Stage, Unmeasured
from tests.fakes.clock import START
from tests.fakes.control import fake_report, moment
from tests.fakes.finished_runs import fake_row
from tests.scoring.making import passes, unmeasured
from tests.tui.scored import LINK, NO_TRACE, REASON, scored_row, scored_rows, trace_lines, troubled_row, waits
from tui.episode.inks import text_of
from tui.episode.scores import errors_of, links_of, problem_places, score_lines
from tui.episode.trace_events import event_lines, read_trace
from tui.filtering import FilterError, parse_terms
from tui.models_scoring import lacks_something, scoring_line, wait_of, waiting_in, why_failed
from tui.panes.episode_columns import is_doubtful, shape_of, tell


def said(row: EpisodeRow, now: str = "") -> str:
    return "\n".join(map(text_of, score_lines(row, "RUN", now)))


@pytest.mark.parametrize(
    ("row", "outcome", "fault"),
    [
        (scored_row(0), "success", False),
        (scored_row(0, passes=False), "failure", True),
        (scored_row(0, passes=False, metrics={"success": 1.0}), "failure", True),
        (scored_row(0, metrics={"success": 0.0}), "failure", True),
        (scored_row(0, scoring="pending"), "scoring", False),
        (scored_row(0, passes=False, scoring="pending"), "scoring", True),
        (fake_row(1, metrics={}, scoring="pending"), "scoring", False),
        (fake_row(1, status="error", termination="env_crash", scoring="pending"), "crash", True),
        (troubled_row(), "unmeasured", True),
    ],
)
def test_a_verdict_says_how_an_episode_ended_once_it_is_known(
    row: EpisodeRow, outcome: str, fault: bool
) -> None:
    assert outcome_of(row) == outcome
    assert is_fault(row) == fault


def test_what_waits_is_told_by_what_it_waits_for_and_since_when() -> None:
    waiting = [waits(6, "judge:helpful", 1), waits(7, "judge:helpful", 4.2), waits(5, "export:lab", 90)]
    told = scoring_line(scored_rows(), waiting, START)
    assert told == "scoring: 6 scored, 2 wait for judge:helpful since 4s, 1 for export:lab since 1:30"
    assert scoring_line(scored_rows(), waiting[:1], START).endswith("1 waits for judge:helpful since 1s")
    assert scoring_line(scored_rows(), [], START) == ""


def test_repeats_that_share_an_index_wait_each_for_its_own() -> None:
    first, second = waits(3, "judge:a", 1), waits(3, "export:lab", 1)
    second.folder = "ep0003_r2"
    progress = Progress(run_id="r", updated_at="", scoring=[first, second])
    row = scored_row(3, scoring="pending")
    assert wait_of(row, progress) is first
    assert wait_of(scored_row(3, scoring="pending", repeat=2), progress) is second
    assert wait_of(scored_row(3), progress) is None
    assert wait_of(scored_row(4, scoring="pending"), progress) is None


def test_nothing_is_at_work_on_a_run_that_is_over() -> None:
    report = fake_report("r", "running", rows=scored_rows())
    report.progress = Progress(run_id="r", updated_at="", scoring=[waits(6, "judge:a", 1)])
    assert len(waiting_in(report)) == 1
    report.status = "aborted"
    assert not waiting_in(report)


def test_scores_are_told_in_their_order_with_every_reason_in_full() -> None:
    text = said(scored_row(0, passes=False))
    assert text.startswith("verdict  fail")
    assert text.index("answer_match") < text.index("steps") < text.index("judge:helpful")
    assert "0.000  fail  exact  by where" in text
    assert 'expected "on the desk", got "under the desk"' in text
    for line in REASON.split("\n"):
        assert line in text
    assert LINK in text


def test_what_was_not_measured_has_its_reason_and_no_number() -> None:
    text = said(troubled_row())
    assert "not measured: grader_timeout after 2 attempts, may be tried again" in text
    assert "invalid: contract_violation" in text
    assert "the reply is no JSON: [[90]]" in text
    assert "0.000" not in text.partition("stages")[0]


def test_failures_behind_the_last_step_have_their_remedy() -> None:
    text = said(troubled_row())
    assert "could not be collected: mlflow answered 503" in text
    assert "infra: mlflow answered 503: no healthy upstream (may be tried again)" in text
    assert "failed: 503 no healthy upstream" in text
    assert "not all of it: 2 of 31 spans were refused" in text
    assert "evaltower rescore RUN" in text
    assert "rescore" not in said(scored_row(0))
    gone = said(scored_row(0, failure={**NO_TRACE, "retryable": False}))
    assert "could not be collected" in gone
    assert "rescore" not in gone, "it would bring nothing"


def test_why_no_verdict_came_of_scores_that_pass_and_fail() -> None:
    row = scored_row(0)
    row.scores, row.verdict = [passes("judge:a"), unmeasured("judge:b")], None
    assert "verdict  none: not measured: judge:b" in said(row)
    row.scores = [passes("own")]
    assert "verdict  none: no score decides" in said(row)


def test_a_score_that_the_graphs_own_metric_hides_is_told() -> None:
    row = scored_row(0)
    assert "metric of that name" not in said(row)
    row.scores, row.metrics = [passes("success")], {"success": 0.0}
    assert "success: the graph's own metric of that name counts" in said(row)


def test_stages_are_a_timeline() -> None:
    lines = [text_of(line) for line in score_lines(scored_row(0), "RUN")]
    bars = [line for line in lines if "===" in line]
    assert [line.split()[0] for line in bars][:3] == ["execute", "snapshot", "grade"]
    assert [line.index("=") for line in bars] == sorted(line.index("=") for line in bars)
    assert all("2.5 s" in line for line in bars)


def test_a_stage_without_an_end_goes_on_and_one_without_times_is_told() -> None:
    begun = [
        Stage(name="judge:a", started_at=moment(3)),
        Stage(name="grade", started_at="?", finished_at="?"),
    ]
    text = said(scored_row(0, stages=begun))
    assert "goes on" in text
    assert "grade" in text


def test_what_an_episode_waits_for_is_told_and_that_nothing_is_at_work_on_it() -> None:
    row = scored_row(0, passes=False, scoring="pending")
    assert "verdict  pending\nwaits for judge:a since 4s; so far fail" in said(row, "judge:a since 4s")
    assert "nothing is at work on it" in said(row)
    row.scores.append(Unmeasured(grader_id="a", metric="a", reason="grader_error", retryable=True))
    assert "evaltower rescore RUN" in said(row)
    cut_short = "\n".join(map(text_of, score_lines(row, "RUN", cut_short=True)))
    assert "evaltower resume RUN" in cut_short
    assert "rescore" not in cut_short


def test_one_goes_from_a_problem_to_the_next() -> None:
    places = problem_places(score_lines(troubled_row(), "RUN"))
    assert len(places) >= 6
    assert not problem_places(score_lines(scored_row(0), "RUN"))


def test_links_and_errors_can_be_taken_along() -> None:
    assert links_of(scored_row(0)) == [LINK]
    errors = errors_of(troubled_row())
    assert errors[0] == "collect: mlflow answered 503: no healthy upstream"
    assert "lab (mlflow): 503 no healthy upstream" in errors
    assert not errors_of(scored_row(0))


def test_the_score_that_says_no_stands_for_a_failed_verdict() -> None:
    failed = why_failed(scored_row(0, passes=False))
    assert isinstance(failed, Measured)
    assert failed.metric == "answer_match"
    assert why_failed(scored_row(0)) is None


def test_an_episode_that_lacks_a_score_a_trace_or_an_export_is_a_warning() -> None:
    assert lacks_something(troubled_row())
    assert is_doubtful(troubled_row())
    assert not is_doubtful(scored_row(0))


def test_a_regex_finds_what_a_judge_said() -> None:
    assert "the lamp was left on" in tell(scored_row(0))
    assert "grader_timeout" in tell(troubled_row())


def test_the_verdict_has_a_column_of_its_own_unless_a_metric_has_its_name() -> None:
    assert shape_of([scored_row(0)]).metrics == ("answer_match", "steps", "judge:helpful")
    assert shape_of([scored_row(0, metrics={"pass": 0.5})]).metrics[0] == "pass"
    assert not shape_of([fake_row(0)]).scored


@pytest.mark.parametrize(
    ("typed", "field", "how", "value"),
    [
        ("judge:helpful>0.5", "judge:helpful", ">", "0.5"),
        ("judge:helpful:tone<=1", "judge:helpful:tone", "<=", "1"),
        ("judge:helpful:0", "judge:helpful", ":", "0"),
        ("verdict:fail", "verdict", ":", "fail"),
    ],
)
def test_a_metric_with_a_colon_in_its_name_can_be_filtered_by(
    typed: str, field: str, how: str, value: str
) -> None:
    [term] = parse_terms(typed, ["judge:helpful", "judge:helpful:tone", "verdict"])
    assert (term.field, term.how, term.value) == (field, how, value)


def test_half_of_such_a_name_is_told_what_there_is() -> None:
    with pytest.raises(FilterError, match="there is no column 'judge'"):
        parse_terms("judge:helpful", ["judge:helpful"])


def test_events_are_told_in_a_line_and_whole(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_bytes(trace_lines() + b'no event\n{"kind": "message", "te')
    events = read_trace(tmp_path).events
    assert [event.kind for event in events] == [
        *("message", "llm_call", "message", "tool_call", "tool_result", "error", "?")
    ]
    assert [event.sec for event in events] == [0.0, 0.0, 1.5, 0.0, 1.2, 1.3, None]
    assert [event.is_error for event in events] == [False] * 4 + [True] * 3
    assert events[2].brief == "assistant: On the desk. I looked."
    assert [event.source for event in events][2:4] == ["ask", "platform"]
    text = "\n".join(text_of(line) for line in event_lines(events[2]))
    assert "On the desk.\nI looked." in text


def test_a_trace_that_is_not_there_or_longer_than_is_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "there is no trace.jsonl" in read_trace(tmp_path).problem
    (tmp_path / "trace.jsonl").write_bytes(trace_lines())
    monkeypatch.setattr("tui.episode.trace_events.MOST_BYTES", 200)
    trace = read_trace(tmp_path)
    assert len(trace.events) == 1
    assert trace.left_out == len(trace_lines()) - 200
    (tmp_path / "trace.jsonl").unlink()
    (tmp_path / "trace.jsonl").mkdir()
    assert "cannot be read" in read_trace(tmp_path).problem
