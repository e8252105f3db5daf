"""What a run selects that its environment does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.components.catalog import environment_of
from engine.control.checking import open_catalog, prepare
from engine.control.plans import plan_run
from engine.control.reports import RefusedError, StartRequest
from tests.fakes.workspace import make_root
from tests.nodesets.gym_player import NODESETS

LENIENT = {"env_habitat", "env_mp3d", "env_simpler"}
"""They stand for AgentCanvas's nodesets of these names, whose callers select what ours may not have."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "root")


def refused(root: Path, graph: Any, **fields: Any) -> list[str]:
    """Where, what and the remedy of each problem of what it selects; not of what is not installed here."""
    own = {"graph_name": "own", "graph": graph} if isinstance(graph, dict) else {"graph_name": graph}
    try:
        plan_run(root, StartRequest(**own, marginal_vram_mb=0, **fields))
    except RefusedError as error:
        told = [problem for problem in error.problems if problem.code not in ("no-package", "no-program")]
        return [f"{problem.where}: {problem.message} ({problem.remedy})" for problem in told]
    return []


def test_a_selector_that_the_environment_does_not_have_is_refused(root: Path) -> None:
    has = "env_id, env_kwargs, env_seed, frames, reuse"
    assert refused(root, "control_rule", selectors={"envid": "CartPole-v1", "nosuch": 1}) == [
        f"selectors.envid: env_gymnasium has no such selector (did you mean env_id? it has {has})",
        f"selectors.nosuch: env_gymnasium has no such selector (it has {has})",
    ]
    assert refused(root, "control_rule", selectors={"env_id": "CartPole-v1", "frames": "none"}) == []


def test_of_each_episode_too_whose_task_is_its_name(root: Path) -> None:
    of_each = {"episode_indices": [0, 0], "episode_selectors": [{"slip": 0.1}, {"slop": 0.1}]}
    (told,) = refused(root, "gridhouse_random", **of_each)
    assert told.startswith("episode_selectors.slop: env_gridhouse has no such selector (did you mean slip?")
    named = [{"task_id": "dry"}, {"task_id": "wet", "slip": 0.1}]
    assert refused(root, "gridhouse_random", episode_indices=[0, 0], episode_selectors=named) == []
    (told,) = refused(root, "control_rule", selectors={"task_id": "CartPole-v1"})
    assert told.startswith("selectors.task_id: env_gymnasium has no such selector")


def test_what_every_run_may_be_given_is_no_typo(root: Path) -> None:
    assert refused(root, "gridhouse_random", selectors={"split": "val_seen", "expected": "a house"}) == []
    assert refused(root, "gridhouse_random", split="val_seen", selectors={"expected": ""}) == []


def test_a_data_set_of_an_environment_that_has_none_is_refused(root: Path) -> None:
    for graph, env in (("gridhouse_random", "env_gridhouse"), ("mujoco_random", "env_gymnasium")):
        assert refused(root, graph, dataset="nope") == [
            f"dataset: is 'nope', and {env} has no data sets (leave it out)"
        ]
        (told,) = refused(root, graph, selectors={"dataset": "nope"})
        assert told.startswith(f"selectors.dataset: {env} has no such selector")
    assert refused(root, "habitat_expert", dataset="R2R") == []
    assert refused(root, "habitat_expert", dataset="R2") == [
        "dataset: is 'R2', which env_habitat does not have (did you mean 'R2R'?)"
    ]
    assert refused(root, "toy", dataset="whatever") == []


@pytest.mark.parametrize(
    ("graph", "name", "value", "told"),
    [
        ("metaworld_random", "task_id", "reach-v9", "'reach-v9', which env_metaworld does not have (did you"),
        (
            "metaworld_random",
            "until",
            "end",
            "'end', which env_metaworld does not have (it has: 'success', '",
        ),
        (
            "control_rule",
            "reuse",
            "maybe",
            "'maybe', which env_gymnasium does not have (it has: 'no', 'yes')",
        ),
        ("gridhouse_random", "split", "val", "'val', which env_gridhouse does not have (it has: "),
        ("gridhouse_random", "slip", 1.5, "1.5 (it takes a number, 0 to 1)"),
        ("gridhouse_random", "slip", True, "True (it takes a number, 0 to 1)"),
        ("textgame_random", "game_seed", "1.5", "'1.5' (it takes a whole number, 0 to 4294967295)"),
    ],
)
def test_a_value_that_the_panel_does_not_take_never_starts(
    root: Path, graph: str, name: str, value: Any, told: str
) -> None:
    (found,) = refused(root, graph, selectors={name: value})
    assert found.startswith(f"selectors.{name}: is {told}")
    of_each = {"episode_indices": [0, 1, 2], "episode_selectors": [{}, {name: value}, {name: value}]}
    (found,) = refused(root, graph, **of_each)
    assert found.startswith(f"episode_selectors.{name}: is {told}")


