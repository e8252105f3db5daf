"""The control centre: the app whose screens show one root and carry out what the operator asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast, get_args

from textual import events
from textual.await_complete import AwaitComplete
from textual.notifications import SeverityLevel

from engine.control.protocol import Control
from engine.control.reports import ControlError, RunReport
from engine.store.preferences import Preferences
from engine.terminal_images import Asked
from tui import appearance, restoring
from tui.activity_log import ActivityLog
from tui.clock import Clock, SystemClock
from tui.filtering import FilterError
from tui.keymap import Keymap
from tui.link import LinkMeter
from tui.loading import load
from tui.models import Snapshot
from tui.rest_calls import Rest
from tui.screens import DOERS, VIEWS
from tui.screens.base import Copies, Pane, View
from tui.screens.dialog import Dialog
from tui.screens.home import HomeView
from tui.state_file import UiState
from tui.stderr_guard import StderrGuard
from tui.store import Store
from tui.terminal_app import TerminalApp
from tui.theme import THEMES
from tui.type_ahead import TypeAhead

T = TypeVar("T")

SAVE_SEC = 1.0
"""From a change of what is kept until it is on disk."""


class ControlCentre(TerminalApp, inherit_bindings=False):
    """control: the verbs; whoever made it closes it. save: keeps the state. watch: looks at the disk between
    two polls, until it is cancelled. hand_over: what must be done first where the app does not end.

    What screens use: ``drawing``, ``keymap``, ``snapshot``, ``store``, ``compared``, ``read_only``;
    :meth:`verb`, :meth:`ask`, :meth:`spawn`, :meth:`tell`, :meth:`open_view`, :meth:`open_log`, :meth:`back`.
    """

    def __init__(
        self,
        control: Control,
        *,
        read_only: bool = False,
        preferences: Preferences | None = None,
        keymap: Keymap | None = None,
        state: UiState | None = None,
        clock: Clock | None = None,
        save: Callable[[UiState], object] = lambda state: None,
        watch: Callable[[Store], Coroutine[Any, Any, None]] | None = None,
        hand_over: Callable[[], None] = lambda: None,
        guard: StderrGuard | None = None,
    ) -> None:
        self.preferences = preferences or Preferences()
        super().__init__(guard, clipboard=self.preferences.clipboard)
        self.control = control
        self.read_only = read_only
        self.keymap = keymap or Keymap({})
        self.clock = clock or SystemClock()
        self.activity = ActivityLog()
        self.compared: list[str] = []
        self.state = state or UiState()
        self.bandwidth = self.state.bandwidth
        self.drawing = appearance.first_drawing(self.preferences, self.state)
        self.theme_before_mono: str = self.preferences.theme
        self.mouse_on = self.preferences.mouse
        self.interrupted_at = float("-inf")
        self.link = LinkMeter()
        self.store = Store(control, self._on_change, self.clock)
        self.store.slow = self.drawing.slow
        self.home = HomeView()
        self._save = save
        self._watch = watch
        self._hand_over = hand_over
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ahead = TypeAhead(self._take_key, self.call_next)
        self._saving: asyncio.Task[None] | None = None
        self._told_away = False

    @property
    def snapshot(self) -> Snapshot:
        return self.store.snapshot

    @property
    def view(self) -> View | None:
        """The topmost screen that is no dialog."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, View)), None)

    @property
    def rest(self) -> Rest:
        """How the backend is called over REST."""
        backend = self.snapshot.backend
        return Rest(backend.url if backend is not None else "", self.control.root)

    @property
    def depth(self) -> int:
        """How many views lie on one another."""
        return sum(isinstance(screen, View) for screen in self.screen_stack)

    @property
    def targets(self) -> list[RunReport]:
        """The runs that an action is about now: the marked ones, else the one under the cursor."""
        return self.view.targets if self.view is not None else []

    async def on_mount(self) -> None:
        for look in THEMES.values():
            self.register_theme(look.textual)
        self.theme = self.drawing.theme
        if not self.mouse_on and self.terminal is not None:
            self.terminal.set_mouse(False)
        if self.preferences.images in get_args(Asked):
            self.ask_for_images(cast(Asked, self.preferences.images))
        await self.begin()

    async def begin(self) -> None:
        """Show the first screen, and begin to look."""
        await self.push_screen(self.home)
        restoring.restore_home(self, self.home)
        restoring.restore_views(self)
        self.store.start()
        if self._watch is not None:
            self.spawn(self._watch(self.store))

    async def on_event(self, event: events.Event) -> None:
        """A key goes to the screen on top, and nowhere else; the next one when it is carried out."""
        if isinstance(event, events.Key):
            self.app_focus = True
            await self._ahead.typed(event)
        else:
            await super().on_event(event)

    async def on_unmount(self) -> None:
        await self.store.close()
        for task in self._tasks:
            task.cancel()

    def before_leaving(self, code: int) -> None:
        self._save(restoring.kept_state(self, self.home))

    def abandon(self, code: int) -> None:
        self._hand_over()
        super().abandon(code)

    def touched(self) -> None:
        """What is kept of the screen may have changed: on disk within SAVE_SEC."""
        if self._saving is None or self._saving.done():
            self._saving = self.spawn(self._save_soon())

    def select(self, run_id: str | None) -> None:
        """Let every pane tell of this run."""
        self.store.select(run_id)

    def show_run(self, run_id: str) -> bool:
        """Go home, to this run. False where a filter hides it."""
        self.go_home()
        self.home.activate("runs")
        return self.home.runs.go_to_id(run_id)

    def spawn(self, work: Coroutine[Any, Any, T], *, opens: bool = False) -> asyncio.Task[T]:
        """Run it beside the screen; an error in it is told. opens: a dialog or a view, or it shows something
        else: the keys that follow wait for that."""
        task = asyncio.get_running_loop().create_task(work)
        if opens:
            self._ahead.hold(task)
        self._tasks.add(task)
        task.add_done_callback(self._spawned)
        return task

    def verb(self, call: Callable[[Control], T], told: str) -> asyncio.Task[T | None]:
        """Ask the backend, in a thread. ``told``: what, in words. Who awaits it gets None on an error, which
        was told then."""
        return self.spawn(self._verb(call, told))

    async def attempt(self, call: Callable[[Control], T], told: str) -> T:
        """The same for who knows what to do with a ControlError: it is raised."""
        entry = self.activity.add(self.clock.now(), told)
        try:
            if self.read_only:
                raise ControlError("the screen was started with --read-only")
            answer = await asyncio.to_thread(call, self.control)
        except ControlError as error:
            entry.outcome, entry.failed = str(error), True
            raise
        entry.outcome = "done"
        self.store.refetch()
        return answer

    async def ask(self, dialog: Dialog[T]) -> T | None:
        """Show it until it is answered. From :meth:`spawn`, never from a key's handler itself.

        Keys wait until it is there, and once it is answered, until whoever asked has done what it does then.
        """
        asking = asyncio.current_task()
        answered: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

        def answer(value: T | None) -> None:
            self._ahead.hold(asking)
            answered.set_result(value)

        dialog.answer = answer
        self._ahead.hold(asking)
        await self.push_screen(dialog)
        if self.view is not None:
            self.view.footer.changed()
        self._ahead.release(asking)
        return await answered

    def tell(self, message: str, *, severity: SeverityLevel = "information") -> None:
        """A toast of any text."""
        self.notify(message, severity=severity)

    def open_view(self, name: str, target: str = "", **state: Any) -> None:
        """Put a view of :data:`tui.screens.VIEWS` on top."""
        self.spawn(_there(self.push_screen(load(VIEWS[name])(target=target, **state))), opens=True)
        self.touched()

    def open_log(self, run: str, episode: str) -> None:
        """The log of an episode (the name of its folder, or its index), at its first error."""
        self.open_view("log", f"{run}/{episode}", at_error=True)

    def back(self) -> None:
        """To the view before; home stays."""
        if self.depth > 1 and isinstance(self.screen, View):
            self.pop_screen()
            self.touched()

    def go_home(self) -> None:
        """Close every view that lies on home, and what lies on these."""
        while self.depth > 1:
            if isinstance(self.screen, Dialog):
                self.screen.dismiss(None)
            else:
                self.pop_screen()
        self.touched()

    def pop_screen(self) -> AwaitComplete:
        """Never the last view: nothing would be left to take keys."""
        if isinstance(self.screen, View) and self.depth == 1:
            return AwaitComplete()
        return super().pop_screen()

    async def do(self, action_id: str) -> bool:
        """What can be done wherever one is. Whether it was one of these."""
        if action_id in DOERS:
            self.spawn(load(DOERS[action_id])(self), opens=True)
            return True
        if action_id.startswith("global.pane_") and self.depth > 1:
            self.go_home()
            return await self.home.do(action_id)
        match action_id:
            case "global.previous_view":
                self.back()
            case "global.refetch":
                self.store.refetch()
            case "global.repaint":
                self.repaint()
            case "global.activity":
                if self.view is not None and self.view.view_name != "activity":
                    self.open_view("activity")
            case _:
                return False
        return True

    def try_filter(self, pane: Pane, typed: str) -> str:
        """Set a pane's filter; what is wrong with it, or nothing."""
        try:
            pane.set_filter(typed)
        except FilterError as error:
            return str(error)
        self.touched()
        return ""

    def offer_copies(self, copies: Copies) -> None:
        """The menu of ``y``."""
        if copies:
            self.spawn(_copy(self, copies), opens=True)
        else:
            self.tell("there is nothing to copy here")

    def save_copy(self, copies: Copies) -> None:
        """``Y``: what is under the cursor as JSON, else as text, into a file."""
        as_json = copies.get("copy.json")
        make = as_json or copies.get("copy.row")
        if make is None:
            self.tell("there is nothing to save here")
            return
        saved = self.clipboard_out.save(make(), ".json" if as_json else ".txt")
        self.tell(str(saved), severity="error" if saved.how == "none" else "information")

    async def _take_key(self, event: events.Key) -> None:
        if isinstance(self.screen, View | Dialog):
            await self.screen.take_key(event)

    async def _verb(self, call: Callable[[Control], T], told: str) -> T | None:
        try:
            return await self.attempt(call, told)
        except ControlError as error:
            self.tell(f"{told}: {error}", severity="error")
            return None

    async def _save_soon(self) -> None:
        await self.clock.sleep(SAVE_SEC)
        self._save(restoring.kept_state(self, self.home))

    def _spawned(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.error(error)
            self.tell(f"that failed: {type(error).__name__}: {error}", severity="error")

    def _on_change(self, snapshot: Snapshot) -> None:
        appearance.mind_link(self)
        if (view := self.view) is not None and view.is_mounted:
            view.show(snapshot)
        if not self._told_away and snapshot.listed and snapshot.backend is not None:
            self._told_away = True
            restoring.tell_away(self, snapshot)


async def _there(mounted: Awaitable[object]) -> None:
    await mounted


async def _copy(centre: ControlCentre, copies: Copies) -> None:
    from tui.finding import copy_items
    from tui.widgets.menu import Menu

    items = copy_items(centre, list(copies))
    chosen = await centre.ask(Menu("copy", lambda typed: items))
    if chosen is not None:
        centre.copy_to_clipboard(copies[chosen.id]())
