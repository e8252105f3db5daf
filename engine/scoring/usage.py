"""What an episode took, and what it answered, read off its trace events (contract scoring.md).

Events come from our own nodes, from command harnesses and from trace platforms, so nothing in one is taken
for granted: a field that is not what it should be counts as absent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Event = Mapping[str, Any]

ENVELOPE = frozenset(
    (
        *("kind", "t", "at", "timestamp", "step", "node_id", "run_id", "collected"),
        *("trace_id", "span_id", "parent_id", "duration_ms", "spanId", "parentId", "durationMs"),
    )
)
"""What events have beside their own fields."""


_INSIDE = frozenset(("llm_call", "tool_call", "tool_result", "span"))


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums over the calls of models. priced: those that say what they cost, the only ones in ``usd``."""

    calls: int = 0
    priced: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


def usage_of(events: Iterable[Event]) -> Usage:
    """Tokens are ``cost.prompt_tokens`` and ``completion_tokens``, or ``input_tokens`` and ``output_tokens``,
    also as inputTokens and outputTokens."""
    calls = [event.get("cost") for event in events if event.get("kind") == "llm_call"]
    costs = [cost for cost in calls if isinstance(cost, Mapping)]
    prices = [price for cost in costs if (price := finite(cost.get("usd"))) is not None]
    return Usage(
        calls=len(calls),
        priced=len(prices),
        prompt_tokens=sum(_tokens(cost, "prompt_tokens", "input_tokens", "inputTokens") for cost in costs),
        completion_tokens=sum(
            _tokens(cost, "completion_tokens", "output_tokens", "outputTokens") for cost in costs
        ),
        usd=math.fsum(prices),
    )


def shows_inside(events: Iterable[Event]) -> bool:
    """Whether the trace is of what went on in the agent, so that what it does not show did not happen."""
    return any(event.get("kind") in _INSIDE for event in events)


def tool_calls(events: Iterable[Event]) -> int:
    return sum(event.get("kind") == "tool_call" for event in events)


def span_ms(events: Iterable[Event]) -> float | None:
    """Milliseconds from the first event to the last; None where none says when it was.

    Moments (``timestamp``, ``at``) and times since the start of a trace (``t``) have no common zero: where
    there are both, the longer of the two spans.
    """
    events = list(events)
    moments = [moment for event in events if (moment := _moment(event)) is not None]
    offsets = [offset for event in events if (offset := finite(event.get("t"))) is not None]
    spans = [max(times) - min(times) for times in (moments, offsets) if times]
    return max(spans, default=None)


def final_answer(events: Iterable[Event]) -> str | None:
    """The text of the last message of the assistant; None where it said nothing."""
    said = [
        event["text"]
        for event in events
        if event.get("kind") == "message"
        and event.get("role") == "assistant"
        and isinstance(event.get("text"), str)
    ]
    return said[-1] if said else None


def _tokens(cost: Mapping[str, Any], *names: str) -> int:
    return int(next((found for name in names if (found := finite(cost.get(name))) is not None), 0))


def finite(value: Any) -> float | None:
    """A number, or a text that is one, as a float; None for anything else, and where it is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _moment(event: Event) -> float | None:
    """Milliseconds since the epoch; a time without an offset is UTC, as platforms write it."""
    text = event.get("timestamp") or event.get("at")
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000
