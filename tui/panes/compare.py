"""The parts of the comparison: the runs and what bears on it, the differences, the episodes that flipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.style import Style

from engine.control.comparing import CompareReport
from engine.figures import number
from engine.store.records import EpisodeRow
from engine.store.strict_json import encode_indented
from tui.drawing import Piece
from tui.models import Snapshot
from tui.models_compare import (
    LETTERS,
    Difference,
    Flipped,
    differences_of,
    flipped_of,
    interval_text,
    notes_of,
    p_text,
    run_text,
    signed,
    told,
    widest,
)
from tui.models_tasks import TaskDifference, by_task
from tui.panes.metric_lines import plot
from tui.screens.base import Copies
from tui.table_model import Column, TableModel
from tui.widgets.drawn import Line
from tui.widgets.scrolled import ScrolledPane
from tui.widgets.virtual_table import VirtualTable
from tui.widgets.wrapping import wrapped

PICTURE = 25
"""Cells of an interval's picture."""


class RunsCompared(ScrolledPane):
    """Which letter is which run, how many episodes they share, and what to keep in mind. said: instead, while
    there is nothing to compare."""

    def __init__(self) -> None:
        super().__init__()
        self.report: CompareReport | None = None
        self.said = "comparing…"

    def give(self, report: CompareReport | None, said: str) -> None:
        self.report, self.said = report, said
        self.changed()

    def all_lines(self, width: int, height: int) -> Sequence[Line]:
        drawing, report = self.drawing, self.report
        lines: list[Line] = [
            [(line, drawing.warn)] for line in (wrapped(self.said, width) if self.said else ())
        ]
        if report is None:
            return lines
        for letter, run in zip(LETTERS, report.runs, strict=False):
            lines.append([(f"{letter} ", drawing.key), (run_text(run), drawing.plain)])
        notes = [line for note in notes_of(report) for line in wrapped(note, width - 2)]
        return [*lines, *([(f"  {line}", drawing.dim)] for line in notes)]


class DifferencesPane(VirtualTable[Difference]):
    """on_moved: the cursor is on another row."""

    opens = True

    def __init__(self, on_moved: Callable[[], None]) -> None:
        self._on_moved = on_moved
        self._most: dict[str, float] = {}
        super().__init__(TableModel(self._columns(), lambda row: row.id))

    def _columns(self) -> list[Column[Difference]]:
        return [
            Column("metric", "metric", 18, lambda row: row.metric.metric),
            Column("runs", "runs", 5, lambda row: row.letter, text=lambda row: f"{row.letter}-A"),
            Column("a", "A", 7, _left, text=lambda row: _number(_left(row)), align="right", drop=3),
            Column("b", "other", 7, _right, text=lambda row: _number(_right(row)), align="right", drop=4),
            Column("difference", "diff", 7, _difference, text=_difference_text, align="right"),
            Column("interval", "95 % interval", 16, _difference, text=lambda row: interval_text(row.found)),
            Column("picture", "", PICTURE, _difference, text=self._picture, drop=5),
            Column("p", "p", 6, _p, text=_p_text, align="right"),
            Column("more", "more ep.", 8, _more, text=_more_text, align="right", drop=2),
            Column("verdict", "is", 0, _verdict, style=self._verdict_style),
        ]

    def give(self, report: CompareReport | None) -> None:
        rows = differences_of(report) if report is not None else []
        self._most = widest(rows)
        self.set_rows(rows)
        self._on_moved()

    def title(self, snapshot: Snapshot) -> list[Piece]:
        return [(f" {self.counts()}", self.drawing.dim), *self.filter_pieces()]

    def empty(self) -> str:
        return "no difference passes the filter: esc clears it" if self.model.rows else ""

    def moved(self) -> None:
        self._on_moved()

    def copies(self) -> Copies:
        row = self.model.current
        if row is None:
            return {}
        return {
            "copy.row": lambda: "\n".join(told(row)),
            "copy.json": lambda: encode_indented(row.metric).decode(),
        }

    def _picture(self, row: Difference) -> str:
        most = self._most.get(row.metric.metric)
        if row.found is None or not most:
            return ""
        drawn = plot(self.drawing, row.found.difference, PICTURE, (-most, most))
        zero = PICTURE // 2
        return drawn if drawn[zero] != " " else f"{drawn[:zero]}:{drawn[zero + 1 :]}"

    def _verdict_style(self, row: Difference) -> Style:
        styles = {"unsettled": self.drawing.warn, "same": self.drawing.dim}
        return styles.get(_verdict(row), self.drawing.strong)


class VerdictPane(ScrolledPane):
    """The row under the cursor, in sentences."""

    def __init__(self) -> None:
        super().__init__()
        self._row: Difference | None = None

    def give(self, row: Difference | None) -> None:
        self._row = row
        self.changed()

    def all_lines(self, width: int, height: int) -> Sequence[Line]:
        if self._row is None:
            return ()
        sentences = [wrapped(sentence, width) for sentence in told(self._row)]
        styles = [self.drawing.plain, self.drawing.strong, self.drawing.dim]
        return [[(line, style)] for lines, style in zip(sentences, styles, strict=False) for line in lines]


