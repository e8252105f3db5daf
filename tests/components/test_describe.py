import re
from pathlib import Path

import numpy as np
import pytest

from engine.components import (
    BaseCanvasNode,
    BaseEnvPanel,
    BaseNodeSet,
    ContainerDef,
    EnvPanelAction,
    EnvPanelField,
    PortDef,
    StateDef,
)
from engine.components.bases import conda_env_python
from engine.components.describe import DeclarationError, describe_nodeset, resolve_ports

HOME = Path("/somewhere/env_x.py")


class Panel(BaseEnvPanel):
    name = "panel"
    display_name = "The panel"
    fields = [EnvPanelField("split", "select", "Split", options=["train", "val"])]
    actions = [EnvPanelAction("play", "Play")]

    async def on_load(self):
        return {}


def tool(class_name="Step", **attributes):
    async def forward(self, inputs, ctx):
        return {}

    return type(class_name, (BaseCanvasNode,), {"node_type": "env_x__step", "forward": forward, **attributes})


def declared(*tools, **attributes):
    def get_tools(self):
        return [made() for made in tools]

    return type("Env", (BaseNodeSet,), {"name": "env_x", "get_tools": get_tools, **attributes})


def error_of(nodeset):
    with pytest.raises(DeclarationError) as caught:
        describe_nodeset(nodeset, HOME)
    return str(caught.value)


@pytest.mark.parametrize(
    ("attributes", "parallelism", "assumed"),
    [
        ({}, "shared", True),
        ({"env_panel": Panel}, "replicated", True),
        ({"env_panel": Panel, "parallelism": "shared"}, "shared", False),
        ({"parallelism": "replicated"}, "replicated", False),
    ],
)
def test_undeclared_parallelism_follows_the_panel(attributes, parallelism, assumed):
    manifest = describe_nodeset(declared(**attributes), HOME)
    assert (manifest.parallelism, manifest.parallelism_assumed) == (parallelism, assumed)


def test_panel_and_containers_are_taken_down_as_plain_data():
    state = StateDef("accumulator", "TEXT", {"max_size": 2}, "custom", ["crash"])
    manifest = describe_nodeset(
        declared(env_panel=Panel, get_containers=lambda self: [ContainerDef("mem", "Memory", {"h": state})]),
        HOME,
    )
    assert manifest.panel["display_name"] == "The panel"
    assert [(f["name"], f["options"]) for f in manifest.panel["fields"]] == [("split", ["train", "val"])]
    assert [action["name"] for action in manifest.panel["actions"]] == ["play"]
    assert manifest.containers == (
        {
            "id": "mem",
            "label": "Memory",
            "states": {
                "h": {
                    "type": "accumulator",
                    "value_type": "TEXT",
                    "config": {"max_size": 2},
                    "lifetime": "custom",
                    "reset_on": ["crash"],
                }
            },
        },
    )


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"name": None}, r"class Env, name: Expected `str`, got `null`"),
        ({"name": "env__x"}, r"class Env, name: .*'env__x'"),
        ({"name": "env_"}, r"class Env, name: .*'env_'"),
        ({"name": "env#0"}, r"class Env, name: .*'env#0'"),
        ({"parallelism": "sharded"}, r"class Env, parallelism: Invalid enum value 'sharded'"),
        ({"determinism": "mostly"}, r"class Env, determinism: Invalid enum value 'mostly'"),
        ({"description": 3}, r"class Env, description: Expected `str`, got `int`"),
        ({"server_python": Path("/usr/bin/python")}, r"class Env, server_python: .*PosixPath"),
        ({"expected_vram_mb": -1}, r"class Env, expected_vram_mb: Expected `int` >= 0 \(it is -1\)"),
        ({"recycle_after": 0}, r"class Env, recycle_after: Expected `int` >= 1"),
        ({"recycle_after": 1.5}, r"class Env, recycle_after: Expected `int \| null`, got `float`"),
        ({"default_per_step_budget_sec": 0}, r"class Env, default_per_step_budget_sec: Expected `float` > 0"),
        ({"reset_deadline_sec": "1"}, r"class Env, reset_deadline_sec: Expected `float`, got `str`"),
        ({"env": {"A": 1}}, r"class Env, env\[\.\.\.\]: Expected `str`, got `int`"),
        ({"env": ["A"]}, r"class Env, env: Expected `object`, got `array`"),
        ({"max_batch": True}, r"class Env, max_batch: Expected `int`, got `bool`"),
        ({"unchecked": "yes"}, r"class Env, unchecked: Expected `bool`, got `str`"),
        ({"env_panel": Panel()}, r"class Env, env_panel: must be a subclass of BaseEnvPanel, not <"),
        ({"env_panel": dict}, r"class Env, env_panel: must be a subclass of BaseEnvPanel"),
        ({"env_panel": type("P", (Panel,), {"name": 3})}, r"class P, name: must be a text, not 3"),
        (
            {"get_containers": lambda self: [ContainerDef("m", states={"s": StateDef("set")})]},
            r"class Env, get_containers: container 'm', state 's': type must be one of",
        ),
    ],
)
def test_a_wrong_nodeset_attribute_is_refused_by_name(attributes, message):
    error = error_of(declared(**attributes))
    assert re.match(message, error), error


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"node_type": None}, r"class Step, node_type: Expected `str`, got `null`"),
        ({"node_type": "step"}, r"class Step, node_type: must be 'env_x__<tool>', not 'step'"),
        ({"node_type": "env_y__step"}, r"class Step, node_type: must be 'env_x__<tool>', not 'env_y__step'"),
        ({"node_type": "env_x__"}, r"class Step, node_type: must be 'env_x__<tool>', not 'env_x__'"),
        ({"input_ports": ["a"]}, r"class Step, input_ports: 'a' is not a PortDef"),
        ({"input_ports": None}, r"class Step, input_ports: must be a list of PortDef, not None"),
        ({"output_ports": [{"name": "a"}]}, r"class Step, output_ports: .* is not a PortDef"),
        (
            {"output_ports": [PortDef("a", "TEXT"), PortDef("a", "BOOL")]},
            r"class Step, output_ports: port 'a' is declared twice",
        ),
        (
            {"input_ports": [PortDef("a", None)]},
            r"class Step, input_ports, wire_type: Expected `str`, got `null`",
        ),
        ({"batched": 1}, r"class Step, batched: Expected `bool`, got `int`"),
        ({"default_config": [1]}, r"class Step, default_config: Expected `object`, got `array`"),
        ({"default_config": {"w": np.zeros(2)}}, r"class Step, default_config: .*ndarray"),
    ],
)
def test_a_wrong_tool_attribute_is_refused_by_name(attributes, message):
    error = error_of(declared(tool(**attributes)))
    assert re.match(message, error), error


