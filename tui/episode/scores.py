"""An episode's scores as lines: verdict, each score with its reason, stages, exports, where its trace is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from engine.figures import measure
from engine.store.records import EpisodeRow
from engine.store.scores import ExportOutcome, Measured, Score, Stage, Unmeasured
from engine.store.scoring_tally import hidden_scores
from engine.store.strict_json import encode
from tui.episode.inks import Ink, Inked, InkedLine, inked
from tui.episode.values import value_lines
from tui.models import duration
from tui.models_scoring import not_collected, verdict_text

LEAST_NAME, MOST_NAME = 12, 32
TIMELINE = 24
"""Cells of the picture of when each stage was."""

_REMEDY = "A scores it again; on the command line, evaltower rescore {}"
_TAKES_UP = "; R among the runs goes on with it, on the command line evaltower resume {}"


def score_lines(row: EpisodeRow, run_id: str, waits: str = "", *, cut_short: bool = False) -> list[InkedLine]:
    """Everything that there is to be told. waits: what it waits for now; empty where nothing has it in
    hand. cut_short: the run has ended before its time."""
    lines = [*_verdict(row, waits, _TAKES_UP.format(run_id) if cut_short else "")]
    if not (cut_short and row.scoring == "pending") and (left := _left(row)):
        lines.append(inked(f"{left}: {_REMEDY.format(run_id)}", "warn"))
    lines += [inked(""), *_scores(row)]
    if row.stages:
        lines += [inked(""), *_stages(row.stages)]
    if row.exports:
        lines += [inked(""), *_exports(row.exports)]
    return [*lines, *_trace(row)]


def problem_places(lines: Sequence[InkedLine]) -> list[int]:
    """The lines that something went wrong in, for whoever goes from one to the next."""
    return [place for place, line in enumerate(lines) if any(ink in ("bad", "warn") for _, ink in line)]


def links_of(row: EpisodeRow) -> list[str]:
    """Where it was exported to, each address once."""
    return list(dict.fromkeys(outcome.url for outcome in row.exports if outcome.url))


def errors_of(row: EpisodeRow) -> list[str]:
    """What went wrong behind its last step, in the order in which it happened."""
    told = [f"{stage.name}: {stage.error}" for stage in row.stages if stage.error]
    told += [f"{score.metric}: {_without_value(score)}" for score in row.scores if _lacks(score)]
    told += [f"{outcome.name} ({outcome.sink}): {outcome.error}" for outcome in row.exports if outcome.error]
    return list(dict.fromkeys(told))


def detail_text(detail: Any) -> str:
    """A score's reason in one line; what is no text as JSON."""
    if detail is None or isinstance(detail, str):
        return " ".join((detail or "").split())
    return encode(detail).decode()


def _verdict(row: EpisodeRow, waits: str, remedy: str) -> Iterator[InkedLine]:
    told = verdict_text(row)
    inks: dict[str, Ink] = {"pass": "good", "fail": "bad", "pending": "key"}
    yield (("verdict  ", "strong"), (told or f"none: {_why_open(row)}", inks.get(told, "dim")))
    if told == "pending":
        known = {True: "pass", False: "fail", None: ""}[row.verdict]
        now = f"waits for {waits}" if waits else f"nothing is at work on it{remedy}"
        yield inked(f"{now}{f'; so far {known}' if known else ''}", "key" if waits else "warn")


def _why_open(row: EpisodeRow) -> str:
    """Why there is no verdict although all scores are there."""
    lacking = sorted({score.metric for score in row.scores if _lacks(score)})
    partly = any(isinstance(score, Measured) and score.passed is not None for score in row.scores)
    return f"not measured: {', '.join(lacking)}" if lacking and partly else "no score decides"


def _scores(row: EpisodeRow) -> Iterator[InkedLine]:
    yield inked("scores", "strong")
    if not row.scores:
        yield inked("  none yet" if row.scoring == "pending" else "  none", "dim")
    width = _width([score.metric for score in row.scores])
    for score in row.scores:
        by = "" if score.grader_id == score.metric else f"  by {score.grader_id}"
        yield ((f"  {score.metric:<{width}}  ", "key"), *_value(score), (by, "dim"))
        yield from _reason(score.detail)
    for metric in hidden_scores(row):
        yield inked(f"  {metric}: the graph's own metric of that name counts, and not the score", "warn")


def _value(score: Score) -> tuple[Inked, ...]:
    if not isinstance(score, Measured):
        return ((_without_value(score), "warn"),)
    judged: dict[bool | None, Inked] = {
        True: ("  pass", "good"),
        False: ("  fail", "bad"),
        None: ("", "plain"),
    }
    return (
        (measure(score.metric, score.value), "strong"),
        judged[score.passed],
        (f"  {score.label or ''}".rstrip(), "plain"),
    )


