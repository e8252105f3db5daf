"""The part of an episode's scoring that goes on behind it, when its environment is another episode's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from engine.scoring.collecting import collected, failed_to_collect
from engine.scoring.evidence import read_evidence
from engine.scoring.judging import without_verdict
from engine.scoring.safe import grade_all, merge_in_order, unmeasured
from engine.scoring.scored import Files, Means, has_been, is_gradable, stage, with_scores
from engine.store.records import EpisodeRow
from engine.store.scores import Score

Told = Callable[[EpisodeRow, str], None]
"""Called with the row and the stage that the episode waits for now."""


async def complete(means: Means, row: EpisodeRow, folder: Path, files: Files, told: Told) -> EpisodeRow:
    """Collect the trace, let the other graders and the judges look at it. What is behind the row already is
    not done again. The row that is given back is not on disk yet; what one step gave is, before the next.

    Raises OSError and FencedError, where a file cannot be written, and what is a fault of ours.
    """
    if not is_gradable(row):
        return row
    fetched = has_been(row, "collect") and not failed_to_collect(row)
    if means.spec.trace.kind not in ("none", "file") and not fetched:
        told(row, "collect")
        row = await collected(means, row, folder, files)
    if failed_to_collect(row):
        return _without_evidence(means, row)
    if means.observers and not has_been(row, "observe"):
        told(row, "observe")
        row = await _observed(means, row, folder)
        await files.record(row, folder)
    if means.judges is not None:
        row = await _judged(means, row, folder, files, told)
    return row


def _without_evidence(means: Means, row: EpisodeRow) -> EpisodeRow:
    """Everything that needs the trace is unmeasured, and may be measured once it is there."""
    why = "its trace was not collected: `evaltower rescore` tries again"
    observed = {
        place: unmeasured(grader, "missing_evidence", why, retryable=True)
        for place, grader in means.observers.items()
    }
    judged = [
        score
        for judge in means.spec.judges
        for score in without_verdict(judge, "missing_evidence", why, retryable=True)
    ]
    return with_scores(row, [*_merged(means, row, observed), *judged], means.spec.verdict)


async def _observed(means: Means, row: EpisodeRow, folder: Path) -> EpisodeRow:
    with stage(row, "observe"):
        graded = await grade_all(means.observers, read_evidence(row, folder), None, means.spec.deadline_sec)
    return with_scores(row, [*_merged(means, row, graded), *_of_judges(row)], means.spec.verdict)


async def _judged(means: Means, row: EpisodeRow, folder: Path, files: Files, told: Told) -> EpisodeRow:
    """Each judge's scores are on disk before the next is asked."""
    assert means.judges is not None
    evidence = read_evidence(row, folder)
    earlier = _of_judges(row)
    scores: list[Score] = [score for score in row.scores if score not in earlier]
    async with aclosing(means.judges.judge_each(evidence, row.seed, earlier)) as answers:
        for judge in means.spec.judges:
            told(row, f"judge:{judge.id}")
            answer = await anext(answers)
            scores += answer.scores
            asked = {score.grader_id for score in scores}
            still = [score for score in earlier if score.grader_id not in asked]
            row = with_scores(row, [*scores, *still], means.spec.verdict)
            if answer.stage is not None:
                row.stages = [*(s for s in row.stages if s.name != answer.stage.name), answer.stage]
                await files.record(row, folder)
    return row


def _of_judges(row: EpisodeRow) -> list[Score]:
    return [score for score in row.scores if score.grader_id.startswith("judge:")]


def _merged(means: Means, row: EpisodeRow, new: Mapping[int, Sequence[Score]]) -> list[Score]:
    """The graders' scores in the order of their graders: those of the row, and over them the new ones."""
    there = {
        place: [score for score in row.scores if score.grader_id == grader.id]
        for place, grader in enumerate(means.graders)
    }
    return merge_in_order(there, new)
