"""What every built-in environment's panel does with a fault that no choice of the operator's explains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.components import SimulatorFailed
from tests.nodesets.gym_player import nodeset_class

ENVIRONMENTS = {
    "env_browsergym": "stage.set_up",
    "env_gridhouse": "panel._simulator",
    "env_gymnasium": "session.choose",
    "env_habitat": "stage.set_up",
    "env_maniskill": "stage.set_up",
    "env_metaworld": "stage.set_up",
    "env_mp3d": "stage.set_up",
    "env_simpler": "stage.set_up",
    "env_textgame": "stage.set_up",
    "env_workspace": "stage.begin",
}
"""What sets an episode up."""
NODESETS = Path(__file__).parents[2] / "nodesets"


def test_these_are_all() -> None:
    with_panel = (f.parent.name for f in NODESETS.glob("env_*/__init__.py"))
    assert {name for name in with_panel if nodeset_class(name).env_panel} == set(ENVIRONMENTS)


@pytest.mark.parametrize("name", ENVIRONMENTS)
async def test_a_fault_is_the_simulators_and_a_wrong_selector_the_operators(name: str) -> None:
    nodeset: Any = nodeset_class(name)()
    panel: Any = nodeset.env_panel()
    panel._context = {"nodeset": nodeset}
    owner, _, method = ENVIRONMENTS[name].partition(".")
    place = panel if owner == "panel" else getattr(nodeset, owner)

    raised: list[Exception] = []

    def fails(*given: Any) -> None:
        raise raised[-1]

    setattr(place, method, fails)
    for error in (RuntimeError("gone"), OSError(28, "No space left on device"), KeyError("gone")):
        raised.append(error)
        with pytest.raises(SimulatorFailed, match=f"the simulator failed: {type(error).__name__}: "):
            await panel.on_action("play", {})
    for error in (ValueError("no such door"), FileNotFoundError("no such door")):
        raised.append(error)
        answer = await panel.on_action("play", {})
        assert answer["ok"] is False
        assert "no such door" in answer["error"]
    await nodeset.shutdown()


async def test_a_machine_that_is_full_is_no_mistake_of_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    nodeset: Any = nodeset_class("env_workspace")()
    panel: Any = nodeset.env_panel()
    panel._context = {"nodeset": nodeset}
    workspace = nodeset.stage.begin.__globals__["Workspace"]

    def full(self: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workspace, "_lay_out", full)
    with pytest.raises(SimulatorFailed, match="No space left on device"):
        await panel.on_action("play", {})
    await nodeset.shutdown()
