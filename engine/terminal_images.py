"""Whether a terminal draws images, by kitty's protocol or as sixel: what it is asked, and what it answers."""

from __future__ import annotations

import fcntl
import math
import os
import re
import select
import struct
import termios
import time
import tty
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Way = Literal["kitty", "sixel"]
Asked = Literal["auto", "kitty", "sixel"]

QUESTION = "\x1b_Gi=4207,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[c"
"""Can you draw this pixel, of how many pixels is a cell, what are you? Every terminal answers the last."""

ANSWER_SEC = 1.0

_ANSWER = re.compile(
    r"\x1b_G(?P<kitty>[^\x1b]*)\x1b\\"
    r"|\x1b\[6;(?P<height>\d+);(?P<width>\d+)t"
    r"|\x1b\[\?(?P<attributes>[\d;]+)c"
)
_BEGUN = re.compile(r"\x1b(?:_(?:G[^\x1b]*\x1b?)?|\[(?:6(?:;\d*){0,2}|\?[\d;]*)?)?\Z")
_SIXEL = "4"
_KEY_CHARACTERS = 2
"""What is begun and has no more than these may as well be a key."""


@dataclass(frozen=True)
class Ability:
    """kitty, sixel: it draws these. cell: width and height of one in pixels, where known. complete: it has
    answered all that it will."""

    kitty: bool = False
    sixel: bool = False
    cell: tuple[int, int] | None = None
    complete: bool = False


class Answers:
    """Takes the answers out of what is read from the terminal; what is left was typed."""

    def __init__(self) -> None:
        self.ability = Ability()
        self._held = ""

    def take(self, read: str) -> str:
        """What is left of it. An answer's beginning at its end is held until the rest is there."""
        left = _ANSWER.sub(self._note, self._held + read)
        begun = _BEGUN.search(left)
        self._held = begun[0] if begun else ""
        return left.removesuffix(self._held)

    def release(self) -> str:
        """Nothing follows what is held: what of it was a key."""
        if len(self._held) > _KEY_CHARACTERS:
            return ""
        held, self._held = self._held, ""
        return held

    def _note(self, answer: re.Match[str]) -> str:
        if answer["kitty"] is not None:
            self.ability = replace(self.ability, kitty=answer["kitty"].endswith(";OK"))
        elif answer["width"] is not None:
            width, height = int(answer["width"]), int(answer["height"])
            self.ability = replace(self.ability, cell=(width, height) if width and height else None)
        else:
            attributes = answer["attributes"].split(";")[1:]
            self.ability = replace(self.ability, sixel=_SIXEL in attributes, complete=True)
        return ""


def hidden_by(environ: Mapping[str, str] = os.environ) -> str:
    """Why the terminal cannot be asked here; nothing, if it can."""
    term = environ.get("TERM", "")
    if environ.get("TMUX") or term.startswith("tmux"):
        return "inside tmux, which hides what the terminal around it can draw"
    if environ.get("STY") or term.startswith("screen"):
        return "inside screen, which hides what the terminal around it can draw"
    return ""


def way_of(asked: Asked, ability: Ability) -> tuple[Way | None, str]:
    """How images are drawn, or why they are not."""
    if not ability.complete:
        return None, f"the terminal did not say within {ANSWER_SEC:g} s whether it draws images"
    if asked != "sixel" and ability.kitty:
        return "kitty", ""
    if asked == "kitty":
        return None, "the terminal does not know kitty's image protocol"
    if not ability.sixel:
        known = "does not know" if asked == "sixel" else "knows neither kitty's image protocol nor"
        return None, f"the terminal {known} sixel"
    if ability.cell is None:
        return None, "the terminal knows sixel, but does not say how many pixels a cell has"
    return "sixel", ""


def measured(ability: Ability, fd: int) -> Ability:
    """With the size of a cell as the kernel was told it, where the terminal does not tell it itself."""
    if ability.cell is not None:
        return ability
    try:
        rows, columns, width, height = struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        return ability
    if not (rows and columns and width >= columns and height >= rows):
        return ability
    return replace(ability, cell=(width // columns, height // rows))


def ask(fd: int, seconds: float = ANSWER_SEC) -> Ability:
    """Ask the terminal that ``fd`` reads from and writes to, for a program that shows no screen."""
    answers = Answers()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        os.write(fd, QUESTION.encode())
        ends = time.monotonic() + seconds
        heard = select.poll()  # select() takes no descriptor above 1023
        heard.register(fd, select.POLLIN)
        while not answers.ability.complete and (left := ends - time.monotonic()) > 0:
            if heard.poll(math.ceil(left * 1000)):
                answers.take(os.read(fd, 4096).decode("utf-8", "replace"))
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
    return measured(answers.ability, fd)
