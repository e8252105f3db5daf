from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.statistics.aggregate import aggregate
from engine.statistics.budget import headline_metric
from engine.statistics.comparison import compare
from engine.statistics.folding import fold_rows
from engine.statistics.missingness import missingness
from engine.statistics.pairing import Side
from engine.store.digest import result_digest
from engine.store.records import EpisodeRow, Summary, SummaryConfig
from engine.store.scores import (
    ExportOutcome,
    Invalid,
    Measured,
    ModelUse,
    Score,
    ScoringTally,
    Stage,
    Unmeasured,
    measured_values,
    used_together,
)
from engine.store.scoring_tally import not_judged_in_words, use_in_words
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


def test_a_score_is_a_rate_only_where_it_is_nothing_but_a_pass_or_a_fail() -> None:
    judge = [measured("judge:cost", value, value == 1, "judge:cost") for value in (0.0, 1.0, 1.0)]
    edits = [measured("edits", value) for value in (0.0, 1.0, 1.0)]
    errors = [measured("lint", value, value == 0) for value in (0.0, 1.0, 1.0)]
    rows = [row(i, *scores) for i, scores in enumerate(zip(judge, edits, errors, strict=True))]
    stats = aggregate(rows).stats
    assert {name: found.method for name, found in stats.items()} == {
        "judge:cost": "wilson",
        "edits": "t",
        "lint": "t",
    }
    assert missingness(rows, "judge:cost", 4).worst == 0.5
    assert missingness(rows, "edits", 4).worst is None
    sides = [Side(name, rows) for name in ("a", "b")]
    (comparison,) = compare(sides)
    assert {metric.metric: metric.found.tests.mcnemar for metric in comparison.metrics if metric.found} == {
        "judge:cost": 1.0,
        "edits": None,
        "lint": None,
    }


def test_a_score_that_is_always_the_same_claims_no_certainty() -> None:
    stats = folded(*(row(i, measured("judge:j", 0.8, True, "judge:j")) for i in range(4)))
    found = stats.metric_stats["judge:j"]
    assert (found.mean, found.n, found.stderr, found.ci95) == (0.8, 4, 0.0, None)


def test_a_run_says_how_many_episodes_could_not_be_judged_and_why() -> None:
    def late(said: str, reason: Any = "grader_timeout") -> Unmeasured:
        return Unmeasured(grader_id="judge:j", metric="judge:j", reason=reason, detail=said)

    used = ModelUse(asked=1, prompt_tokens=10, completion_tokens=2, usd=0.5)
    rows = [
        row(0, late("no answer\n in 30 s")),
        row(1, late("no answer in 30 s")),
        row(2, late("no answer in 31 s")),
        row(3, late("[[90]]", "grader_error")),
        row(4, measured("judge:j", 0.8, True, "judge:j"), verdict=True),
        row(5),
    ]
    for one in rows[:5]:
        one.scoring, one.judges_used = "final", used
    rows[5].scoring = "pending"
    tally = folded(*rows).scored
    assert tally == ScoringTally(
        pending=1,
        undecided=4,
        not_judged=4,
        not_judged_for={"grader_timeout": 3, "grader_error": 1},
        not_judged_why="grader_timeout: no answer in 30 s; grader_error: [[90]]",
        judges_used=ModelUse(asked=5, prompt_tokens=50, completion_tokens=10, usd=2.5),
    )
    assert not_judged_in_words(tally) == (
        "4 episodes (grader_timeout 3, grader_error 1):"
        " grader_timeout: no answer in 30 s; grader_error: [[90]]"
    )
    for score, one in zip((late("[[90]]", "grader_error"),) * 2, rows[:2], strict=True):
        one.scores = [*one.scores, score, score]
    tally = folded(*rows).scored
    assert tally is not None
    assert (tally.not_judged, tally.not_judged_for) == (4, {"grader_timeout": 3, "grader_error": 3})
    alone = folded(*rows[2:3]).scored
    assert alone is not None
    assert alone.not_judged_why == "no answer in 31 s"
    assert folded(row(0, success=1.0)).scored is None


def test_what_models_took_is_summed_as_far_as_it_is_known() -> None:
    total = used_together(
        [ModelUse(asked=1, prompt_tokens=1200, usd=0.25), ModelUse(asked=1, uncounted=1, unpriced=1)]
    )
    assert use_in_words(total) == (
        "1,200 prompt and 0 completion tokens, $0.250 (1 answer not counted, 1 answer without a price)"
    )
    assert use_in_words(ModelUse(asked=1, prompt_tokens=1, usd=1e-6)).endswith(", less than $0.001")
    assert used_together([ModelUse(asked=1, unpriced=1)]).usd is None


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
