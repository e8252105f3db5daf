from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.control.reports import StartRequest
from engine.control.requests import request_problems


def problems(**fields: Any) -> list[str]:
    return [p.where for p in request_problems(StartRequest(graph_name="g", **fields))]


@pytest.mark.parametrize(
    ("field", "bad", "good"),
    [
        ("worker_count", (0, -1), (1, 64)),
        ("episode_count", (0, -2, 10**30), (-1, 1, 10**6)),
        ("start_episode_index", (-1, 10**30), (0, 5)),
        ("step_budget", (0, -3, 10**5000), (None, 1)),
        ("seed", (10**30, -(10**30)), (-1, 2**40)),
        ("marginal_vram_mb", (-1.0, 1e300, float("nan")), (None, 0.0, 22000.0)),
        ("per_step_budget_sec", (0.0, -1.0, float("nan"), float("inf")), (None, 0.5)),
        ("timeout_sec", (0.0, float("nan")), (None, 3600.0)),
        ("retries", (-1, 10**9), (0, 2)),
        ("repeats", (0, -1), (1, 5)),
        ("until_width", (0.0, -1.0, float("nan")), (None, 0.05)),
        ("episode_indices", ([], [-1], [10**30], [3, 3]), (None, [0, 2])),
        (
            "label",
            ("last", "20260518_143052", "20260518_143052_2", "a\x1b[31m", "a" * 1000),
            ("", "baseline v2", "Größe"),
        ),
        ("active_workspace_dir", ("relative", "/no/such/folder"), (None, "/")),
    ],
)
def test_each_field_by_itself(field: str, bad: tuple[Any, ...], good: tuple[Any, ...]) -> None:
    for value in bad:
        assert problems(**{field: value}) == [field], value
    for value in good:
        assert problems(**{field: value}) == [], value


def test_episode_selectors(tmp_path: Path) -> None:
    two = [{"task": "a"}, {"task": "b"}]
    assert problems(episode_indices=[3, 3], episode_selectors=two) == []
    assert problems(episode_selectors=two) == ["episode_selectors"]
    assert problems(episode_indices=[1], episode_selectors=two) == ["episode_selectors"]
    assert problems(episode_indices=[1], episode_selectors=[{"episode_index": 4}]) == ["episode_selectors"]
    assert problems(episode_indices=[3, 3], episode_selectors=[{"t": 1}, {"t": 1}]) == ["episode_indices"]


def test_a_workspace_has_nodesets_or_graphs(tmp_path: Path) -> None:
    inside = tmp_path / "checkout" / "workspace" / "graphs"
    inside.mkdir(parents=True)
    assert problems(workspaces=[str(inside.parent)]) == []
    assert problems(workspaces=["relative", "/no/such/folder", str(inside)]) == ["workspaces"] * 3
    (empty,) = request_problems(StartRequest(graph_name="g", workspaces=[str(tmp_path / "checkout")]))
    assert empty.remedy == f"name {inside.parent}"


def test_everything_at_once() -> None:
    assert problems(worker_count=0, episode_count=0, label="last", step_budget=0) == [
        "worker_count",
        "episode_count",
        "step_budget",
        "label",
    ]


@pytest.mark.parametrize("name", ["seed", "episode_index"])
def test_a_selector_that_the_run_sets_itself_is_refused(name: str) -> None:
    problems = request_problems(StartRequest(graph_name="g", selectors={name: 5}))
    assert [problem.where for problem in problems] == [f"selectors.{name}"]


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({"episode_count": 3, "nodes": 3}, True),
        ({"episode_count": 3, "nodes": 4}, False),
        ({"episode_count": 3, "nodes": 6, "repeats": 2}, True),
        ({"episode_indices": [0, 1], "nodes": 3}, False),
        ({"episode_count": -1, "nodes": 50}, True),
    ],
)
def test_no_node_is_without_an_episode(asked: dict[str, Any], fits: bool) -> None:
    problems = request_problems(StartRequest(graph_name="g", on="slurm", **asked))
    assert [problem.where for problem in problems] == ([] if fits else ["nodes"])
