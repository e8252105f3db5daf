from __future__ import annotations

from typing import Any

import pytest

from engine.evaluation.panel import read_facts, step_budget_of
from engine.evaluation.verdict import SetupRefused


@pytest.mark.parametrize(("value", "budget"), [(None, None), (1, 1), (120, 120), (50.0, 50)])
def test_a_step_budget(value: Any, budget: int | None) -> None:
    assert step_budget_of(value) == budget


@pytest.mark.parametrize("value", [0, -3, 1.5, float("nan"), float("inf"), True, "20", [5]])
def test_a_step_budget_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(SetupRefused, match="whole number"):
        step_budget_of(value)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, ("", "", "")),
        ({"current_episode": None}, ("", "", "")),
        ({"current_episode": {"instr_id": 7, "scan": "s1", "instruction": "go"}}, ("7", "s1", "go")),
        ({"current_episode": {"episode_id": "a", "instr_id": "b", "scene_id": "c"}}, ("a", "c", "")),
    ],
)
def test_the_facts_of_an_episode(state: dict[str, Any], expected: tuple[str, str, str]) -> None:
    facts = read_facts(state)
    assert (facts.episode_id, facts.scene_id, facts.instruction) == expected


def test_a_panel_that_answers_nonsense_is_refused() -> None:
    with pytest.raises(SetupRefused, match="on_load answered list"):
        read_facts([1])