def test_two_tools_of_one_node_type_are_both_named():
    error = error_of(declared(tool("First"), tool("Second")))
    assert error == "class Second, node_type: 'env_x__step' is also that of class First"


def test_tools_are_instances():
    assert "class Env, get_tools: <class" in error_of(declared(lambda: tool()))


def resolve_from_class(cls, config):
    return [PortDef(name, "TEXT") for name in config["names"]], [PortDef("all", "LIST[TEXT]")]


@pytest.mark.parametrize("as_method", [classmethod, staticmethod, lambda function: function])
def test_ports_may_depend_on_the_config_in_any_kind_of_method(as_method):
    def resolve(*arguments):
        return resolve_from_class(None, arguments[-1])

    made = tool(_resolve_ports=as_method(resolve))
    manifest = describe_nodeset(declared(made), HOME)
    assert manifest.tools["env_x__step"].dynamic_ports
    ports = resolve_ports(made(), {"names": ["a", "b"]}).ports()
    assert [(p.name, p.wire_type, p.optional) for p in ports.inputs] == [
        ("a", "TEXT", False),
        ("b", "TEXT", False),
    ]
    assert [p.wire_type for p in ports.outputs] == ["LIST[TEXT]"]


def test_an_inherited_resolver_is_dynamic_too():
    base = tool(_resolve_ports=classmethod(resolve_from_class))
    derived = type("Derived", (base,), {})
    assert describe_nodeset(declared(derived), HOME).tools["env_x__step"].dynamic_ports
    assert not describe_nodeset(declared(tool()), HOME).tools["env_x__step"].dynamic_ports


def test_resolved_ports_are_checked_like_declared_ones():
    made = tool(_resolve_ports=lambda self, config: (["a"], []))
    with pytest.raises(DeclarationError, match="class Step, _resolve_ports: 'a' is not a PortDef"):
        resolve_ports(made(), {})


def test_the_interpreter_of_a_conda_environment(tmp_path, monkeypatch):
    python = tmp_path / "envs" / "habitat" / "bin" / "python"
    monkeypatch.delenv("HABITAT_PYTHON", raising=False)
    for prefix in (tmp_path, tmp_path / "envs" / "ours"):
        monkeypatch.setattr("sys.prefix", str(prefix))
        python.unlink(missing_ok=True)
        assert conda_env_python("habitat", "HABITAT_PYTHON") is None
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()
        assert conda_env_python("habitat", "HABITAT_PYTHON") == str(python)
    monkeypatch.setenv("HABITAT_PYTHON", "/opt/python")
    assert conda_env_python("habitat", "HABITAT_PYTHON") == "/opt/python"
