"""The part of an episode's scoring that goes on behind it, when its environment is another episode's.

What is behind a row already is not done again; what anybody was asked for is on disk before the next is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from engine.scoring.collecting import collected, failed_to_collect, not_collected
from engine.scoring.evidence import read_evidence
from engine.scoring.judging import Judged, without_verdict
from engine.scoring.safe import grade_all, merge_in_order, unmeasured
from engine.scoring.scored import (
    Files,
    Means,
    Told,
    has_been,
    is_gradable,
    stage,
    with_scores,
    without_judges,
)
from engine.store.records import EpisodeRow
from engine.store.scores import Measured, ModelUse, Score, Stage, stage_time, used_together

INTERRUPTED = "GRADING_INTERRUPTED"


async def observe(means: Means, row: EpisodeRow, folder: Path, files: Files, told: Told) -> EpisodeRow:
    """Collect the trace, and let the graders look at it that need no environment.

    Raises OSError and FencedError, where a file cannot be written, and what is a fault of ours.
    """
    if not is_gradable(row):
        return row
    row = await _missed(means, row, folder, files)
    fetched = has_been(row, "collect") and not failed_to_collect(row)
    if means.spec.trace.kind not in ("none", "file") and not fetched:
        told(row, "collect")
        row = await collected(means, row, folder, files)
    if failed_to_collect(row):
        row = _without_evidence(means, row)
        await files.record(row, folder)
    elif means.observers and not has_been(row, "observe"):
        told(row, "observe")
        row = await _observed(means, row, folder)
        await files.record(row, folder)
    return row


def is_judged(means: Means, row: EpisodeRow) -> bool:
    """Whether there are judges for it: none looks at a failure, or at half of the evidence."""
    return means.judges is not None and is_gradable(row) and not failed_to_collect(row)


async def judge(means: Means, row: EpisodeRow, folder: Path, files: Files, told: Told) -> EpisodeRow:
    """Ask each judge in order; its scores are on disk before the next is asked. Raises as :func:`observe`."""
    assert means.judges is not None
    evidence = await asyncio.to_thread(read_evidence, row, folder)
    judged = {name: [s for s in row.scores if s.grader_id == name] for name in _names(means)}
    earlier = _of_judges(row)
    graded = [score for score in row.scores if score not in earlier]
    stands = [s for s in earlier if not (means.asks_again and isinstance(s, Measured))]
    async with aclosing(means.judges.judge_each(evidence, row.seed, stands)) as answers:
        for name in judged:
            told(row, name)
            answer = await _answer(row, name, answers)
            judged[name] = answer.scores
            row = with_scores(means, row, [*graded, *_all_of(judged)])
            if answer.stage is not None:
                _put(row, answer.stage)
                await files.record(row, folder)
    return row


async def _missed(means: Means, row: EpisodeRow, folder: Path, files: Files) -> EpisodeRow:
    """Say so where the run's process ended in the middle of what takes the environment: that is gone."""
    told = "the run's process ended while the episode was graded in its environment, which is gone"
    scored = {score.grader_id for score in row.scores}
    scores = {
        place: unmeasured(grader, "missing_evidence", told, attempts=0)
        for place, grader in means.holders.items()
        if grader.id not in scored
    }
    if scores:
        failure = {
            "stage": "grade",
            "class": "infra",
            "code": INTERRUPTED,
            "retryable": True,
            "message": f"{told}; `evaltower resume --errors` plays it again",
        }
        row = msgspec.structs.replace(row, failure=failure)
        row = with_scores(means, row, [*_merged(means, row, scores), *_of_judges(row)])
        _put(
            row,
            Stage(
                name="grade",
                started_at=stage_time(),
                finished_at=stage_time(),
                error=told,
                error_class="infra",
            ),
        )
    if means.spec.trace.kind == "file" and not has_been(row, "materialise") and not failed_to_collect(row):
        row = await not_collected(means, row, folder, files, told, retryable=False)
    return row


def _without_evidence(means: Means, row: EpisodeRow) -> EpisodeRow:
    """Everything that needs the trace is unmeasured; it may be measured once that is there, if ever."""
    retryable = bool(row.failure and row.failure.get("retryable"))
    why = "its trace was not collected" + (": `evaltower rescore` tries again" if retryable else "")
    observed = {
        place: unmeasured(grader, "missing_evidence", why, retryable=retryable, attempts=0)
        for place, grader in means.observers.items()
    }
    judged = [
        score
        for judge in means.spec.judges
        for score in without_verdict(judge, "missing_evidence", why, retryable=retryable)
    ]
    row = msgspec.structs.replace(row, stages=without_judges(row.stages))
    return with_scores(means, row, [*_merged(means, row, observed), *judged])


async def _observed(means: Means, row: EpisodeRow, folder: Path) -> EpisodeRow:
    evidence = await asyncio.to_thread(read_evidence, row, folder)
    with stage(row, "observe"):
        graded = await grade_all(means.observers, evidence, None, means.spec.deadline_sec)
    return with_scores(means, row, [*_merged(means, row, graded), *_of_judges(row)])


async def _answer(row: EpisodeRow, name: str, answers: AsyncIterator[Judged]) -> Judged:
    """The next judge's; of a fault of ours the row keeps a note."""
    began = stage_time()
    try:
        return await anext(answers)
    except Exception as fault:
        told = f"{type(fault).__name__}: {fault}"
        _put(row, Stage(name=name, started_at=began, finished_at=stage_time(), error=told, retryable=True))
        raise


def _put(row: EpisodeRow, done: Stage) -> None:
    """In place of an earlier one of its name; what that took of a model was taken, and stays counted."""
    row.stages = [*(other for other in row.stages if other.name != done.name), done]
    if done.used is not None:
        row.judges_used = used_together([row.judges_used or ModelUse(), done.used])


def _names(means: Means) -> list[str]:
    """What the judges' scores are called by, in order."""
    return [judge.called for judge in means.spec.judges]


def _of_judges(row: EpisodeRow) -> list[Score]:
    return [score for score in row.scores if score.grader_id.startswith("judge:")]


def _all_of(judged: Mapping[str, Sequence[Score]]) -> list[Score]:
    return [score for scores in judged.values() for score in scores]


def _merged(means: Means, row: EpisodeRow, new: Mapping[int, Sequence[Score]]) -> list[Score]:
    """The graders' scores in the order of their graders: those of the row, and over them the new ones."""
    there = {
        place: [score for score in row.scores if score.grader_id == grader.id]
        for place, grader in enumerate(means.graders)
    }
    return merge_in_order(there, new)
