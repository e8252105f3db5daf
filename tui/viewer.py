"""``evaltower view PATH``: the log browser alone, on an episode from wherever it came."""

from __future__ import annotations

from engine.control.protocol import Control
from engine.control.reports import ControlError
from engine.control.root import find_root
from engine.store.preferences import Preferences
from engine.store.settings import SettingsError, read_settings
from tui.app import ControlCentre
from tui.clock import Clock
from tui.episode.places import Place
from tui.episode.session import EVERY_SEC
from tui.keymap import Keymap, KeymapError, make_keymap
from tui.screens.log import LogScreen
from tui.state_file import state_folder
from tui.stderr_guard import StderrGuard
from tui.terminal_app import run_screen


class Viewer(ControlCentre):
    """A control centre whose one view is an episode's log. ``control`` is asked for nothing.

    every: seconds between two looks at whether there is more.
    """

    def __init__(
        self,
        place: Place,
        control: Control,
        *,
        preferences: Preferences | None = None,
        keymap: Keymap | None = None,
        clock: Clock | None = None,
        guard: StderrGuard | None = None,
    ) -> None:
        super().__init__(
            control, read_only=True, preferences=preferences, keymap=keymap, clock=clock, guard=guard
        )
        self._place = place
        self.every = EVERY_SEC

    async def begin(self) -> None:
        await self.push_screen(LogScreen(self._place.path, at_error=True, every=self.every))
        self.spawn(self._keep_time())

    def before_leaving(self, code: int) -> None:
        """Nothing is kept of it."""

    async def _keep_time(self) -> None:
        """The header's clock goes on, also while nothing is written."""
        while True:
            await self.clock.sleep(60 - self.clock.now().second)
            if self.view is not None:
                self.view.bars_changed()


def open_viewer(place: Place, control: Control) -> int:
    """Show it until it is left; the exit code. Looks and keys are those of the root around, if there is one.

    Raises ControlError for settings that cannot be used.
    """
    try:
        settings = read_settings(find_root(None))
        preferences, keymap = settings.ui, make_keymap(settings.keys)
    except (SettingsError, KeymapError) as error:
        raise ControlError(str(error)) from None

    def make(guard: StderrGuard) -> Viewer:
        return Viewer(place, control, preferences=preferences, keymap=keymap, guard=guard)

    return run_screen(make, state_folder() / "view.log")
