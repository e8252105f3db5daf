from __future__ import annotations

from dataclasses import replace

from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.otlp_json import encoded
from engine.scoring.sinks.spans import EPISODE, Span, spans
from tests.fakes.platforms.otlp_sink import flat
from tests.scoring.sinks.items import item

BEGAN = 1_785_578_400_000_000_000
MS = 1_000_000


def _found(*events: dict[str, object]) -> list[Span]:
    return spans(item(events=list(events)), Ids("k", "s"))


def test_an_episode_is_a_root_with_what_happened_below_it() -> None:
    root, user, call, tool, answer = spans(item(), Ids("k", "s"))

    assert (root.name, root.input, root.output, root.parent_id) == ("fixer", "fix the bug", "it is fixed", "")
    assert {span.parent_id for span in (user, call, tool, answer)} == {root.id}
    assert len({span.id for span in (root, user, call, tool, answer)}) == 5
    assert (root.start, root.end) == (BEGAN, BEGAN + 2500 * MS)
    assert root.attributes[EPISODE] == "20260801_100000/ep0003"
    assert (call.model, call.tokens, call.usd) == ("gpt-tiny", (10, 5), 0.25)
    assert (call.start, call.end) == (BEGAN + 10 * MS, BEGAN + 310 * MS)
    assert (tool.name, tool.input, tool.output, tool.error) == (
        "bash",
        '{"cmd":"ls"}',
        "no such file",
        "no such file",
    )
    assert (tool.start, tool.end) == (BEGAN + 400 * MS, BEGAN + 900 * MS)


def test_what_is_not_known_of_a_call_is_left_out() -> None:
    _, call = _found({"kind": "llm_call", "model": "m", "cost": {"usd": None}})

    told = flat(encoded(call, "t")["attributes"])

    assert (call.tokens, call.usd) == (None, None)
    assert not [name for name in told if "usage" in name or "token" in name]


def test_an_event_of_our_own_was_written_when_the_answer_was_there() -> None:
    own = {
        "timestamp": "2026-08-01T10:00:01.000+00:00",
        "kind": "llm_call",
        "cost": {"prompt_tokens": 3, "completion_tokens": 4, "usd": 0.5},
        "latency_ms": 200.0,
    }

    _, call = _found(own)

    assert (call.start, call.end) == (BEGAN + 800 * MS, BEGAN + 1000 * MS)
    assert (call.tokens, call.usd) == ((3, 4), 0.5)


def test_a_call_without_a_result_and_a_result_without_a_call_stay_visible() -> None:
    _, call, result = _found(
        {"kind": "tool_call", "id": "a", "name": "bash", "args": {}},
        {"kind": "tool_result", "id": "b", "ok": True, "output": "x"},
    )

    assert (call.name, call.error) == ("bash", "")
    assert (result.name, result.attributes["evaltower.output"]) == ("tool_result", "x")


def test_odd_events_make_no_trouble() -> None:
    found = _found(
        {},
        {"kind": "llm_call", "cost": "free", "t": "late", "latencyMs": None},
        {"kind": "error"},
        {"kind": "log", "stream": "stderr", "text": "\ud800"},
        {"kind": "message", "role": None, "text": 5, "at": "never"},
    )

    assert [span.kind for span in found] == ["root", "event", "llm", "event", "event", "event"]
    assert found[3].error == "error"


def test_an_episode_that_never_began_has_a_time_all_the_same() -> None:
    bare = item()
    bare.row.started_at = bare.row.finished_at = ""

    root = spans(replace(bare, events=[]), Ids("k", "s"))[0]

    assert root.end - root.start == 2500 * MS
