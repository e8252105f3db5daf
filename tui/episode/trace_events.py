"""The events of an episode's ``trace.jsonl``: what each says in a line, and whole. For a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from tui.episode.inks import InkedLine, inked
from tui.episode.places import TRACE
from tui.episode.values import brief_ports, bytes_text, scalar_text, value_lines

MOST_BYTES = 64 << 20
"""Of a longer file only the beginning is shown."""

BRIEF = 240
_PLACED = frozenset(("kind", "t", "at", "timestamp", "step", "node_id", "collected"))
_IDS = frozenset(("span_id", "parent_id", "trace_id"))
_SAYS: Mapping[str, str] = {"message": "text", "error": "message", "log": "text"}
"""Kind → the field that is a text of its own."""


@dataclass(frozen=True)
class TraceEvent:
    """number: of its line, from 0. sec: since the first of its part of the trace; None where it has no time.
    fields: as they were written; empty where the line cannot be read, and ``problem`` says why."""

    number: int
    sec: float | None
    fields: Mapping[str, Any]
    problem: str = ""

    @property
    def kind(self) -> str:
        return str(self.fields.get("kind", "?"))

    @property
    def source(self) -> str:
        """Who wrote it: a node of the run, or whoever sent it to the platform that it was fetched from."""
        return "platform" if self.fields.get("collected") else str(self.fields.get("node_id", ""))

    @property
    def step(self) -> int | None:
        step = self.fields.get("step")
        return step if isinstance(step, int) else None

    @property
    def is_error(self) -> bool:
        fields = self.fields
        failed = self.kind == "error" or bool(fields.get("error")) or fields.get("ok") is False
        return failed or bool(self.problem)

    @property
    def brief(self) -> str:
        if self.problem:
            return self.problem
        said = self.fields.get(_SAYS.get(self.kind, ""))
        if isinstance(said, str):
            who = self.fields.get("role") or self.fields.get("stream") or ""
            line = " ".join(said[:BRIEF].split())
            return f"{who}: {line}" if isinstance(who, str) and who else line
        told = {name: value for name, value in self.fields.items() if name not in _PLACED | _IDS}
        return brief_ports(told, BRIEF)


@dataclass(frozen=True)
class Trace:
    """left_out: bytes of the file that were not read. problem: why there is nothing."""

    events: tuple[TraceEvent, ...] = ()
    left_out: int = 0
    problem: str = ""


def read_trace(folder: Path) -> Trace:
    """What there is now; a last line that is still written is left out."""
    path = folder / TRACE
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES)
            left_out = path.stat().st_size - len(content)
    except FileNotFoundError:
        return Trace(problem=f"there is no {TRACE}: nothing has written an event")
    except OSError as error:
        return Trace(problem=f"{TRACE} cannot be read: {error.strerror or error}")
    return Trace(tuple(_events(content)), left_out)


def event_lines(event: TraceEvent) -> Iterator[InkedLine]:
    """All of it. Texts are not cut."""
    yield ((event.kind, "bad" if event.is_error else "strong"), (f"  {event.source}", "dim"))
    if event.problem:
        yield inked(event.problem, "warn")
    said = _SAYS.get(event.kind, "")
    if isinstance(text := event.fields.get(said), str):
        yield inked("")
        for line in text.split("\n"):
            yield inked(line.removesuffix("\r").expandtabs(4), "bad" if event.kind == "error" else "plain")
        yield inked("")
    for name, value in event.fields.items():
        if name not in ("kind", said):
            yield from value_lines(str(name), value, whole=name not in _IDS)


def left_out_text(trace: Trace) -> str:
    return f"the file's last {bytes_text(trace.left_out)} are not shown" if trace.left_out > 0 else ""


def time_text(sec: float | None) -> str:
    return "" if sec is None else scalar_text(round(sec, 3))


def _events(content: bytes) -> Iterator[TraceEvent]:
    lines = content.split(b"\n")[:-1]
    firsts: dict[bool, float] = {}  # the platform's clock is none of ours
    for number, line in enumerate(lines):
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            yield TraceEvent(number, None, {}, f"the line is no event: {error}")
            continue
        at = _seconds(fields)
        first = firsts.setdefault(bool(fields.get("collected")), at) if at is not None else 0.0
        yield TraceEvent(number, at - first if at is not None else None, fields)


def _seconds(fields: Mapping[str, Any]) -> float | None:
    if isinstance(t := fields.get("t"), int | float) and not isinstance(t, bool):
        return t / 1000
    try:
        return datetime.fromisoformat(fields["timestamp"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return None
