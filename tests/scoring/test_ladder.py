from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scoring import ladder
from engine.scoring.ladder import OBSERVATIONAL, Decision, decide
from engine.scoring.spec import DEFAULT_LADDER
from engine.store.scores import Invalid, Measured, Score, Unmeasured
from tests.scoring.making import any_scores, fails, measured, passes, unmeasured

GROUND_TRUTH = ("state", "tests_pass", "resolved")
lists_of_scores = st.lists(any_scores, max_size=12)
ANSWERS = {"pass": (1.0, True), "fail": (0.0, False), "value": (0.5, None)}
METRICS = ("state", "tests_pass", "resolved", "answer_match", "command", "judge:a", "judge:b", "own", "other")


def verdict(
    scores: list[Score],
    rungs: Sequence[str | Sequence[str]] = DEFAULT_LADDER,
    asked: Mapping[str, str] | None = None,
) -> bool | None:
    return ladder.verdict(scores, rungs, asked or {})


def answered(answers: Mapping[str, str]) -> tuple[list[Score], dict[str, str]]:
    """(The scores, what was asked) of graders and judges that are called as what they score. ``answers``:
    metric → ``pass``, ``fail``, ``value``, ``lacks`` (it answered, and could not tell) or ``to come``."""
    scores: list[Score] = []
    for metric, answer in answers.items():
        if answer == "lacks":
            scores.append(Unmeasured(grader_id=metric, metric=metric, reason="grader_error"))
        elif answer != "to come":
            value, passed = ANSWERS[answer]
            scores.append(measured(metric, value, passed, metric))
    return scores, {metric: metric for metric in answers}


def decided(rungs: Sequence[str | Sequence[str]], **answers: str) -> bool | None:
    scores, asked = answered({name.replace("__", ":"): answer for name, answer in answers.items()})
    return verdict(scores, rungs, asked)


any_answers = st.dictionaries(
    st.sampled_from(METRICS), st.sampled_from(["pass", "fail", "value", "lacks", "to come"])
)


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


TWO = (("tests_pass", "resolved"), ("judge",), ("*",))


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"judge__a": "pass", "judge__b": "to come"}, None),
        ({"judge__a": "pass", "judge__b": "lacks"}, None),
        ({"judge__a": "fail", "judge__b": "to come"}, False),
        ({"judge__a": "fail", "judge__b": "lacks"}, False),
        ({"judge__a": "pass", "judge__b": "pass"}, True),
        ({"judge__a": "pass", "judge__b": "value"}, True),
        ({"tests_pass": "pass", "judge__a": "to come"}, True),
        ({"tests_pass": "to come", "judge__a": "pass"}, None),
        ({"tests_pass": "to come", "judge__a": "fail"}, None),
        ({"tests_pass": "to come", "resolved": "lacks"}, None),
        ({"tests_pass": "pass", "resolved": "lacks"}, None),
        ({"tests_pass": "lacks", "resolved": "lacks", "judge__a": "pass"}, True),
        ({"tests_pass": "lacks", "judge__a": "lacks", "own": "fail"}, False),
        ({"tests_pass": "lacks", "judge__a": "to come", "own": "fail"}, None),
        ({"own": "pass", "other": "to come"}, None),
        ({"own": "pass", "other": "lacks"}, None),
        ({"tests_pass": "lacks", "judge__a": "lacks"}, None),
    ],
)
def test_what_has_not_answered_and_what_could_not_be_measured_decide_nothing(
    answers: dict[str, str], told: bool | None
) -> None:
    assert decided(TWO, **answers) is told


def test_what_an_episode_took_and_what_another_scores_hold_nothing_up() -> None:
    spoiled = [passes("own"), Invalid(grader_id="b", metric="own", reason="contract_violation")]
    assert verdict(spoiled, asked={"own": "g"}) is True, "b was never to score it"
    assert verdict([passes("own")], asked={"own": "g", "usd": "cost"}) is True
    assert verdict([passes("own"), unmeasured("usd")], asked={"own": "g", "usd": "g"}) is True


def test_of_two_scores_of_one_grader_one_that_is_none_leaves_it_open() -> None:
    assert verdict([passes("own"), unmeasured("own")], asked={"own": "g"}) is None
    assert verdict([fails("own"), unmeasured("own")], asked={"own": "g"}) is False


@given(any_answers, st.dictionaries(st.sampled_from(METRICS), st.sampled_from(["pass", "fail", "lacks"])))
def test_a_verdict_stands_whatever_is_still_to_come(answers: dict[str, str], later: dict[str, str]) -> None:
    """So that it may be counted before the episode's row is final."""
    early = verdict(answered(answers)[0], asked=answered(answers)[1])
    after = {
        metric: later.get(metric, "lacks") if answer == "to come" else answer
        for metric, answer in answers.items()
    }
    if early is not None:
        assert verdict(answered(after)[0], asked=answered(after)[1]) is early


@given(any_answers)
def test_only_a_rung_of_which_all_is_known_passes(answers: dict[str, str]) -> None:
    named = {metric for rung in DEFAULT_LADDER for metric in rung}
    rungs = [
        {
            answer
            for metric, answer in answers.items()
            if metric in rung
            or ("judge" in rung and metric.startswith("judge:"))
            or ("*" in rung and metric not in named and not metric.startswith("judge:"))
        }
        - {"value"}
        for rung in DEFAULT_LADDER
    ]
    deciding = next((rung for rung in rungs if rung - {"lacks"}), set())
    told = False if "fail" in deciding else True if deciding == {"pass"} else None
    assert verdict(answered(answers)[0], asked=answered(answers)[1]) is told


def test_what_decided_is_told_and_what_above_it_was_lacking() -> None:
    asked = {"tests_pass": "g", "judge:a": "g"}
    found = decide([unmeasured("tests_pass"), passes("judge:a")], DEFAULT_LADDER, asked)
    assert (found.passed, found.by, found.lacking) == (True, {"judge:a"}, {"tests_pass"})
    found = decide([fails("tests_pass"), passes("judge:a")], DEFAULT_LADDER, asked)
    assert (found.passed, found.by, found.lacking) == (False, {"tests_pass"}, set())
    assert decide([unmeasured("tests_pass")], DEFAULT_LADDER, asked) == Decision(None)
