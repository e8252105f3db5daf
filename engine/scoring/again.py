"""An episode that is scored once more, when its environment is long another's."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.scoring.collecting import failed_to_collect
from engine.scoring.graders.base import AnyGrader
from engine.scoring.safe import unmeasured
from engine.scoring.scored import Means, has_been, is_gradable, with_scores, without_judges
from engine.store.records import EpisodeRow
from engine.store.scores import Score, Stage, stage_time

_GONE = "it needs the episode's environment, which is gone: it grades episodes that are played from now on"


def to_score_again(means: Means, row: EpisodeRow) -> EpisodeRow:
    """The row from which :class:`engine.scoring.pipeline.Pipeline` scores it as ``means`` say.

    What was scored in the environment stands. What the others and the judges said stands until they have said
    it again; of those that are not asked any more it goes. A trace that was not there is asked for again.
    """
    judges = [judge.called for judge in means.spec.judges]
    stages = [stage for stage in without_judges(row.stages, judges) if not _is_done_again(stage)]
    if means.holders and row.scoring != "pending" and not has_been(row, "grade"):  # there were none
        stages.append(Stage(name="grade", started_at=stage_time(), finished_at=stage_time(), error=_GONE))
    row = msgspec.structs.replace(row, scoring="pending", stages=stages)
    if means.spec.trace.kind == "none" and failed_to_collect(row):
        row.failure = None
    if not is_gradable(row):
        return row
    graded = [score for grader in means.graders for score in _of(grader, row.scores)]
    judged = [score for score in row.scores if score.grader_id in judges]
    return with_scores(means, row, [*graded, *judged])


def _is_done_again(stage: Stage) -> bool:
    return stage.name == "observe" or (stage.name == "collect" and stage.error is not None)


def _of(grader: AnyGrader, scores: Sequence[Score]) -> list[Score]:
    """Its scores; of one that was not asked at the time, that it cannot be any more."""
    own = [score for score in scores if score.grader_id == grader.id]
    return own or (unmeasured(grader, "missing_evidence", _GONE, attempts=0) if grader.needs_compute else [])
