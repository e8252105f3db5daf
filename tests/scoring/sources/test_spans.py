from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scoring.attributes import NAMES, Names, find, load_json
from engine.scoring.spans import Span, events
from engine.scoring.usage import usage_of
from engine.store.strict_json import encode

MS = 1_000_000


def made(start_ms: float = 0, end_ms: float | None = 100, **fields: Any) -> Span:
    end_ns = None if end_ms is None else round(end_ms * MS)
    return Span(**{"id": "s", "start_ns": round(start_ms * MS), "end_ns": end_ns, **fields})


def told(*spans: Span, mapping: Any = None) -> list[dict[str, Any]]:
    return events(spans, Names(mapping))


class TestWhatASpanTells:
    @pytest.mark.parametrize(
        "attributes",
        [
            {"gen_ai.request.model": "m"},
            {"gen_ai.response.model": "m"},
            {"mlflow.llm.model": "m"},
            {"llm.model_name": "m"},
            {"llm": {"model_name": "m"}},
        ],
        ids=lambda attributes: next(iter(attributes)),
    )
    def test_a_model_makes_a_call_of_one(self, attributes: dict[str, Any]) -> None:
        [event] = told(made(100, 350, attributes=attributes))
        assert (event["kind"], event["model"], event["latency_ms"]) == ("llm_call", "m", 250)
        assert "cost" not in event

    @pytest.mark.parametrize(
        "attributes",
        [
            {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": "3", "gen_ai.usage.cost": 0.5},
            {
                "mlflow.chat.tokenUsage": {"input_tokens": 7, "output_tokens": 3},
                "mlflow.llm.cost": '{"total_cost": 0.5}',
            },
            {
                "mlflow.chat.tokenUsage": '{"input_tokens": 7, "output_tokens": 3}',
                "evaltower.cost.usd": "0.5",
            },
            {
                "llm.token_count.prompt": 7,
                "llm": {"token_count": {"completion": 3}},
                "gen_ai": {"usage": {"cost": 0.5}},
            },
        ],
        ids=["gen_ai", "mlflow", "mlflow as text", "flat and nested"],
    )
    def test_tokens_and_cost_are_read_under_each_name(self, attributes: dict[str, Any]) -> None:
        [event] = told(made(attributes=attributes))
        assert event["kind"] == "llm_call"
        assert event["cost"] == {"prompt_tokens": 7, "completion_tokens": 3, "usd": 0.5}

    def test_our_own_cost_is_asked_first(self) -> None:
        both = {"llm.model_name": "m", "gen_ai.usage.cost": 9, "evaltower.cost.usd": 0.5}
        assert told(made(attributes=both))[0]["cost"] == {"usd": 0.5}

    def test_a_cost_alone_is_no_call(self) -> None:
        assert told(made(attributes={"gen_ai.usage.cost": 9}))[0]["kind"] == "span"

    @pytest.mark.parametrize("tokens", [-1, "many", True, float("nan"), float("inf"), None, [7]])
    def test_what_is_no_count_is_no_zero_either(self, tokens: Any) -> None:
        attributes = {"llm.model_name": "m", "gen_ai.usage.input_tokens": tokens}
        assert "cost" not in told(made(attributes=attributes))[0]

    def test_a_tool_is_a_call_and_at_its_end_a_result(self) -> None:
        attributes = {"tool.name": "grep", "tool.call_id": "c7", "tool.args": '{"p": 1}', "tool.output": "x"}
        first = made(0, 1, id="root")
        _, call, result = told(first, made(10, 30, id="t", parent="root", attributes=attributes))
        assert (call["kind"], call["id"], call["name"], call["args"]) == ("tool_call", "c7", "grep", {"p": 1})
        assert (result["kind"], result["id"], result["output"]) == ("tool_result", "c7", "x")
        assert (call["t"], result["t"], result["ok"]) == (10, 30, True)
        assert (call["span_id"], call["parent_id"], call["duration_ms"]) == ("t", "root", 20)

    @pytest.mark.parametrize("kind", ["TOOL", "FUNCTION", "tool"])
    def test_a_declared_tool_goes_by_the_name_of_its_span(self, kind: str) -> None:
        call, result = told(made(name="search", attributes={"openinference.span.kind": kind}))
        assert (call["name"], call["id"], result["id"]) == ("search", "s", "s")

    def test_a_tool_that_is_still_open_has_no_result(self) -> None:
        assert [event["kind"] for event in told(made(end_ms=None, attributes={"tool.name": "x"}))] == [
            "tool_call"
        ]

    @pytest.mark.parametrize(
        ("failed", "more", "ok"),
        [
            (False, {}, True),
            (True, {}, False),
            (False, {"tool.error": "no such file"}, False),
            (False, {"error": True}, False),
            (False, {"error": "false"}, True),
            (False, {"error.type": "timeout"}, False),
        ],
    )
    def test_a_result_is_ok_unless_status_or_attributes_say_otherwise(
        self, failed: bool, more: dict[str, Any], ok: bool
    ) -> None:
        span = made(attributes={"tool.name": "x", **more}, failed=failed, status="exit 2" if failed else "")
        assert told(span)[1]["ok"] is ok

    def test_a_failed_tool_without_output_says_why(self) -> None:
        assert (
            told(made(attributes={"tool.name": "x"}, failed=True, status="exit 2"))[1]["output"] == "exit 2"
        )

    def test_status_of_a_failed_call_is_kept(self) -> None:
        attributes = {"llm.model_name": "m"}
        assert told(made(attributes=attributes, failed=True, status="429"))[0]["error"] == "429"
        assert told(made(attributes=attributes, failed=True))[0]["error"] == "failed"
        assert "error" not in told(made(attributes=attributes))[0]

    @pytest.mark.parametrize("name", ["message.content", "output.value"])
    def test_a_text_is_what_the_assistant_said_when_the_span_ended(self, name: str) -> None:
        root = made(0, 900, attributes={name: "42"})
        later = made(100, 200, id="c", parent="s", attributes={"llm.model_name": "m"})
        call, message = told(root, later)
        assert (message["kind"], message["role"], message["text"], message["t"]) == (
            "message",
            "assistant",
            "42",
            900,
        )
        assert call["kind"] == "llm_call"

    def test_anything_else_stays_a_span(self) -> None:
        [event] = told(made(name="retry", attributes={"http.status": 500}, failed=True, status="down"))
        assert (event["kind"], event["name"], event["error"]) == ("span", "retry", "down")
        assert event["attributes"] == {"http.status": 500}


class TestSums:
    def agent(self, child: dict[str, Any], **attributes: Any) -> list[str]:
        own = {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 100, **attributes}
        middle = made(20, 80, id="m", parent="a", name="step")
        below = made(30, 60, id="c", parent="m", attributes=child)
        return [event["kind"] for event in told(made(id="a", attributes=own), middle, below)]

    def test_an_agent_around_calls_with_tokens_is_no_call_of_its_own(self) -> None:
        assert self.agent({"gen_ai.usage.input_tokens": 100}) == ["span", "span", "llm_call"]

    def test_an_agent_around_calls_still_says_what_it_said(self) -> None:
        kinds = self.agent({"gen_ai.usage.input_tokens": 100}, **{"output.value": "42"})
        assert kinds == ["span", "llm_call", "message"]

    def test_an_agent_around_calls_without_tokens_is_the_one_that_counts(self) -> None:
        assert self.agent({"http.status": 200}) == ["llm_call", "span", "span"]

    def test_spans_that_are_each_others_parent_do_not_hang(self) -> None:
        tokens = {"gen_ai.usage.input_tokens": 1}
        spans = [made(id="a", parent="b", attributes=tokens), made(id="b", parent="a", attributes=tokens)]
        assert usage_of(told(*spans)).prompt_tokens == 2


class TestOrder:
    def test_events_are_in_order_of_time_from_the_first_start(self) -> None:
        spans = [made(5000, 6000, id="b", name="b"), made(2000, 9000, id="a", name="a")]
        found = told(*spans)
        assert [(event["name"], event["t"]) for event in found] == [("a", 0), ("b", 3000)]
        assert found[0]["at"] == "1970-01-01T00:00:02.000000+00:00"

    def test_no_spans_tell_nothing(self) -> None:
        assert told() == []


class TestMapping:
    def test_names_of_the_harness_are_asked_before_the_known_ones(self) -> None:
        attributes = {"acme.model": "mine", "llm.model_name": "known", "acme.in": 4, "in.too": 9}
        mapping = {"model": "acme.model", "input_tokens": ["acme.absent", "acme.in"]}
        [event] = told(made(attributes=attributes), mapping=mapping)
        assert (event["model"], event["cost"]) == ("mine", {"prompt_tokens": 4})

    def test_known_names_are_still_asked(self) -> None:
        [event] = told(made(attributes={"llm.model_name": "known"}), mapping={"model": "acme.model"})
        assert event["model"] == "known"

    def test_what_is_not_looked_for_is_refused(self) -> None:
        with pytest.raises(ValueError, match="'modell' is none of model"):
            Names({"modell": "x"})


class TestFind:
    def test_flat_comes_before_nested(self) -> None:
        assert find({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
        assert find({"a": {"b.c": 3}}, "a.b.c") == 3
        assert find({"a.b": {"c": 4}}, "a.b.c") == 4
        assert find({"a": "text"}, "a.b") is None


def _values() -> st.SearchStrategy[Any]:
    texts = st.sampled_from(["", "a", "7", "-1", "1e400", '{"a": 7}', "[", '{"a', "false", "agent", "\ud800"])
    scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | texts
    return scalars | st.lists(scalars, max_size=2) | st.dictionaries(texts, scalars, max_size=2)


NAMED = sorted({name for names in NAMES.values() for name in names})
SPANS = st.builds(
    Span,
    id=st.sampled_from("abcd"),
    parent=st.sampled_from(["", *"abcd"]),
    start_ns=st.integers(-(2**70), 2**70),
    end_ns=st.none() | st.integers(-(2**70), 2**70),
    attributes=st.dictionaries(st.sampled_from(NAMED), _values(), max_size=4),
    failed=st.booleans(),
)


@given(st.lists(SPANS, max_size=4))
def test_whatever_spans_hold_events_are_in_order_and_can_be_summed(spans: list[Span]) -> None:
    found = events(spans, Names())
    times = [event["t"] for event in found]
    assert times == sorted(times)
    assert len(found) >= len(spans)
    assert usage_of(found).prompt_tokens >= 0
    encode(found)


def test_numbers_that_json_has_no_room_for_can_be_written_again() -> None:
    assert encode(load_json("[" + "9" * 30 + ", 18446744073709551615, -9223372036854775808]"))
