"""env_textgame on the real engines: TextWorld, ALFWorld's and, where there is Java, ScienceWorld."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from engine.components import OutsideFailure
from engine.components.seeds import episode_seed
from tests.command import DEADLINE_SEC, evaltower
from tests.simulators.player import Player

pytestmark = [pytest.mark.simulator, pytest.mark.timeout(DEADLINE_SEC)]
java = pytest.mark.skipif(shutil.which("java") is None, reason="there is no java on PATH")
STEP_BUDGET = 100
WORM = "scienceworld/lifespan-longest-lived"


@pytest.fixture
async def player() -> AsyncIterator[Player]:
    player = Player("env_textgame")
    yield player
    await player.nodeset.shutdown()


async def solved(player: Player) -> list[str]:
    """The game's own solution, played from its beginning."""
    said, done = [], False
    while not done:
        said.append((await player.fire("walkthrough_action"))["action"])
        assert said[-1] in player.nodeset.stage.env.commands
        done = (await player.fire("step", action=said[-1]))["done"]
    return said


@pytest.mark.parametrize("task", ["textworld/simple", "textworld/treasure_hunter", "alfworld/kitchen"])
async def test_a_seed_is_a_game_and_its_solution_wins(player: Player, task: str) -> None:
    first = await player.begin(seed=5, task_id=task)
    assert first["instruction"]
    assert first["commands"] == sorted(first["commands"])
    walkthrough = await solved(player)
    metrics = (await player.fire("evaluate"))["metrics"]
    assert (metrics["success"], metrics["steps"]) == (1, len(walkthrough))
    assert metrics["score"] == metrics["max_score"] > 0
    with pytest.raises(RuntimeError, match=f"{task} ended at step {len(walkthrough)}"):
        await player.fire("step", action="look")
    other = await player.begin(seed=6, task_id=task)
    again = await player.begin(seed=6, task_id=task, game_seed=5)
    assert first == again != other


@java
async def test_scienceworld_plays_its_variation_again_after_others(player: Player) -> None:
    first = await player.begin(seed=4, task_id=WORM)
    walkthrough = await solved(player)
    assert (await player.fire("evaluate"))["metrics"]["score"] == 100
    await player.begin(seed=5, task_id="scienceworld/find-living-thing", options="easy")
    assert await player.begin(seed=4, task_id=WORM) == first
    assert await solved(player) == walkthrough
    error = (await player.choose(task_id="scienceworld/fly"))["error"]
    assert error.startswith("selector task_id: ScienceWorld's task is 'fly'; it takes boil, ")


@java
@pytest.mark.parametrize("task", [WORM, "scienceworld/find-plant", "scienceworld/find-living-thing"])
async def test_a_gold_path_is_the_same_at_each_load(player: Player, task: str) -> None:
    """Of two or more that there are: Java's order of things without an order must not choose."""
    first = []
    for _ in range(6):
        await player.begin(seed=0, task_id=task)
        first.append([(await player.fire("walkthrough_action"))["action"]])
        while len(first[-1]) < 4:
            await player.fire("step", action=first[-1][-1])
            first[-1].append((await player.fire("walkthrough_action"))["action"])
    assert first == first[:1] * 6


@java
async def test_its_gold_path_fits_in_the_step_budget(player: Player) -> None:
    await player.begin(seed=episode_seed(0, 0), task_id="scienceworld/boil")
    budget, taken, done = (await player.panel.on_load())["step_budget"], 0, False
    while not done:  # its commands are understood, but not all of them are listed
        action = (await player.fire("walkthrough_action"))["action"]
        done, taken = (await player.fire("step", action=action))["done"], taken + 1
    assert STEP_BUDGET < taken <= budget
    assert (await player.fire("evaluate"))["metrics"]["score"] == 100
    await player.begin(seed=4, task_id="alfworld/kitchen")
    assert (await player.panel.on_load())["step_budget"] == STEP_BUDGET


@java
async def test_a_gold_path_is_made_where_it_is_asked_for_and_changes_nothing(player: Player) -> None:
    first = await player.begin(seed=4, task_id=WORM)
    child, stage = player.nodeset.stage._laboratory, player.nodeset.stage
    assert not child.goldPathGenerated
    seen = await player.fire("step", action="look around")
    action = (await player.fire("walkthrough_action"))["action"]
    assert child.goldPathGenerated
    assert stage.env.walkthrough[1] == action
    assert {name: vars(stage.env)[name] for name in seen} == seen
    assert await player.begin(seed=4, task_id=WORM) == first


@java
async def test_a_java_that_has_ended_costs_no_more_than_the_episode_in_it(player: Player) -> None:
    first = await player.begin(seed=4, task_id=WORM)
    for tool, given in (("step", {"action": "look around"}), ("walkthrough_action", {}), ("", {})):
        process = player.nodeset.stage._laboratory._gateway.java_process
        process.kill()
        if tool:
            with pytest.raises(OutsideFailure, match="Java ended in an episode, signal SIGKILL") as told:
                await player.fire(tool, **given)
            assert told.value.cause == "signal SIGKILL (9)"
        else:
            process.wait(DEADLINE_SEC)
        assert await player.begin(seed=4, task_id=WORM) == first


