"""AgentCanvas's values in JSON: an array is ``{"__ndarray__": base64, dtype, shape}``, an image a PNG.

Runs under foreign interpreters (Python 3.8+). Images need Pillow, and only they.
"""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

_ARRAY = "__ndarray__"


def serialize_value(value: Any, wire_type: str) -> Any:
    """``value`` as JSON can hold it; an (H, W, 3) uint8 array of type ``IMAGE`` as a PNG in base64."""
    if wire_type == "IMAGE" and isinstance(value, np.ndarray):
        return image_to_base64(value)
    return _plain(value)


def deserialize_value(value: Any, wire_type: str) -> Any:
    """The value that :func:`serialize_value` made. ValueError where it is damaged."""
    if wire_type == "IMAGE" and isinstance(value, str):
        return base64_to_image(value)
    return _restored(value)


def image_to_base64(image: np.ndarray) -> str:
    """A PNG of an (H, W, 3) image, in base64."""
    return png_to_base64(image.astype(np.uint8))


def png_to_base64(pixels: np.ndarray) -> str:
    """A PNG of (H, W, 3) uint8, or (H, W) of 8 or 16 bits, in base64."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    return base64.b64encode(stream.getvalue()).decode("ascii")


def base64_to_image(text: str) -> np.ndarray:
    """The (H, W, 3) uint8 RGB image in base64. ValueError where it is none."""
    from PIL import Image

    try:
        return np.array(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB"), dtype=np.uint8)
    except OSError as error:
        raise ValueError(f"not an image in base64: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("an array of Python objects cannot be sent; send numbers, or a list")
        data = base64.b64encode(value.tobytes()).decode("ascii")
        return {_ARRAY: data, "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _ARRAY not in value:
        return {key: _restored(item) for key, item in value.items()}
    try:
        dtype = np.dtype(value["dtype"])
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        return np.frombuffer(base64.b64decode(value[_ARRAY]), dtype).reshape(value["shape"]).copy()
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"a damaged {_ARRAY}: {error}") from None
