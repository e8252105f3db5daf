"""What environments of one stage a process share: their panel, and what it says of a bad option."""

from __future__ import annotations

from typing import Any

import pytest

from engine.components import (
    EnvPanelField,
    EvaluateTool,
    OutsideFailure,
    PortDef,
    ResetTool,
    SeededStage,
    SimulatorFailed,
    StageNodeSet,
    StageTool,
    StepTool,
    WrongChoice,
    blaming,
)


class Room(SeededStage):
    def options(self, field: str) -> list[str]:
        return ["red", "blue"] if field == "colour" else super().options(field)

    def set_up(self) -> None:
        self.choice("colour")
        self.index(3)
        if self.text("data"):
            open(self.text("data")).close()
        self.begin(self.choice("colour"), self.number("seed"), "look")

    def act(self, action: Any) -> float:
        if not isinstance(action, float):
            raise ValueError(f"{action!r} is no action")
        self.terminated = action < 0
        return action

    def metrics(self) -> dict[str, float]:
        return {"success": float(self.success), "return": self.total}


class Look(StageTool):
    node_type = "env_room__look"
    default_config = {"views": 4}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"views": self.number("views", 1)}


class Reset(ResetTool):
    node_type = "env_room__reset"
    output_ports = [PortDef("instruction", "TEXT"), PortDef("reward", "ANY")]


class Step(StepTool):
    node_type = "env_room__step"
    input_ports = [PortDef("action", "ANY")]
    output_ports = [PortDef("reward", "ANY"), PortDef("rgb", "IMAGE", optional=True), PortDef("done", "BOOL")]


class Evaluate(EvaluateTool):
    node_type = "env_room__evaluate"


class EnvRoom(StageNodeSet):
    name, title = "env_room", "A room"
    stage_class, tool_classes = Room, (Look,)
    fields = (EnvPanelField("colour", "select", "Colour"),)


def test_the_fields_of_a_nodeset_become_its_panel_with_the_episode_s_number_last() -> None:
    panel: Any = EnvRoom.env_panel
    assert (panel.name, panel.display_name) == ("env_room", "A room")
    assert [field.name for field in panel.fields] == ["colour", "episode_index"]

    class EnvHall(EnvRoom):
        name = "env_hall"
        fields = (EnvPanelField("episode_index", "number", "Which"), EnvPanelField("data", "text", "Data"))

    told = [(field.name, field.label) for field in EnvHall.env_panel.fields]
    assert told == [("data", "Data"), ("episode_index", "Which")]


@pytest.mark.parametrize(
    ("selected", "told"),
    [
        ({"colour": "green"}, "selector colour is 'green'; it takes red, blue"),
        ({"episode_index": 3}, "selector episode_index is 3; it takes 0 to 2"),
        (
            {"episode_index": "one"},
            "selector episode_index is 'one'; it takes a whole number from 0 to 4294967295",
        ),
        ({"seed": 2**32}, "selector seed is 4294967296; it takes a whole number from 0 to 4294967295"),
        ({"data": "/no/data"}, "there is no /no/data: `evaltower doctor` says what env_room needs"),
    ],
)
async def test_a_bad_option_or_missing_data_is_named(selected: dict[str, Any], told: str) -> None:
    nodeset = EnvRoom()
    panel: Any = EnvRoom.env_panel()  # type: ignore[misc]
    panel._context = {"nodeset": nodeset}
    for name, value in selected.items():
        await panel.on_field_change(name, value)
    assert await panel.on_action("play", {}) == {"ok": False, "error": told}
    await panel.on_field_change("colour", "blue")
    assert (await panel.on_action("play", {}))["ok"], "nothing is left of the form before"


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (ValueError("no such door"), "no such door"),
        (WrongChoice("no such door"), "no such door"),
        (ImportError("no doors here"), "no doors here"),
        (NotADirectoryError("no folder"), "no folder: `evaltower doctor` says what env_room needs"),
        (RuntimeError("the door\nis stuck"), None),
        (KeyError("door"), None),
        (ConnectionResetError("the door is gone"), None),
        (OSError(28, "No space left on device"), None),
    ],
)
async def test_what_no_choice_explains_is_the_simulators_fault(error: Exception, answer: str | None) -> None:
    class Stuck(Room):
        def set_up(self) -> None:
            raise error

    class EnvStuck(EnvRoom):
        stage_class = Stuck

    panel: Any = EnvRoom.env_panel()  # type: ignore[misc]
    panel._context = {"nodeset": EnvStuck()}
    if answer is not None:
        assert await panel.on_action("play", {}) == {"ok": False, "error": answer}
        return
    told = f"the simulator failed: {type(error).__name__}: "
    with pytest.raises(SimulatorFailed, match=told) as raised:
        await panel.on_action("play", {})
    assert "\n" not in str(raised.value)


