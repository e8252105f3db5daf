"""What environments of one stage a process share: their panel, and what it says of a bad option."""

from __future__ import annotations

from typing import Any

import pytest

from engine.components import EnvPanelField, SeededStage, StageNodeSet, StageTool


class Room(SeededStage):
    def options(self, field: str) -> list[str]:
        return ["red", "blue"] if field == "colour" else super().options(field)

    def set_up(self) -> None:
        self.choice("colour")
        self.index(3)
        if self.text("data"):
            open(self.text("data")).close()

    def restart(self) -> None: ...

    def facts(self) -> dict[str, Any]:
        return {}

    def metrics(self) -> dict[str, float]:
        return {}


class Look(StageTool):
    node_type = "env_room__look"
    default_config = {"views": 4}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"views": self.number("views", 1)}


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
        ({"colour": "green"}, "colour 'green' is not one of red, blue"),
        ({"episode_index": 3}, "episode_index 3 is beyond the last, 2"),
        ({"episode_index": "one"}, "episode_index 'one' is not a whole number of at least 0"),
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


async def test_a_bad_config_is_named() -> None:
    (look,) = EnvRoom().get_tools()
    look.config = {"views": 4}
    assert await look.forward({}, None) == {"views": 4}
    look.config = {"views": 0}
    with pytest.raises(ValueError, match="config views 0 is not a whole number of at least 1"):
        await look.forward({}, None)


async def test_seeds_have_no_end() -> None:
    told = await EnvRoom().get_eval_metadata()
    assert (told["splits"], told["episode_counts"]) == (["default"], {"default": 1000})
