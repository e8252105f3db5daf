"""Houses, episodes and the eye of env_gridhouse."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodesets.env_gridhouse import episodes, house
from nodesets.env_gridhouse.episodes import EPISODES_PER_SPLIT, SPLITS, Episode, make_episode
from nodesets.env_gridhouse.eye import Eye
from nodesets.env_gridhouse.house import DOOR, HEIGHT, WALL, WIDTH, House, Thing, build_house, neighbours
from nodesets.env_gridhouse.palette import COLOURS, ROOMS, SPRITES
from nodesets.env_gridhouse.simulator import STEP_BUDGET, STOP, Simulator

SEEDS = st.integers(0, 2**63 - 1)


def walk_of_the_expert(episode: Episode) -> Simulator:
    simulator = Simulator(episode)
    for _ in range(STEP_BUDGET):
        if simulator.step(simulator.expert_action()).terminated:
            break
    return simulator


@pytest.mark.parametrize("split", SPLITS)
def test_the_expert_solves_every_episode_along_a_shortest_path(split: str) -> None:
    for index in range(EPISODES_PER_SPLIT):
        episode = make_episode(split, index)
        x, y, _ = episode.start
        simulator = walk_of_the_expert(episode)
        assert simulator.stopped, episode.episode_id
        assert simulator.metrics() == {
            "success": 1.0,
            "spl": 1.0,
            "oracle_success": 1.0,
            "navigation_error": 0.0,
            "path_length": episode.to_goal[x, y] * house.CELL_M,
            "ndtw": 1.0,
        }


@pytest.mark.parametrize("split", SPLITS)
def test_an_instruction_fits_one_object_of_its_house(split: str) -> None:
    for index in range(EPISODES_PER_SPLIT):
        episode = make_episode(split, index)
        named = [set(re.findall("|".join(names), episode.instruction)) for names in (COLOURS, SPRITES, ROOMS)]
        assert all(len(words) <= 1 for words in named)
        fitting = [
            thing
            for thing in episode.house.things
            if all(
                not words or value in words
                for words, value in zip(named, (thing.colour, thing.kind, thing.room), strict=True)
            )
        ]
        assert fitting == [episode.target], (episode.episode_id, episode.instruction)


def test_val_seen_shares_its_houses_with_train_and_val_unseen_does_not() -> None:
    drawn = {split: [make_episode(split, index) for index in range(EPISODES_PER_SPLIT)] for split in SPLITS}
    scenes = {split: {episode.scene_id for episode in drawn[split]} for split in SPLITS}
    assert scenes["train"] == scenes["val_seen"]
    assert not scenes["train"] & scenes["val_unseen"]
    assert set(Counter(episode.scene_id for episode in drawn["val_unseen"]).values()) == {5}
    tasks = {split: [(e.start, e.target) for e in drawn[split]] for split in SPLITS}
    same = sum(one == other for one, other in zip(tasks["train"], tasks["val_seen"], strict=True))
    assert same < 0.02 * EPISODES_PER_SPLIT


def test_episodes_and_frames_are_what_they_were_on_every_machine() -> None:
    """One digest over episodes, actions and frames: a change here changes every recorded result."""
    digest = blake2b(digest_size=16)
    for split in SPLITS:
        for index in range(0, EPISODES_PER_SPLIT, 100):
            simulator = Simulator(make_episode(split, index))
            digest.update(simulator.episode.instruction.encode())
            while not simulator.stopped:
                action = simulator.expert_action()
                digest.update(bytes([action]) + simulator.frame().tobytes())
                simulator.step(action)
    assert digest.hexdigest() == "8a509e0f701acae9df18dc6f8ebbfdbd"


@pytest.mark.parametrize(
    ("split", "index", "words"),
    [
        ("test", 0, "split 'test' does not exist; the splits are train, val_seen, val_unseen"),
        ("train", 500, "episode_index 500 is not in train, which has 0 to 499"),
        ("val_seen", -1, "episode_index -1 is not in val_seen, which has 0 to 499"),
    ],
)
def test_an_episode_that_does_not_exist(split: str, index: int, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        make_episode(split, index)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_house_is_closed_connected_and_furnished(seed: int) -> None:
    built = build_house(seed)
    outside = np.ones((HEIGHT, WIDTH), bool)
    outside[1:-1, 1:-1] = False
    assert (built.material[outside] == WALL).all()
    assert len(house.distances(built.walkable, [min(built.walkable)])) == len(built.walkable)
    rooms = set(np.unique(built.material)) - {WALL, DOOR}
    assert 4 <= len(rooms) <= 6
    assert {thing.room for thing in built.things} == {house.ROOM_NAMES[code - 1] for code in rooms}
    cells = [thing.cell for thing in built.things]
    assert len(set(cells)) == len(cells)
    assert not built.walkable & set(cells)
    looks = Counter((thing.room, thing.kind, thing.colour) for thing in built.things)
    assert max(looks.values()) == 1
    for x, y in cells:
        assert built.room_at((x, y)) == f"the {next(t.room for t in built.things if t.cell == (x, y))}"
        assert DOOR not in [built.material[b, a] for a, b in neighbours((x, y))]


@given(SEEDS, st.data())
@settings(max_examples=30, deadline=None)
def test_distances_are_those_of_shortest_paths(seed: int, data: st.DataObject) -> None:
    """What defines them: 0 at the goals alone, and elsewhere one more than the least of the neighbours'."""
    walkable = build_house(seed).walkable
    goals = data.draw(st.lists(st.sampled_from(sorted(walkable)), min_size=1, max_size=4, unique=True))
    found = house.distances(walkable, goals)
    assert found.keys() == walkable
    for cell, distance in found.items():
        nearby = [found[n] for n in neighbours(cell) if n in walkable]
        assert distance == (0 if cell in goals else 1 + min(nearby))


