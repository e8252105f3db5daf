"""All episodes of a run as a table, and what went wrong, counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.figures import count
from engine.report.lanes import named
from engine.report.markup import Child, Html, cut, el, figure, pointer, section, table
from engine.store.error_groups import error_groups
from engine.store.outcomes import is_fault, outcome_of
from engine.store.records import EpisodeRow

ROWS = 2000
OPEN_ROWS = 100
"""Up to so many the table is open at once."""
LONGEST = 160
"""Characters of a text in a cell."""
ERRORS = 20


def errors(rows: Sequence[EpisodeRow]) -> Html | None:
    """What went wrong, the most frequent first; None where nothing did."""
    found = error_groups(rows)
    if not found:
        return None
    told = [
        [str(one.episodes), one.error_class, one.termination, el("div", error, cls="text", dir="auto")]
        for one in found[:ERRORS]
        for error in [cut(one.error, LONGEST)]
    ]
    more = f"{count(len(found) - ERRORS, 'further error')} not shown." if len(found) > ERRORS else None
    shown = table(["episodes", "class", "ended by", "error"], told, (0,))
    return section("Errors", shown, el("p", more, cls="note") if more else None, name="errors")


def listed(rows: Sequence[EpisodeRow]) -> list[int]:
    """Places of the episodes that the table has: all, or of very many every one that failed first."""
    return sorted(sorted(range(len(rows)), key=lambda at: not is_fault(rows[at]))[:ROWS])


def episodes(rows: Sequence[EpisodeRow], anchors: Mapping[int, str], cards: Mapping[int, str]) -> Html:
    """``anchors``: place → the anchor of its row, where it has one; ``cards``: place → its card's."""
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    scored = any(row.scoring != "none" for row in rows)
    tasks = any(row.task != "_default" for row in rows)
    header = ["episode", *(["task"] if tasks else []), "instruction", "outcome"]
    numbers = len(header) + int(scored)
    header += [*(["verdict"] if scored else []), *names, "steps", "s", "worker", "seed", "error"]
    cells = [
        _cells(rows[at], at, anchor, cards.get(at), names, scored=scored, tasks=tasks)
        for at, anchor in anchors.items()
    ]
    left = len(rows) - len(anchors)
    more = None
    if left:
        told = f"{count(left, 'further episode')} not shown: evaltower export --format csv has all."
        more = el("p", told, cls="note")
    whole = el(
        "details",
        el("summary", count(len(rows), "episode")),
        table(header, cells, (0, *range(numbers, numbers + len(names) + 4))),
        open=len(rows) <= OPEN_ROWS,
    )
    return section("Episodes", whole, more, name="episodes")


def _cells(
    row: EpisodeRow,
    at: int,
    anchor: str,
    card: str | None,
    names: Sequence[str],
    *,
    scored: bool,
    tasks: bool,
) -> list[Child]:
    of = f"summary.json#/episodes/{at}"
    outcome = outcome_of(row)
    verdict = {True: "pass", False: "fail", None: None}[row.verdict]
    return [
        el("a", named(row), id=anchor, href=f"#{card}" if card else None),
        *([cut(row.task, LONGEST)] if tasks else []),
        el("div", cut(row.instruction, LONGEST), cls="text", dir="auto"),
        el("span", outcome, cls=f"badge {outcome}"),
        *([verdict] if scored else []),
        *(_metric(row, name, of) for name in names),
        figure(row.step_count, f"{of}/step_count"),
        figure(row.elapsed_sec, f"{of}/elapsed_sec", lambda value: f"{value:.1f}"),
        figure(row.worker_id, f"{of}/worker_id"),
        figure(row.seed, f"{of}/seed"),
        el("div", cut(row.error, LONGEST), cls="text", dir="auto") if row.error else None,
    ]


def _metric(row: EpisodeRow, name: str, of: str) -> Child:
    """Empty where the episode has none of this name."""
    return figure(row.metrics[name], f"{of}/metrics{pointer(name)}") if name in row.metrics else None
