"""What every screen and every pane has in common: keys become actions, a snapshot becomes lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from engine.control.reports import RunReport
from tui.actions import Action, Fact, Scope, why_not
from tui.drawing import Drawing, Piece, strip_of
from tui.models import Snapshot
from tui.sanitize import plain
from tui.widgets.bars import Footer, Header
from tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from tui.app import ControlCentre

Copies = Mapping[str, Callable[[], str]]
"""Action of the copy menu (``copy.id``) → what it copies."""


QUIET = frozenset(
    f"global.{move}"
    for move in (
        *("left", "right", "up", "down", "first", "last", "page_up", "page_down", "focus_next", "bigger"),
        *("half_page_up", "half_page_down", "focus_previous", "smaller"),
    )
)
"""Where these do nothing, nothing is said."""


class Pane(Widget, inherit_bindings=False):
    """A part of a screen that draws lines and takes actions; it has the keys while ``active``.

    Subclasses override :meth:`show` (take what they need of the snapshot; ``self.redraw()`` if it changed),
    :meth:`line`, and :meth:`do`. None of them may wait for anything.
    """

    ALLOW_SELECT = False
    scope: ClassVar[tuple[Scope, ...]] = ()
    opens: ClassVar[bool] = False
    """Whether ``enter`` does something with what is under its cursor."""

    active: bool = False
    _title: str = ""
    _painted: Sequence[Strip] = ()
    full: bool = False
    """It has the whole screen: room for more columns."""

    def __init__(self, **more: str) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self._to_paint: dict[int, tuple[Drawing, Strip]] = {}

    @property
    def centre(self) -> ControlCentre:
        return cast("ControlCentre", self.app)

    @property
    def drawing(self) -> Drawing:
        return self.centre.drawing

    def title(self, snapshot: Snapshot) -> list[Piece]:
        """Behind the pane's name."""
        return []

    def show(self, snapshot: Snapshot) -> None:
        """What there is now."""

    def line(self, y: int, width: int) -> Iterable[Piece]:
        """The pieces of line ``y``."""
        return ()

    def over(self, y: int) -> Style | None:
        """What lies over the whole line, as the cursor does."""
        return None

    def wanted_height(self, width: int) -> int | None:
        """Lines it has something for; None: as many as it gets."""
        return None

    def facts(self) -> set[Fact]:
        """What is true of what is under the cursor."""
        return set()

    async def do(self, action_id: str) -> bool:
        """Whether it was one of this pane's."""
        return False

    def activated(self) -> None:
        """It has the keys now."""

    def drill_in(self) -> None:
        """The operator came here by ``enter`` from another pane: the cursor goes where they look first."""

    def copies(self) -> Copies:
        """What ``y`` offers for what is under the cursor."""
        return {}

    @property
    def filter_text(self) -> str | None:
        """The filter; None where there is nothing to filter."""
        return None

    def set_filter(self, typed: str) -> None:
        """While it is typed. Raises FilterError with what to tell."""

    def show_all(self) -> bool:
        """Take away whatever hides some of it; whether anything did."""
        if not self.filter_text:
            return False
        self.set_filter("")
        return True

    def redraw(self) -> None:
        """Paint anew the lines that are not as they were."""
        width, height = self.content_size
        before, self._painted = self._painted, [self._made_line(y) for y in range(height)]
        if [strip.cell_length for strip in before] != [strip.cell_length for strip in self._painted]:
            self._to_paint = {}
            self.refresh()
        elif changed := [y for y in range(height) if before[y] != self._painted[y]]:
            self._to_paint |= {y: (self.drawing, self._painted[y]) for y in changed}
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def set_title(self, text: str) -> None:
        """In its frame."""
        if text != self._title:
            self._title = text
            self.border_title = plain(text)

    def render_line(self, y: int) -> Strip:
        """A line that :meth:`redraw` has just drawn is not drawn again."""
        drawing, strip = self._to_paint.pop(y, (None, Strip.blank(0)))
        fresh = drawing is self.drawing and strip.cell_length == self.content_size.width
        return strip if fresh else self._made_line(y)

    def _made_line(self, y: int) -> Strip:
        width = self.content_size.width
        drawing = self.drawing
        return strip_of(self.line(y, width), width, drawing.plain, self.over(y), cut=drawing.glyphs.cut)

    def get_content_width(self, container: object, viewport: object) -> int:
        return int(self.size.width)


