"""How a finished episode came out, in one word, wherever episodes are shown."""

from __future__ import annotations

from typing import Literal, get_args

from engine.store.records import EpisodeRow
from engine.store.scores import Measured

EpisodeOutcome = Literal[
    "crash",
    "misconfigured",
    "timeout",
    "failure",
    "unmeasured",
    "cancelled",
    "scoring",
    "completed",
    "success",
]
EPISODE_OUTCOMES: tuple[EpisodeOutcome, ...] = get_args(EpisodeOutcome)
"""The worst first."""

_MAY_CHANGE: tuple[EpisodeOutcome, ...] = ("success", "completed", "failure", "unmeasured")


def outcome_of(row: EpisodeRow) -> EpisodeOutcome:
    """How an episode is drawn. One whose scores are to come is drawn as that, unless it errored."""
    known = known_outcome(row)
    return "scoring" if row.scoring == "pending" and known in _MAY_CHANGE else known


def known_outcome(row: EpisodeRow) -> EpisodeOutcome:
    """How it ended, as far as that is known. Misconfigured: refused as it was asked for (class config), so
    that nothing crashed. A completed one is a failure where its verdict says so, or its success is below one
    half; it is unmeasured where graders or judges pass or fail it, and no verdict came of that, or nothing
    was measured. With other numbers alone, as of a game that has only a return, it is just completed."""
    if row.status == "cancelled":
        return "cancelled"
    if row.termination == "timeout":
        return "timeout"
    if row.status == "error":
        return "misconfigured" if row.error_class == "config" else "crash"
    if row.verdict is False:
        return "failure"
    success = row.measures.get("success")
    if success is not None:
        return "success" if success >= 0.5 else "failure"
    if row.verdict:
        return "success"
    undecided = any(isinstance(score, Measured) and score.passed is not None for score in row.scores)
    measured = any(value is not None for value in row.measures.values())
    return "completed" if measured and not undecided else "unmeasured"


def is_fault(row: EpisodeRow) -> bool:
    """Whether it failed, or gave no number and none is to come."""
    known = known_outcome(row)
    return known not in ("success", "completed", "cancelled") and (
        known != "unmeasured" or row.scoring != "pending"
    )
