"""What is told of an action below its frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from engine.execution.assets import Assets
from engine.execution.log_values import LogValues
from engine.report.drawing import LONGEST_TOLD, Losses, caption_of, drawn, in_short
from engine.report.frames import Frame, frames_of, streams_of
from tests.fakes.finished_runs import fake_line
from tests.report.filmed import image

ARRAY = {"shape": [6], "dtype": "float32", "min": -0.984, "max": 0.906, "mean": 0.1}


def array(**more: Any) -> dict[str, Any]:
    return {"$array": {**ARRAY, **more}}


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("forward", "step 1 · forward"),
        (2, "step 1 · action 2"),
        (0.5, "step 1 · action 0.50"),
        ([0.25, -1.0], "step 1 · action [0.25, -1.00]"),
        (list(range(20)), "step 1 · action [0, 1, 2, 3, 4, 5, 6, 7, …]"),
        (array(), "step 1 · action [6], -0.98 to 0.91"),
        (array(shape=[2, 3]), "step 1 · action [2×3], -0.98 to 0.91"),
        (array(min=0.0, max=0.0), "step 1 · action [6], all 0.00"),
        (array(shape=[4], values=[0.0, 1.0, 0.456, -0.98]), "step 1 · action [0.00, 1.00, 0.46, -0.98]"),
        (array(shape=[2, 2], values=[[0, 1], [2, 3]]), "step 1 · action [[0, 1], [2, 3]]"),
        ({"arm": array(values=[0.5, -1.0])}, "step 1 · action arm [0.50, -1.00]"),
        (array(shape=[1], min=0.5, max=0.5), "step 1 · action 0.50"),
        (array(shape=[], dtype="int64", min=3.0, max=3.0), "step 1 · action 3"),
        (array(dtype="uint8", min=0.0, max=7.0), "step 1 · action [6], 0 to 7"),
        (array(min=None, max=None), "step 1 · action [6]"),
        (array(shape="?"), "step 1 · action -0.98"),
        ({"$array": None}, "step 1 · action []"),
        ({"$asset": "assets/a.npz", "shape": [40], "dtype": "float32"}, "step 1 · action [40]"),
        ({"move": 1, "turn": 0.5}, "step 1 · action move 1, turn 0.50"),
        ({"arm": array(), "grip": [True]}, "step 1 · action arm [6], -0.98 to 0.91, grip [True]"),
    ],
)
def test_an_action_in_short(action: Any, told: str) -> None:
    assert caption_of(Frame(1, Path("x"), action)) == told


def test_a_reward_of_0_is_told_and_none_is_not() -> None:
    assert caption_of(Frame(1, Path("x"), 2, 0.0)) == "step 1 · action 2 · reward 0.000"
    assert caption_of(Frame(1, Path("x"), 2)) == "step 1 · action 2"


KEYS = st.sampled_from(["$array", "$asset", "shape", "min", "max"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | KEYS, inner),
    max_leaves=8,
)


@given(JSON)
def test_whatever_a_log_calls_an_action_has_a_caption(action: Any) -> None:
    assert len(in_short(action)) < 1000 * LONGEST_TOLD


def logged(folder: Path, action: Any) -> list[Frame]:
    lines = [fake_line(0, "step", inputs={"action": action}, outputs={"rgb": image("f0")})]
    return list(frames_of(lines, folder, streams_of(lines, folder, None)[0]))


def test_a_small_array_in_a_file_of_its_own_is_told_by_its_values(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    numpy.savez_compressed(tmp_path / "assets" / "a.npz", array=numpy.array([0.25, -1.5], "float32"))
    kept = {"$asset": "assets/a.npz", "shape": [2], "dtype": "float32"}
    [frame] = logged(tmp_path, kept)
    assert caption_of(frame) == "step 0 · action [0.25, -1.50]"


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (numpy.array([0.1, -0.75, 1.0, 0.0], "float32"), "step 0 · action [0.10, -0.75, 1.00, 0.00]"),
        (numpy.arange(8), "step 0 · action [0, 1, 2, 3, 4, 5, 6, 7]"),
        (numpy.array([True, False]), "step 0 · action [True, False]"),
        (numpy.array([numpy.longdouble(0.5), 1]), "step 0 · action [0.50, 1.00]"),
        (numpy.arange(9), "step 0 · action [9], 0 to 8"),
    ],
)
def test_an_array_of_few_numbers_is_told_by_them_as_the_log_has_it(
    tmp_path: Path, action: Any, told: str
) -> None:
    values = LogValues(Assets(tmp_path), lambda array: array.tobytes(), keep_arrays=False)
    [frame] = logged(tmp_path, json.loads(values.encode(action)))
    assert caption_of(frame) == told


@pytest.mark.parametrize("content", [b"", b"PK\3\4", None, "pickle", "large"])
def test_a_file_that_is_not_what_the_log_says_is_not_read(
    tmp_path: Path, content: bytes | str | None
) -> None:
    (tmp_path / "assets").mkdir()
    file = tmp_path / "assets" / "a.npz"
    if content == "pickle":
        numpy.savez(file, array=numpy.array([{"a": 1}], dtype=object))
    elif content == "large":
        numpy.savez_compressed(file, array=numpy.zeros(100_000))
    elif isinstance(content, bytes):
        file.write_bytes(content)
    [frame] = logged(tmp_path, {"$asset": "assets/a.npz", "shape": [2], "dtype": "float32"})
    assert caption_of(frame) == "step 0 · action [2]"


def test_a_caption_is_one_line_whatever_is_white_space_in_it(tmp_path: Path) -> None:
    Image.new("RGB", (64, 48)).save(tmp_path / "a.png")
    frames = [Frame(0, tmp_path / "a.png", "go\tto\r\nit")], [Frame(0, tmp_path / "a.png", "go to it")]
    (told,) = drawn(frames[0], "find:\n\ta door", Losses())
    (plain,) = drawn(frames[1], "find: a door", Losses())
    assert told.tobytes() == plain.tobytes()
