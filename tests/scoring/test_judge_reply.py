from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scoring.judge_reply import LONGEST_QUOTE, LONGEST_REASON, NotAVerdict, OffScale, read_reply

SCORES = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
SHARES = st.floats(min_value=0, max_value=1)
NAMES = st.text().filter(lambda name: name != "score")
JSON_WITHOUT_SCORE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
PROSE = st.text(alphabet=st.characters(blacklist_characters='"<'))
"""Text in which no JSON object can begin: braces, brackets and numbers are welcome."""


def reply(score: Any = 0.7, reason: Any = "fine", **more: Any) -> str:
    return json.dumps({"score": score, "reason": reason, **more})


def value_or_message(text: str) -> float | str:
    try:
        return read_reply(text).mark.value
    except NotAVerdict as problem:
        return str(problem)


class TestAVerdict:
    @given(SHARES, st.text(max_size=LONGEST_REASON))
    def test_is_read_as_it_is(self, score: float, reason: str) -> None:
        verdict = read_reply(reply(score, reason))
        assert (verdict.mark.value, verdict.mark.reason) == (score, reason)
        assert verdict.passed == (score >= 0.5)

    @given(PROSE, st.text(), SHARES)
    def test_is_found_in_prose(self, before: str, after: str, score: float) -> None:
        assert read_reply(before + reply(score) + after).mark.value == score

    def test_is_found_in_a_fence(self) -> None:
        assert read_reply(f"Sure {{here}}:\n```json\n{reply(1)}\n```").mark.value == 1.0

    def test_a_zero_has_no_sign(self) -> None:
        assert math.copysign(1, read_reply(reply(-0.0)).mark.value) == 1

    def test_is_the_first_object(self) -> None:
        assert read_reply(f"{reply(0.1)} no, rather {reply(0.9)}").mark.value == 0.1

    def test_is_not_a_draft_in_a_thought(self) -> None:
        assert read_reply(f"<think>maybe {reply(1)}?</think>\n{reply(0.2)}").mark.value == 0.2

    def test_is_not_what_a_reason_quotes(self) -> None:
        assert read_reply(reply(0.2, f"it wrote </think>{reply(1)}")).mark.value == 0.2

    def test_a_long_reason_is_cut(self) -> None:
        told = read_reply(reply(reason="x" * 10_000)).mark.reason
        assert told == "x" * LONGEST_REASON + " [… 6000 characters left out]"


class TestPassing:
    @pytest.mark.parametrize("said", [True, False])
    def test_the_reply_says(self, said: bool) -> None:
        assert read_reply(reply(0.5, **{"pass": said})).passed is said

    @given(SHARES, SHARES, st.sampled_from([{}, {"pass": True}, {"pass": False}, {"pass": "maybe"}]))
    def test_a_threshold_decides_over_it(self, score: float, threshold: float, said: dict[str, Any]) -> None:
        assert read_reply(reply(score, **said), pass_threshold=threshold).passed == (score >= threshold)

    @pytest.mark.parametrize("said", ["true", 1, [], {}])
    def test_what_is_neither_true_nor_false_is_no_verdict(self, said: Any) -> None:
        with pytest.raises(NotAVerdict, match="neither true nor false"):
            read_reply(reply(**{"pass": said}))

    def test_null_says_nothing(self) -> None:
        assert read_reply(reply(0.6, **{"pass": None})).passed