def corridor(*things: Thing) -> House:
    """Nine cells of kitchen in a row from west to east, with walls around."""
    material = np.zeros((HEIGHT, WIDTH), np.uint8)
    material[5, 1:10] = 1 + house.ROOM_NAMES.index("kitchen")
    walkable = {(x, 5) for x in range(1, 10)} - {thing.cell for thing in things}
    return House(material, things, walkable)


NORTH, EAST, SOUTH, WEST = range(4)
RED = np.array(COLOURS["red"], np.uint8)


def red_pixels(frame: np.ndarray) -> np.ndarray:
    """(rows, columns) of the pixels in an object's plain red."""
    return np.argwhere((frame == RED).all(axis=2))


def test_a_frame_is_an_image_and_a_wall_at_arms_length_fills_it() -> None:
    frame = Eye(corridor()).frame(4, 5, NORTH)
    assert (frame.shape, frame.dtype) == ((64, 64, 3), np.uint8)
    assert frame.flags.c_contiguous
    assert (frame[:50] == frame[0, 0]).all()
    assert (frame[0, 0] == ROOMS["kitchen"].wall).all()


def test_an_object_is_seen_ahead_smaller_from_afar_and_not_from_behind() -> None:
    eye = Eye(corridor(Thing("box", "red", (7, 5), "kitchen")))
    near, far = red_pixels(eye.frame(5, 5, EAST)), red_pixels(eye.frame(2, 5, EAST))
    assert len(near) > 3 * len(far) > 0
    assert abs(near[:, 1].mean() - 31.5) < 1
    assert len(red_pixels(eye.frame(5, 5, WEST))) == 0


def test_a_wall_hides_what_is_behind_it_and_a_nearer_object_what_is_further() -> None:
    room = corridor(Thing("box", "red", (7, 5), "kitchen"))
    walled = room.material.copy()
    walled[5, 6] = WALL
    assert len(red_pixels(Eye(House(walled, room.things, room.walkable)).frame(4, 5, EAST))) == 0
    crowded = corridor(Thing("box", "blue", (6, 5), "kitchen"), *room.things)
    alone, behind = (red_pixels(Eye(seen).frame(5, 5, EAST)) for seen in (room, crowded))
    assert len(alone) > 2 * len(behind)


def test_what_stands_to_the_right_is_drawn_on_the_right() -> None:
    material = np.zeros((HEIGHT, WIDTH), np.uint8)
    material[1:12, 1:16] = 1
    hall = House(material, (Thing("box", "red", (8, 6), "kitchen"),), set())
    for (x, y), heading in {(6, 8): NORTH, (6, 4): EAST, (10, 4): SOUTH, (10, 8): WEST}.items():
        columns = red_pixels(Eye(hall).frame(x, y, heading))[:, 1]
        assert len(columns)
        assert columns.min() > 40


def test_the_floor_lies_still_while_the_agent_moves() -> None:
    """Its pattern repeats with each cell, so one step on it looks the same near by."""
    eye = Eye(corridor())
    assert (eye.frame(3, 5, EAST)[52:] == eye.frame(4, 5, EAST)[52:]).all()
    assert len(np.unique(eye.frame(3, 5, EAST)[52:, 32], axis=0)) > 1


def test_a_stop_is_where_it_ends() -> None:
    simulator = Simulator(episodes.make_episode("val_unseen", 1))
    assert simulator.step(STOP).terminated
    with pytest.raises(RuntimeError, match="episode val_unseen_001 is over"):
        simulator.step(STOP)
