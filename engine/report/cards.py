"""Single episodes: what was asked, how it ended and why, what it looked like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.control.look import folder_of, read_log
from engine.control.reports import NotFoundError
from engine.report.lanes import named
from engine.report.markup import Child, Html, as_json, cut, el, figure, lines, pointer, table
from engine.report.strips import Strips
from engine.report.words import reason_of, score_in_words
from engine.store.outcomes import EPISODE_OUTCOMES, is_fault, outcome_of
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir, RunDirError
from engine.store.verdict import verdict_of

FAULTS, OTHERS = 48, 4
"""Cards of a page: of episodes that failed, and of some that did not, to compare them with."""
LONGEST = 4000
"""Characters of a text in a card; all of it is in the episode's folder."""


def chosen(rows: Sequence[EpisodeRow]) -> tuple[list[int], list[int]]:
    """Places in ``rows`` of the episodes that get a card: what failed, the worst first; some others."""
    faults = [at for at, row in enumerate(rows) if is_fault(row)]
    faults.sort(key=lambda at: EPISODE_OUTCOMES.index(outcome_of(rows[at])))
    others = [at for at, row in enumerate(rows) if outcome_of(row) in ("success", "completed")]
    return faults[:FAULTS], others[:OTHERS]


def card(run: RunDir, row: EpisodeRow, strips: Strips, *, task: str, anchor: str, of: str) -> Html:
    """``task``: its name, where there is one; ``of``: where its numbers are from."""
    folder = None
    with suppress(NotFoundError, RunDirError):
        folder = folder_of(run, row)
    strip = strips.strip(folder, lambda: read_log(run, folder, follow=False)) if folder else None
    command = f"evaltower log {run.run_id} {folder.name if folder else row.episode_index}"
    return Html(
        el(
            "article",
            heading(row, task, of),
            instruction(row),
            why(row, folder),
            last_words(row, read_log(run, folder, follow=False)) if folder else None,
            strip,
            measures(row, of),
            scores(row),
            el("p", el("code", command), cls="note"),
            id=anchor,
            cls=f"card {outcome_of(row)}",
        )
        + "\n"
    )


def heading(row: EpisodeRow, task: str, of: str) -> Html:
    return el(
        "header",
        el("h3", f"Episode {named(row)}"),
        el("span", outcome_of(row), cls=f"badge {outcome_of(row)}"),
        el("bdi", cut(task, 200)) if task else None,
        el("span", figure(row.step_count, f"{of}/step_count"), " steps"),
        el("span", figure(row.elapsed_sec, f"{of}/elapsed_sec", lambda value: f"{value:.1f}"), " s"),
        el("span", f"ended by {row.termination}"),
    )


def instruction(row: EpisodeRow) -> Html | None:
    if not row.instruction:
        return None
    return el("p", lines(row.instruction, LONGEST), cls="instruction", dir="auto")


def why(row: EpisodeRow, folder: Path | None) -> Html | None:
    """The error with what is known of its cause, or the firing that decided."""
    if row.error or row.failure:
        kind = f"{row.error_class}: " if row.error_class else ""
        known = el("pre", lines(as_json(row.failure), LONGEST)) if row.failure else None
        told = el("pre", kind, lines(row.error, LONGEST), cls="error") if row.error else None
        more = el("details", el("summary", "what is known of it"), known) if known else None
        return el("div", told, more)
    found = None
    if folder is not None:
        with suppress(OSError):
            found = verdict_of(folder / "log.jsonl", row)
    return el("p", lines(found.text, LONGEST), cls="why", dir="auto") if found else None


def last_words(row: EpisodeRow, log: Iterable[Mapping[str, Any]]) -> Html | None:
    """Of an episode that failed in an environment of text: its last action, and what was last observed."""
    if not is_fault(row):
        return None
    step, action, observed = 0, "", ""
    for line in log:
        taken, seen = _field(line, "inputs", "action"), _field(line, "outputs", "observation")
        if isinstance(taken, str):
            step, action = line.get("step", 0), taken
        if isinstance(seen, str):
            observed = seen
    if not observed.strip():
        return None
    asked = el("p", f"step {step} · ", lines(action, LONGEST), dir="auto") if action else None
    return el("div", asked, el("pre", lines(observed, LONGEST), dir="auto"), cls="words")


def _field(line: Mapping[str, Any], side: str, port: str) -> Any:
    found = line.get(side)
    return found.get(port) if isinstance(found, Mapping) else None


def measures(row: EpisodeRow, of: str) -> Html | None:
    """Its metrics, as the row has them; of an episode that did not complete they are in no mean."""
    if not row.metrics:
        return None
    chips = [
        el("span", f"{name} ", figure(value, f"{of}/metrics{pointer(name)}"), cls="chip")
        for name, value in row.metrics.items()
    ]
    counted = row.status == "completed"
    return el("p", *chips, None if counted else el("span", "not counted", cls="note"), cls="chips")


def scores(row: EpisodeRow) -> Html | None:
    """Each grader's and judge's score with its reason."""
    if not row.scores:
        return None
    told: list[list[Child]] = [
        [score.metric, score.grader_id, lines(score_in_words(score), LONGEST)] for score in row.scores
    ]
    verdict = {True: "pass", False: "fail", None: "none"}[row.verdict]
    reasons = any(reason_of(score) for score in row.scores)
    return el(
        "details",
        el("summary", f"scores{' and reasons' if reasons else ''}, verdict: {verdict}"),
        table(["metric", "grader", "score"], told),
        open=row.verdict is False,
    )
