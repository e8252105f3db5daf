from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scoring.usage import Usage, final_answer, finite, span_ms, tool_calls, usage_of

values: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just({}), st.just([1])
)
events = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["message", "llm_call", "tool_call", "span", None])},
        optional={
            "role": st.sampled_from(["user", "assistant"]),
            "text": values,
            "t": values,
            "timestamp": values,
            "cost": st.one_of(values, st.dictionaries(st.sampled_from(["usd", "prompt_tokens"]), values)),
        },
    ),
    max_size=8,
)


def call(**cost: Any) -> dict[str, Any]:
    return {"kind": "llm_call", "cost": cost}


def test_usage_is_the_sum_over_calls_however_they_spell_it() -> None:
    calls = [
        call(prompt_tokens=10, completion_tokens=2, usd=0.1),
        call(input_tokens=1, output_tokens=2, usd=0.2),
        call(inputTokens=3, outputTokens=4),
        {"kind": "llm_call"},
        {"kind": "tool_call"},
    ]
    found = usage_of(calls)
    assert (found.calls, found.priced, found.prompt_tokens, found.completion_tokens) == (4, 2, 14, 8)
    assert found.usd == pytest.approx(0.3)
    assert tool_calls(calls) == 1
    assert usage_of([]) == Usage()


@pytest.mark.parametrize(
    ("times", "span"),
    [
        ([], None),
        ([{}], None),
        ([{"t": 3}], 0),
        ([{"t": 30}, {"t": 3}, {"t": "x"}], 27),
        ([{"timestamp": "2026-05-18T14:30:52.000+02:00"}, {"timestamp": "2026-05-18T12:30:52.250Z"}], 250),
        ([{"at": "2026-05-18T12:30:52"}, {"timestamp": "2026-05-18T12:30:53+00:00"}], 1000),
        ([{"timestamp": "2026-05-18T12:30:52Z"}, {"t": 0}, {"t": 40}], 40),
        ([{"timestamp": "yesterday"}, {"timestamp": 5}], None),
    ],
)
def test_a_span_is_from_the_first_event_to_the_last(times: list[dict[str, Any]], span: float | None) -> None:
    assert span_ms(times) == span


def test_the_final_answer_is_the_assistants_last_text() -> None:
    said: list[dict[str, Any]] = [
        {"kind": "message", "role": "assistant", "text": "one"},
        {"kind": "message", "role": "assistant", "text": "two"},
        {"kind": "message", "role": "assistant", "text": None},
        {"kind": "message", "role": "user", "text": "three"},
    ]
    assert final_answer(said) == "two"
    assert final_answer(said[3:]) is None


@given(events)
def test_no_event_of_a_platform_is_trusted(found: list[dict[str, Any]]) -> None:
    usage = usage_of(found)
    assert 0 <= usage.priced <= usage.calls == sum(event["kind"] == "llm_call" for event in found)
    assert finite(usage.usd) is not None or usage.priced > 1
    span = span_ms(found)
    assert span is None or span >= 0
    assert isinstance(final_answer(found), str | None)
