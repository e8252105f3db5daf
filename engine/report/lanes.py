"""Every episode as a cell: a lane for each worker, in the order of time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from engine.figures import count
from engine.report.markup import Html, el, section
from engine.store.outcomes import EPISODE_OUTCOMES, EpisodeOutcome, outcome_of
from engine.store.records import EpisodeRow

CELLS = 10_000
"""Of a page; a cell takes some 60 bytes."""


def lanes(rows: Sequence[EpisodeRow], anchors: Mapping[int, str]) -> Html:
    """``anchors``: place in ``rows`` → what its cell leads to."""
    workers: defaultdict[int, list[int]] = defaultdict(list)
    for place in sorted(range(min(len(rows), CELLS)), key=lambda at: (rows[at].started_at, at)):
        workers[rows[place].worker_id].append(place)
    drawn = [
        el(
            "div",
            el("span", f"worker {worker}", cls="who"),
            el("div", *(_cell(rows[place], anchors.get(place)) for place in places), cls="cells"),
            cls="lane",
        )
        for worker, places in sorted(workers.items())
    ]
    beyond = len(rows) - CELLS
    more = el("p", f"{count(beyond, 'further episode')} not drawn.", cls="note") if beyond > 0 else None
    return section("Outcomes", _legend(rows), *drawn, more, name="outcomes")


def _cell(row: EpisodeRow, anchor: str | None) -> Html:
    outcome = outcome_of(row)
    href = f"#{anchor}" if anchor else None
    return el("a", href=href, cls=outcome, title=f"{named(row)}: {outcome}")


def named(row: EpisodeRow) -> str:
    """``3``, ``3 r2`` for a repeat."""
    return f"{row.episode_index} r{row.repeat}" if row.repeat > 1 else f"{row.episode_index}"


def _legend(rows: Sequence[EpisodeRow]) -> Html:
    counts: Counter[EpisodeOutcome] = Counter(map(outcome_of, rows))
    told = [
        el("li", el("i", cls=outcome), f"{counts[outcome]} {outcome}")
        for outcome in reversed(EPISODE_OUTCOMES)
        if counts[outcome]
    ]
    return el("ul", *told, cls="legend") if told else el("p", "No episode has finished yet.")
