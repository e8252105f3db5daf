"""How the machine is drawn: each card in one line, in two, or with everything that is known of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.style import Style

from tui.drawing import Drawing, Piece, fit
from tui.models import GpuSample, gigabytes
from tui.models_gpus import Card, Kind, Machine, Memory, Part, bar_cells, spark, spark_levels
from tui.theme import Outcome
from tui.widgets.drawn import Line
from tui.widgets.wrapping import wrapped

_GLYPHS: dict[Kind, tuple[str, str, Outcome]] = {
    "run": ("█", "#", "success"),
    "next run": ("▚", "%", "success"),
    "server": ("▓", "=", "paused"),
    "foreign": ("▒", "x", "timeout"),
    "other": ("░", "o", "unmeasured"),
    "reserved": ("·", ".", "running"),
}
_NAMES: dict[Kind, str] = {
    "run": "run",
    "next run": "run",
    "server": "server",
    "foreign": "foreign",
    "other": "other",
    "reserved": "reserved",
}
INDENT = "  "
LEAST_BAR = 24
"""Cells; a shorter one has a line of its own."""
FULL, MIDDLE, SHORT = 3, 2, 1
"""Levels of detail."""


def machine_lines(drawing: Drawing, machine: Machine, width: int, level: int) -> list[Line]:
    """Every card, what there is to know of the GPUs, and the host."""
    lines: list[Line] = []
    for card in machine.cards:
        lines += card_lines(drawing, card, machine.at, width, level)
    for note in machine.notes:
        style = drawing.warn if machine.cards or note is not machine.notes[0] else drawing.strong
        lines += [[(line, style)] for line in wrapped(note, width)]
    if lines and lines[-1] and level > SHORT:
        lines.append(())
    return [*lines, *host_lines(drawing, machine, width, level)]


def card_lines(drawing: Drawing, card: Card, now: float, width: int, level: int) -> list[Line]:
    """One card."""
    lines = [_headline(drawing, card, now, width, level)]
    if level == MIDDLE:
        lines += _stacked(drawing, card.memory, width)
    elif level == FULL:
        lines += _histories(drawing, card, now, width)
        lines += [_whole_bar(drawing, card.memory, width), *_named(drawing, card.memory), ()]
    return lines


def host_lines(drawing: Drawing, machine: Machine, width: int, level: int) -> list[Line]:
    """The host's name, processors, disk, and its main memory."""
    host = machine.host
    cpu = "?" if host.cpu_percent is None else f"{host.cpu_percent:.0f}%"
    disk = f"disk {gigabytes(host.disk_free_mb)} free"
    first = [(host.name, drawing.strong), (f"  {host.cpu_count} CPUs {cpu}  {disk}", drawing.plain)]
    if machine.ram is None:
        return [[*first, ("  RAM not read", drawing.warn)]]
    ram = [(f"  RAM {_amounts(machine.ram)}", drawing.plain), (f"  {machine.ram_stale}", drawing.warn)]
    needed = sum(cell_len(text.rstrip()) for text, _ in (*first, *ram))
    lines: list[Line] = [[*first, *ram]] if needed <= width else [first, ram]
    if level == MIDDLE:
        lines += _stacked(drawing, machine.ram, width)
    elif level == FULL:
        lines += [_whole_bar(drawing, machine.ram, width), *_named(drawing, machine.ram)]
    return lines


def _headline(drawing: Drawing, card: Card, now: float, width: int, level: int) -> Line:
    """``0 H200 ▁▃▅▇ 87% 61/140G 512W 64C``; what has no room is left out from the right."""
    report = card.report
    name = report.name.removeprefix("NVIDIA ")
    figures = [
        _figure(report.utilization, "%", 4),
        f"{_amounts(card.memory):>9}",
        _figure(report.power_w, "W", 5),
        _figure(report.temperature_c, "C", 4),
    ]
    if card.stale:
        figures = [figures[1], card.stale]
    told = " ".join(figures)
    room = width - len(report.label) - len(told) - 2
    name = fit(name, min(len(name), max(0, room - 9)), cut=drawing.glyphs.cut)
    cells = room - len(name) - 1
    shown = " " * max(0, cells)
    if cells >= 6 and level != FULL:
        levels = spark_levels(card.history, now, cells, lambda sample: _used(card, sample))
        shown = spark(levels, 1.0, drawing.glyphs.spark)
    style = drawing.warn if card.stale else _busy(drawing, report.utilization)
    return [
        (report.label, drawing.key),
        (f" {name} ", drawing.plain),
        (shown, style),
        (f" {told}", drawing.warn if card.stale else drawing.plain),
    ]


def _used(card: Card, sample: GpuSample) -> float:
    """How busy it was; where the driver does not say, how full."""
    if sample.utilization is not None:
        return sample.utilization / 100
    return sample.used_mb / card.report.total_mb


