"""env_metaworld on the real Meta-World."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.control.results import results_of
from engine.store.rundir import RunDir
from nodesets.env_metaworld.tasks import TASKS
from tests.command import DEADLINE_SEC, evaltower
from tests.fakes.real_runs import attempt, write_run
from tests.nodesets.gym_player import NODESETS
from tests.simulators.player import Player

pytestmark = [pytest.mark.simulator, pytest.mark.timeout(DEADLINE_SEC)]


@pytest.fixture
async def player() -> AsyncIterator[Player]:
    player = Player("env_metaworld")
    yield player
    await player.nodeset.shutdown()


async def test_the_seed_says_where_things_lie_whatever_was_played_before(player: Player) -> None:
    """Meta-World's own reset(seed) is ignored: three of them give three goals."""
    first = (await player.begin(seed=3, task_id="push-v3"))["observation"]
    other = (await player.begin(seed=4, task_id="push-v3"))["observation"]
    await player.fire("step_continuous", action=[1, 0, 0, 0])
    again = (await player.begin(seed=3, task_id="push-v3"))["observation"]
    assert first.shape == (39,)
    assert (first == again).all()
    assert (first != other).any()


async def test_a_reset_after_steps_begins_the_same_episode(player: Player) -> None:
    first = (await player.begin(seed=3, task_id="reach-v3"))["observation"]
    await player.fire("step_continuous", action=[1, 1, 1, 0])
    assert ((await player.fire("reset"))["observation"] == first).all()
    assert (await player.fire("evaluate"))["metrics"]["steps"] == 0


async def test_an_episode_ends_at_success_or_at_the_limit_as_is_chosen(player: Player) -> None:
    observation = (await player.begin(seed=1, task_id="reach-v3"))["observation"]
    done = False
    while not done:
        action = (await player.fire("scripted_action", observation=observation))["action"]
        seen = await player.fire("step_continuous", action=action)
        observation, done = seen["observation"], seen["done"]
    assert (seen["success"], seen["truncated"]) == (True, False)
    with pytest.raises(RuntimeError, match="reach-v3 ended at step"):
        await player.fire("step_continuous", action=action)
    await player.begin(seed=1, task_id="drawer-close-v3", until="limit")
    ends = [(await player.fire("step_continuous", action=[0, 0, 0, 0]))["done"] for _ in range(500)]
    assert ends == [False] * 499 + [True]


def test_the_tasks_that_may_be_selected_are_those_of_the_library() -> None:
    from metaworld.policies import ENV_POLICY_MAP

    assert sorted(ENV_POLICY_MAP) == TASKS


async def test_what_cannot_be_played_is_said_in_one_line(player: Player) -> None:
    unknown = (await player.choose(task_id="reach-v2"))["error"]
    assert unknown.startswith("selector task_id is 'reach-v2'; it takes assembly-v3, basketball-v3")
    assert (await player.choose(frames="film"))["error"] == "selector frames is 'film'; it takes none, render"
    await player.begin(task_id="reach-v3")
    with pytest.raises(ValueError, match=r"\[0, nan, 0, 0\] is not four finite numbers"):
        await player.fire("step_continuous", action=[0, float("nan"), 0, 0])


async def test_frames_are_drawn_plainly_and_change_nothing_else(player: Player) -> None:
    played = []
    for frames in ("none", "render"):
        first = await player.begin(seed=3, task_id="push-v3", frames=frames)
        then = await player.fire("step_continuous", action=[1, 0, 0, 0])
        assert ("rgb" in first, "rgb" in then) == (frames == "render",) * 2
        played.append((first["observation"].tolist(), then["observation"].tolist(), then["reward"]))
    assert played[0] == played[1]
    assert then["rgb"].shape == (480, 480, 3)
    assert player.nodeset.stage.env.unwrapped.model.vis.quality.shadowsize == 0


def test_tasks_of_a_run_have_rows_of_their_own(tmp_path: Path) -> None:
    graph = json.loads((NODESETS / "env_metaworld/graphs/metaworld_scripted.json").read_text("utf-8"))
    tasks = ("button-press-v3", "reach-v3")
    selectors = [{"task_id": task} for task in tasks for _ in range(2)]
    run = write_run(
        tmp_path, graph, episode_indices=[0, 1, 0, 1], episode_selectors=selectors, worker_count=2
    )
    with attempt(run) as process:
        process.wait(DEADLINE_SEC)
    summary = run.read_summary()
    assert summary.status == "completed", summary.error
    assert {task: row["success"] for task, row in summary.aggregate_by_task.items()} == dict.fromkeys(
        tasks, 1
    )
    assert {(row.task, row.scene_id) for row in summary.episodes} == {(task, task) for task in tasks}


def test_frames_are_pictures_and_without_a_task_the_fifty_come_in_turn(tmp_path: Path) -> None:
    words = ("--select", "frames=render", "--step-budget", "3", "-n", "2", "-w", "2")
    code, run, summary = evaltower(tmp_path, "metaworld_random", *words)
    assert (code, summary["error_count"]) == (0, 0)
    assert [row["scene_id"] for row in summary["episodes"]] == ["assembly-v3", "basketball-v3"]
    table = results_of(RunDir(run)).tasks
    assert table is not None
    assert [line.task for line in table.tasks] == ["assembly-v3", "basketball-v3"]
    frames = [np.asarray(Image.open(path)) for path in sorted(run.glob("episodes/ep0000/assets/*rgb.png"))]
    assert {frame.shape for frame in frames} == {(480, 480, 3)}
    assert any((frame != frames[0]).any() for frame in frames)
