from __future__ import annotations

import io

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from rich.cells import cell_len

from tui.half_blocks import ImageError, ascii_blocks, decode_image, fit, half_blocks

RED, BLUE = (255, 0, 0), (0, 0, 255)


def _png(image: numpy.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG")
    return out.getvalue()


def test_a_cell_is_two_pixels_the_upper_one_in_front() -> None:
    image = numpy.array([[RED, RED, BLUE], [BLUE, BLUE, BLUE]], dtype=numpy.uint8)
    ((first, second),) = half_blocks(image, 3, 1)
    assert (first.text, second.text) == ("▀▀", "▀")
    assert first.style is not None
    assert first.style.color is not None
    assert first.style.bgcolor is not None
    assert (first.style.color.triplet, first.style.bgcolor.triplet) == (RED, BLUE)


@given(*(st.integers(1, 300),) * 2, *(st.integers(1, 60),) * 2)
def test_it_fits_and_keeps_its_shape(width: int, height: int, columns: int, rows: int) -> None:
    across, down = fit(width, height, columns, rows)
    assert 1 <= across <= columns
    assert 1 <= down <= rows
    assert across == columns or down == rows or across + 1 > columns or down + 1 > rows


def test_every_row_is_as_wide_as_it_should_be() -> None:
    image = numpy.random.default_rng(1).integers(0, 256, (48, 64, 3), dtype=numpy.uint8)
    lines = half_blocks(image, 20, 20)
    assert len(lines) == fit(64, 48, 20, 20)[1]
    assert {sum(cell_len(segment.text) for segment in line) for line in lines} == {20}
    assert {len(line) for line in ascii_blocks(image, 20, 20)} == {20}


def test_letters_go_from_dark_to_light() -> None:
    image = numpy.repeat(numpy.arange(0, 256, 8, dtype=numpy.uint8)[None, :, None], 3, axis=2).repeat(
        2, axis=0
    )
    (line,) = ascii_blocks(image, 32, 1)
    assert list(line) == sorted(line, key=" .:-=+*#%@".index)
    assert set(line) == set(" .:-=+*#%@")


def test_a_png_comes_back() -> None:
    image = numpy.arange(4 * 5 * 3, dtype=numpy.uint8).reshape(4, 5, 3)
    assert (decode_image(_png(image)) == image).all()


@given(st.binary(max_size=300), st.booleans())
def test_damaged_data_is_a_sentence(data: bytes, as_png: bool) -> None:
    with pytest.raises(ImageError):
        decode_image((b"\x89PNG\r\n\x1a\n" if as_png else b"") + data)


def test_an_image_too_large_is_not_decoded() -> None:
    out = io.BytesIO()
    Image.new("1", (8_500, 8_500)).save(out, "PNG")
    with pytest.raises(ImageError, match="too many"):
        decode_image(out.getvalue())
