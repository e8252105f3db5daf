"""Grading of which no single grader can spoil the rest."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from engine.scoring.context import Compute, Evidence, NotMeasured
from engine.scoring.graders.base import AnyGrader
from engine.scoring.metric_names import metric_problem
from engine.store.scores import Invalid, Measured, Score, Unmeasured, UnmeasuredReason
from engine.store.strict_json import encode

log = logging.getLogger(__name__)

_GRACE_SEC = 2.0
"""What a cancelled grader may take to clean up."""
_MOST_DETAIL = 16 * 1024
"""Bytes of JSON; a detail is copied into several files, and is to be read by people."""
_MOST_TOLD = 2000

Scores = dict[int, list[Score]]
"""A grader's place in the request → its scores."""


def partition(graders: Sequence[AnyGrader]) -> tuple[dict[int, AnyGrader], dict[int, AnyGrader]]:
    """(those that hold the environment, those that only observe), by their places."""
    placed = dict(enumerate(graders))
    return (
        {place: grader for place, grader in placed.items() if grader.needs_compute},
        {place: grader for place, grader in placed.items() if not grader.needs_compute},
    )


def merge_in_order(*phases: Mapping[int, Sequence[Score]]) -> list[Score]:
    """The scores of all phases in the order of their graders; a later phase replaces what it grades again."""
    placed = {place: scores for phase in phases for place, scores in phase.items()}
    return [score for place in sorted(placed) for score in placed[place]]


async def grade_all(
    graders: Mapping[int, AnyGrader],
    evidence: Evidence,
    compute: Compute | None,
    deadline_sec: float,
    now: Callable[[], float] = time.monotonic,
) -> Scores:
    """Grade by one after the other, in the order of their places; all together within ``deadline_sec``.

    Raises nothing of theirs: one that raises, hangs or breaks the contract leaves a score that says so.
    Cancelled itself, it cancels the grader at work.
    """
    ends = now() + deadline_sec
    return {
        place: await _graded(graders[place], evidence, compute, ends - now()) for place in sorted(graders)
    }


def unmeasured(
    grader: AnyGrader,
    reason: UnmeasuredReason,
    detail: str,
    *,
    retryable: bool = False,
    attempts: int = 1,
) -> list[Score]:
    """One score for each metric that the grader declares. What took the environment is not tried again: that
    is gone by then."""
    return [
        Unmeasured(
            grader_id=grader.id,
            metric=metric,
            reason=reason,
            retryable=retryable and not grader.needs_compute,
            attempts=attempts,
            detail=detail[:_MOST_TOLD],
        )
        for metric in grader.metrics
    ]


async def _graded(
    grader: AnyGrader, evidence: Evidence, compute: Compute | None, left_sec: float
) -> list[Score]:
    if left_sec <= 0:
        told = "the graders before it took all the time that the episode's graders have"
        return unmeasured(grader, "grader_timeout", told, retryable=True, attempts=0)
    task = asyncio.create_task(grader.grade(evidence, compute))
    try:
        await asyncio.wait({task}, timeout=left_sec)
        in_time = task.done()
    finally:
        await _ended(task, grader)
    if not in_time:
        told = f"no score within the {left_sec:.3g} s that were left of the graders' time"
        return unmeasured(grader, "grader_timeout", told, retryable=True)
    try:
        return _checked(task.result(), grader)
    except NotMeasured as failure:
        return unmeasured(grader, failure.reason, str(failure), retryable=failure.retryable)
    except (Exception, asyncio.CancelledError) as error:
        log.debug("grader %s", grader.id, exc_info=True)
        told = f"{type(error).__name__}: {error}"
        return unmeasured(grader, "grader_error", told, retryable=True)


async def _ended(task: asyncio.Task[list[Score]], grader: AnyGrader) -> None:
    """Cancel what is still at work; one that does not heed it is left behind."""
    if task.done():
        return
    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE_SEC)
    if not task.done():
        log.warning("grader %s does not end, and is left behind", grader.id)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())


def _checked(scores: Any, grader: AnyGrader) -> list[Score]:
    if not isinstance(scores, list) or not scores:
        return unmeasured(grader, "grader_error", "the grader gave no score")
    return [_kept(score, grader) for score in scores]


def _kept(score: Any, grader: AnyGrader) -> Score:
    """The score, if it keeps the contract; under the grader's own id, whatever it says."""
    if not isinstance(score, Measured | Unmeasured | Invalid):
        return _invalid(grader, "", f"the grader gave a {type(score).__name__}, not a score")
    wrong = metric_problem(score.metric, grader.metrics)
    if wrong:
        return _invalid(grader, score.metric, wrong)
    detail = _plain(score.detail)
    if isinstance(score, Unmeasured):
        again = score.retryable and not grader.needs_compute
        return msgspec.structs.replace(score, grader_id=grader.id, detail=detail, retryable=again)
    if isinstance(score, Invalid):
        return msgspec.structs.replace(score, grader_id=grader.id, detail=detail)
    value = _finite(score.value)
    if value is None:
        return _invalid(grader, score.metric, f"{score.value!r} is no finite number")
    return msgspec.structs.replace(score, grader_id=grader.id, value=value, detail=detail)


def _invalid(grader: AnyGrader, metric: Any, detail: Any) -> Invalid:
    called = metric if isinstance(metric, str) and metric else grader.metrics[0]
    return Invalid(grader_id=grader.id, metric=called, reason="contract_violation", detail=detail)


def _finite(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _plain(detail: Any) -> Any:
    """As it will be read from JSON, and not more than people read."""
    try:
        written = encode(detail)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return repr(detail)[:_MOST_TOLD]
    if len(written) <= _MOST_DETAIL:
        return msgspec.json.decode(written)
    return f"{(detail if isinstance(detail, str) else repr(detail))[:_MOST_TOLD]} …"
