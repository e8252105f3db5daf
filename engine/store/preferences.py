"""``[ui]`` of evaltower.toml: how the screen looks and behaves."""

from __future__ import annotations

from typing import Literal

import msgspec

Choice = Literal["auto", "on", "off"]
ClipboardMode = Literal["auto", "osc52", "tmux", "off"]
Theme = Literal["tower-dark", "tower-light", "colour-blind", "mono-dark", "mono-light"]


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """ascii: no glyph outside ASCII. low_bandwidth: ``auto`` is over SSH, or when the terminal is slow.
    clipboard: see :class:`tui.clipboard.Clipboard`. mouse: the screen gets it, so the terminal selects only
    with shift. images: how the log shows them; ``blocks``: half-blocks; ``auto``, ``kitty``, ``sixel``: in
    pixels where the terminal says that it can, else half-blocks.
    """

    theme: Theme = "tower-dark"
    ascii: Choice = "auto"
    low_bandwidth: Choice = "auto"
    clipboard: ClipboardMode = "auto"
    mouse: bool = True
    images: Literal["blocks", "ascii", "off", "auto", "kitty", "sixel"] = "blocks"