def _histories(drawing: Drawing, card: Card, now: float, width: int) -> list[Line]:
    """Ten minutes of what is known, each to its own scale; what the driver does not say, in one line."""
    report, cells = card.report, max(1, width - 34)
    rows: tuple[tuple[str, float | None, str, Callable[[GpuSample], float | None]], ...] = (
        ("use", 100.0, "%", lambda sample: sample.utilization),
        ("memory", report.total_mb / 1024, "G", lambda sample: sample.used_mb / 1024),
        ("power", None, "W", lambda sample: sample.power_w),
        ("temp", 100.0, "C", lambda sample: sample.temperature_c),
    )
    lines: list[Line] = []
    unknown = []
    for name, most, unit, value in rows:
        levels = spark_levels(card.history, now, cells, value)
        known = [level for level in levels if level is not None]
        if known:
            line = spark(levels, most or max(known), drawing.glyphs.spark)
            told = f" {_short(min(known))} to {_short(max(known))}{unit} in 10 min"
            lines.append([(f"{INDENT}{name:<7}", drawing.dim), (line, drawing.good), (told, drawing.dim)])
        else:
            unknown.append(name)
    if unknown:
        lines.append([(f"{INDENT}{', '.join(unknown)}: the driver does not say", drawing.dim)])
    return lines


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _stacked(drawing: Drawing, memory: Memory, width: int) -> list[Line]:
    """A bar, and beside it or below it how much of each kind."""
    told: list[list[Piece]] = []
    for kind in _GLYPHS:
        parts = [part for part in memory.parts if part.kind == kind]
        if parts:
            amount = f" {_together(kind, parts)} {gigabytes(memory.of(kind))} "
            told.append([(_glyph(drawing, kind), _style(drawing, kind)), (amount, drawing.dim)])
    lengths = [sum(cell_len(text) for text, _ in pieces) for pieces in told]
    room = width - 2 * len(INDENT) - sum(lengths)
    if room >= LEAST_BAR:
        beside = [piece for pieces in told for piece in pieces]
        return [[(INDENT, drawing.plain), *_bar(drawing, memory, room), (INDENT, drawing.plain), *beside]]
    lines: list[list[Piece]] = [_whole_bar(drawing, memory, width)]
    left = 0
    for pieces, length in zip(told, lengths, strict=True):
        if length > left:
            lines.append([(INDENT, drawing.plain)])
            left = width - len(INDENT)
        lines[-1] += pieces
        left -= length
    return list(lines)


def _whole_bar(drawing: Drawing, memory: Memory, width: int) -> list[Piece]:
    return [(INDENT, drawing.plain), *_bar(drawing, memory, width - 2 * len(INDENT))]


def _together(kind: Kind, parts: Sequence[Part]) -> str:
    """What holds them: the name of a single run or server, else how many there are."""
    if kind not in ("run", "next run", "server"):
        return _NAMES[kind]
    return parts[0].name if len(parts) == 1 else f"{len(parts)} {_NAMES[kind]}s"


def _bar(drawing: Drawing, memory: Memory, width: int) -> list[Piece]:
    """Filled by whose it is; a rule where it is free."""
    pieces: list[Piece] = []
    for kind in bar_cells(memory, max(1, width)):
        piece = (_glyph(drawing, kind), _style(drawing, kind))
        if pieces and pieces[-1][1] == piece[1] and pieces[-1][0][0] == piece[0]:
            piece = (pieces.pop()[0] + piece[0], piece[1])
        pieces.append(piece)
    return pieces


def _named(drawing: Drawing, memory: Memory) -> list[Line]:
    return [_part(drawing, part) for part in memory.parts]


def _part(drawing: Drawing, part: Part) -> Line:
    return [
        (INDENT, drawing.plain),
        (_glyph(drawing, part.kind), _style(drawing, part.kind)),
        (f" {gigabytes(part.mb):>7} ", drawing.strong),
        (_NAMES[part.kind], drawing.dim),
        ("" if part.kind == "other" else f" {part.name}", drawing.plain),
    ]


def _glyph(drawing: Drawing, kind: Kind | None) -> str:
    if kind is None:
        return drawing.glyphs.rule
    return _GLYPHS[kind][1 if drawing.ascii else 0]


def _style(drawing: Drawing, kind: Kind | None) -> Style:
    if kind is None:
        return drawing.dim
    return Style(color=drawing.marks[_GLYPHS[kind][2]].style.color)


def _busy(drawing: Drawing, utilization: float | None) -> Style:
    return drawing.dim if utilization is None or utilization < 10 else drawing.good


def _amounts(memory: Memory) -> str:
    return f"{_short(memory.used_mb / 1024)}/{memory.total_mb / 1024:.0f}G"


def _figure(value: float | None, unit: str, width: int) -> str:
    return f"{'?' if value is None else f'{value:.0f}'}{unit}".rjust(width)


def level_that_fits(
    drawing: Drawing, machine: Machine, width: int, height: int
) -> tuple[int, Sequence[Line]]:
    """The most detailed level that has room, else the least; and its lines."""
    for level in (FULL, MIDDLE, SHORT):
        lines = machine_lines(drawing, machine, width, level)
        if len(lines) <= height:
            return level, lines
    return SHORT, lines
