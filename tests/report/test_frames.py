from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.control.reports import NotFoundError
from engine.report.frames import choose, frames_of, streams_of
from tests.fakes.finished_runs import fake_line
from tests.report.filmed import filmed_lines, image


def test_the_environments_frames_come_first_and_what_loops_pass_on_last(tmp_path: Path) -> None:
    streams = streams_of(filmed_lines(3), tmp_path, "env_fake")
    assert [stream.name for stream in streams] == [
        "reset/step.rgb (4)",
        "agent.views.0 (3)",
        "agent.views.1 (3)",
        "iter_in.rgb (3)",
    ]
    assert [stream.is_made for stream in streams] == [True, True, True, False]


def test_an_environment_that_is_not_named_goes_by_its_prefix(tmp_path: Path) -> None:
    assert streams_of(filmed_lines(3), tmp_path, None)[0].nodes == ("reset", "step")


def test_rgb_goes_before_longer_streams_of_the_environment(tmp_path: Path) -> None:
    lines = [
        fake_line(0, "reset", outputs={"depth": image("d"), "rgb": image("r")}),
        fake_line(0, "step", outputs={"depth": image("d")}),
    ]
    assert [stream.port for stream in streams_of(lines, tmp_path, "env_fake")] == ["rgb", "depth"]


def test_frames_tell_step_action_and_reward(tmp_path: Path) -> None:
    lines = filmed_lines(2)
    frames = list(frames_of(lines, tmp_path, streams_of(lines, tmp_path, "env_fake")[0]))
    assert [(frame.step, frame.path.name, frame.action, frame.reward) for frame in frames] == [
        (0, "reset.png", None, None),
        (0, "f0.png", "forward", 0.0),
        (1, "f1.png", "forward", 1.0),
    ]


@pytest.mark.parametrize("node", ["step", "env_fake__step"])
def test_one_node_of_the_environment_alone(tmp_path: Path, node: str) -> None:
    lines = filmed_lines(2)
    stream = choose(streams_of(lines, tmp_path, "env_fake"), node, None, "episode 0")
    assert [frame.path.name for frame in frames_of(lines, tmp_path, stream, node)] == ["f0.png", "f1.png"]


@pytest.mark.parametrize(
    ("node", "port", "chosen"),
    [
        (None, None, "reset/step.rgb (3)"),
        ("agent", None, "agent.views.0 (2)"),
        (None, "views.1", "agent.views.1 (2)"),
    ],
)
def test_a_stream_is_chosen_by_node_and_port(
    tmp_path: Path, node: str | None, port: str | None, chosen: str
) -> None:
    streams = streams_of(filmed_lines(2), tmp_path, "env_fake")
    assert choose(streams, node, port, "episode 0").name == chosen


def test_a_stream_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    streams = streams_of(filmed_lines(2), tmp_path, "env_fake")
    with pytest.raises(NotFoundError, match=r"no images 'agent\.depth'; it has reset/step\.rgb"):
        choose(streams, "agent", "depth", "episode 0")


@pytest.mark.parametrize(
    "outputs",
    [
        {},
        None,
        {"rgb": {"$array": {"shape": [4]}}},
        {"rgb": {"$asset": "assets/a.npz"}},
        {"rgb": {"$asset": "../../secret.png"}},
        {"rgb": {"$asset": 3}},
        [],
    ],
)
def test_what_is_no_image_of_the_episode_is_no_frame(tmp_path: Path, outputs: Any) -> None:
    streams = streams_of([fake_line(0, "reset", outputs=outputs)], tmp_path, "env_fake")
    with pytest.raises(NotFoundError, match=r"no node of its log gave an image; .* frames=render"):
        choose(streams, None, None, "episode 0")


def test_a_line_of_another_kind_costs_no_more_than_what_it_says(tmp_path: Path) -> None:
    line = {
        "node_id": "step",
        "node_type": "env_fake__step",
        "step": "x",
        "inputs": 3,
        "outputs": [image("a")],
    }
    streams = streams_of([line], tmp_path, "env_fake")
    (frame,) = frames_of([line], tmp_path, streams[0])
    assert (frame.step, frame.path.name, frame.action, frame.reward) == (0, "a.png", None, None)