class TestCriteria:
    def test_each_is_a_number_or_has_a_reason_of_its_own(self) -> None:
        said = {"brief": 0.25, "kind": {"score": 1, "reason": "very"}, "unasked": 300}
        criteria = read_reply(reply(criteria=said), ["brief", "kind"]).criteria
        assert {name: mark.value for name, mark in criteria.items()} == {"brief": 0.25, "kind": 1.0}
        assert criteria["brief"].reason == ""
        assert criteria["kind"].reason == "very"

    @pytest.mark.parametrize("said", [None, {}, [], 0.5, {"kind": 1}, [["brief", 1]]])
    def test_one_that_is_left_out_makes_it_no_verdict(self, said: Any) -> None:
        with pytest.raises(NotAVerdict, match="leaves out the criterion 'brief'"):
            read_reply(reply(criteria=said), ["kind", "brief"] if said == {"kind": 1} else ["brief"])

    @pytest.mark.parametrize("said", [None, "0.5", True, [[90]], {"score": "1"}, {"reason": "x"}, math.nan])
    def test_one_without_a_number_makes_it_no_verdict(self, said: Any) -> None:
        with pytest.raises(NotAVerdict, match="no number as the score of the criterion 'brief'"):
            read_reply(reply(criteria={"brief": said}), ["brief"])


class TestOffScale:
    @given(SCORES.filter(lambda score: not 0 <= score <= 1))
    def test_a_number_beyond_the_scale_is_none_that_counts(self, score: float) -> None:
        with pytest.raises(OffScale, match="where a number from 0 to 1 was asked for"):
            read_reply(reply(score))

    @pytest.mark.parametrize(
        ("score", "shown"),
        [(80, "80"), (1.0000000000000002, "1.0000000000000002"), (10**400, "a number beyond all measure")],
    )
    def test_it_says_what_came(self, score: float, shown: str) -> None:
        with pytest.raises(OffScale, match=f"^the judge gave {shown} as its score, where"):
            read_reply(reply(score), pass_threshold=0.5)

    def test_one_criterion_beyond_it_says_that_none_is_on_it(self) -> None:
        with pytest.raises(OffScale, match="80 as the score of the criterion 'brief'"):
            read_reply(reply(1, criteria={"kind": 1, "brief": {"score": 80}}), ["kind", "brief"])


class TestNoVerdict:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[[90]]",
            "90",
            "{}",
            "I'd give it 0.9.",
            "I cannot help with that.",
            '{"score": [[90]], "reason": "x"}',
            '{"score": NaN, "reason": "x"}',
            '{"score": Infinity, "reason": "x"}',
            '{"score": 1e999, "reason": "x"}',
            '{"score": "0.9", "reason": "x"}',
            '{"score": true, "reason": "x"}',
            '{"score": null, "reason": "x"}',
            '{"reason": "x"}',
            '{"score": 0.9}',
            '{"score": 0.9, "reason": 4}',
            '{"score": 0.9, "reason": "cut o',
            '{"score": 0.9, "score": 0.1, "reason": "x"}',
            '{"verdict": {"score": 0.9, "reason": "nested"}}',
            '{"verdict": {"score": 0.9, "reason": "nested, cut"}',
            "{'score': 0.9, 'reason': 'python'}",
            '{"score": 0.9, "reason": "x",}',
            '<think>{"score": 0.9, "reason": "never ends"}',
            '{"score": ' + "9" * 5000 + ', "reason": "x"}',
            '{"a": ' * 50_000,
        ],
    )
    def test_is_never_a_number(self, text: str) -> None:
        with pytest.raises(NotAVerdict, match="it says: "):
            read_reply(text)

    @given(PROSE)
    def test_prose_is_none(self, text: str) -> None:
        with pytest.raises(NotAVerdict):
            read_reply(text)

    @given(JSON_WITHOUT_SCORE)
    def test_other_json_is_none(self, said: Any) -> None:
        with pytest.raises(NotAVerdict):
            read_reply(json.dumps(said))

    @given(st.text())
    def test_whatever_is_said_there_is_a_verdict_or_a_message(self, text: str) -> None:
        for said in (text, "{" + text, f'{{"score": {text}, "reason": "x"}}', reply(text)):
            outcome = value_or_message(said)
            if isinstance(outcome, str):
                assert len(outcome) < 5 * LONGEST_QUOTE
            else:
                assert 0 <= outcome <= 1
