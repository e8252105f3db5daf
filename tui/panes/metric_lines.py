"""How a run's numbers are drawn: headline, what is missing, every metric, by task, repeats."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from engine.control.results import Results
from engine.figures import count, instead_in_words, labelled, measure, number
from engine.figures import interval as interval_text
from engine.statistics.budget import Headline
from engine.statistics.intervals import Estimate, Interval
from engine.statistics.missingness import Missingness
from engine.statistics.repeats import Repeats
from engine.statistics.tables import TaskTable
from tui.drawing import Drawing, Piece, fit
from tui.widgets.drawn import Line
from tui.widgets.wrapping import wrapped

LEAST_NAME, MOST_NAME = 6, 28
PICTURE_GAP = 2
LEAST_PLOT = 12
"""Cells; with less there is no picture of an interval."""
UNIT: Interval = (0.0, 1.0)
MEAN, SPAN, COUNT = 8, 18, 6
"""Widths of the columns."""


def result_lines(drawing: Drawing, results: Results, width: int, *, over: bool) -> list[Line]:
    """Everything. over: the run has ended, so that what was not run will not be."""
    withheld = results.headline.estimate is None
    lines = _headline(drawing, results.headline, width, over=over)
    if results.instead:
        told = instead_in_words(results.instead, "RUN")
        lines += [[(line, drawing.dim)] for line in wrapped(told, width)]
    if results.metrics:
        lines += [(), *_metrics(drawing, results, width, withheld=withheld)]
    if results.tasks is not None:
        lines += [(), *_tasks(drawing, results.tasks, width, withheld=withheld)]
    if results.repeats is not None and not withheld:
        lines += [(), *_repeats(drawing, results.repeats, width)]
    return lines


def lacking(missing: Missingness, *, over: bool = True) -> str:
    """What became of the episodes without a number: ``2 errored (1 infra), 1 not run``."""
    counts = [
        (missing.errored, f"errored ({missing.infra} infra)" if missing.infra else "errored"),
        (missing.unmeasured, "unmeasured"),
        (missing.to_come, "being scored"),
        (missing.cancelled, "cancelled"),
        (missing.not_run, "not run" if over else "to come"),
    ]
    return ", ".join(f"{count} {kind}" for count, kind in counts if count)


def interval(estimate: Estimate | None) -> str:
    """``[0.578, 0.645]``; ``no spread``; ``-`` where there is none."""
    return (interval_text(estimate) or "-") if estimate is not None else "-"


def grouped(estimate: Estimate) -> str:
    """What was taken as independent, where it is not the single value: ``in 12 scenes``."""
    if not estimate.by or not estimate.groups:
        return ""
    return (
        f"the repeats of {estimate.groups}"
        if estimate.by == "episode"
        else f"in {estimate.groups} {estimate.by}s"
    )


def plot(drawing: Drawing, estimate: Estimate | None, cells: int, span: Interval = UNIT) -> str:
    """An interval and its mean between the ends of ``span``; blank where one of them lies outside."""
    if estimate is None or cells < LEAST_PLOT:
        return " " * cells
    low, high = estimate.ci95 or (estimate.mean, estimate.mean)
    if not span[0] <= low <= high <= span[1]:
        return " " * cells
    glyphs = drawing.glyphs
    line = [" "] * cells

    def cell(value: float) -> int:
        share = (value - span[0]) / (span[1] - span[0])
        return min(cells - 1, int(share * cells))

    for place in range(cell(low), cell(high) + 1):
        line[place] = glyphs.rule
    line[cell(low)] = line[cell(high)] = glyphs.column
    line[cell(estimate.mean)] = glyphs.mark
    return "".join(line)


def _headline(drawing: Drawing, found: Headline, width: int, *, over: bool) -> list[Line]:
    missing, shown = found.missing, found.estimate
    if shown is None:
        lines: list[Line] = [[(f"{found.metric} is withheld", drawing.bad)]]
        why = found.withheld or ""
        if missing.measured:
            why += ". The means over what completed are in summary.json."
        lines += [[(line, drawing.plain)] for line in wrapped(why, width)]
    else:
        lines = [
            [
                (f"{found.metric} {measure(found.metric, shown.mean)}", drawing.strong),
                (f"  {interval(shown)}", drawing.good),
                (f"  {missing.measured} of {count(missing.planned, 'episode')}", drawing.plain),
                (f", {told}" if (told := grouped(shown)) else "", drawing.dim),
            ]
        ]
    if told := lacking(missing, over=over):
        bounds = missing.bounds_in_words if shown is not None else ""
        text = f"{missing.planned - missing.measured} without it: {told}{bounds}"
        style = drawing.warn if missing.lost or missing.cancelled else drawing.dim
        lines += [[(line, style)] for line in wrapped(text, width)]
    return lines


def _metrics(drawing: Drawing, results: Results, width: int, *, withheld: bool) -> list[Line]:
    first = results.headline.metric
    names = sorted(results.metrics, key=lambda name: name != first)
    label, _, room = _columns(["metric", *map(labelled, names)], 1, width)
    lines: list[Line] = [_titles(drawing, "metric", label, room, ["n"], withheld=withheld)]
    for name in names:
        found = results.metrics[name]
        shown = None if withheld else found
        lines.append(
            _row(drawing, fit(labelled(name), label, cut=drawing.glyphs.cut), shown, [f"{found.n}"], room)
        )
    return lines


def _tasks(drawing: Drawing, table: TaskTable, width: int, *, withheld: bool) -> list[Line]:
    heading = f"{labelled(table.metric)} by {table.by}"
    called = table.names()
    names = [heading, "every episode alike", *called.values()]
    label, shown_counts, room = _columns(names, 3, width)
    counted = ["n ok", "error", "unm."][:shown_counts]
    lines: list[Line] = [_titles(drawing, heading, label, room, counted, withheld=withheld)]
    for line in table.tasks:
        missing = line.missing
        counts = [f"{count or ''}" for count in (missing.measured, missing.errored, missing.unmeasured)]
        counts = counts[:shown_counts]
        shown = None if withheld else line.estimate
        lines.append(
            _row(drawing, fit(called[line.task], label, cut=drawing.glyphs.cut), shown, counts, room)
        )
    if not withheld:
        for name, found in (("every episode alike", table.pooled), (f"every {table.by} alike", table.macro)):
            count = [f"{found.n}" if found else "", "", ""][:shown_counts]
            lines.append(_row(drawing, fit(name, label), found, count, room, strong=True))
    return lines


def _repeats(drawing: Drawing, found: Repeats, width: int) -> list[Line]:
    tries = f"{found.fewest}" if found.fewest == found.most else f"{found.fewest} to {found.most}"
    told = (
        f"{count(found.episodes, 'episode')}, {tries} tries each, {found.flaky} passed only sometimes;"
        " pass@k: at least one of k tries passes, pass^k: all of them"
    )
    lines: list[Line] = [[(line, drawing.dim)] for line in wrapped(told, width)]
    heads = f"{'k':>3}  {'pass@k':>{MEAN}} {'95 % interval':<{SPAN}} {'pass^k':>{MEAN}} 95 % interval"
    lines.append([(heads, drawing.dim)])
    for rate in found.rates:
        cells = [
            f"{_mean(estimate):>{MEAN}} {interval(estimate):<{SPAN}}"
            for estimate in (rate.at_least_one, rate.all_of_them)
        ]
        few = f"{rate.too_few} with fewer tries" if rate.too_few else ""
        lines.append([(f"{rate.k:>3}  {' '.join(cells)} ", drawing.plain), (few, drawing.warn)])
    return lines


def _titles(
    drawing: Drawing, first: str, label: int, room: int, counts: Sequence[str], *, withheld: bool
) -> list[Piece]:
    text = f"{fit(first, label)} {'mean':>{MEAN}} {'95 % interval':<{SPAN}}"
    text += "".join(f" {count:>{COUNT}}" for count in counts)
    if room >= LEAST_PLOT and not withheld:
        text += f"  0{'1':>{room - 1}}"
    return [(text, drawing.dim)]


def _row(
    drawing: Drawing,
    name: str,
    found: Estimate | None,
    counts: Sequence[str],
    room: int,
    *,
    strong: bool = False,
) -> list[Piece]:
    figures = f" {_mean(found):>{MEAN}} {interval(found):<{SPAN}}"
    figures += "".join(f" {count:>{COUNT}}" for count in counts)
    picture = f"  {plot(drawing, found, room)}" if room >= LEAST_PLOT else ""
    style = drawing.strong if strong else drawing.plain
    return [(name, style), (figures, style), (picture, drawing.good)]


def _mean(found: Estimate | None) -> str:
    return number(found.mean) if found else "-"


def _columns(names: Sequence[str], counts: int, width: int) -> tuple[int, int, int]:
    """Cells of the first column, how many counts there are, and cells of the picture."""
    label = min(MOST_NAME, max(cell_len(name) for name in names))
    fixed = 1 + MEAN + 1 + SPAN
    while counts > 1 and label + fixed + counts * (1 + COUNT) > width:
        counts -= 1
    left = width - fixed - counts * (1 + COUNT)
    label = max(LEAST_NAME, min(label, left))
    return label, counts, left - label - PICTURE_GAP
