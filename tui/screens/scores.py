"""What became of an episode behind its last step: its scores with their reasons, stages, exports, trace."""

from __future__ import annotations

from textual.app import ComposeResult

from engine.store.strict_json import encode_indented
from tui.actions import Fact
from tui.episode.inks import InkedLine, inked, text_of
from tui.episode.places import Place
from tui.episode.scores import errors_of, links_of, problem_places, score_lines
from tui.models import Snapshot
from tui.models_scoring import waiting_in, waits_text
from tui.screens.base import Copies
from tui.screens.episode_part import EpisodePart
from tui.widgets.lines_view import LinesView


class ScoresView(EpisodePart):
    """All of it, to be read from top to bottom."""

    view_name = "scores"
    heading = "scores"

    def __init__(self, target: str = "") -> None:
        super().__init__(target)
        self.lines = LinesView()
        self.lines.active = True
        self._waits = ""

    def body(self) -> ComposeResult:
        yield self.lines

    @property
    def pane(self) -> LinesView:
        return self.lines

    def facts(self) -> set[Fact]:
        found = super().facts()
        if self.place is not None and self.place.run is not None:
            found.add("opens")
        return found | {"row"} if self.row is not None else found

    def crumbs(self) -> str:
        read = "".join(text for text, _ in self.lines.title(self.centre.snapshot))
        return f"{super().crumbs()}{read}"

    def failed(self, problem: str) -> None:
        self.lines.give([inked(problem, "bad")])

    def told(self, *, other: bool) -> None:
        self._draw(stay=not other)

    def show(self, snapshot: Snapshot) -> None:
        super().show(snapshot)
        if self._now() != self._waits:
            self._draw(stay=True)

    async def do(self, action_id: str) -> bool:
        if action_id in ("scores.next_error", "scores.previous_error"):
            self._jump(forward=action_id == "scores.next_error")
        elif action_id == "global.open" and self.place is not None and self.place.run is not None:
            self.centre.open_log(self.place.run.run_id, self.place.folder.name)
        else:
            return await super().do(action_id)
        return True

    def copies(self) -> Copies:
        place, row = self.place, self.row
        if place is None or row is None:
            return {}
        copies = {
            "copy.id": lambda: place.target,
            "copy.path": lambda: place.path,
            "copy.row": lambda: "\n".join(text_of(line).rstrip() for line in self._lines()),
            "copy.json": lambda: encode_indented(row).decode(),
        }
        if (run := place.run) is not None:
            copies["copy.command"] = lambda: self.centre.rest.log(run.run_id, place.folder.name)
        if links := links_of(row):
            copies["copy.link"] = lambda: "\n".join(links)
        if errors := errors_of(row):
            copies["copy.error"] = lambda: "\n".join(errors)
        return copies

    def _lines(self) -> list[InkedLine]:
        row, place = self.row, self.place
        if row is None or place is None:
            return [inked(self.ending.note or "the episode has not ended", "dim")]
        if row.scoring == "none":
            return [inked("this episode is not scored", "dim")]
        cut_short = self.report is not None and self.report.is_over and self.report.status != "completed"
        return score_lines(row, _run_id(place), self._waits, cut_short=cut_short)

    def _draw(self, *, stay: bool) -> None:
        self._waits = self._now()
        self.lines.give(self._lines(), stay=stay)

    def _now(self) -> str:
        """What it waits for; empty where nothing is at work on it."""
        name = self.place.folder.name if self.place is not None else ""
        waiting = waiting_in(self.report) if self.report is not None else ()
        found = next((waits for waits in waiting if waits.folder == name), None)
        return waits_text(found, self.centre.snapshot.now) if found is not None else ""

    def _jump(self, *, forward: bool) -> None:
        """To what went wrong further down, or up."""
        top = self.lines.top
        places = problem_places(self.lines.lines)
        further = [place for place in places if (place > top if forward else place < top)]
        if further:
            self.lines.scroll_to_line(further[0] if forward else further[-1])
            self.bars_changed()
        else:
            self.centre.tell("nothing went wrong further " + ("down" if forward else "up"))


def _run_id(place: Place) -> str:
    return place.run.run_id if place.run is not None else "RUN"
