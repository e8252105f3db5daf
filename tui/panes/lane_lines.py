"""How lanes are drawn: an axis, a line for each worker, the episode under the cursor, what glyphs mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from rich.style import Style

from engine.figures import count, number
from engine.store.records import EpisodeRow, WorkerProgress
from engine.text import one_line
from tui.drawing import Drawing, Piece, fit
from tui.episode.scores import detail_text
from tui.models import duration
from tui.models_lanes import (
    Block,
    Lane,
    Lanes,
    Window,
    axis_labels,
    cells_of,
    own_cells,
)
from tui.models_scoring import why_failed
from tui.theme import Outcome

QUIET_SEC = 10.0
"""For less, nobody is told how long a node has been at work."""

LEGEND: tuple[Outcome, ...] = ("success", "failure", "unmeasured", "timeout", "crash", "running", "stalled")
_RARE: tuple[Outcome, ...] = ("scoring", "completed", "misconfigured")


@dataclass(frozen=True)
class Widths:
    """label + count + track + now, with a cell between each two; count 0: left out."""

    label: int
    count: int
    track: int
    now: int

    @property
    def before(self) -> int:
        """Cells left of the track."""
        return self.label + 1 + (self.count + 1 if self.count else 0)


def widths(width: int, lanes: Sequence[Lane]) -> Widths:
    """For a pane of ``width`` cells."""
    label = 1 + max((len(str(lane.worker_id)) for lane in lanes), default=1) + 1
    now = min(36, max(12, width // 3)) if width >= 50 else 0
    count = max((len(_count(lane)) for lane in lanes), default=0) if width >= 90 else 0
    left = width - label - 1 - (count + 1 if count else 0) - (now + 1 if now else 0)
    return Widths(label, count, max(1, left), now)


def axis_line(drawing: Drawing, lanes: Lanes, window: Window, parts: Widths) -> list[Piece]:
    """Times of the clock above the cells that begin with them, and what a cell stands for."""
    line = [" "] * window.cells
    for cell, clock in axis_labels(window, lanes.start) if lanes.start else ():
        text = drawing.glyphs.column + clock
        if cell >= 0 and cell + len(text) <= window.cells:
            line[cell : cell + len(text)] = text
    step = f"{window.step:g} s a cell" if window.step < 60 else f"{duration(window.step)} a cell"
    return [(" " * parts.before + "".join(line) + " ", drawing.dim), (step, drawing.dim)]


def lane_line(
    drawing: Drawing,
    lane: Lane,
    window: Window,
    parts: Widths,
    lanes: Lanes,
    here: bool,
    chosen: Block | None,
) -> list[Piece]:
    """One worker. here: the cursor is on it; chosen: on this of its episodes."""
    label = f"w{lane.worker_id}".ljust(parts.label - 1)
    pieces: list[Piece] = [
        (drawing.glyphs.cursor if here else " ", drawing.key),
        (label, drawing.strong if here else drawing.warn if lane.stalled else drawing.plain),
        (" ", drawing.plain),
    ]
    if parts.count:
        pieces.append((f"{_count(lane):>{parts.count}} ", drawing.dim))
    pieces += track(drawing, lane, window, chosen)
    if parts.now:
        text, style = now_text(drawing, lane, lanes)
        pieces += [(" ", drawing.plain), (fit(text, parts.now, cut=drawing.glyphs.cut), style)]
    return pieces


def track(drawing: Drawing, lane: Lane, window: Window, chosen: Block | None) -> list[Piece]:
    """The lane's cells, equal neighbours in one piece. Every other episode is darker, so that they can be
    told apart; one with room for it has its number in it."""
    drawn = [_cell(drawing, outcome) for outcome in cells_of(lane, window)]
    for place, block, left, right in own_cells(lane, window):
        text = str(block.episode_index)
        shade = Style(dim=True) if place % 2 else Style.null()
        number = range(left + 1, left + 1 + len(text)) if right - left >= len(text) + 2 else range(0)
        for cell in range(left, right):
            glyph, style = drawn[cell]
            if cell in number:
                drawn[cell] = (text[cell - left - 1], style + Style(reverse=True, bold=True) + shade)
            else:
                drawn[cell] = (glyph, style + shade)
    if chosen is not None:
        left, right = window.span(chosen)
        for cell in range(max(0, left), min(right, window.cells)):
            glyph, _ = drawn[cell]
            drawn[cell] = (glyph if glyph.isdigit() else drawing.glyphs.mark, _chosen(drawing))
    return _joined(drawn)


def _cell(drawing: Drawing, outcome: Outcome | None) -> Piece:
    if outcome is None:
        return " ", drawing.plain
    mark = drawing.marks[outcome]
    return mark.glyph, mark.style


def now_text(drawing: Drawing, lane: Lane, lanes: Lanes) -> tuple[str, Style]:
    """What the worker does, or what became of its episodes."""
    if lane.idle_sec is None or lane.now is None:
        faults = f", {lane.faults} with faults" if lane.faults else ""
        return f"{count(len(lane.blocks), 'episode')}{faults}", drawing.dim
    doing = _doing(lane.now)
    if lane.stalled and lanes.start is not None:
        since = lanes.start + timedelta(seconds=lanes.span - lane.idle_sec)
        node = lane.now.node
        told = f"{since:%H:%M:%S} {duration(lane.idle_sec)} {node} {doing.removesuffix(node)}"
        return f"{drawing.marks['stalled'].glyph} {told}".rstrip(), drawing.warn
    if lane.idle_sec >= QUIET_SEC:
        return f"{doing} {duration(lane.idle_sec)}", drawing.plain
    return doing, drawing.plain


def detail_line(
    drawing: Drawing, block: Block | None, lanes: Lanes, worker: WorkerProgress | None, waits: str = ""
) -> list[Piece]:
    """The episode under the cursor, in words. waits: what it waits for, where it has ended."""
    if block is None:
        return []
    outcome: Outcome = "stalled" if block.stalled_from is not None else block.outcome
    mark = drawing.marks[outcome]
    began = f" began {lanes.start + timedelta(seconds=block.start):%H:%M:%S}" if lanes.start else ""
    pieces: list[Piece] = [
        (mark.glyph, mark.style),
        (f" w{block.worker_id} episode {block.episode_index}", drawing.strong),
        (f" {outcome}", mark.style + Style(reverse=False)),
    ]
    if block.row is None:
        told = f" {_doing(worker)}" if worker is not None else ""
        return [*pieces, (f"{told}{began}", drawing.plain)]
    if waits:
        pieces.append((f" waits for {waits}", drawing.marks["scoring"].style))
    return [
        *pieces,
        (f" {_row_text(block.row)}{began}", drawing.plain),
        (f" {_note(block.row)}", drawing.dim),
    ]


def rare_outcomes(lanes: Lanes) -> list[Outcome]:
    """Of the outcomes that most runs have none of, those that these lanes show."""
    seen = {block.outcome for lane in lanes.lanes for block in lane.blocks}
    return [outcome for outcome in _RARE if outcome in seen]


def legend_line(drawing: Drawing, width: int, rare: Sequence[Outcome] = ()) -> list[Piece]:
    """What the glyphs mean: of all outcomes that lanes show, as many as there is room for. rare: those that
    most runs have none of, and this one has."""
    pieces: list[Piece] = []
    used = 0
    for outcome in (*rare, *LEGEND):
        used += len(outcome) + 3
        if used > width:
            break
        mark = drawing.marks[outcome]
        pieces += [(mark.glyph, mark.style), (f" {outcome} ", drawing.dim)]
    return pieces


def _doing(worker: WorkerProgress) -> str:
    if worker.state == "done":
        return "done"
    if worker.state == "starting" or worker.episode_index is None:
        return f"{worker.state} {worker.node}".rstrip()
    if worker.state == "resetting":
        return f"ep {worker.episode_index} resetting"
    step = f"{worker.step}/{worker.budget}" if worker.budget else f"step {worker.step}"
    waits = " waits at" if worker.state == "waiting" else ""
    return f"ep {worker.episode_index} {step}{waits} {worker.node}".rstrip()


def _count(lane: Lane) -> str:
    now = lane.now
    return f"{now.episodes_done}/{now.episodes_total}" if now is not None and now.episodes_total else ""


def _row_text(row: EpisodeRow) -> str:
    task = "" if row.task == "_default" else f"{row.task} "
    repeat = f"repeat {row.repeat} " if row.repeat > 1 else ""
    metrics = " ".join(f"{name} {number(value)}" for name, value in list(row.measures.items())[:2])
    return f"{task}{repeat}{count(row.step_count, 'step')} {row.elapsed_sec:.1f} s {metrics}".rstrip()


def _note(row: EpisodeRow) -> str:
    if (score := why_failed(row)) is not None:
        return f"{score.metric} fail: {detail_text(score.detail)}"
    return one_line(row.error or "") or ("" if row.termination in ("stopped", "drained") else row.termination)


def _chosen(drawing: Drawing) -> Style:
    """A paper of its own, which no outcome has; without colours, the glyph tells it."""
    if not drawing.coloured:
        return Style(reverse=True, bold=True, dim=False)
    return Style(color=drawing.plain.bgcolor, bgcolor=drawing.plain.color, bold=True)


def _joined(drawn: Sequence[Piece]) -> list[Piece]:
    pieces: list[Piece] = []
    for text, style in drawn:
        if pieces and pieces[-1][1] == style:
            pieces[-1] = (pieces[-1][0] + text, style)
        else:
            pieces.append((text, style))
    return pieces
