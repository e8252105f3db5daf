"""Frames as they stand in a film: all of one size, small ones enlarged, with a caption below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from engine.figures import number
from engine.report.frames import Frame
from engine.report.images import ImageError, open_image
from engine.text import visible

LEAST = 320
"""Pixels of the longer side; smaller frames are enlarged by a whole factor, pixel by pixel."""
PAPER, INK, DIM = (17, 22, 29), (229, 234, 240), (150, 162, 176)
LONGEST_TOLD = 400
MOST = 8
"""Values of an action that are told."""
LARGEST = 4096
"""Pixels of the longer side; larger frames are made smaller, as players of H.264 want it."""
_MARGIN = 6
_BLANKS = re.compile(r"[ \t\r\n]+")


@dataclass
class Losses:
    """Frames that could not be read, and the first reason."""

    count: int = 0
    first: str = ""

    def add(self, error: ImageError) -> None:
        self.count += 1
        self.first = self.first or str(error)


def drawn(
    frames: Iterable[Frame], instruction: str, losses: Losses, *, captioned: bool = True
) -> Iterator[Image.Image]:
    """RGB images, even in width and height, of the size that the first one has. What cannot be read is left
    out, and counted in ``losses``."""
    canvas: _Canvas | None = None
    for frame in frames:
        try:
            image = open_image(frame.path)
        except ImageError as error:
            losses.add(error)
            continue
        if canvas is None:
            canvas = _Canvas(image.size, instruction, captioned)
        yield canvas.draw(image, caption_of(frame))


def caption_of(frame: Frame) -> str:
    """``step 12 · forward``, ``step 12 · action 2``, and the reward where there was one."""
    parts = [f"step {frame.step}"]
    if frame.action is not None:
        named = "" if isinstance(frame.action, str) else "action "
        parts.append(named + in_short(frame.action))
    if frame.reward is not None:
        parts.append(f"reward {number(frame.reward)}")
    return " · ".join(parts)


def in_short(value: Any, deep: int = 3) -> str:
    """An action: a name, an index, numbers with two decimals, or an array by what the log says of it."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list | dict) and not deep:
        return "…"
    if isinstance(value, list):
        return f"[{_row(in_short(item, deep - 1) for item in value[: MOST + 1])}]"
    if isinstance(value, dict):
        found = value.get("$array", value)
        if "$array" in value or "$asset" in value:
            return _array(found if isinstance(found, dict) else {})
        items = list(value.items())[: MOST + 1]
        return _row(f"{str(name)[:40]} {in_short(item, deep - 1)}" for name, item in items)
    return str(value)[:LONGEST_TOLD]


def _row(parts: Iterable[str]) -> str:
    told = list(parts)
    return ", ".join(told if len(told) <= MOST else [*told[:MOST], "…"])


def _array(facts: Mapping[str, Any]) -> str:
    """Its values where the log has them, else ``[6], -0.98 to 0.91``: shape, least and greatest."""
    shape = facts.get("shape")
    sizes = [size for size in shape if isinstance(size, int)] if isinstance(shape, list) else []
    told = f"[{'×'.join(map(str, sizes[:MOST]))}]"
    ends = [facts.get("min"), facts.get("max")]
    if not all(isinstance(end, int | float) for end in ends):
        return told
    whole = "int" in str(facts.get("dtype", ""))
    low, high = (f"{end:.0f}" if whole else f"{end:.2f}" for end in ends)
    if sizes in ([], [1]):
        return low
    if isinstance(values := facts.get("values"), list):
        return in_short(values)
    return f"{told}, all {low}" if low == high else f"{told}, {low} to {high}"


class _Canvas:
    def __init__(self, size: tuple[int, int], instruction: str, captioned: bool) -> None:
        factor = min(max(1, LEAST // max(size)), LARGEST / max(size))
        self._size = max(1, round(size[0] * factor)), max(1, round(size[1] * factor))
        points = max(11, min(22, self._size[0] // 26))
        self._font = ImageFont.load_default(points)
        line = round(points * 1.45) if captioned else 0
        self._line = line
        width, height = self._size[0], self._size[1] + (2 * line + _MARGIN if captioned else 0)
        blank = Image.new("RGB", (width + width % 2, height + height % 2), PAPER)  # H.264 halves the colours
        if captioned:
            self._write(blank, 0, instruction, INK)
        self._blank = blank

    def draw(self, image: Image.Image, caption: str) -> Image.Image:
        if image.size != self._size:
            image = self._fitted(image)
        whole = self._blank.copy()
        whole.paste(image, ((self._size[0] - image.width) // 2, (self._size[1] - image.height) // 2))
        if self._line:
            self._write(whole, 1, caption, DIM)
        return whole

    def _fitted(self, image: Image.Image) -> Image.Image:
        scale = min(self._size[0] / image.width, self._size[1] / image.height)
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        how = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
        return image.resize(size, how)

    def _write(self, whole: Image.Image, line: int, text: str, ink: tuple[int, int, int]) -> None:
        place = _MARGIN, self._size[1] + _MARGIN // 2 + line * self._line
        told = visible(_BLANKS.sub(" ", text[:LONGEST_TOLD]))
        ImageDraw.Draw(whole).text(place, self._cut(told), ink, self._font)

    def _cut(self, text: str) -> str:
        room = self._size[0] - 2 * _MARGIN
        if self._font.getlength(text) <= room:
            return text
        while text and self._font.getlength(f"{text}…") > room:
            text = text[:-1]
        return f"{text}…"
