"""Frames as a film: H.264 in MP4 by PyAV, or GIF by Pillow. One is held at a time, however many come."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from importlib.util import find_spec
from typing import BinaryIO, Literal

from PIL import GifImagePlugin, Image

from engine.control.reports import ControlError
from engine.limits import FPS

VideoFormat = Literal["mp4", "gif"]
FASTEST: dict[VideoFormat, float] = {"mp4": FPS.high, "gif": 50.0}
"""Frames a second; a GIF counts in hundredths of a second, and browsers show none in less than two."""


def check_format(form: VideoFormat) -> None:
    """ControlError where the format's library is not installed."""
    if form == "mp4" and find_spec("av") is None:
        raise ControlError("mp4 is written by PyAV, which is not here: pip install 'evaltower[video]'")


def write_video(file: BinaryIO, frames: Iterable[Image.Image], form: VideoFormat, fps: float) -> int:
    """Write RGB images of one size, even in width and height, and give their number. ControlError where the
    encoder does not take them."""
    return (_write_mp4 if form == "mp4" else _write_gif)(file, frames, fps)


def _write_mp4(file: BinaryIO, frames: Iterable[Image.Image], fps: float) -> int:
    import av
    import numpy

    count = 0
    try:
        with av.open(file, "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
            stream.pix_fmt = "yuv420p"  # what every player plays
            stream.options = {"crf": "18", "preset": "veryfast"}
            for image in frames:
                if not count:
                    stream.width, stream.height = image.size
                container.mux(stream.encode(av.VideoFrame.from_ndarray(numpy.asarray(image), format="rgb24")))
                count += 1
            if count:
                container.mux(stream.encode(None))
    except av.FFmpegError as error:
        raise ControlError(f"the mp4 cannot be written: {error}") from error
    return count


def _write_gif(file: BinaryIO, frames: Iterable[Image.Image], fps: float) -> int:
    # Image.save(append_images=…) holds every frame until the last has come.
    count = shown = 0
    for image in frames:
        drawn = image.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        if not count:
            header, _ = GifImagePlugin.getheader(drawn.copy(), info={"loop": 0, "optimize": False})
            file.writelines(header)
        count += 1
        ends = round(100 * count / fps)  # hundredths since the first, so that no rounding adds up
        blocks = GifImagePlugin.getdata(drawn, duration=10 * (ends - shown), include_color_table=True)
        file.writelines(blocks)
        shown = ends
    file.write(b";")
    return count
