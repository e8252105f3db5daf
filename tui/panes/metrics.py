"""Pane 5: the numbers of the selected run, as far as they may be told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engine.figures import count
from engine.store.records import VERDICT
from engine.store.strict_json import encode_indented
from tui.actions import Fact
from tui.drawing import Piece
from tui.models import RunDetail, Snapshot
from tui.models_scoring import scoring_line, waiting_in
from tui.panes.metric_lines import result_lines
from tui.panes.scoring_lines import report_links, scoring_lines
from tui.screens.base import Copies
from tui.widgets.drawn import Line
from tui.widgets.scrolled import ScrolledPane

COPIED_WIDTH = 100


class MetricsPane(ScrolledPane):
    def __init__(self) -> None:
        super().__init__()
        self._detail: RunDetail | None = None
        self._now = datetime.min

    def title(self, snapshot: Snapshot) -> list[Piece]:
        detail = snapshot.run
        if detail is None:
            return []
        pieces = [(f" {detail.report.label or detail.run_id}", self.drawing.dim)]
        environment = detail.report.environment
        if environment is not None and environment.determinism != "exact":
            pieces.append((f"  determinism {environment.determinism}", self.drawing.warn))
        return pieces

    def show(self, snapshot: Snapshot) -> None:
        detail = snapshot.run
        if detail is None or self._detail is None or detail.run_id != self._detail.run_id:
            self.top = 0
        self._detail, self._now = detail, snapshot.now
        self.changed()

    def wanted_height(self, width: int) -> int | None:
        return max(3, len(self.all_lines(width // 2, 0)))

    def all_lines(self, width: int, height: int) -> Sequence[Line]:
        detail = self._detail
        if detail is None or detail.results is None:
            return [[(self._empty(), self.drawing.dim)]]
        over = detail.report.is_over
        lines = result_lines(self.drawing, detail.results, width, over=over)
        return [*lines, *self._scoring(detail, width), *self._more(detail)]

    def _scoring(self, detail: RunDetail, width: int) -> Sequence[Line]:
        if detail.scoring is None or detail.results is None:
            return ()
        withheld = detail.results.headline.estimate is None
        rate = None if withheld else detail.results.metrics.get(VERDICT)
        waits = scoring_line(detail.rows, waiting_in(detail.report), self._now)
        return [(), *scoring_lines(self.drawing, detail.scoring, rate, waits, width)]

    def _more(self, detail: RunDetail) -> list[Line]:
        """What bears on the numbers beside."""
        summary = detail.report.summary
        notes = [
            f"{name} was not finite in {lost} of {count(summary.completed_count, 'episode')}"
            for name, lost in summary.nonfinite.items()
        ]
        if stop := summary.early_stop:
            notes.append(
                f"ended early, the interval was narrow enough: {summary.total_episodes} of"
                f" {count(stop.planned, 'episode')} count, {stop.beyond} more had begun"
            )
        return [[(note, self.drawing.warn)] for note in notes]

    def _empty(self) -> str:
        if self._detail is None:
            return "no run is under the cursor"
        if self._detail.report.summary.completed_count:
            return "counting…"
        return "no episode has ended yet"

    def facts(self) -> set[Fact]:
        return {"row"} if self._detail is not None and self._detail.results is not None else set()

    def copies(self) -> Copies:
        detail = self._detail
        if detail is None or detail.results is None:
            return {}
        results = detail.results
        lines = self.all_lines(COPIED_WIDTH, 0)
        links = report_links(detail.scoring) if detail.scoring is not None else []
        more = {"copy.link": lambda: "\n".join(links)} if links else {}
        return {
            **more,
            "copy.id": lambda: detail.run_id,
            "copy.row": lambda: "\n".join("".join(text for text, _ in line).rstrip() for line in lines),
            "copy.json": lambda: encode_indented(results).decode(),
        }