async def test_a_file_that_is_no_game_is_named(player: Player, tmp_path: Path) -> None:
    """TextWorld's interpreter would end the process of most of these."""
    from textworld.generator import compile_game

    played = tmp_path / "played.z8"

    def keep(game: Any, how: Any) -> str:
        path: str = compile_game(game, how)
        for end in (".z8", ".json"):
            shutil.copy(Path(path).with_suffix(end), played.with_suffix(end))
        return path

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textworld.generator.compile_game", keep)
        await player.begin(seed=5, task_id="textworld/simple")
    story = played.read_bytes()
    flipped = bytearray(story)
    flipped[5000] ^= 1
    for data in (b"", b"\x08", b"hello world" * 30, story[:100_000], bytes(flipped)):
        await _refused(
            player, tmp_path / "game.z8", data, "is no Z-code file of version 8, or not all of one"
        )
    await _refused(player, tmp_path / "alone.z8", story, "lies no .json, which tw-make writes with it")
    bad = {"pddl_domain": "x", "grammar": "y", "pddl_problem": "z"}
    for data in (b"", b"[1]", b"{}", b"\xff\xfe", json.dumps(bad).encode()):
        await _refused(player, tmp_path / "game.tw-pddl", data, "cannot be played: ")
    assert (await player.choose(task_id=str(played)))["ok"]


async def _refused(player: Player, path: Path, data: bytes, told: str) -> None:
    path.write_bytes(data)
    error = (await player.choose(task_id=str(path)))["error"]
    assert error.startswith("selector task_id: ")
    assert str(path) in error
    assert told in error
    assert "\n" not in error


async def test_a_command_that_the_game_does_not_know_costs_a_step_and_changes_nothing(player: Player) -> None:
    first = await player.begin(task_id="alfworld/kitchen")
    seen = await player.fire("step", action="fly to the moon")
    assert seen["observation"] == "Nothing happens."
    assert (seen["commands"], seen["done"]) == (first["commands"], False)
    assert (await player.fire("evaluate"))["metrics"]["steps"] == 1


async def test_a_game_of_alfworlds_data_is_played_from_its_file(player: Player, tmp_path: Path) -> None:
    await player.begin(seed=5, task_id="alfworld/kitchen")
    game = player.nodeset.stage.env._env.unwrapped._game_data
    path = tmp_path / "game.tw-pddl"
    path.write_text(json.dumps(game))
    first = await player.begin(task_id=str(path))
    assert first["instruction"].startswith("put a ")
    await solved(player)
    assert (await player.fire("evaluate"))["metrics"]["success"] == 1


@pytest.mark.parametrize(
    ("selectors", "said"),
    [
        ({"task_id": "zork"}, "selector task_id is 'zork'; it takes textworld/…"),
        (
            {"task_id": "textworld/zork"},
            "selector task_id: TextWorld's game is 'zork'; it takes simple, coin",
        ),
        (
            {"task_id": "textworld/coin_collector", "options": "--level x"},
            "selector options is '--level x': argument --level: invalid int value: 'x' (tw-make"
            " tw-coin_collector takes --level LEVEL",
        ),
        (
            {"options": "--bad"},
            "selector options is '--bad': the following arguments are required: --rewards, --goal (tw-make"
            " tw-simple takes --rewards {dense,balanced,sparse} --goal",
        ),
        ({"options": "-h"}, "selector options is '-h': "),
        (
            {"task_id": "alfworld/kitchen", "options": "easy"},
            "selector options is 'easy'; only textworld/",
        ),
        ({"game_seed": "x"}, "selector game_seed is 'x'; it takes a whole number"),
        ({"game_seed": 99999999999}, "selector game_seed is 99999999999; it takes a whole number from 0 to"),
        (
            {"task_id": "textworld/cooking", "options": "--recipe 0"},
            "selector options is '--recipe 0': AssertionError: recipe must have {1,2,3,4,5} ingredients",
        ),
        pytest.param(
            {"task_id": "scienceworld/power-component", "options": "noElectricalAction"},
            "selector options is 'noElectricalAction': ValueError: Invalid simplification.",
            marks=java,
        ),
        pytest.param(
            {"task_id": "scienceworld/boil", "options": "hard"},
            "selector options is 'hard'; it takes easy, noElectricalAction, ",
            marks=java,
        ),
        ({"task_id": "/nowhere/game.z8"}, "selector task_id: there is no file /nowhere/game.z8"),
    ],
)
async def test_what_cannot_be_played_is_said_in_one_line(
    player: Player, selectors: dict[str, Any], said: str
) -> None:
    answer = await player.choose(**selectors)
    assert not answer["ok"]
    assert answer["error"].startswith(said)
    assert "\n" not in answer["error"]


async def test_without_java_scienceworld_says_so(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    answer = await player.choose(task_id=WORM)
    assert answer["error"].startswith("there is no java on the PATH, for ScienceWorld (apt-get install ")


def test_a_random_agent_plays_and_every_word_is_in_the_log(tmp_path: Path) -> None:
    words = ("--select", "task_id=textworld/coin_collector", "--step-budget", "6", "-n", "2", "-w", "2")
    code, run, summary = evaltower(tmp_path, "textgame_random", *words)
    assert (code, summary["error_count"]) == (0, 0)
    assert all(row["step_count"] == 6 or row["metrics"]["success"] for row in summary["episodes"])
    log = (run / "episodes" / "ep0000" / "log.jsonl").read_text("utf-8").splitlines()
    steps = [line for line in map(json.loads, log) if line["node_id"] == "step"]
    assert len(steps) == summary["episodes"][0]["step_count"]
    assert all(step["outputs"]["observation"] for step in steps)


def test_the_engines_are_there() -> None:
    """Else the tests above would have been of nothing."""
    assert all(find_spec(name) for name in ("alfworld", "scienceworld", "textworld"))
