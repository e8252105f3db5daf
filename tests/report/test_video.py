from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import av
import numpy
import pytest
from PIL import Image, ImageSequence

from engine.report import drawing, video
from engine.report.drawing import LARGEST, LEAST, Losses, drawn
from engine.report.frames import Frame
from tests.cli.conftest import Shell
from tests.fakes.finished_runs import fake_line, fake_row, make_run
from tests.report.filmed import colour, filmed_run

STEPS = 5
LONG = 10_000
EPISODE = ("export", "last", "--episode", "0", "--format")


def read_mp4(path: Path) -> tuple[list[numpy.ndarray], float]:
    """Its frames, H×W×3 uint8, and their rate."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert stream.average_rate is not None
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)], float(
            stream.average_rate
        )


def read_gif(path: Path) -> tuple[list[numpy.ndarray], list[int]]:
    """Its frames, and how many ms each is shown."""
    with Image.open(path) as image:
        frames = [frame.copy() for frame in ImageSequence.Iterator(image)]
        assert image.info["loop"] == 0
        return [numpy.asarray(frame.convert("RGB")) for frame in frames], [
            frame.info["duration"] for frame in frames
        ]


def is_near(pixel: numpy.ndarray, wanted: tuple[int, int, int], within: int) -> bool:
    return bool(numpy.abs(pixel.astype(int) - wanted).max() <= within)


def test_an_mp4_shows_the_environments_frames_in_order(shell: Shell, root: Path, tmp_path: Path) -> None:
    filmed_run(root)
    target = tmp_path / "a.mp4"
    said = shell(*EPISODE, "mp4", "--fps", "7.5", "-o", str(target))
    assert (said.code, said.out) == (0, "")
    assert f"frames: reset/step.rgb ({STEPS + 1}); others: agent.views.0 (5), agent.views.1 (5)" in said.err
    frames, rate = read_mp4(target)
    assert rate == 7.5
    assert len(frames) == STEPS + 1
    assert is_near(frames[0][20, 20], (0, 0, 0), 12)
    assert all(is_near(frames[step + 1][20, 20], colour(step), 12) for step in range(STEPS))


def test_a_gif_shows_them_too_for_as_long(shell: Shell, root: Path, tmp_path: Path) -> None:
    filmed_run(root)
    target = tmp_path / "a.gif"
    assert shell(*EPISODE, "gif", "--fps", "12", "-o", str(target)).code == 0
    frames, durations = read_gif(target)
    assert len(frames) == STEPS + 1
    assert all(is_near(frames[step + 1][20, 20], colour(step), 4) for step in range(STEPS))
    assert sum(durations) == 500
    assert set(durations) <= {80, 90}


@pytest.mark.parametrize("form", ["mp4", "gif"])
@pytest.mark.parametrize("size", [(33, 21), (1, 1), (401, 333), (640, 480)])
def test_any_size_is_taken_and_small_ones_are_enlarged(
    shell: Shell, root: Path, tmp_path: Path, form: str, size: tuple[int, int]
) -> None:
    filmed_run(root, steps={0: 2}, size=size)
    target = tmp_path / "a"
    words = (*EPISODE, form, "--no-caption", "-o", str(target))
    assert shell(*words).code == 0
    frames, _ = read_mp4(target) if form == "mp4" else read_gif(target)
    factor = max(1, LEAST // max(size))
    height, width = (side * factor + side * factor % 2 for side in (size[1], size[0]))
    assert [frame.shape for frame in frames] == [(height, width, 3)] * 3


def test_a_caption_stands_below_the_image(shell: Shell, root: Path, tmp_path: Path) -> None:
    filmed_run(root, rows=[fake_row(0, instruction="<go>\x1b[31m \u202eto the long hall " * 40)])
    sizes = []
    for name, words in (("with.gif", ()), ("without.gif", ("--no-caption",))):
        target = tmp_path / name
        assert shell(*EPISODE, "gif", "-o", str(target), *words).code == 0
        sizes.append(read_gif(target)[0][1])
    captioned, bare = sizes
    assert captioned.shape[0] > bare.shape[0]
    below = captioned[bare.shape[0] :]
    assert len(numpy.unique(below.reshape(-1, 3), axis=0)) > 2, "nothing is written there"
    assert numpy.array_equal(captioned[: bare.shape[0] - 2], bare[: bare.shape[0] - 2])


def test_the_stream_can_be_chosen(shell: Shell, root: Path, tmp_path: Path) -> None:
    filmed_run(root)
    words = (
        *EPISODE,
        "gif",
        "--no-caption",
        "-o",
        str(tmp_path / "a.gif"),
    )
    assert shell(*words, "--node", "agent", "--port", "views.1").code == 0
    frames, _ = read_gif(tmp_path / "a.gif")
    assert len(frames) == STEPS
    assert is_near(frames[0][5, 5], (255, 255, 0), 4)
    said = shell(*words, "--force", "--port", "depth")
    assert said.code == 2
    assert "has no images 'depth'; it has reset/step.rgb (6)" in said.err


def test_nothing_is_replaced_unless_it_is_asked_for(shell: Shell, root: Path, tmp_path: Path) -> None:
    filmed_run(root)
    target = tmp_path / "a.gif"
    target.write_text("mine")
    words = (*EPISODE, "gif", "-o", str(target))
    said = shell(*words)
    assert said.code == 2
    assert f"{target} is there already; --force replaces it" in said.err
    assert target.read_text() == "mine"
    assert shell(*words, "--force").code == 0
    assert len(read_gif(target)[0]) == STEPS + 1


def test_on_a_terminal_a_video_has_a_name_of_its_own(
    shell: Shell, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = filmed_run(root)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert shell(*EPISODE, "gif").code == 0
    assert (tmp_path / f"{run.run_id}_ep0000.gif").is_file()
    said = shell(*EPISODE, "gif", "-o", "-")
    assert said.code == 2
    assert "a terminal shows no gif: name a file" in said.err


@pytest.mark.parametrize("form", ["mp4", "gif"])
def test_a_video_goes_to_a_pipe_where_that_is_asked_for(root: Path, tmp_path: Path, form: str) -> None:
    filmed_run(root)
    words = [sys.executable, "-m", "engine.main", "--root", str(root), *EPISODE, form]
    piped = subprocess.run(
        [*words, "-o", "-"], capture_output=True, timeout=120, cwd=Path(__file__).parents[2]
    )
    assert piped.returncode == 0, piped.stderr
    assert b"written" not in piped.stderr
    target = tmp_path / "a"
    target.write_bytes(piped.stdout)
    frames, _ = read_mp4(target) if form == "mp4" else read_gif(target)
    assert len(frames) == STEPS + 1


def test_a_script_gets_the_file_that_a_terminal_gets_and_its_name(
    shell: Shell, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = filmed_run(root)
    monkeypatch.chdir(tmp_path)
    target = tmp_path / f"{run.run_id}_ep0000.gif"
    said = shell(*EPISODE, "gif")
    assert (said.code, said.out) == (0, "")
    assert f"written: {target}" in said.err
    assert len(read_gif(target)[0]) == STEPS + 1
    assert "--force replaces it" in shell(*EPISODE, "gif").err
    for form in ("json", "csv", "html"):
        said = shell(*EPISODE, form, "-o", "-")
        assert said.out == shell(*EPISODE, form).out != ""
    assert not (tmp_path / "-").exists()


def test_an_episode_without_frames_is_told_and_leaves_nothing(
    shell: Shell, root: Path, tmp_path: Path
) -> None:
    run = make_run(root, logs={0: [fake_line(0, "reset")]})
    said = shell(*EPISODE, "gif", "-o", str(tmp_path / "a.gif"))
    assert said.code == 2
    assert f"episode 0 of {run.run_id} has no frames: no node of its log gave an image" in said.err
    assert not list(tmp_path.glob("*a.gif*"))


@pytest.mark.parametrize("form", ["mp4", "gif"])
def test_frames_that_cannot_be_read_are_left_out_and_counted(
    shell: Shell, root: Path, tmp_path: Path, form: str
) -> None:
    assets = filmed_run(root).episodes / "ep0000" / "assets"
    (assets / "f1.png").write_bytes((assets / "f1.png").read_bytes()[:60])
    (assets / "f3.png").unlink()
    target = tmp_path / "a"
    words = (*EPISODE, form, "-o", str(target))
    said = shell(*words)
    assert said.code == 0
    assert f"2 of the frames could not be read: {assets / 'f1.png'} cannot be read" in said.err
    frames, _ = read_mp4(target) if form == "mp4" else read_gif(target)
    assert len(frames) == STEPS - 1
    for path in assets.iterdir():
        path.write_bytes(b"GIF89a")
    said = shell(*words, "--force")
    assert said.code == 1
    assert "no frame of" in said.err
    assert not list(tmp_path.glob("*.tmp"))


def test_without_pyav_the_line_that_installs_it_is_named(
    shell: Shell, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filmed_run(root)
    monkeypatch.setattr(video, "find_spec", lambda name: None)
    said = shell(*EPISODE, "mp4", "-o", str(tmp_path / "a.mp4"))
    assert said.code == 1
    assert said.err == "error: mp4 is written by PyAV, which is not here: pip install 'evaltower[video]'\n"
    assert not (tmp_path / "a.mp4").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--format", "mp4"), "a video is of one episode: --episode I --format mp4"),
        (("--format", "csv", "--fps", "5"), "are for --format mp4 and gif"),
        (("--episode", "0", "--format", "gif", "--fps", "0"), "'--fps'"),
        (("--episode", "0", "--format", "gif", "-o", ""), "'-o': is empty: give it a value, or leave it out"),
    ],
)
def test_words_that_do_not_fit_together(shell: Shell, root: Path, words: tuple[str, ...], told: str) -> None:
    filmed_run(root)
    said = shell("export", "last", *words)
    assert said.code == 2
    assert told in said.err


def test_a_gif_is_not_faster_than_browsers_show_it(shell: Shell, root: Path, tmp_path: Path) -> None:
    filmed_run(root)
    words = ("--episode", "0", "--format", "gif", "--fps", "60", "-o", str(tmp_path / "a.gif"))
    said = shell("export", "last", *words)
    assert said.code == 1
    assert "a gif shows at most 50 frames a second, not 60" in said.err


@pytest.mark.parametrize("form", ["mp4", "gif"])
def test_frames_of_several_sizes_are_fitted_into_the_first(
    shell: Shell, root: Path, tmp_path: Path, form: str
) -> None:
    assets = filmed_run(root, size=(64, 48)).episodes / "ep0000" / "assets"
    for step, size in enumerate([(48, 64), (1, 1), (1280, 80), (97, 31)]):
        Image.new("RGB", size, (255, 0, 0)).save(assets / f"f{step}.png")
    Image.new("L", (64, 48), 200).save(assets / "f4.png")
    target = tmp_path / "a"
    assert shell(*EPISODE, form, "--no-caption", "-o", str(target)).code == 0
    frames, _ = read_mp4(target) if form == "mp4" else read_gif(target)
    assert [frame.shape for frame in frames] == [(240, 320, 3)] * (STEPS + 1)
    assert all(is_near(frame[119, 160], (255, 0, 0), 24) for frame in frames[1:5])
    assert is_near(frames[1][120, 10], (17, 22, 29), 24), "nothing is stretched"


@pytest.mark.parametrize("form", ["mp4", "gif"])
@pytest.mark.parametrize("size", [(6001, 4), (3, 5001), (4097, 70)])
def test_very_large_frames_are_made_smaller(
    shell: Shell, root: Path, tmp_path: Path, form: str, size: tuple[int, int]
) -> None:
    filmed_run(root, steps={0: 1}, size=size)
    target = tmp_path / "a"
    assert shell(*EPISODE, form, "--no-caption", "-o", str(target)).code == 0
    frames, _ = read_mp4(target) if form == "mp4" else read_gif(target)
    assert len(frames) == 2
    assert max(frames[0].shape) == LARGEST
    assert all(side % 2 == 0 for side in frames[0].shape[:2])


@pytest.mark.parametrize("form", ["mp4", "gif"])
def test_a_single_frame_is_a_video(shell: Shell, root: Path, tmp_path: Path, form: str) -> None:
    filmed_run(root, steps={0: 0})
    target = tmp_path / "a"
    assert shell(*EPISODE, form, "-o", str(target)).code == 0
    frames, _ = read_mp4(target) if form == "mp4" else read_gif(target)
    assert len(frames) == 1


@pytest.mark.slow
@pytest.mark.parametrize("form", ["mp4", "gif"])
def test_of_very_many_frames_few_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: video.VideoFormat
) -> None:
    monkeypatch.setattr(drawing, "LEAST", 32)  # as small as they are
    path = tmp_path / "one.png"
    Image.new("RGB", (32, 24), (9, 9, 9)).save(path)
    held = most = 0

    def gone() -> None:
        nonlocal held
        held -= 1

    def counted() -> Iterator[Image.Image]:
        nonlocal held, most
        frames = (Frame(step, path, "forward", 1.0) for step in range(LONG))
        for image in drawn(frames, "go", Losses(), captioned=False):
            weakref.finalize(image, gone)
            held += 1
            most = max(most, held)
            yield image

    with (tmp_path / "a").open("w+b") as file:
        assert video.write_video(file, counted(), form, 50.0) == LONG
    assert most < 10
    if form == "mp4":
        with av.open(str(tmp_path / "a")) as container:
            assert container.streams.video[0].frames == LONG


@pytest.mark.parametrize("form", ["mp4", "gif"])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("there", [False, True])
def test_an_encoder_that_fails_leaves_what_was_there(
    shell: Shell,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: video.VideoFormat,
    before: int,
    there: bool,
) -> None:
    filmed_run(root)
    written = video.write_video

    def failing(file: BinaryIO, frames: Iterator[Image.Image], *more: Any) -> int:
        def some() -> Iterator[Image.Image]:
            for count, frame in enumerate(frames):
                if count == before:
                    raise av.error.ExternalError(1, "Generic error in an external library")
                yield frame

        try:
            return written(file, some(), *more)
        except av.FFmpegError as error:  # of Pillow's it is an OSError
            raise OSError(28, "No space left on device") from error

    monkeypatch.setattr("engine.report.filming.write_video", failing)
    folder = tmp_path / "films"
    folder.mkdir()
    target = folder / f"a.{form}"
    if there:
        target.write_bytes(b"mine")
    said = shell(*EPISODE, form, "-o", str(target), "--force")
    assert said.code == 1
    assert said.err.count("error:") == 1
    told = "the mp4 cannot be written: " if form == "mp4" else f"No space left on device: '{target}'"
    assert told in said.err
    assert [path.name for path in folder.iterdir()] == [target.name] * there
    assert not there or target.read_bytes() == b"mine"
    piped = shell(*EPISODE, form, "-o", "-")
    assert (piped.code, piped.out) == (1, "")


@pytest.mark.parametrize(
    ("form", "name"), [("mp4", "a.gif"), ("gif", "a.MP4"), ("csv", "a.json"), ("html", "a.mp4")]
)
def test_a_name_of_another_format_is_refused_with_both(
    shell: Shell, root: Path, tmp_path: Path, form: str, name: str
) -> None:
    filmed_run(root)
    target = tmp_path / name
    target.write_bytes(b"before")
    said = shell(*EPISODE, form, "-o", str(target), "--force")
    assert said.code == 2
    named = target.suffix[1:].lower()
    assert f"{name} is the name of a {named} file, and {form} is to be written" in said.err
    assert target.read_bytes() == b"before"
    said = shell("report", "last", "-o", str(tmp_path / "a.csv"))
    assert "a.csv is the name of a csv file, and html is to be written" in said.err
    assert shell(*EPISODE, "csv", "-o", str(tmp_path / "a.txt")).code == 0