def test_what_a_library_says_of_a_choice_names_it() -> None:
    for raised in (KeyError("x"), RuntimeError("two\nlines"), AssertionError()):
        told = f"^selector colour is 'x': {type(raised).__name__}: "
        with pytest.raises(ValueError, match=told) as caught, blaming("selector colour is 'x'"):
            raise raised
        assert "\n" not in str(caught.value)
        with pytest.raises(type(raised)), blaming("selector colour is ''", blamed=False):
            raise raised
    for passed in (ImportError("x"), OSError(28, "full"), MemoryError(), OutsideFailure("gone")):
        with pytest.raises(type(passed)), blaming("selector colour is 'x'"):
            raise passed


async def test_a_bad_config_is_named() -> None:
    (look,) = EnvRoom().get_tools()
    look.config = {"views": 4}
    assert await look.forward({}, None) == {"views": 4}
    look.config = {"views": 0}
    with pytest.raises(ValueError, match="config views is 0; it takes a whole number of at least 1"):
        await look.forward({}, None)


def test_scenes_are_tasks_where_a_stage_says_so() -> None:
    assert EnvRoom.scenes_are_tasks is True

    class Hall(Room):
        scenes_are_tasks = False

    class EnvHall(EnvRoom):
        name = "env_hall"
        stage_class = Hall

    assert EnvHall.scenes_are_tasks is False


async def test_seeds_have_no_end() -> None:
    told = await EnvRoom().get_eval_metadata()
    assert (told["splits"], told["episode_counts"]) == (["default"], {"default": 1000})


async def test_an_episode_is_played_and_begun_again_by_its_tools() -> None:
    stage = Room()
    reset, step, evaluate = Reset(stage), Step(stage), Evaluate(stage)
    for tool in (reset, step, evaluate):
        with pytest.raises(RuntimeError, match="no episode has been set up"):
            await tool.forward({"action": 1.0}, None)
    stage.form = {"colour": "blue", "seed": 7}
    stage.set_up()
    assert stage.facts() == {"episode_id": "blue#7", "scene_id": "blue", "instruction": "look"}
    with pytest.raises(ValueError, match="None is no action"):
        await step.forward({"action": None}, None)
    assert await step.forward({"action": 2.0}, None) == {"reward": 2.0, "done": False}
    assert await step.forward({"action": -0.5}, None) == {"reward": -0.5, "done": True}
    told = "blue ended at step 2: wire its end to the loop's `stop`, or reset it"
    with pytest.raises(RuntimeError, match=told):
        await step.forward({"action": 1.0}, None)
    assert await evaluate.forward({}, None) == {"metrics": {"success": 0, "return": 1.5}, "success": 0}
    assert await reset.forward({}, None) == {"instruction": "look", "reward": 0}
    assert (stage.steps, stage.total, stage.done) == (0, 0, False)


async def test_a_port_that_is_not_optional_is_missed() -> None:
    stage = Room()
    stage.set_up()
    tool = Step(stage)
    tool.output_ports = [PortDef("depth", "DEPTH")]  # type: ignore[misc]
    with pytest.raises(KeyError, match="depth"):
        await tool.forward({"action": 1.0}, None)
