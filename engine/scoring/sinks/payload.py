"""A score as platforms take it: never one that was not measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from engine.store import strict_json
from engine.store.scores import Measured, Score

LONGEST_COMMENT = 8_000
"""Characters of a reason."""

LONGEST_TEXT = 200_000
"""Characters of one input or output in a trace: what several platforms cut, or refuse, beyond."""


@dataclass(frozen=True, slots=True)
class ScorePayload:
    """``source``: the model of the judge that gave it, else ``evaltower:<run id>``. ``key``: what tells it
    from the episode's other scores, whichever there are when it is scored again."""

    key: str
    name: str
    value: float
    passed: bool | None
    label: str | None
    source: str
    by_judge: bool
    comment: str
    grader_id: str

    @property
    def verdict(self) -> str | None:
        """Its label, else whether it passed, as a word."""
        return self.label or {None: None, True: "pass", False: "fail"}[self.passed]

    @property
    def metadata(self) -> dict[str, str]:
        """What has no field of its own on most platforms."""
        told = {
            "evaltower.grader_id": self.grader_id,
            "evaltower.source": self.source,
            "pass": None if self.passed is None else str(self.passed).lower(),
            "label": self.label,
        }
        return {name: text for name, text in told.items() if text is not None}


def score_payloads(
    scores: Iterable[Score], judge_models: Mapping[str, str], run_id: str
) -> list[ScorePayload]:
    """The measured scores, in their order."""
    return [
        ScorePayload(
            key=key,
            name=score.metric,
            value=score.value,
            passed=score.passed,
            label=score.label,
            source=judge_models.get(_judge_id(score.metric), "") or f"evaltower:{run_id}",
            by_judge=score.metric.partition(":")[0] == "judge",
            comment=clip(comment(score.detail), LONGEST_COMMENT),
            grader_id=score.grader_id,
        )
        for key, score in _keyed(scores)
        if isinstance(score, Measured) and isfinite(score.value)
    ]


def comment(detail: Any) -> str:
    """A score's detail as text: its ``reason`` where that is all it says."""
    match detail:
        case None:
            return ""
        case str():
            return detail
        case {"reason": str(reason), **others} if not others:
            return reason
    return as_json(detail)


def as_json(value: Any) -> str:
    return strict_json.encode(value).decode()


def clip(text: str, limit: int) -> str:
    """At most about ``limit`` characters, and what is left out is said."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit} characters more]"


def chunks(items: Sequence[Any], limit: int) -> Iterator[list[Any]]:
    """The items in order, in lists of at most ``limit`` bytes of JSON each; one that is larger is alone."""
    chunk: list[Any] = []
    size = 0
    for item in items:
        length = len(strict_json.encode(item)) + 1
        if chunk and size + length > limit:
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += length
    if chunk:
        yield chunk


def refused(problems: Sequence[str], total: int) -> str | None:
    """What is said of scores that a platform did not take, given what it said of each."""
    if not problems:
        return None
    return problems[0] if total == 1 else f"{len(problems)} of {total} scores were refused: {problems[0]}"


def _keyed(scores: Iterable[Score]) -> Iterator[tuple[str, Score]]:
    seen: Counter[str] = Counter()
    for score in scores:
        called = f"{score.grader_id}#{score.metric}"
        seen[called] += 1
        yield f"{called}#{seen[called]}", score


def _judge_id(metric: str) -> str:
    """``toner`` of ``judge:toner`` and of ``judge:toner:kindness``."""
    parts = metric.split(":")
    return parts[1] if len(parts) > 1 and parts[0] == "judge" else ""