def _without_value(score: Score) -> str:
    """Why there is none: what was not measured is no 0."""
    if isinstance(score, Measured):
        return ""
    if not isinstance(score, Unmeasured):
        return f"invalid: {score.reason}"
    tries = f" after {score.attempts} attempts" if score.attempts > 1 else ""
    return f"not measured: {score.reason}{tries}" + (", may be tried again" if score.retryable else "")


def _lacks(score: Score) -> bool:
    return not isinstance(score, Measured)


def _reason(detail: Any) -> Iterator[InkedLine]:
    """All of it: it is what the number is to be believed by."""
    if detail is None:
        return
    if not isinstance(detail, str):
        yield from value_lines("detail", detail, indent=6, whole=True)
        return
    for line in detail.strip("\n").split("\n"):
        yield inked("      " + line.removesuffix("\r").expandtabs(4))


def _stages(stages: Sequence[Stage]) -> Iterator[InkedLine]:
    yield inked("stages", "strong")
    times = [(_moment(stage.started_at), _moment(stage.finished_at)) for stage in stages]
    known = [moment for pair in times for moment in pair if moment is not None]
    first, last = min(known, default=0.0), max(known, default=0.0)
    width = _width([stage.name for stage in stages])
    for stage, (began, ended) in zip(stages, times, strict=True):
        took = _took(stage, began, ended)
        picture = _picture(began, ended, first, last)
        clock = stage.started_at[11:23]
        yield (
            (f"  {stage.name:<{width}}  ", "key"),
            (f"{clock:<12}  {took:>8}  ", "plain"),
            (picture, "good" if stage.error is None else "bad"),
        )
        if stage.error is not None:
            kind = f"{stage.error_class}: " if stage.error_class else ""
            again = " (may be tried again)" if stage.retryable else ""
            yield inked(f"      {kind}{stage.error}{again}", "bad")


def _took(stage: Stage, began: float | None, ended: float | None) -> str:
    if not stage.finished_at:
        return "goes on"
    if began is None or ended is None:
        return "-"
    seconds = max(0.0, ended - began)
    if seconds >= 60:
        return duration(seconds)
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _picture(began: float | None, ended: float | None, first: float, last: float) -> str:
    """``   ===      ``: a stage between the first one's beginning and the last one's end."""
    if began is None or last <= first:
        return ""
    scale = TIMELINE / (last - first)
    left = min(TIMELINE - 1, int((began - first) * scale))
    right = TIMELINE if ended is None else max(left + 1, round((ended - first) * scale))
    return " " * left + "=" * (right - left)


def _exports(exports: Sequence[ExportOutcome]) -> Iterator[InkedLine]:
    yield inked("exports", "strong")
    width = _width([f"{outcome.name} ({outcome.sink})" for outcome in exports])
    for outcome in exports:
        called = f"  {f'{outcome.name} ({outcome.sink})':<{width}}  "
        if outcome.error is not None:
            yield ((called, "key"), (f"failed: {outcome.error}", "bad"))
        else:
            trace = f"as {outcome.external_id}" if outcome.external_id else ""
            yield ((called, "key"), (f"arrived {outcome.exported_at[11:19]}  ", "good"), (trace, "dim"))
        if place := outcome.url or outcome.where:
            yield inked(f"      {place}", "key")
        if outcome.warning:
            yield inked(f"      not all of it: {outcome.warning}", "warn")


def _trace(row: EpisodeRow) -> Iterator[InkedLine]:
    reason = not_collected(row)
    if not reason and not row.trace_ref:
        return
    yield inked("")
    yield inked("trace", "strong")
    if reason:
        yield inked(f"  could not be collected: {reason}", "bad")
    for name, value in (row.trace_ref or {}).items():
        yield from value_lines(name, value, indent=2)


def _left(row: EpisodeRow) -> str:
    """What another attempt may mend, in words; empty where nothing is left."""
    again = any(isinstance(score, Unmeasured) and score.retryable for score in row.scores)
    parts = [
        "its trace is missing" if not_collected(row) and (row.failure or {}).get("retryable") else "",
        "not everything was measured" if again else "",
        "not all was exported" if any(outcome.error for outcome in row.exports) else "",
    ]
    return ", ".join(filter(None, parts))


def _width(names: Sequence[str]) -> int:
    return min(MOST_NAME, max([LEAST_NAME, *map(len, names)]))


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
