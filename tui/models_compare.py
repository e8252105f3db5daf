"""Runs side by side: a row for each metric of each run against the first, and what it says. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.control.comparing import ComparedRun, CompareReport
from engine.figures import count, noun, number
from engine.statistics.budget import HEADLINES
from engine.statistics.comparison import Comparison, MetricComparison
from engine.statistics.contrast import Contrast, Flip

LETTERS = "ABCD"
LEAST_P = 0.001


@dataclass(frozen=True)
class Difference:
    """A metric of a run (``letter``, ``run_id``) against that of the first, ``A``."""

    letter: str
    left_id: str
    run_id: str
    metric: MetricComparison

    @property
    def id(self) -> str:
        return f"{self.run_id}/{self.metric.metric}"

    @property
    def found(self) -> Contrast | None:
        return self.metric.found


@dataclass(frozen=True)
class Flipped:
    """An episode that passed in one of two runs. letter: of the second."""

    letter: str
    left_id: str
    run_id: str
    flip: Flip

    @property
    def id(self) -> str:
        return f"{self.run_id}/{self.flip.episode_index}/{self.flip.selectors}"

    @property
    def gained(self) -> bool:
        """Whether it passed in the second."""
        return self.flip.right > self.flip.left


def differences_of(report: CompareReport) -> list[Difference]:
    """Metric by metric, those that stand for a run first, so that runs stand below each other."""
    rows = [
        (_rank(metric.metric), place, Difference(LETTERS[order], comparison.left, comparison.right, metric))
        for order, comparison in enumerate(report.comparisons, 1)
        for place, metric in enumerate(comparison.metrics)
    ]
    return [row for *_, row in sorted(rows, key=lambda found: found[:2])]


def flipped_of(difference: Difference | None) -> list[Flipped]:
    """Those that the second run lost, before those that it gained."""
    found = difference.found if difference is not None else None
    if difference is None or found is None:
        return []
    flips = sorted(found.flipped, key=lambda flip: flip.right > flip.left)
    return [Flipped(difference.letter, difference.left_id, difference.run_id, flip) for flip in flips]


def run_text(run: ComparedRun) -> str:
    """``20260518_141000 navA toy_follow completed, 40 episodes``."""
    name = f" {run.label}" if run.label else ""
    return f"{run.run_id}{name} {run.graph_name} {run.status}, {count(run.episodes, 'episode')}"


def notes_of(report: CompareReport) -> list[str]:
    """How far the runs can be compared."""
    notes = []
    for letter, comparison in zip(LETTERS[1:], report.comparisons, strict=False):
        shared = [] if comparison.only_left or comparison.only_right else [_shared(comparison)]
        notes += [f"{letter} against A: {note}" for note in (*shared, *comparison.notes)]
    return [_by_letter(note, report) for note in (*notes, *report.notes)]


def told(difference: Difference) -> list[str]:
    """What a row says, in sentences."""
    metric, found, letter = difference.metric, difference.found, difference.letter
    counts = ((metric.missing_left, "A"), (metric.missing_right, letter), (metric.missing_both, "both"))
    missing = ", ".join(f"{count} lack it in {where}" for count, where in counts if count)
    pairs = count(metric.pairs, "pair") + (f"; {missing}" if missing else "")
    if found is None:
        return [f"{metric.metric}: no episode has it in both runs ({pairs})"]
    head = (
        f"{metric.metric}: {letter} {number(found.right)}, A {number(found.left)}, difference"
        f" {signed(found.difference.mean)}{_interval(found, ' ')}; {_p(found)}"
    )
    moved = (
        f"higher in {count(found.higher, 'episode')}, lower in {found.lower}, equal in {found.equal}; {pairs}"
    )
    return [head, _verdict(found, letter), moved]


def p_text(found: Contrast) -> str:
    """The p-value after Holm."""
    return f"{found.p_adjusted:.3f}" if found.p_adjusted >= LEAST_P else f"<{LEAST_P}"


def signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 1000 else f"{value:+.4g}"


def widest(rows: Sequence[Difference]) -> dict[str, float]:
    """For each metric the farthest end of an interval from zero: one scale for all of its runs."""
    found: dict[str, float] = {}
    for row in rows:
        if row.found is not None:
            ends = (*(row.found.difference.ci95 or ()), row.found.difference.mean)
            name = row.metric.metric
            found[name] = max(found.get(name, 0.0), *(abs(end) for end in ends))
    return found


def _verdict(found: Contrast, letter: str) -> str:
    if found.verdict == "same":
        return "the same in every pair"
    if found.verdict != "unsettled":
        return f"{letter} is {found.verdict} than A"
    if found.difference.mean == 0:
        return "unsettled: the differences cancel out, so that no number of episodes would settle it"
    if found.more_episodes is None:
        return "unsettled: so few episodes do not say how many would settle it"
    seen = f"; these would have shown one of {number(found.detectable)}" if found.detectable else ""
    more = f"{found.more_episodes:,} more {noun(found.more_episodes, 'episode')}"
    return f"unsettled: about {more} would settle it{seen}"


def _p(found: Contrast) -> str:
    once = f"{found.p_value:.3f}" if found.p_value >= LEAST_P else f"<{LEAST_P}"
    return f"p {p_text(found)} after Holm, {once} by itself ({found.test})"


def _interval(found: Contrast, before: str = "") -> str:
    ends = found.difference.ci95
    return f"{before}[{signed(ends[0])}, {signed(ends[1])}]" if ends else ""


def interval_text(found: Contrast | None) -> str:
    return (_interval(found) or "-") if found is not None else ""


def _shared(comparison: Comparison) -> str:
    return f"the same {count(comparison.shared, 'episode')}"


def _by_letter(note: str, report: CompareReport) -> str:
    """With letters for the runs' ids; the longest first, since one may be the beginning of another."""
    letters = {run.run_id: letter for letter, run in zip(LETTERS, report.runs, strict=False)}
    for run_id in sorted(letters, key=len, reverse=True):
        note = note.replace(run_id, letters[run_id])
    return note


def _rank(metric: str) -> int:
    return HEADLINES.index(metric) if metric in HEADLINES else len(HEADLINES)
