from __future__ import annotations

import pytest

from engine.graph.names import near, near_nodesets, near_or_all


@pytest.mark.parametrize(
    ("name", "options", "remedy"),
    [
        ("obz", ["rgb", "obs"], "did you mean 'obs'?"),
        ("ob", ["obs", "obd", "obs"], "did you mean 'obs' or 'obd'?"),
        ("depth", ["rgb"], ""),
        ("depth", [], ""),
        ("x" * 300, ["x" * 299], ""),  # what is that long is no mistyped name, and comparing it takes long
    ],
)
def test_what_is_near(name: str, options: list[str], remedy: str) -> None:
    assert near(name, options) == remedy


def test_all_where_none_is_near() -> None:
    assert near_or_all("obz", ["rgb", "obs"], "there are") == "did you mean 'obs'?"
    assert near_or_all("depth", ["rgb", "obs"], "there are") == "there are: 'rgb', 'obs'"
    assert near_or_all("depth", [], "there are") == "there are: none"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("env_gymnasum", ["env_gymnasium"]),
        ("gymnasium", ["env_gymnasium"]),
        ("envgymnasium", ["env_gymnasium"]),
        ("env_libero", []),  # as near to each env_ as another, by letters alone
        ("env_habitats", ["env_habitat"]),
        ("planer", ["planner"]),
        ("x" * 300, []),
    ],
)
def test_nodesets_of_a_kind_are_not_near_for_that(name: str, found: list[str]) -> None:
    installed = ["env_slow", "env_leak", "env_gymnasium", "env_habitat", "planner", "policy_hf"]
    assert near_nodesets(name, installed) == found
