"""Graders of what the agent said last."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from engine.scoring.context import Compute, Evidence, missing
from engine.scoring.graders.base import Config, Grader, check_pattern, search
from engine.scoring.usage import final_answer, finite
from engine.store.scores import Score


class AnswerMatchConfig(Config, frozen=True, kw_only=True):
    """expect: the right answer; None is the case's ``expected``."""

    expect: str | int | float | bool | None = None
    mode: Literal["contains", "exact"] = "contains"


class AnswerMatch(Grader[AnswerMatchConfig]):
    """``answer_match``: the answer contains, or is, what is expected, but for case and white space. An empty
    expectation fails, since everything contains it."""

    kind = "answer-match"
    Config = AnswerMatchConfig
    metric = "answer_match"

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        config = self.config_for(evidence.case)
        expected = config.expect
        if expected is None and not isinstance(evidence.case.expected, Mapping):
            expected = evidence.case.expected
        if not isinstance(expected, str | int | float):
            raise missing("no answer is expected: neither expect nor the case says which is right")
        answer, right = _squeezed(_answer(evidence)), _squeezed(_text(expected))
        if not right:
            return self.judged(False, "what is expected is empty")
        passed = answer == right if config.mode == "exact" else right in answer
        return self.judged(passed, _answer(evidence)[:120])


class TextMetricConfig(Config, frozen=True, kw_only=True):
    """pattern: a regular expression whose first group is the number."""

    pattern: str
    metric: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.metric:
            raise ValueError("metric: say what the number is called")
        check_pattern("pattern", self.pattern, groups=1)


class TextMetric(Grader[TextMetricConfig]):
    """A number in the agent's last message; where there is none, nothing was measured."""

    kind = "text-metric"
    Config = TextMetricConfig
    passes = False

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        answer = _answer(evidence)
        found = await search(self.config.pattern, answer, re.MULTILINE)
        value = finite(found.groups[0]) if found else None
        if value is None:
            raise missing(f"no number by {self.config.pattern!r} in the last message: {answer[:120]!r}")
        return [self.measured(value)]


def _answer(evidence: Evidence) -> str:
    """What the assistant said last; "" where it said nothing. NotMeasured where nobody took note of it."""
    answer = final_answer(evidence.events)
    if answer is None:
        answer = (evidence.snapshot or {}).get("output")
    if isinstance(answer, str):
        return answer
    if not evidence.events:
        raise missing("the episode has neither a trace nor an output")
    return ""


def _text(expected: Any) -> str:
    return expected if isinstance(expected, str) else json.dumps(expected)


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split())
