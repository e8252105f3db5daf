from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.statistics.budget import headline_metric
from engine.statistics.folding import fold_rows
from engine.statistics.missingness import missingness
from engine.store.digest import result_digest
from engine.store.records import EpisodeRow, Summary, SummaryConfig
from engine.store.scores import ExportOutcome, Invalid, Measured, Score, Stage, measured_values
from tests.scoring.making import any_scores, fails, measured, passes, unmeasured


def row(index: int = 0, *scores: Score, verdict: bool | None = None, **metrics: float | None) -> EpisodeRow:
    return EpisodeRow(
        episode_index=index,
        status="completed",
        termination="stopped",
        metrics=dict(metrics),
        scores=list(scores),
        verdict=verdict,
    )


def folded(*rows: EpisodeRow) -> Summary:
    summary = Summary(
        run_id="r", config=SummaryConfig(graph_name="g"), status="running", created_at="2026-05-18T14:30:52Z"
    )
    fold_rows(summary, rows)
    return summary


def test_scores_are_told_by_their_status_and_say_no_more_than_they_know() -> None:
    told = msgspec.json.encode(
        [
            Measured(grader_id="t", metric="tests_pass", value=1.0, passed=True),
            unmeasured("m"),
            Invalid(grader_id="g", metric="n", reason="contract_violation"),
        ]
    )
    assert msgspec.json.decode(told) == [
        {"status": "measured", "grader_id": "t", "metric": "tests_pass", "value": 1.0, "pass": True},
        {
            **{"status": "unmeasured", "grader_id": "g", "metric": "m", "reason": "missing_evidence"},
            **{"retryable": False, "attempts": 1, "detail": None},
        },
        {"status": "invalid", "grader_id": "g", "metric": "n", "reason": "contract_violation"},
    ]


@given(st.lists(any_scores, max_size=6), st.sampled_from([None, True, False]))
def test_a_row_reads_as_it_was_written(scores: list[Score], verdict: bool | None) -> None:
    written = row(0, *scores, verdict=verdict, success=1.0)
    written.stages = [Stage(name="judge:a", started_at="2026-05-18T14:30:52.000001+00:00", error="no")]
    written.exports = [ExportOutcome(sink="mlflow", name="lab", external_id="tr-1", warning="spans are late")]
    written.trace_ref = {"kind": "otel", "run_id": "r/ep0000"}
    assert msgspec.json.decode(msgspec.json.encode(written), type=EpisodeRow) == written


def test_measured_scores_and_the_verdict_count_as_metrics() -> None:
    summary = folded(
        row(0, measured("usd", 2.0), passes("tests_pass"), verdict=True, success=1.0),
        row(1, measured("usd", 4.0), fails("tests_pass"), verdict=False, success=0.0),
    )
    assert summary.aggregate_metrics == {"success": 0.5, "usd": 3.0, "tests_pass": 0.5, "pass": 0.5}
    assert summary.metric_stats["pass"].ci95 is not None


def test_what_was_not_measured_is_missing_and_never_a_zero() -> None:
    rows = [
        row(0, passes("tests_pass"), verdict=True),
        row(1, unmeasured("tests_pass")),
        row(2, Invalid(grader_id="g", metric="tests_pass", reason="contract_violation")),
    ]
    summary = folded(*rows)
    assert summary.aggregate_metrics == {"tests_pass": 1.0, "pass": 1.0}
    assert (summary.metric_stats["tests_pass"].n, summary.metric_stats["pass"].n) == (1, 1)
    assert (missingness(rows, "pass").measured, missingness(rows, "pass").unmeasured) == (1, 2)


def test_an_episodes_own_metric_stands_against_a_score_of_its_name() -> None:
    scored = row(0, measured("length", 7.0), verdict=True, length=3.0, **{"pass": 0.0})
    assert scored.measures == {"length": 3.0, "pass": 0.0}


def test_several_scores_of_one_metric_are_one_number() -> None:
    several = [passes("tests_pass"), fails("tests_pass"), measured("usd", 1.0), measured("usd", 4.0)]
    assert measured_values(several) == {"tests_pass": 0.0, "usd": 2.5}
    assert measured_values([measured("m", 9.0), measured("m", 3.0, True)]) == {"m": 3.0}


@given(st.lists(any_scores, max_size=12))
def test_only_what_was_measured_has_a_value_and_it_lies_among_the_measured(scores: list[Score]) -> None:
    values = measured_values(scores)
    for metric, value in values.items():
        found = [score.value for score in scores if isinstance(score, Measured) and score.metric == metric]
        assert min(found) <= value <= max(found) or value == pytest.approx(found[0])
    assert values.keys() == {score.metric for score in scores if isinstance(score, Measured)}


def test_scores_do_not_enter_the_digest_of_the_result() -> None:
    plain, scored = row(0, success=1.0), row(0, fails("tests_pass"), verdict=False, success=1.0)
    assert result_digest([plain]) == result_digest([scored])


def test_a_verdict_is_worth_a_headline_unless_the_graph_says_what_success_is() -> None:
    assert headline_metric(["usd", "pass", "tool_calls"]) == "pass"
    assert headline_metric(["usd", "pass", "success"]) == "success"
