"""The film of an episode: which of its images, at which pace, from whichever run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from engine.control.look import read_log
from engine.control.reports import ControlError, NotFoundError
from engine.limits import FPS
from engine.report.content import find_episode
from engine.report.drawing import Losses, drawn
from engine.report.frames import Stream, choose, frames_of, streams_of
from engine.report.video import FASTEST, VideoFormat, check_format, write_video
from engine.store.rundir import RunDir

if TYPE_CHECKING:
    from engine.control.protocol import Control

USUAL_FPS = 10.0


@dataclass(frozen=True)
class Film:
    """What is to be written. others: further images that the episode has, by name. losses: frames that
    :meth:`write` could not read."""

    run: RunDir
    folder: Path
    form: VideoFormat
    stream: Stream
    node: str | None
    others: list[str]
    instruction: str
    fps: float
    captioned: bool
    losses: Losses = field(default_factory=Losses)

    @property
    def shown(self) -> str:
        """Which images it shows: ``reset/step.rgb (42)``."""
        return self.stream.name

    @property
    def file_name(self) -> str:
        return f"{self.run.run_id}_{self.folder.name}.{self.form}"

    def write(self, file: BinaryIO) -> None:
        """Write it to a file that can seek. ControlError where no frame can be read."""
        lines = read_log(self.run, self.folder, follow=False)
        frames = frames_of(lines, self.folder, self.stream, self.node)
        images = drawn(frames, self.instruction, self.losses, captioned=self.captioned)
        if not write_video(file, images, self.form, self.fps):
            raise ControlError(f"no frame of {self.folder} could be read: {self.losses.first}")


def film_of(
    control: Control,
    run: str,
    episode: str,
    form: VideoFormat,
    *,
    node: str | None = None,
    port: str | None = None,
    fps: float | None = None,
    captioned: bool = True,
) -> Film:
    """The film of an episode (an index or a folder's name). ``node``, ``port``: as of
    :func:`engine.report.frames.choose`. ControlError where its format cannot be written here, the pace is
    beyond it, or there are no such frames."""
    check_format(form)
    if fps is not None and not FPS.takes(fps):
        raise ControlError(f"fps is {fps:g}; it takes {FPS.described}")
    if fps is not None and fps > FASTEST[form]:
        raise ControlError(f"a {form} shows at most {FASTEST[form]:g} frames a second, not {fps:g}")
    found, folder = find_episode(control, run, episode)
    environment = control.show(found.run_id).summary.config.env_nodeset
    streams = streams_of(read_log(found, folder, follow=False), folder, environment)
    stream = choose(streams, node, port, f"episode {episode} of {found.run_id}")
    instruction = ""
    with suppress(NotFoundError):  # one that has not finished has no row
        instruction = control.episode(found.run_id, folder.name).episode.instruction
    others = [other.name for other in streams if other != stream and other.is_made]
    return Film(
        found, folder, form, stream, node, others, instruction, USUAL_FPS if fps is None else fps, captioned
    )
