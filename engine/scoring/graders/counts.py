"""What an episode took, by its trace. Without a trace nothing was measured: a 0 would be a lie."""

from __future__ import annotations

from engine.scoring.context import Compute, Evidence, missing
from engine.scoring.graders.base import Config, Grader
from engine.scoring.usage import shows_inside, span_ms, tool_calls, usage_of
from engine.store.scores import Score


class Steps(Grader[Config]):
    """``tool_calls``: how often the agent called a tool. Of a trace that shows only the agent's outside, what
    it was told, said and printed, that is not known."""

    kind = "steps"
    Config = Config
    metric = "tool_calls"
    passes = False

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        _require(evidence)
        if not shows_inside(evidence.events):
            raise missing(
                "the trace shows neither a tool call nor a call of a model: what the agent did inside was not"
                " traced (scoring.trace, and trace_kind of a command harness)"
            )
        return [self.measured(tool_calls(evidence.events))]


class Cost(Grader[Config]):
    """``usd``: of the calls of models, as far as they say what they cost."""

    kind = "cost"
    Config = Config
    metric = "usd"
    passes = False

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        _require(evidence)
        usage = usage_of(evidence.events)
        if not usage.calls:
            raise missing("no call of a model is in the trace")
        if not usage.priced:
            raise missing(f"none of the {usage.calls} calls of a model says what it cost")
        partly = f"{usage.priced} of {usage.calls} calls say what they cost"
        return [self.measured(usage.usd, detail=partly if usage.priced < usage.calls else None)]


class Latency(Grader[Config]):
    """``span``: milliseconds from the first event to the last."""

    kind = "latency"
    Config = Config
    metric = "span"
    passes = False

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        _require(evidence)
        span = span_ms(evidence.events)
        if span is None:
            raise missing("no event of the trace says when it was")
        return [self.measured(span)]


def _require(evidence: Evidence) -> None:
    if not evidence.events:
        raise missing("the episode has no trace")
