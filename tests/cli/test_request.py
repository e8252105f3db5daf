from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cli.request import build_request, parse_indices, parse_selectors, parse_worker_counts
from tests.cli.conftest import Shell

NOTHING: dict[str, Any] = {
    "count": None, "every": False, "episodes": None, "start": 0, "selectors": (), "split": "", "dataset": "",
    "step_budget": None, "seed": 0, "timeout": None, "step_timeout": None, "label": "", "workspaces": (),
    "overlay": None, "servers": (), "trust_hooks": False,
}  # fmt: skip


@given(st.lists(st.integers(0, 9999), min_size=1, max_size=20))
def test_indices_read_back(indices: list[int]) -> None:
    assert parse_indices(",".join(map(str, indices))) == indices


def test_ranges() -> None:
    assert parse_indices("0,3, 7-9") == [0, 3, 7, 8, 9]
    for bad in ("", "a", "3-", "-3", "5-2", "1,,2", "0-99999999", "²"):
        with pytest.raises(click.BadParameter, match=r"I-J|a range"):
            parse_indices(bad)


def test_selectors_are_json_where_they_read_as_json() -> None:
    pairs = ("env_id=BabyAI-GoToLocal-v0", "env_seed=4", "flag=true", 'text="4"', "empty=", "a=b=c", "n=NaN")
    assert parse_selectors(pairs) == {
        "env_id": "BabyAI-GoToLocal-v0",
        "env_seed": 4,
        "flag": True,
        "text": "4",
        "empty": "",
        "a": "b=c",
        "n": "NaN",
    }
    for bad in (("env_id",), ("=x",), ("a=1", "a=2")):
        with pytest.raises(click.BadParameter):
            parse_selectors(bad)


def test_worker_counts() -> None:
    assert parse_worker_counts("1,3,8") == [1, 3, 8]
    for bad in ("1", "0,2", "2,2", "a,b", ""):
        with pytest.raises(click.BadParameter):
            parse_worker_counts(bad)


@pytest.mark.parametrize(
    ("given_options", "default", "expected"),
    [
        ({}, None, (-1, None)),
        ({}, 24, (24, None)),
        ({"count": 3}, 24, (3, None)),
        ({"every": True}, 24, (-1, None)),
        ({"episodes": "2,5"}, None, (-1, [2, 5])),
    ],
)
def test_which_episodes(
    given_options: dict[str, Any], default: int | None, expected: tuple[Any, ...]
) -> None:
    request = build_request("g", NOTHING | given_options, default)
    assert (request.episode_count, request.episode_indices) == expected


@pytest.mark.parametrize(
    "contradiction",
    [
        {"count": 3, "every": True},
        {"count": 3, "episodes": "1"},
        {"episodes": "1", "start": 2},
        {"episodes": ""},
        {"episodes": "", "count": 5},
    ],
)
def test_contradictions_are_usage_errors(contradiction: dict[str, Any]) -> None:
    with pytest.raises(click.UsageError):
        build_request("g", NOTHING | contradiction)


def test_an_overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert build_request("g", {**NOTHING, "overlay": "mine"}).active_workspace_dir == str(tmp_path / "mine")
    assert build_request("g", NOTHING).active_workspace_dir is None
    with pytest.raises(click.BadParameter, match="there is no folder yours"):
        build_request("g", {**NOTHING, "overlay": "yours"})


def test_workspaces_and_servers() -> None:
    pairs = ("model_a=http://127.0.0.1:9200", "env_x=unix:/tmp/x=y.sock")
    asked = build_request("g", {**NOTHING, "workspaces": ("/one", "two"), "servers": pairs})
    assert asked.workspaces == ["/one", str(Path.cwd() / "two")]
    assert asked.servers == {"model_a": "http://127.0.0.1:9200", "env_x": "unix:/tmp/x=y.sock"}
    for bad in (("model_a",), ("=http://127.0.0.1:9200",), ("model_a=",), ("a=http://x", "a=http://y")):
        with pytest.raises(click.BadParameter, match=r"NAME=URL|given twice"):
            build_request("g", {**NOTHING, "servers": bad})


def test_only_one_choice_of_episodes_is_taken(shell: Shell) -> None:
    said = shell("run", "toy", "--all", "-n", "1")
    assert (said.code, "give only one of -n N, --all and --episodes LIST" in said.err) == (2, True)


@pytest.mark.parametrize("option", ["--split", "--dataset", "--on"])
def test_an_option_that_is_empty_is_not_left_out(shell: Shell, option: str) -> None:
    said = shell("run", "toy", option, "")
    assert said.code == 2
    assert f"'{option}': is empty: give it a value, or leave it out" in said.err


def test_what_the_environment_does_not_take_starts_nothing(shell: Shell, root: Path) -> None:
    words = ("--select", "slip=2", "--select", "split=", "--dataset", "nope")
    said = shell("run", "gridhouse_random", "-n", "200", *words)
    assert said.code == 2
    for told in (
        "selectors.slip: is 2 (it takes a number, 0 to 1)",
        "selectors.split: is empty (give it a value, or leave it out)",
        "dataset: is 'nope', and env_gridhouse has no data sets (leave it out)",
    ):
        assert told in said.err
    assert not list((root / "outputs").glob("eval_runs/*"))
