"""All episodes of a run as a table, and what went wrong, counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.figures import count, labelled
from engine.report.lanes import named
from engine.report.markup import Child, Html, breakable, cut, el, figure, pointer, section, table
from engine.statistics.error_groups import error_line, grouped_errors
from engine.store.outcomes import is_fault, outcome_of
from engine.store.records import EpisodeRow

ROWS = 2000
OPEN_ROWS = 100
"""Up to so many the table is open at once."""
LONGEST = 160
"""Characters of a text in a cell."""
ERRORS = 20


def errors(rows: Sequence[EpisodeRow], anchors: Mapping[int, str]) -> Html | None:
    """Errors of a kind together, the most frequent first; None where there are none. ``anchors``: place in
    ``rows`` → what tells of that episode."""
    found = grouped_errors(rows)
    if not found:
        return None
    places = {row.identity: at for at, row in enumerate(rows)}
    told: list[list[Child]] = [
        [
            str(group.count),
            group.first.error_class,
            group.first.termination,
            _link(group.first, anchors.get(places[group.first.identity])),
            el("div", cut(group.text, LONGEST), cls="wide", dir="auto"),
        ]
        for group in found[:ERRORS]
    ]
    more = f"{count(len(found) - ERRORS, 'further error')} not shown." if len(found) > ERRORS else None
    shown = table(["episodes", "class", "ended by", "first", "error"], told, (0,))
    return section("Errors", shown, el("p", more, cls="note") if more else None, name="errors")


def _link(row: EpisodeRow, anchor: str | None) -> Html:
    return el("a", named(row), href=f"#{anchor}" if anchor else None)


def listed(rows: Sequence[EpisodeRow]) -> list[int]:
    """Places of the episodes that the table has: all, or of very many every one that failed first."""
    return sorted(sorted(range(len(rows)), key=lambda at: not is_fault(rows[at]))[:ROWS])


def episodes(
    rows: Sequence[EpisodeRow], anchors: Mapping[int, str], cards: Mapping[int, str], tasks: Mapping[str, str]
) -> Html:
    """``anchors``: place → the anchor of its row, where it has one; ``cards``: place → its card's; ``tasks``:
    task → its name."""
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    scored = any(row.scoring != "none" for row in rows)
    several = len(tasks) > 1
    header: list[Child] = ["episode", *(["task"] if several else []), "outcome"]
    header += ["verdict"] if scored else []
    numbers = len(header)
    header += ["steps", "seconds", *(breakable(labelled(name)) for name in names)]
    texts = len(header)
    header += ["instruction, error", "worker", "seed"]
    cells = [
        _cells(rows[at], at, anchor, cards.get(at), names, scored, tasks[rows[at].task] if several else None)
        for at, anchor in anchors.items()
    ]
    left = len(rows) - len(anchors)
    more = None
    if left:
        beyond = f"{count(left, 'further episode')} not shown: evaltower export --format csv has all."
        more = el("p", beyond, cls="note")
    whole = el(
        "details",
        el("summary", count(len(rows), "episode")),
        table(header, cells, (0, *range(numbers, texts), texts + 1, texts + 2)),
        open=len(rows) <= OPEN_ROWS,
    )
    return section("Episodes", whole, more, name="episodes")


def _cells(
    row: EpisodeRow,
    at: int,
    anchor: str,
    card: str | None,
    names: Sequence[str],
    scored: bool,
    task: str | None,
) -> list[Child]:
    of = f"summary.json#/episodes/{at}"
    outcome = outcome_of(row)
    verdict = {True: "pass", False: "fail", None: None}[row.verdict]
    return [
        el("a", named(row), id=anchor, href=f"#{card}" if card else None),
        *([el("bdi", cut(task, LONGEST), cls="task")] if task is not None else []),
        el("span", outcome, cls=f"badge {outcome}"),
        *([verdict] if scored else []),
        figure(row.step_count, f"{of}/step_count"),
        figure(row.elapsed_sec, f"{of}/elapsed_sec", lambda value: f"{value:.1f}"),
        *(_metric(row, name, of) for name in names),
        _text(row),
        figure(row.worker_id, f"{of}/worker_id"),
        figure(row.seed, f"{of}/seed"),
    ]


def _text(row: EpisodeRow) -> Html | None:
    """What it was told to do, and what went wrong; why it was cancelled is no error."""
    asked = el("div", cut(row.instruction, LONGEST), dir="auto") if row.instruction else None
    kind = "error" if row.status == "error" else "note"
    wrong = el("div", cut(error_line(row.error), LONGEST), cls=kind, dir="auto") if row.error else None
    return el("div", asked, wrong, cls="text") if asked or wrong else None


def _metric(row: EpisodeRow, name: str, of: str) -> Child:
    """Empty where the episode has none of this name."""
    if name not in row.metrics:
        return None
    told = figure(row.metrics[name], f"{of}/metrics{pointer(name)}")
    return told if row.status == "completed" else el("span", told, cls="note", title="not counted")
