from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scoring.ladder import OBSERVATIONAL, verdict
from engine.scoring.spec import DEFAULT_LADDER
from engine.store.scores import Measured, Score
from tests.scoring.making import any_scores, fails, measured, passes, unmeasured

GROUND_TRUTH = ("state", "tests_pass", "resolved")
lists_of_scores = st.lists(any_scores, max_size=12)


@pytest.mark.case(51)
def test_a_state_that_passes_stands_against_a_judge_that_does_not() -> None:
    assert verdict([fails("judge"), passes("state")]) is True
    assert verdict([passes("judge"), fails("state")]) is False


@pytest.mark.case(52)
def test_an_answer_that_matches_stands_against_a_judge() -> None:
    assert verdict([fails("judge:strict"), passes("answer_match")]) is True


@pytest.mark.case(53)
def test_of_objective_graders_all_must_pass() -> None:
    assert verdict([passes("answer_match"), passes("url_matches"), passes("dom_contains")]) is True
    assert verdict([passes("answer_match"), fails("url_matches"), passes("dom_contains")]) is False


@pytest.mark.case(54)
def test_judges_decide_where_nothing_above_does_and_their_criteria_never() -> None:
    assert verdict([passes("judge:a"), fails("judge:a:tone")]) is True
    assert verdict([passes("judge:a"), fails("judge:b")]) is False
    assert verdict([passes("judge:a:tone")]) is None


@pytest.mark.case(55)
def test_without_anything_that_decides_there_is_no_verdict() -> None:
    assert verdict([]) is None
    assert verdict([measured("usd", 0.1), unmeasured("tests_pass")]) is None


def test_several_of_one_metric_must_all_pass() -> None:
    assert verdict([passes("tests_pass"), fails("tests_pass")]) is False
    assert verdict([passes("tests_pass"), passes("tests_pass")]) is True


def test_what_no_rung_names_decides_last_and_together() -> None:
    assert verdict([passes("own"), fails("other")]) is False
    assert verdict([fails("own"), passes("judge")]) is True


def test_what_an_episode_took_never_decides() -> None:
    assert verdict([measured(metric, 1.0, False) for metric in OBSERVATIONAL]) is None
    assert verdict([measured("usd", 1.0, False)], [["usd"], "*"]) is None


def test_a_ladder_of_ones_own_has_no_other_rungs() -> None:
    assert verdict([fails("tests_pass"), passes("own")], ["own"]) is True
    assert verdict([fails("tests_pass")], ["own"]) is None
    assert verdict([passes("judge:a"), fails("judge:b")], ["judge:a", "*"]) is True


@given(lists_of_scores)
def test_a_trace_that_is_missing_never_overturns_a_ground_truth(scores: list[Score]) -> None:
    """Whatever else was measured, or was not."""
    others = [score for score in scores if score.metric not in GROUND_TRUTH]
    for metric in GROUND_TRUTH:
        assert verdict([passes(metric), *others]) is True
        assert verdict([fails(metric), *others]) is False


@given(lists_of_scores, st.randoms())
def test_the_order_of_scores_does_not_matter(scores: list[Score], random: object) -> None:
    shuffled = list(scores)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert verdict(shuffled) is verdict(scores)


@given(lists_of_scores)
def test_only_measured_scores_decide(scores: list[Score]) -> None:
    kept = [score for score in scores if isinstance(score, Measured) and score.passed is not None]
    assert verdict(scores) is verdict(kept)


@given(lists_of_scores, st.integers(0, len(DEFAULT_LADDER) - 1))
def test_a_failing_score_of_the_deciding_rung_fails(scores: list[Score], place: int) -> None:
    above = {metric for rung in DEFAULT_LADDER[:place] for metric in rung}
    metric = "own" if DEFAULT_LADDER[place] == ("*",) else DEFAULT_LADDER[place][0]
    if "judge" in above:
        above |= {"judge:a", "judge:b"}
    kept = [score for score in scores if score.metric not in above]
    assert verdict([*kept, fails(metric)]) is False
