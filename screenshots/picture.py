"""A screen as a picture, drawn cell by cell with a font of this machine's."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.color import ColorType
from rich.style import Style
from textual.app import App
from textual.color import Color

CELL = (9, 18)
PAPER, INK = (17, 22, 29), (213, 220, 229)
FONT, BOLD = "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"

RGB = tuple[int, int, int]


def save_png(app: App[int], path: Path) -> bool:
    """Whether there is a font to draw with."""
    try:
        fonts = ImageFont.truetype(FONT, 15), ImageFont.truetype(BOLD, 15)
    except OSError:
        return False
    across, down = CELL
    size = app.size
    image = Image.new("RGB", (size.width * across, size.height * down), PAPER)
    draw = ImageDraw.Draw(image)
    paper = Color(*PAPER)
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        segments = list(strip)
        for line_filter in app.get_line_filters():
            segments = line_filter.apply(segments, paper)
        x = 0
        for text, style, _ in segments:
            if not text:
                continue
            ink, ground = _colours(style or Style())
            draw.rectangle(
                (x * across, y * down, (x + cell_len(text)) * across - 1, (y + 1) * down - 1), ground
            )
            for letter in text:
                draw.text((x * across, y * down), letter, ink, fonts[bool(style and style.bold)])
                x += cell_len(letter)
    image.quantize(128).save(path, optimize=True)
    return True


def _colours(style: Style) -> tuple[RGB, RGB]:
    ink, ground = _rgb(style.color, INK), _rgb(style.bgcolor, PAPER)
    if style.reverse:
        ink, ground = ground, ink
    if style.dim:
        ink = (ink[0] + ground[0]) // 2, (ink[1] + ground[1]) // 2, (ink[2] + ground[2]) // 2
    return ink, ground


def _rgb(colour: RichColor | None, default: RGB) -> RGB:
    if colour is None or colour.type == ColorType.DEFAULT:
        return default
    red, green, blue = colour.get_truecolor()
    return red, green, blue
