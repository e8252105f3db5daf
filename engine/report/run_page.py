"""A run as one page, which loads nothing and runs nothing: numbers, outcomes, failures first, provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from engine.control.comparing import CompareReport
from engine.figures import count
from engine.report import numbers
from engine.report.cards import card, chosen
from engine.report.comparing import comparison
from engine.report.content import RunContent
from engine.report.episodes import episodes, errors, listed
from engine.report.frames import HOW_TO_KEEP
from engine.report.lanes import lanes
from engine.report.markup import TAIL, Child, Html, el, head, lines
from engine.report.provenance import provenance, regimes
from engine.report.strips import Strips
from engine.store.outcomes import is_fault
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.task_names import task_names

STRIP_FRAMES = 6
IMAGE_BYTES = 3 << 20
"""Of a page's frames, as they stand in it."""


def run_page(content: RunContent, compared: CompareReport | None = None) -> Iterator[bytes]:
    """The page, piece by piece. ``compared``: the run against another, whose values are the left ones."""
    return (piece.encode() for piece in _pieces(content, compared))


def _pieces(content: RunContent, compared: CompareReport | None) -> Iterator[Html]:
    report, results, rows = content.run, content.results, content.episodes
    faults, others = chosen(rows)
    cards = {at: f"c{at}" for at in (*faults, *others)}
    anchors = {at: f"e{at}" for at in listed(rows)}
    tasks = task_names(row.task for row in rows)
    yield head(f"{report.summary.config.graph_name} · {report.run_id}")
    yield _masthead(content)
    yield numbers.headline(results, report.summary, rows)
    yield lanes(rows, anchors | cards)
    told: list[Child] = [numbers.metrics(results, report.summary)]
    if results.headline.withheld is None:
        told.append(numbers.tasks(results.tasks, report.summary) if results.tasks else None)
        told.append(numbers.repeats(results.repeats) if results.repeats else None)
    if compared is not None:
        told.append(comparison(compared, _by_identity(rows, anchors | cards)))
    told += [numbers.scoring(content.scoring) if content.scoring else None, errors(rows, anchors | cards)]
    yield from (Html(one) for one in told if one)
    run = RunDir(Path(report.path))
    strips = Strips(report.summary.config.env_nodeset, STRIP_FRAMES, IMAGE_BYTES)
    yield from _cards("Failures", "failures", run, rows, faults, tasks, strips)
    yield from _cards("Some that did not fail", "others", run, rows, others, tasks, strips)
    if strips.left_out:
        left = f"The frames of {count(strips.left_out, 'further episode')} would make this page too large."
        yield el("p", left, cls="note")
    elif strips.without and not strips.given:
        yield el("p", f"No frames: {HOW_TO_KEEP}.", cls="note")
    yield episodes(rows, anchors, cards, tasks)
    yield provenance(report)
    yield TAIL


def _masthead(content: RunContent) -> Html:
    report = content.run
    summary, environment = report.summary, report.environment
    config = summary.config
    badges: list[Child] = [
        el("span", report.status, cls=f"badge run-{report.status}"),
        el("span", f"determinism: {environment.determinism}", cls="badge") if environment else None,
        *(el("span", told, cls="badge") for told in (regimes(environment) if environment else [])),
    ]
    where = " · ".join(
        filter(
            None,
            [
                report.label,
                config.env_nodeset or "",
                config.split,
                count(summary.total_episodes, "episode"),
                count(config.worker_count, "worker"),
                (summary.finished_at or summary.started_at or summary.created_at)[:16].replace("T", " "),
            ],
        )
    )
    error = el("pre", lines(summary.error, 4000), cls="error") if summary.error else None
    tail = el("pre", lines("\n".join(report.stderr_tail), 4000)) if report.stderr_tail else None
    return Html(
        el(
            "header",
            el("p", f"Evaltower · run {report.run_id}", cls="note"),
            el("h1", config.graph_name),
            el("p", where),
            el("p", *badges, cls="badges"),
            error,
            tail,
            cls="masthead",
        )
        + "\n"
    )


def _cards(
    title: str,
    name: str,
    run: RunDir,
    rows: Sequence[EpisodeRow],
    places: Sequence[int],
    tasks: Mapping[str, str],
    strips: Strips,
) -> Iterator[Html]:
    if not places:
        return
    all_faults = sum(map(is_fault, rows))
    yield Html(f'<section id="{name}">')
    yield el("h2", title)
    if name == "failures" and all_faults > len(places):
        yield el(
            "p", f"The worst {len(places)} of {all_faults}; the others are in the table below.", cls="note"
        )
    for at in places:
        of, task = f"summary.json#/episodes/{at}", tasks[rows[at].task]
        yield card(run, rows[at], strips, task=task, anchor=f"c{at}", of=of)
    yield Html("</section>\n")


def _by_identity(rows: Sequence[EpisodeRow], anchors: dict[int, str]) -> dict[tuple[int, str], str]:
    """Of an episode that was repeated, the first."""
    found: dict[tuple[int, str], str] = {}
    for at, row in enumerate(rows):
        index, selectors, _ = row.identity
        if at in anchors:
            found.setdefault((index, selectors), anchors[at])
    return found
