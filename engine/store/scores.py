"""What a grader or a judge said of an episode, when, and where that was exported to.

Only a measured score enters means, verdicts and exports: what was not measured is never a 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import fsum
from typing import Any, Literal

import msgspec

UnmeasuredReason = Literal[
    "grader_error",
    "missing_evidence",
    "missing_secret",
    "unsupported",
    "policy_skip",
    "contract_violation",
    "grader_timeout",
]
StageName = str
"""``execute``, ``snapshot``, ``grade``, ``materialise``, ``release``, ``collect``, ``observe``,
``judge:<id>`` or ``export:<sink name>``."""


class Measured(
    msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="status", tag="measured"
):
    """``value``: finite. ``passed`` (``pass`` in JSON) None: it says nothing about success. ``detail``: why,
    as text or as JSON."""

    grader_id: str
    metric: str
    value: float
    passed: bool | None = msgspec.field(default=None, name="pass")
    label: str | None = None
    detail: Any = None


class Unmeasured(msgspec.Struct, kw_only=True, frozen=True, tag_field="status", tag="unmeasured"):
    """There is no value. ``retryable``: another attempt may give one. ``attempts``: those made, 0 where
    nothing was asked. All of it is written, whatever its value: who reads the file knows no defaults."""

    grader_id: str
    metric: str
    reason: UnmeasuredReason
    retryable: bool = False
    attempts: int = 1
    detail: Any = None


class Invalid(
    msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="status", tag="invalid"
):
    """There was an answer, and it breaks the contract: not finite, without a name, or under one that is
    another's."""

    grader_id: str
    metric: str
    reason: Literal["contract_violation"]
    detail: Any = None


Score = Measured | Unmeasured | Invalid


def stage_time() -> str:
    """Now, as the times of a :class:`Stage` are written."""
    return datetime.now().astimezone().isoformat(timespec="microseconds")


class ModelUse(msgspec.Struct, kw_only=True, frozen=True):
    """What asking a model took. asked: questions that it answered; those from the request cache took nothing.

    uncounted: answers of which the server said no tokens; unpriced: those whose cost is not known, since
    their profile has no price or nothing was counted. usd: of the others, None where there are none.
    """

    asked: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    uncounted: int = 0
    unpriced: int = 0


def used_together(several: Iterable[ModelUse]) -> ModelUse:
    """The sum."""
    every = list(several)
    prices = [use.usd for use in every if use.usd is not None]
    return ModelUse(
        asked=sum(use.asked for use in every),
        prompt_tokens=sum(use.prompt_tokens for use in every),
        completion_tokens=sum(use.completion_tokens for use in every),
        usd=fsum(prices) if prices else None,
        uncounted=sum(use.uncounted for use in every),
        unpriced=sum(use.unpriced for use in every),
    )


class Stage(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A part of an episode's way, and how it ended. Times are ISO 8601 with offset, to the microsecond.

    retryable: of ``error``, another attempt may go better. used: what a judge took of its model.
    """

    name: StageName
    started_at: str
    finished_at: str = ""
    error: str | None = None
    error_class: str | None = None
    retryable: bool = False
    used: ModelUse | None = None


class ScoringTally(msgspec.Struct, kw_only=True, frozen=True):
    """What came of the scoring of a run's episodes, so far.

    pending: those whose scores are not final. undecided: those that completed, whose scores are final, and of
    which none decides. not_judged: those that a judge was to score, and did not; not_judged_for: reason →
    how many of those, each under all of its reasons; not_judged_why: the most frequent words of each.
    judges_used: what all
    judges took of their models.
    """

    pending: int = 0
    undecided: int = 0
    not_judged: int = 0
    not_judged_for: dict[str, int] = {}
    not_judged_why: str = ""
    judges_used: ModelUse = ModelUse()


class ExportOutcome(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What came of exporting one episode to one sink. sink: its kind; name: what the request calls it.

    external_id: the trace's id on the platform. url: of its page there; where: what to look for, in words,
    where no page is known. warning: it arrived, though not whole.
    """

    sink: str
    name: str
    external_id: str = ""
    url: str = ""
    where: str = ""
    error: str | None = None
    warning: str | None = None
    exported_at: str = ""


def measured_values(scores: Iterable[Score]) -> dict[str, float]:
    """Metric → value over the measured scores.

    Where several graders measured the same metric, the least value of those that pass or fail (of 0 and 1
    that is their AND), and the mean where none does.
    """
    found: dict[str, list[Measured]] = {}
    for score in scores:
        if isinstance(score, Measured):
            found.setdefault(score.metric, []).append(score)
    return {metric: _together(several) for metric, several in found.items()}


def graded_values(scores: Iterable[Score]) -> dict[str, bool]:
    """Metric → whether its value is nothing but a pass (1) or a fail (0), over the measured scores."""
    found: dict[str, bool] = {}
    for score in scores:
        if isinstance(score, Measured):
            plain = score.passed is not None and score.value == float(score.passed)
            found[score.metric] = found.get(score.metric, True) and plain
    return found


def _together(scores: list[Measured]) -> float:
    deciding = [score.value for score in scores if score.passed is not None]
    return min(deciding) if deciding else fsum(score.value for score in scores) / len(scores)