class View(Screen[None], inherit_bindings=False):
    """A screen. ``view_name`` and ``target`` (a run, ``run/episode``) bring it back after a restart.

    Subclasses yield their panes in :meth:`body`, and give the one with the keys as :attr:`pane`.
    """

    AUTO_FOCUS = ""
    DEFAULT_CSS = "View Pane.active:nocolor { border-title-style: reverse; }"
    view_name: ClassVar[str] = ""
    keeps: ClassVar[tuple[str, ...]] = ()
    """Actions that the footer shows however narrow it is."""
    heading: ClassVar[str] = ""

    def __init__(self, target: str = "") -> None:
        super().__init__()
        self.target = target
        self.header = Header()
        self.footer = Footer()
        self.prompt = Prompt()

    @property
    def centre(self) -> ControlCentre:
        return cast("ControlCentre", self.app)

    def compose(self) -> ComposeResult:
        yield self.header
        yield from self.body()
        yield self.prompt
        yield self.footer

    def body(self) -> ComposeResult:
        yield from ()

    @property
    def pane(self) -> Pane | None:
        """The one that has the keys."""
        return None

    @property
    def targets(self) -> list[RunReport]:
        """The runs that an action is about: the marked ones, else the one under the cursor."""
        return []

    @property
    def shown_run(self) -> str:
        """The run that all of this is about, where there is one that its targets do not name."""
        return ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return self.pane.scope if self.pane is not None else ()

    def crumbs(self) -> str:
        """Where this is, for the header."""
        return self.heading

    def facts(self) -> set[Fact]:
        found: set[Fact] = self.pane.facts() if self.pane is not None else set()
        if self.pane is not None and self.pane.opens:
            found.add("opens")
        if not self.centre.read_only:
            found.add("writable")
        if self.centre.depth > 1:
            found.add("view")
        if len(self.centre.compared) >= 2:
            found.add("two runs")
        return found

    def why_not(self, action: Action) -> str | None:
        return why_not(action, self.facts())

    async def do(self, action_id: str) -> bool:
        """The pane's own first. Whether anybody here knew it; else the app does."""
        if self.pane is not None and await self.pane.do(action_id):
            self.bars_changed()
            return True
        match action_id:
            case "global.filter" if self.pane is not None and self.pane.filter_text is not None:
                self.prompt.ask("/", self.pane.filter_text, self._filter)
            case "global.back":
                self._back()
            case "global.copy" if self.pane is not None:
                self.centre.offer_copies(self.pane.copies())
            case "global.save" if self.pane is not None:
                self.centre.save_copy(self.pane.copies())
            case _:
                return False
        return True

    def show(self, snapshot: Snapshot) -> None:
        """What there is now. Called for the screen that is on top."""
        for pane in self.query(Pane):
            pane.show(snapshot)
        self.bars_changed()

    def bars_changed(self) -> None:
        """The header or the footer may say something else now."""
        self.header.changed()
        self.footer.changed()

    async def carry_out(self, action: Action) -> None:
        """Do it, or say why not."""
        reason = self.why_not(action)
        if reason is not None:
            self.centre.tell(f"{action.command}: {reason}")
        elif not await self.do(action.id) and not await self.centre.do(action.id):
            if action.id not in QUIET:
                self.centre.tell(f"{action.command}: nothing to do here")
        else:
            self.centre.touched()

    async def take_key(self, event: events.Key) -> None:
        """What is typed while the prompt is open is for that; every other key is an action, or nothing."""
        if self.prompt.display:
            await self.prompt.take(event)
        elif (action := self.centre.keymap.action(event.key, *self.scopes)) is not None:
            await self.carry_out(action)

    def on_screen_resume(self) -> None:
        self.show(self.centre.snapshot)

    def _filter(self, typed: str) -> str:
        if self.pane is None:
            return ""
        problem = self.centre.try_filter(self.pane, typed)
        self.bars_changed()
        return problem

    def _back(self) -> None:
        if self.pane is not None and self.pane.show_all():
            self.bars_changed()
        else:
            self.centre.back()
