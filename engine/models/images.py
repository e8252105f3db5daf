"""Images as a chat model is sent them."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy
from PIL import Image

SHORTEST_BASE64 = 100
"""A text that is no longer is a name or a remark, not an image."""


def image_parts(
    images: Sequence[Any], labels: Sequence[str], detail: str, mime: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Content parts, each image after its label (by position; an empty one is left out), and what was passed
    over, in words.

    An image is an array (H,W,3), sent as PNG, or the base64 text of a file of type ``mime``. Blocks while it
    compresses.
    """
    parts: list[dict[str, Any]] = []
    passed_over: list[str] = []
    for index, image in enumerate(images):
        url = _data_url(image, mime)
        if url is None:
            passed_over.append(f"{index}: {_described(image)}")
            continue
        if index < len(labels) and labels[index]:
            parts.append({"type": "text", "text": labels[index]})
        parts.append({"type": "image_url", "image_url": {"url": url, "detail": detail}})
    return parts, passed_over


def _data_url(image: Any, mime: str) -> str | None:
    if isinstance(image, numpy.ndarray) and image.ndim == 3 and image.shape[2] == 3 and image.size:
        return f"data:image/png;base64,{base64.b64encode(_png(image)).decode()}"
    if isinstance(image, str) and len(image) > SHORTEST_BASE64:
        return f"data:{mime};base64,{image}"
    return None


def _png(image: numpy.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image.astype(numpy.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def _described(value: Any) -> str:
    if isinstance(value, numpy.ndarray):
        return f"an array of shape {value.shape}, not (H, W, 3)"
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    return type(value).__name__
