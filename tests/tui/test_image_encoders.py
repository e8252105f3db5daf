"""What is sent of an image, decoded as a terminal would."""

from __future__ import annotations

import base64
import io
import re

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tui.images.graphic import number_in
from tui.images.kitty import kitty_graphic
from tui.images.sixel import encode, sixel_graphic

COMMAND = re.compile(r"\x1b_G([^;\x1b]*)(?:;([A-Za-z0-9+/=]*))?\x1b\\")
SIXEL = re.compile(r'\x1bP0;1;0q"1;1;(\d+);(\d+)(.*)\x1b\\', re.DOTALL)


def noise(height: int, width: int, seed: int = 1) -> NDArray[numpy.uint8]:
    return numpy.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=numpy.uint8)


def commands(text: str) -> list[tuple[dict[str, str], str]]:
    """The keys and the payload of each; there is nothing else."""
    assert COMMAND.sub("", text) == ""
    pairs = [(keys.split(","), payload) for keys, payload in COMMAND.findall(text)]
    return [(dict(key.split("=") for key in keys), payload) for keys, payload in pairs]


def decode_sixel(text: str) -> NDArray[numpy.uint8]:
    """H×W×3; every pixel is set."""
    match = SIXEL.fullmatch(text)
    assert match
    width, height = int(match[1]), int(match[2])
    palette: dict[int, list[int]] = {}
    image = numpy.full((height, width, 3), -1, dtype=int)
    x = y = colour = 0
    for defined, parts, chosen, count, character, control in re.findall(
        r"#(\d+);2;([\d;]+)|#(\d+)|!(\d+)([?-~])|([?-~$-])", match[3]
    ):
        if defined:
            palette[int(defined)] = [round(int(part) * 255 / 100) for part in parts.split(";")]
        elif chosen:
            colour = int(chosen)
        elif control == "$":
            x = 0
        elif control == "-":
            x, y = 0, y + 6
        else:
            bits, times = ord(character or control) - 63, int(count or 1)
            for line in range(6):
                if bits >> line & 1:
                    image[y + line, x : x + times] = palette[colour]
            x += times
    assert (image >= 0).all()
    return image.astype(numpy.uint8)


@pytest.mark.parametrize("shape", [(40, 60), (400, 300), (1, 1)])
def test_kitty_gets_the_image_as_it_is_where_its_cells_have_the_pixels(shape: tuple[int, int]) -> None:
    image = noise(*shape)
    graphic = kitty_graphic(image, 7, 40, 30, (10, 20))
    sent = commands("".join(graphic.data))
    assert sent[0][0] == {"a": "t", "i": "7", "f": "100", "q": "2", "m": str(int(len(sent) > 1))}
    assert [keys["m"] for keys, _ in sent] == ["1"] * (len(sent) - 1) + ["0"]
    assert all(keys["q"] == "2" and len(payload) <= 4096 for keys, payload in sent)
    assert all(len(payload) % 4 == 0 for _, payload in sent)
    png = base64.b64decode("".join(payload for _, payload in sent), validate=True)
    assert (numpy.asarray(Image.open(io.BytesIO(png))) == image).all()


def test_kitty_gets_no_more_pixels_than_its_cells_have() -> None:
    graphic = kitty_graphic(noise(900, 1200), 7, 20, 8, (10, 20))
    png = base64.b64decode("".join(payload for _, payload in commands("".join(graphic.data))))
    assert Image.open(io.BytesIO(png)).size == (200, 150)


def test_kitty_is_told_where_and_when_no_more() -> None:
    graphic = kitty_graphic(noise(4, 4), 7, 20, 8, None)
    ((row, band),) = graphic.bands
    assert row == 0
    assert commands(band) == [({"a": "p", "i": "7", "p": "1", "c": "20", "r": "8", "C": "1", "q": "2"}, "")]
    assert commands(graphic.erase)[0][0] == {"a": "d", "d": "i", "i": "7", "q": "2"}
    assert commands(graphic.free)[0][0] == {"a": "d", "d": "I", "i": "7", "q": "2"}
    assert commands(graphic.abort)[0][0]["m"] == "0"


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 40), st.integers(1, 256), st.integers(0, 2**32))
def test_sixel_comes_back(bands: int, width: int, colours: int, seed: int) -> None:
    random = numpy.random.default_rng(seed)
    palette = random.integers(0, 101, (colours, 3)) * 255 // 100
    pixels = random.integers(0, colours, (6 * bands, width), dtype=numpy.uint8)
    back = decode_sixel(encode(pixels, palette.astype(numpy.uint8)))
    assert numpy.abs(back.astype(int) - palette[pixels]).max() <= 2


@pytest.mark.parametrize("cell", [(7, 13), (8, 16), (9, 19), (10, 20)])
def test_the_bands_of_sixel_are_the_image_without_gaps(cell: tuple[int, int]) -> None:
    red, blue = (200, 0, 0), (0, 0, 200)
    image = numpy.array([[red, blue], [blue, red]], dtype=numpy.uint8)
    graphic = sixel_graphic(image, 1, 12, 20, cell)
    step = {13: 6, 16: 3, 19: 6, 20: 3}[cell[1]]
    assert [row for row, _ in graphic.bands] == list(range(0, 20, step))
    parts = [decode_sixel(band) for _, band in graphic.bands]
    whole = numpy.concatenate(parts)
    assert [len(part) for part in parts[:-1]] == [step * cell[1]] * (len(parts) - 1)
    assert whole.shape[1] == 12 * cell[0]
    assert 20 * cell[1] - 6 < len(whole) <= 20 * cell[1]
    corners = [whole[0, 0], whole[0, -1], whole[-1, 0], whole[-1, -1]]
    for seen, meant in zip(corners, (red, blue, blue, red), strict=True):
        assert numpy.abs(seen.astype(int) - meant).max() <= 3


def test_a_photograph_s_colours_are_near() -> None:
    across, down = numpy.meshgrid(numpy.linspace(0, 255, 120), numpy.linspace(0, 255, 120))
    image = numpy.stack([across, down, 255 - across], axis=2).astype(numpy.uint8)
    graphic = sixel_graphic(image, 1, 12, 6, (10, 20))
    back = numpy.concatenate([decode_sixel(band) for _, band in graphic.bands])
    assert numpy.abs(back.astype(int) - image).mean() < 8


def test_its_cells_are_blank_and_know_whose_they_are() -> None:
    lines = kitty_graphic(noise(4, 4), 42, 5, 3, None).lines()
    assert [[segment.text for segment in line] for line in lines] == [[" " * 5]] * 3
    assert {number_in(segment.style) for line in lines for segment in line} == {42}
