from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.payload import chunks, clip, comment, refused, score_payloads
from engine.store import strict_json
from engine.store.scores import Measured
from tests.scoring.sinks.items import NAMES, SCORES


@pytest.mark.case(31)
def test_what_was_not_measured_is_no_payload_least_of_all_a_zero() -> None:
    nan = Measured(grader_id="g", metric="nan", value=float("nan"))

    found = score_payloads([*SCORES, nan], {}, "r")

    assert [payload.name for payload in found] == NAMES
    assert 0.0 not in [payload.value for payload in found]


@pytest.mark.case(34)
def test_each_score_says_whose_it_is() -> None:
    unknown = Measured(grader_id="x", metric="judge:other", value=1.0)

    found = score_payloads([*SCORES, unknown], {"tone": "gpt-judge"}, "r1")

    assert [payload.source for payload in found] == ["evaltower:r1", "gpt-judge", "gpt-judge", "evaltower:r1"]
    assert [payload.by_judge for payload in found] == [False, True, True, True]


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        (None, ""),
        ("why", "why"),
        ({"reason": "why"}, "why"),
        ({"reason": "why", "tokens": 3}, '{"reason":"why","tokens":3}'),
        ([1, "\ud800"], '[1,"\ufffd"]'),
    ],
)
def test_a_detail_as_text(detail: object, text: str) -> None:
    assert comment(detail) == text


def test_what_is_left_out_of_a_text_is_said() -> None:
    assert clip("x" * 10, 10) == "x" * 10
    assert clip("x" * 12, 10) == "x" * 10 + "… [2 characters more]"


def test_of_several_scores_it_is_said_how_many_were_refused() -> None:
    assert refused([], 2) is None
    assert refused(["a: no"], 1) == "a: no"
    assert refused(["a: no", "b: no"], 3) == "2 of 3 scores were refused: a: no"


@given(st.lists(st.text(max_size=30)), st.integers(1, 100))
def test_chunks_keep_all_in_order_and_none_is_larger_unless_alone(texts: list[str], limit: int) -> None:
    found = list(chunks(texts, limit))

    assert [text for chunk in found for text in chunk] == texts
    for chunk in found:
        assert chunk
        assert len(chunk) == 1 or sum(len(strict_json.encode(text)) + 1 for text in chunk) <= limit


@pytest.mark.case(50)
def test_the_same_key_gives_the_same_ids_and_another_others() -> None:
    assert Ids("k", "s").trace() == Ids("k", "s").trace()
    several = {
        Ids("k", "s").trace(),
        Ids("k2", "s").trace(),
        Ids("k", "s2").trace(),
        Ids("k", "s").of("x", 32),
    }
    assert len(several) == 4
    assert Ids("", "s").trace() != Ids("", "s").trace()