def test_a_split_is_looked_for_where_the_panel_lists_them(root: Path) -> None:
    assert refused(root, "gridhouse_random", split="val_unsen") == [
        "split: is 'val_unsen', which env_gridhouse does not have (did you mean 'val_unseen' or 'val_seen'?)"
    ]


@pytest.mark.parametrize(
    ("graph", "selectors"),
    [
        ("metaworld_random", {"task_id": "reach-v3", "frames": "render", "until": "limit"}),
        (
            "control_rule",
            {"env_id": "my.module:Class", "reuse": True, "env_seed": "7", "env_kwargs": {"a": 1}},
        ),
        ("gridhouse_random", {"slip": "0.33"}),
        ("textgame_random", {"task_id": "textworld/of_tomorrow"}),
    ],
)
def test_what_a_field_takes_or_may_know_more_of_starts(
    root: Path, graph: str, selectors: dict[str, Any]
) -> None:
    assert refused(root, graph, selectors=selectors) == []


@pytest.mark.parametrize("value", ["", " ", None])
@pytest.mark.parametrize(
    ("graph", "name"),
    [
        ("mujoco_random", "env_id"),
        ("metaworld_random", "task_id"),
        ("metaworld_random", "frames"),
        ("gridhouse_random", "slip"),
        ("workspace_answer", "cases"),
        ("workspace_answer", "command"),
        ("toy", "whatever"),
    ],
)
def test_an_empty_value_is_never_the_default(root: Path, graph: str, name: str, value: Any) -> None:
    told = "is empty (give it a value, or leave it out)"
    needs = {"command": "cat *"} if graph == "workspace_answer" and name != "command" else {}
    assert refused(root, graph, selectors={**needs, name: value}) == [f"selectors.{name}: {told}"]
    of_each = {"episode_indices": [0], "episode_selectors": [{name: value}], "selectors": needs}
    assert refused(root, graph, **of_each) == [f"episode_selectors.{name}: {told}"]


def test_a_name_that_is_unknown_is_told_once_whatever_its_value(root: Path) -> None:
    (told,) = refused(root, "gridhouse_random", selectors={"slop": ""})
    assert told.startswith("selectors.slop: env_gridhouse has no such selector (did you mean slip?")


def test_an_empty_value_is_one_where_the_field_says_so(root: Path) -> None:
    assert refused(root, "textgame_random", selectors={"options": "", "game_seed": ""}) == []
    assert refused(root, "control_rule", selectors={"env_seed": None, "env_kwargs": ""}) == []


@pytest.mark.parametrize("handle", ["colour", "selectors"])
def test_what_the_graph_hears_of_is_the_graph_s(root: Path, handle: str) -> None:
    graph = json.loads((NODESETS / "env_gridhouse/graphs/gridhouse_random.json").read_text("utf-8"))
    graph["nodes"] += [{"id": "source", "type": "episodeSource"}, {"id": "seen", "type": "textViewer"}]
    assert len(refused(root, graph, selectors={"colour": "red"})) >= 1
    heard = {"id": "heard", "source": "source", "sourceHandle": handle, "target": "seen"}
    graph["edges"].append({**heard, "targetHandle": "text"})
    for value in ("red", ""):
        assert not any("colour" in told for told in refused(root, graph, selectors={"colour": value}))


def test_an_environment_that_does_not_say_that_its_fields_are_all_takes_any(root: Path) -> None:
    assert refused(root, "toy", selectors={"whatever": 1}) == []
    assert refused(root, "habitat_expert", selectors={"whatever": 1}) == []


def test_every_built_in_environment_says_so_but_those_that_stand_for_another_s(root: Path) -> None:
    catalog = open_catalog(root)
    lenient = set()
    for folder in NODESETS.glob("env_*/graphs/*.json"):
        env = environment_of(prepare(catalog, str(folder), root).nodesets)
        if env is not None and env.parallelism == "replicated" and not (env.panel or {})["only_fields"]:
            lenient.add(env.name)
    assert lenient == LENIENT