class TasksPane(VirtualTable[TaskDifference]):
    """The difference under the cursor, task by task. rows: run → its episodes, as far as they were read."""

    def __init__(self) -> None:
        self.rows: Mapping[str, Sequence[EpisodeRow]] = {}
        self._of: Difference | None = None
        columns: list[Column[TaskDifference]] = [
            Column("task", "task", 0, lambda row: row.task),
            Column("pairs", "pairs", 6, lambda row: row.pairs, align="right", drop=3),
            Column("a", "A", 7, lambda row: row.left, text=lambda row: number(row.left), align="right"),
            Column("b", "other", 7, lambda row: row.right, text=lambda row: number(row.right), align="right"),
            Column(
                "difference",
                "diff",
                7,
                lambda row: row.difference,
                text=lambda row: signed(row.difference),
                align="right",
            ),
            Column("lower", "lower", 6, lambda row: row.lower, align="right", drop=2),
            Column("higher", "higher", 6, lambda row: row.higher, align="right", drop=1),
        ]
        super().__init__(TableModel(columns, lambda row: row.task))

    def give(self, difference: Difference | None) -> None:
        self._of = difference
        if difference is None or difference.found is None:
            self.set_rows([])
        else:
            left, right = (self.rows.get(run, ()) for run in (difference.left_id, difference.run_id))
            self.set_rows(by_task(left, right, difference.metric.metric))

    def title(self, snapshot: Snapshot) -> list[Piece]:
        if self._of is None:
            return []
        text = f" {self.counts()}: {self._of.metric.metric}, A to {self._of.letter}"
        return [(text, self.drawing.dim), *self.filter_pieces()]

    def empty(self) -> str:
        if self.model.rows:
            return "no task passes the filter: esc clears it"
        return "no episode has it in both runs" if self.rows else "reading…"

    def copies(self) -> Copies:
        row = self.model.current
        if row is None:
            return {}
        return {
            "copy.id": lambda: row.task,
            "copy.row": lambda: f"{row.task}\t{row.left}\t{row.right}\t{signed(row.difference)}",
            "copy.json": lambda: encode_indented(row).decode(),
        }


class FlippedPane(VirtualTable[Flipped]):
    """Episodes that passed in one of the two runs of the difference under the cursor."""

    opens = True

    def __init__(self) -> None:
        self._of: Difference | None = None
        columns: list[Column[Flipped]] = [
            Column("change", "change", 12, lambda row: row.gained, text=_change, style=self._change_style),
            Column("episode", "episode", 8, lambda row: row.flip.episode_index, align="right"),
            Column("task", "task", 0, lambda row: row.flip.task),
        ]
        super().__init__(TableModel(columns, lambda row: row.id, is_fault=lambda row: not row.gained))

    def give(self, difference: Difference | None) -> None:
        self._of = difference
        self.set_rows(flipped_of(difference))

    def title(self, snapshot: Snapshot) -> list[Piece]:
        if self._of is None:
            return []
        gained = sum(row.gained for row in self.model.rows)
        lost = len(self.model.rows) - gained
        text = f" {self._of.metric.metric}, A to {self._of.letter}: {lost} lost, {gained} gained"
        return [(text, self.drawing.dim), *self.filter_pieces()]

    def empty(self) -> str:
        if self.model.rows:
            return "no episode passes the filter: esc clears it"
        return "no episode passed in one of them and failed in the other" if self._of is not None else ""

    def copies(self) -> Copies:
        row = self.model.current
        if row is None:
            return {}
        return {
            "copy.id": lambda: f"{row.run_id}/{row.flip.episode_index}",
            "copy.row": lambda: f"{row.flip.episode_index}\t{row.flip.task}\t{_change(row)}",
            "copy.json": lambda: encode_indented(row.flip).decode(),
        }

    def _change_style(self, row: Flipped) -> Style:
        return self.drawing.good if row.gained else self.drawing.bad


def _change(row: Flipped) -> str:
    return f"{row.flip.left:g} > {row.flip.right:g} {'gain' if row.gained else 'lost'}"


def _left(row: Difference) -> float | None:
    return row.found.left if row.found else None


def _right(row: Difference) -> float | None:
    return row.found.right if row.found else None


def _difference(row: Difference) -> float | None:
    return row.found.difference.mean if row.found else None


def _p(row: Difference) -> float | None:
    return row.found.p_adjusted if row.found else None


def _p_text(row: Difference) -> str:
    return p_text(row.found) if row.found else ""


def _difference_text(row: Difference) -> str:
    return signed(row.found.difference.mean) if row.found else ""


def _verdict(row: Difference) -> str:
    return row.found.verdict if row.found else "no pairs"


def _more(row: Difference) -> int | None:
    return row.found.more_episodes if row.found else None


def _more_text(row: Difference) -> str:
    return f"~{more:,}" if (more := _more(row)) is not None else ""


def _number(value: float | None) -> str:
    return "" if value is None else number(value)
