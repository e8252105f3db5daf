"""Images of an episode's folder, which may be somebody else's: opened with limits, and made small."""

from __future__ import annotations

import io
from base64 import b64encode
from pathlib import Path

from PIL import Image

MAX_FILE_BYTES = 64 << 20
MAX_PIXELS = 64 << 20
THUMBNAIL = (200, 150)
"""Width and height within which an image of a page lies."""
_QUALITY = 72


class ImageError(Exception):
    """The image cannot be read; the message names the file and says why."""


def open_image(path: Path) -> Image.Image:
    """A PNG as RGB. Raises ImageError."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ImageError(f"{path} has more than {MAX_FILE_BYTES >> 20} MB")
        with Image.open(path, formats=("PNG",)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise ImageError(f"{path} has {image.width}×{image.height} pixels, which are too many")
            return image.convert("RGB")
    except ImageError:
        raise
    except FileNotFoundError:
        raise ImageError(f"{path} is not there") from None
    except Exception as error:  # Pillow's decoders raise whatever a damaged file provokes
        raise ImageError(f"{path} cannot be read: {error}") from None


def thumbnail(image: Image.Image) -> tuple[bytes, tuple[int, int]]:
    """The image as WebP, at most THUMBNAIL large, and its width and height; a small one keeps its size."""
    small = image.copy()
    small.thumbnail(THUMBNAIL, Image.Resampling.BOX)
    data = io.BytesIO()
    small.save(data, "WEBP", quality=_QUALITY, method=4)
    return data.getvalue(), small.size


def data_uri(webp: bytes) -> str:
    """The image in a page's own text."""
    return f"data:image/webp;base64,{b64encode(webp).decode()}"
