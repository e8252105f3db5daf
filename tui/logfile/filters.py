"""``node:policy error step:3-9 ms>100 word``: which rows of a log are shown."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from tui.logfile.index import LogIndex

Rows = NDArray[numpy.int64]

_STEPS = re.compile(r"(\d+)(?:(-)(\d+)?)?")
_FIELD = re.compile(r"(!?)([a-z_]+)([:<>])(?!//)(.+)", re.DOTALL)
_FORMS = {
    "node": "node:NAME !node:NAME",
    "step": "step:5 step:3-9 step:3-",
    "ms": "ms>100 ms<5",
}
_HELP = f"{' '.join(_FORMS.values())} error !error warning !warning, and what to search for: a regex, !regex"


class FilterError(ValueError):
    """The filter cannot be understood; the message says what can."""


@dataclass(frozen=True)
class LogFilter:
    """All of it must hold of a row. text, without: for :mod:`tui.logfile.search` to look for, not here."""

    nodes: tuple[str, ...] = ()
    without_nodes: tuple[str, ...] = ()
    errors: bool = False
    warnings: bool = False
    no_errors: bool = False
    no_warnings: bool = False
    steps: tuple[int, int] | None = None
    above_ms: float | None = None
    below_ms: float | None = None
    text: str = ""
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != LogFilter()


def parse_filter(typed: str) -> LogFilter:
    """Raises FilterError."""
    try:
        words = _words(typed)
    except ValueError as error:
        raise FilterError(f"{error}; in a filter there can be {_HELP}") from None
    parts: dict[str, object] = {}
    nodes: list[str] = []
    without_nodes: list[str] = []
    texts: list[str] = []
    without: list[str] = []
    for word in words:
        field = _FIELD.fullmatch(word)
        if flag := re.fullmatch("(!?)(error|warning)s?", word):
            parts[f"{'no_' if flag[1] else ''}{flag[2]}s"] = True
        elif field is not None and field[2] == "node" and field[3] == ":":
            (without_nodes if field[1] else nodes).append(field[4])
        elif field is not None:
            name, value = _field(word, *field.groups())
            parts[name] = value
        elif word.startswith("!") and len(word) > 1:
            without.append(word[1:])
        else:
            texts.append(word)
    return LogFilter(
        tuple(nodes),
        tuple(without_nodes),
        text=" ".join(texts),
        without=tuple(without),
        **parts,  # type: ignore[arg-type]
    )


def _field(word: str, inverted: str, name: str, how: str, value: str) -> tuple[str, object]:
    """What it sets. FilterError where there is no such field, or none of this form."""
    if name not in _FORMS:
        raise FilterError(
            f"there is no field {name!r}: there are {', '.join(_FORMS)}; /{word}/ searches for the text"
        )
    if not inverted and name == "step" and how == ":":
        return "steps", _steps(value)
    if not inverted and name == "ms" and how in "<>":
        return "above_ms" if how == ">" else "below_ms", _number(value)
    raise FilterError(f"{word} is none of {_FORMS[name]}")


def select(index: LogIndex, wanted: LogFilter, first: int = 0) -> Rows:
    """The rows from ``first`` on that pass, but for their text; ascending. Milliseconds for a million."""
    count = index.rows
    kept = numpy.ones(count - first, dtype=bool)
    for rows, asked, refused in (
        (index.errors, wanted.errors, wanted.no_errors),
        (index.warnings, wanted.warnings, wanted.no_warnings),
    ):
        if asked or refused:
            flags = _flags(numpy.array(rows[:], dtype=numpy.int64), first, count)
            kept &= flags if asked else True
            kept &= ~flags if refused else True
    if wanted.nodes or wanted.without_nodes:
        ids = index.node_ids
        good = numpy.array([_passes(node, wanted) for node in ids], dtype=bool)
        kept &= good[numpy.array(index.nodes[first:count], dtype=numpy.int64)]
    if wanted.steps is not None:
        steps = numpy.array(index.steps[first:count])
        kept &= (steps >= wanted.steps[0]) & (steps <= wanted.steps[1])
    if wanted.above_ms is not None or wanted.below_ms is not None:
        durations = numpy.array(index.durations_ms[first:count])
        kept &= durations > (-numpy.inf if wanted.above_ms is None else wanted.above_ms)
        kept &= durations < (numpy.inf if wanted.below_ms is None else wanted.below_ms)
    return numpy.flatnonzero(kept) + first


def _flags(rows: Rows, first: int, count: int) -> NDArray[numpy.bool_]:
    flags = numpy.zeros(count - first, dtype=bool)
    flags[rows[(rows >= first) & (rows < count)] - first] = True
    return flags


def _passes(node: str, wanted: LogFilter) -> bool:
    asked = all(part in node for part in wanted.nodes)
    return asked and not any(part in node for part in wanted.without_nodes)


def _words(typed: str) -> list[str]:
    """Split at blanks, but not between double quotes. A backslash is a regex's."""
    lexer = shlex.shlex(typed, posix=True)
    lexer.whitespace_split = True
    lexer.escape = lexer.commenters = ""
    lexer.quotes = '"'
    return list(lexer)


def _steps(value: str) -> tuple[int, int]:
    match = _STEPS.fullmatch(value)
    if match is None:
        raise FilterError(f"step:{value} is none of step:5, step:3-9, step:3-")
    low = int(match[1])
    if match[2] is None:
        return low, low
    return low, int(match[3]) if match[3] else 2**31 - 1


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise FilterError(f"{value!r} is no number of milliseconds") from None
