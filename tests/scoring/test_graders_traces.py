from __future__ import annotations

from typing import Any

import pytest

from engine.scoring.context import Evidence, case_of
from engine.scoring.graders import KINDS
from engine.scoring.safe import grade_all
from engine.store.records import EpisodeRow
from engine.store.scores import Measured, Score, Unmeasured
from tests.scoring.making import evidence, grader, said


async def one(given: Evidence, kind: str, /, **config: Any) -> Score:
    (score,) = (await grade_all({0: grader(kind, **config)}, given, None, 10))[0]
    return score


async def value(given: Evidence, kind: str, /, **config: Any) -> tuple[str, float, bool | None]:
    score = await one(given, kind, **config)
    assert isinstance(score, Measured), score
    return score.metric, score.value, score.passed


async def reason(given: Evidence, kind: str, /, **config: Any) -> str:
    score = await one(given, kind, **config)
    assert not isinstance(score, Measured)
    return score.reason


EVENTS: list[dict[str, Any]] = [
    {"kind": "message", "role": "user", "text": "42?", "t": 5},
    {"kind": "llm_call", "model": "m", "cost": {"usd": 0.25}, "t": 10},
    {"kind": "tool_call", "id": "1", "name": "ls", "args": {}, "t": 20},
    {"kind": "llm_call", "model": "m", "t": 30},
    {"kind": "message", "role": "assistant", "text": "The  answer\nis 42, of 50", "t": 105},
    {"kind": "log", "stream": "stderr", "text": "bye", "t": 104},
]


async def test_steps_cost_and_latency_are_what_the_trace_says() -> None:
    given = evidence(EVENTS)
    assert await value(given, "steps") == ("tool_calls", 1.0, None)
    assert await value(given, "cost") == ("usd", 0.25, None)
    assert await value(given, "latency") == ("span", 100.0, None)
    cost = await one(given, "cost")
    assert cost.detail == "1 of 2 calls say what they cost"


@pytest.mark.parametrize("kind", ["steps", "cost", "latency", "answer-match"])
async def test_without_a_trace_nothing_was_measured(kind: str) -> None:
    assert await reason(evidence(expected="x"), kind) == "missing_evidence"


async def test_what_the_trace_does_not_say_is_not_measured() -> None:
    silent = evidence([{"kind": "llm_call", "model": "m"}])
    assert await reason(silent, "cost") == "missing_evidence"
    assert await reason(silent, "latency") == "missing_evidence"
    assert await value(silent, "steps") == ("tool_calls", 0.0, None)


