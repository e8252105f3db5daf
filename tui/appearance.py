"""Theme, colours, bandwidth and mouse, while the screen is up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.store.preferences import Preferences
from tui.drawing import Drawing
from tui.state_file import UiState
from tui.theme import THEMES, prefers_ascii
from tui.widgets.menu import Item, Menu

if TYPE_CHECKING:
    from tui.app import ControlCentre


def first_drawing(
    preferences: Preferences, state: UiState, environ: Mapping[str, str] = os.environ
) -> Drawing:
    """As it was left, else as ``[ui]`` says, else as the terminal needs it."""
    theme = state.theme if state.theme in THEMES else preferences.theme
    theme = colourless(theme) if "NO_COLOR" in environ else theme
    ascii_only = prefers_ascii(environ) if preferences.ascii == "auto" else preferences.ascii == "on"
    wanted = state.bandwidth or preferences.low_bandwidth
    slow = bool(environ.get("SSH_CONNECTION")) if wanted == "auto" else wanted == "on"
    return Drawing(theme, ascii=ascii_only, slow=slow)


def colourless(theme: str) -> str:
    """The theme without colours that is as light or as dark."""
    look = THEMES[theme]
    if not look.outcomes:
        return theme
    return "mono-dark" if look.textual.dark else "mono-light"


def apply(centre: ControlCentre, drawing: Drawing) -> None:
    """Draw everything so from now on; without colours where NO_COLOR takes them away."""
    if centre.no_color:
        drawing = replace(drawing, theme=colourless(drawing.theme))
    centre.drawing = drawing
    centre.store.slow = drawing.slow
    centre.theme = drawing.theme
    centre.repaint()


async def choose_theme(centre: ControlCentre) -> None:
    """The one in use under the cursor."""
    now = centre.drawing.theme
    items = [Item(name, name, note="in use" if name == now else "") for name in THEMES]
    menu = Menu("theme", lambda typed: items)
    menu.list.move(list(THEMES).index(now))
    chosen = await centre.ask(menu)
    if chosen is not None:
        set_theme(centre, chosen.id)


def set_theme(centre: ControlCentre, name: str) -> None:
    if name in THEMES:
        apply(centre, replace(centre.drawing, theme=name))
    else:
        centre.tell(f"there is no theme {name!r}: there are {', '.join(THEMES)}", severity="warning")


async def toggle_mono(centre: ControlCentre) -> None:
    """Without colours, in the light or the dark; and back to the theme before."""
    drawing = centre.drawing
    if drawing.coloured:
        centre.theme_before_mono = drawing.theme
        apply(centre, replace(drawing, theme=colourless(drawing.theme)))
    else:
        apply(centre, replace(drawing, theme=centre.theme_before_mono))


async def toggle_bandwidth(centre: ControlCentre) -> None:
    slow = not centre.drawing.slow
    centre.bandwidth = "on" if slow else "off"
    apply(centre, replace(centre.drawing, slow=slow))
    told = "an update a second, and no images" if slow else "four updates a second"
    centre.tell(f"low bandwidth {'on' if slow else 'off'}: {told}")


def mind_link(centre: ControlCentre) -> None:
    """Send less to a terminal that cannot keep up, unless the operator has said how much."""
    writer = centre.terminal.writer if centre.terminal is not None else None
    if writer is None:
        return
    centre.link.look(centre.clock.monotonic(), writer.bytes_written, writer.frames_dropped)
    free = not centre.bandwidth and centre.preferences.low_bandwidth == "auto"
    if centre.link.lags and free and not centre.drawing.slow:
        apply(centre, replace(centre.drawing, slow=True))
        centre.tell("the terminal is slow: an update a second from now on; b sends more again")


async def toggle_mouse(centre: ControlCentre) -> None:
    centre.mouse_on = not centre.mouse_on
    if centre.terminal is not None:
        centre.terminal.set_mouse(centre.mouse_on)
    told = "on: shift and drag selects text" if centre.mouse_on else "off: the terminal selects text"
    centre.tell(f"mouse {told}")
