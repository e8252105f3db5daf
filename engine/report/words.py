"""Scores and losses in words, wherever a run is told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.figures import measure
from engine.store.scores import Measured, Score, Unmeasured

if TYPE_CHECKING:
    from engine.statistics.missingness import Missingness


def lacking(missing: Missingness) -> str:
    """What became of the episodes without a number: ``2 errored (1 infra), 1 not run``."""
    counts = [
        (missing.errored, f"errored ({missing.infra} infra)" if missing.infra else "errored"),
        (missing.unmeasured, "unmeasured"),
        (missing.to_come, "being scored"),
        (missing.cancelled, "cancelled"),
        (missing.not_run, "not run"),
    ]
    return ", ".join(f"{count} {kind}" for count, kind in counts if count) or "none"


def without_it(missing: Missingness) -> str:
    """``3 without it: 2 errored, 1 not run; were they all the worst or the best, it would be …``."""
    left = missing.planned - missing.measured
    return f"{left} without it: {lacking(missing)}{missing.bounds_in_words}"


def score_in_words(score: Score) -> str:
    """``0.750, pass: it went straight there``; ``not measured (grader_timeout, may be tried again): …``."""
    if isinstance(score, Measured):
        judged = {True: ", pass", False: ", fail", None: ""}[score.passed]
        said = f"{measure(score.metric, score.value)}{judged}" + (f" ({score.label})" if score.label else "")
    elif isinstance(score, Unmeasured):
        again = ", may be tried again" if score.retryable else ""
        said = f"not measured ({score.reason}{again})"
    else:
        said = f"invalid ({score.reason})"
    return said + (f": {reason}" if (reason := reason_of(score)) else "")


def reason_of(score: Score) -> str:
    """Why, on one line; what is no text as JSON."""
    if score.detail is None or isinstance(score.detail, str):
        return " ".join((score.detail or "").split())
    from engine.store.strict_json import encode

    return encode(score.detail).decode()
