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
    given = {"split": "val_seen", "dataset": "d", "expected": "a house"}
    assert refused(root, "gridhouse_random", selectors=given) == []


@pytest.mark.parametrize("handle", ["colour", "selectors"])
def test_what_the_graph_hears_of_is_the_graph_s(root: Path, handle: str) -> None:
    graph = json.loads((NODESETS / "env_gridhouse/graphs/gridhouse_random.json").read_text("utf-8"))
    graph["nodes"] += [{"id": "source", "type": "episodeSource"}, {"id": "seen", "type": "textViewer"}]
    assert len(refused(root, graph, selectors={"colour": "red"})) >= 1
    heard = {"id": "heard", "source": "source", "sourceHandle": handle, "target": "seen"}
    graph["edges"].append({**heard, "targetHandle": "text"})
    assert not any("colour" in told for told in refused(root, graph, selectors={"colour": "red"}))


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
