"""What lies over a screen until it is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from textual import events
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from tui.app import ControlCentre

T = TypeVar("T")


class Dialog(ModalScreen[T | None], inherit_bindings=False):
    """Opened by ``await app.ask(dialog)``, which gives what :meth:`dismiss` was told; None: it was left."""

    AUTO_FOCUS = ""

    @property
    def centre(self) -> ControlCentre:
        return cast("ControlCentre", self.app)

    async def key(self, event: events.Key) -> None:
        """Overridden for the keys that this dialog takes."""

    async def on_key(self, event: events.Key) -> None:
        """Leaving is possible from everywhere; what was typed after the answer is for what lies below."""
        event.stop()
        if self.app.screen is not self:
            self.app.screen.post_message(events.Key(event.key, event.character))
        elif event.key == "ctrl+c":
            self.centre.spawn(self.centre.do("global.interrupt"))
        else:
            await self.key(event)
