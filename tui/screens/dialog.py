"""What lies over a screen until it is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from tui.app import ControlCentre

T = TypeVar("T")


class Dialog(ModalScreen[T | None], inherit_bindings=False):
    """Opened by ``await app.ask(dialog)``, which gives what :meth:`dismiss` was told; None: it was left.

    answer: told that, before the next key is taken. takes: keys and what they do, for the footer.
    """

    AUTO_FOCUS = ""
    takes: Sequence[tuple[str, str]] = ()
    answer: Callable[[T | None], None] = staticmethod(lambda value: None)

    @property
    def centre(self) -> ControlCentre:
        return cast("ControlCentre", self.app)

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Answer, once. Textual's own closes whatever is on top: unless that is this dialog, nothing is."""
        if not self.is_active:
            return AwaitComplete()
        self.answer(result)
        return super().dismiss(result)

    async def key(self, event: events.Key) -> None:
        """Overridden for the keys that this dialog takes."""

    async def take_key(self, event: events.Key) -> None:
        """Leaving is possible from everywhere."""
        if event.key == "ctrl+c":
            await self.centre.do("global.interrupt")
        else:
            await self.key(event)
