"""What scores may be called, and by whom."""

from __future__ import annotations

import re
from collections.abc import Collection

from engine.store.records import VERDICT

_METRIC = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/ -]{0,99}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_OWNED = frozenset(
    {
        "state",
        "tests_pass",
        "resolved",
        "answer_match",
        "url_matches",
        "dom_contains",
        "tool_calls",
        "usd",
        "span",
    }
)
"""Those that decide, or that stand for one way of measuring: only of who declares them."""

NAME_RULE = "letters, digits, _ . and -, at most 64"


def is_name(text: str) -> bool:
    """Whether a grader, judge, criterion or sink may be called so: it becomes a part of metrics and paths."""
    return bool(_NAME.fullmatch(text))


def is_judges(metric: str) -> bool:
    return metric == "judge" or metric.startswith("judge:")


def metric_problem(metric: str, declared: Collection[str] = ()) -> str | None:
    """Why a grader that declares these metrics may not score this one; None where it may."""
    if not isinstance(metric, str) or not _METRIC.fullmatch(metric):
        return "a metric's name is 1 to 100 letters, digits, spaces and _ . : / -, the first no mark but _"
    if metric == VERDICT:
        return f"{metric!r} is the verdict's"
    if is_judges(metric):
        return f"{metric!r} is a judge's"
    if metric in _OWNED and metric not in declared:
        return f"{metric!r} belongs to graders that declare it"
    return None