@pytest.mark.parametrize("collected", [{}, {"collected": True}])
async def test_tool_calls_that_nobody_can_see_are_no_zero(collected: dict[str, Any]) -> None:
    """A harness whose trace is not collected, or could not be, is seen from outside only."""
    outside = [
        {"kind": "message", "role": "user", "text": "tidy up"},
        {"kind": "message", "role": "assistant", "text": "done"},
        {"kind": "log", "stream": "stderr", "text": "working"},
        {"kind": "env_action", "action": "command.exit", "detail": {"exit_code": 0}},
        {"kind": "error", "message": "no connection", **collected},
    ]
    score = await one(evidence(outside), "steps")
    assert not isinstance(score, Measured)
    assert score.reason == "missing_evidence"
    assert "was not traced" in score.detail
    assert await value(evidence([*outside, {"kind": "span", "name": "agent"}]), "steps") == (
        "tool_calls",
        0.0,
        None,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_may_be_told_what_its_number_is_called(kind: str) -> None:
    needed = {"script": {"code": "x"}, "text-metric": {"pattern": "(x)"}}.get(kind, {})
    assert grader(kind, metric="own", **needed).metrics == ("own",)


async def test_a_score_goes_by_the_name_that_it_was_given() -> None:
    given = evidence(EVENTS, expected="42")
    assert await value(given, "answer-match", metric="right") == ("right", 1.0, True)
    assert await value(given, "cost", metric="agent_usd") == ("agent_usd", 0.25, None)
    assert await reason(evidence([{"kind": "error", "message": "no"}]), "cost") == "missing_evidence"


@pytest.mark.parametrize(
    ("expected", "config", "passed"),
    [
        ("ANSWER is 42", {}, True),
        ("answer is 42", {"mode": "exact"}, False),
        ("the answer is  42, of 50", {"mode": "exact"}, True),
        (42, {}, True),
        ("43", {"expect": 42}, True),
        ({"expect": "of 50"}, {}, True),
        ("7", {}, False),
        ("", {}, False),
        ("  ", {}, False),
    ],
)
async def test_the_last_answer_is_matched_but_for_case_and_white_space(
    expected: Any, config: dict[str, Any], passed: bool
) -> None:
    given = evidence([*said("first 7"), *EVENTS], expected=expected)
    assert await value(given, "answer-match", **config) == ("answer_match", float(passed), passed)


async def test_an_answer_may_be_the_output_of_the_environment() -> None:
    assert await value(evidence(snapshot={"output": "42"}, expected="42"), "answer-match") == (
        "answer_match", 1.0, True,
    )  # fmt: skip
    silent = evidence([{"kind": "tool_call"}], expected="42")
    assert await value(silent, "answer-match") == ("answer_match", 0.0, False)


@pytest.mark.parametrize("expected", [None, ["42"], {"cmd": "true"}])
async def test_without_an_expectation_no_answer_is_wrong(expected: Any) -> None:
    assert await reason(evidence(EVENTS, expected=expected), "answer-match") == "missing_evidence"


async def test_a_number_in_the_last_message_is_a_metric() -> None:
    config = {"pattern": r"^is (\d+)", "metric": "answered"}
    assert await value(evidence(EVENTS), "text-metric", **config) == ("answered", 42.0, None)
    assert await reason(evidence([*EVENTS, *said("later")]), "text-metric", **config) == "missing_evidence"


async def test_a_browser_is_judged_by_the_page_that_it_ended_on() -> None:
    page = evidence(
        snapshot={"url": "https://shop/cart?n=2", "dom": "<b>2 items</b>"}, expected={"text": "2 i"}
    )
    assert await value(page, "dom-contains") == ("dom_contains", 1.0, True)
    assert await value(page, "dom-contains", text="3 items") == ("dom_contains", 0.0, False)
    assert await value(page, "url-matches", pattern=r"cart\?n=\d$") == ("url_matches", 1.0, True)
    assert await value(page, "url-matches", pattern="^cart") == ("url_matches", 0.0, False)
    for kind in ("dom-contains", "url-matches"):
        config = {"text": "x"} if kind == "dom-contains" else {"pattern": "x"}
        assert await reason(evidence(snapshot={"diff": "x"}), kind, **config) == "missing_evidence"
        assert await reason(evidence(snapshot={"url": "x", "dom": "x"}), kind) == "missing_evidence"


def test_who_holds_the_environment_is_told_by_the_kind_alone() -> None:
    holding = {kind for kind, made in KINDS.items() if made.needs_compute}
    assert holding == {"tests-pass", "command", "swe-bench", "script-score", "script", "reward-file"}


def test_what_is_expected_is_the_snapshots_before_the_selectors() -> None:
    row = EpisodeRow(
        episode_index=1, status="completed", termination="stopped", selectors={"expected": "selector"}
    )
    assert case_of(row, None).expected == case_of(row, {"diff": ""}).expected == "selector"
    assert case_of(row, {"expected": "snapshot"}).expected == "snapshot"


@pytest.mark.parametrize(
    ("kind", "config"),
    [("text-metric", {"metric": "q", "pattern": "(x+x+)+y"}), ("url-matches", {"pattern": "(x+x+)+y"})],
)
async def test_a_pattern_without_end_takes_no_other_score_along(
    monkeypatch: pytest.MonkeyPatch, kind: str, config: dict[str, Any]
) -> None:
    monkeypatch.setattr("engine.patterns.DEADLINE_SEC", 0.2)
    given = evidence(said("x" * 5000), {"url": "x" * 5000})
    graders = {0: grader(kind, **config), 1: grader("answer-match", expect="x")}
    ((endless,), (sibling,)) = (await grade_all(graders, given, None, 60)).values()
    assert isinstance(endless, Unmeasured)
    assert (endless.reason, endless.retryable) == ("grader_timeout", False)
    assert isinstance(sibling, Measured)
