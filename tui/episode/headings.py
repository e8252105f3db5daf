"""The lines over a log: which episode, how it ended, what it was told to do, and its numbers."""

from __future__ import annotations

from engine.figures import count, number
from engine.store.outcomes import outcome_of
from engine.store.records import EpisodeRow
from tui.episode.inks import Ink, Inked, InkedLine, inked
from tui.episode.places import Ending, Place
from tui.episode.scores import detail_text
from tui.models_scoring import not_collected, verdict_text, why_failed
from tui.theme import Outcome

GAP = "   "
_WORDS: dict[Outcome, tuple[str, Ink]] = {
    "success": ("SUCCESS", "good"),
    "completed": ("COMPLETED", "plain"),
    "failure": ("FAILED", "bad"),
    "crash": ("ERROR", "bad"),
    "misconfigured": ("MISCONFIGURED", "bad"),
    "timeout": ("TIMED OUT", "bad"),
    "cancelled": ("CANCELLED", "warn"),
    "unmeasured": ("NOT MEASURED", "warn"),
    "scoring": ("BEING SCORED", "key"),
}


def heading_lines(place: Place, ending: Ending, verdict: str = "") -> list[InkedLine]:
    """What ended it, then its task and its numbers. Two lines, or three where there is an error to tell, or
    the verdict of what measured it."""
    row = ending.row
    if ending.file is None or row is None:
        return [_unfinished(place, ending), *([inked(ending.note, "warn")] if ending.note else [])]
    told, ink = _WORDS[outcome_of(row)]
    first: list[Inked] = [(place.name, "strong"), (GAP, "plain"), (told, ink), (f" {row.termination}", ink)]
    first += _verdict(row)
    first += [(f"{GAP}{text}", "plain") for text in _facts(row)]
    first += [(f"{GAP}{ending.file.graph_name}", "dim")]
    lines: list[InkedLine] = [tuple(first)]
    if row.error:
        kind = f"{row.error_class}: " if row.error_class else ""
        lines.append(inked(f"{kind}{row.error}", "bad"))
    elif (score := why_failed(row)) is not None:
        why = f": {reason}" if (reason := detail_text(score.detail)) else ""
        lines.append(inked(f"{score.metric} {number(score.value)}, fail{why}", "bad"))
    elif verdict:
        lines.append(inked(verdict, "bad"))
    elif reason := not_collected(row):
        lines.append(inked(f"its trace is missing: {reason}", "warn"))
    lines.append((*_metrics(row), (row.instruction, "dim")))
    return lines


def error_text(ending: Ending) -> str:
    """Why the episode errored, with what its process last said; empty where it did not."""
    row = ending.row
    if row is None or not row.error:
        return ""
    failure = row.failure or {}
    tail = failure.get("stderr_tail")
    lines = tail if isinstance(tail, list) else []
    return "\n".join(str(line) for line in (row.error, failure.get("cause"), *lines) if line)


def _unfinished(place: Place, ending: Ending) -> InkedLine:
    going = ending.going
    if going is None:
        return inked(place.name, "strong")
    budget = f"/{going.budget}" if going.budget else ""
    return (
        (place.name, "strong"),
        (GAP, "plain"),
        ("RUNNING", "good"),
        (f"{GAP}step {going.step}{budget}", "plain"),
        (f"{GAP}worker {going.worker_id}", "plain"),
        (f"{GAP}{going.node}", "dim"),
    )


def _verdict(row: EpisodeRow) -> list[Inked]:
    inks: dict[str, Ink] = {"pass": "good", "fail": "bad", "pending": "key"}
    told = verdict_text(row)
    return [(f"{GAP}verdict {told}", inks[told])] if told else []


def _facts(row: EpisodeRow) -> list[str]:
    return [
        count(row.step_count, "step"),
        f"{row.elapsed_sec:.1f} s",
        f"seed {row.seed}",
        f"worker {row.worker_id}",
    ]


def _metrics(row: EpisodeRow) -> list[Inked]:
    pieces: list[Inked] = []
    for name, value in row.measures.items():
        pieces += [(f"{name} ", "dim"), (f"{number(value)}{GAP}", "plain")]
    return pieces or [(f"no numbers{GAP}", "warn")]
