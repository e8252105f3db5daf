"""Nodesets as they are written for AgentCanvas: its import names, its absolute names, its attributes."""

from pathlib import Path

import pytest

from engine.components.discover import discover
from engine.components.roots import standard_roots
from engine.components.scan import ScanRequest
from engine.components.scan_process import run_scans
from tests.components.sources import write

HEAD = """
from __future__ import annotations
from typing import Any, ClassVar
from app.components import (
    BaseCanvasNode,
    BaseNodeSet,
    ConfigField,
    NodeUIConfig,
    PortDef,
    conda_env_python,
)
"""

BODY = """
class Say(BaseCanvasNode):
    node_type = "{name}__say"
    display_name = "Say"
    description = "what it was told"
    category = "tool"
    icon = "Mic"
    input_ports: ClassVar[list] = [PortDef("text", "TEXT", "the words", optional=True)]
    output_ports: ClassVar[list] = [PortDef("text", "TEXT", "the same")]
    config_schema: ClassVar[dict] = {{"type": "object"}}
    ui_config: ClassVar[NodeUIConfig] = NodeUIConfig(
        color="rose", config_fields=[ConfigField("loud", "toggle", label="Loud", default=False)]
    )

    async def forward(self, inputs: dict, ctx: Any) -> dict:
        return {{"text": inputs.get("text", "")}}


class SayNodeSet(BaseNodeSet):
    name: ClassVar[str] = "{name}"
    description: ClassVar[str] = {description}

    def get_tools(self) -> list:
        return [Say()]
"""


def source(name: str, head: str = "", description: str = "'says'", attributes: str = "") -> str:
    body = BODY.format(name=name, description=description)
    return HEAD + head + body + "".join(f"\n    {line}" for line in attributes.splitlines())


def the_manifest(workspace: Path, name: str, *, overlay: Path | None = None):
    catalog = discover(standard_roots([workspace], overlay), workspace / "cache")
    assert [failure.error for failure in catalog.failures] == []
    return catalog.nodesets[name]


def the_error(path: Path) -> str:
    (report,) = run_scans([ScanRequest(path=str(path))], 60)
    (error,) = report.errors
    return error


IMPORTS = {
    "bases": "from app.components.bases import BaseCanvasNode, ConfigField, ContainerDef",
    "dynamic children": "from app.components.bases import DynamicFireListNode, FireList, FireSpec",
    "env panel": "from app.components.env_panel import BaseEnvPanel, EnvPanelAction, EnvPanelField",
    "a panel elsewhere": "from app.components.env_panel import get_env_panel\n"
    "assert get_env_panel('x') is None",
    "graph definitions": "from app.graph_def import ContainerDef, StateDef",
    "batch keys": "from app.server.batched_inference import OUTPUTS_KEY, SAMPLES_KEY\n"
    "assert (SAMPLES_KEY, OUTPUTS_KEY) == ('_samples', '_outputs')",
    "httpx arguments": "from app.server._loopback_proxy import loopback_httpx_kwargs\n"
    "assert loopback_httpx_kwargs() == {'trust_env': False}",
    "actions": "from app.standard.actions import ACTION_NAMES\nassert ACTION_NAMES[0] == 'STOP'",
    "wire types": "from app.standard.wire_types import IMAGE, WIRE_TYPES, unwrap_list\n"
    "assert IMAGE in WIRE_TYPES and unwrap_list('LIST[IMAGE]') == 'IMAGE'",
    "all of standard": "from app.standard import *\n"
    "assert ACTION_FROM_NAME['FORWARD'] == 1 and POSE == 'POSE'",
    "dotted": "import app.components.env_panel\nassert app.components.env_panel.BaseEnvPanel",
    "serialization": "from app.server.serialization import deserialize_value, serialize_value\n"
    "import numpy as np\n"
    "frame = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)\n"
    "for kind in ('IMAGE', 'ANY'):\n"
    "    assert (deserialize_value(serialize_value(frame, kind), kind) == frame).all()\n"
    "assert isinstance(serialize_value(frame, 'IMAGE'), str)\n"
    "assert serialize_value({'a': (np.float32(1), None)}, 'ANY') == {'a': [1.0, None]}",
    "images as text": "from app.standard.wire_types import base64_to_image, image_to_base64\n"
    "import numpy as np\nassert base64_to_image(image_to_base64(np.zeros((3, 2, 3)))).shape == (3, 2, 3)",
    "of the canvas alone": "from app.state import get_services\nfrom app.llm.call import llm_complete\n"
    "from app.replay.interface import ReplayEpisode\nimport app.config as config\n"
    "from app.graph_def import GraphDefinition\n"
    "from typing import Optional\nFound = Optional[GraphDefinition]",
}


@pytest.mark.slow
def test_every_import_form_gets_our_objects(tmp_path):
    for number, statements in enumerate(IMPORTS.values()):
        write(tmp_path / "nodesets" / "tools" / f"say_{number}.py", source(f"say_{number}", statements))
    catalog = discover(standard_roots([tmp_path]), tmp_path / "cache")
    assert [failure.error for failure in catalog.failures] == []
    found = [catalog.nodesets[f"say_{number}"] for number in range(len(IMPORTS))]
    assert {(m.origin, m.parallelism, m.description) for m in found} == {("workspace", "shared", "says")}
    (tool,) = found[0].tools.values()
    assert [(p.name, p.wire_type, p.optional) for p in tool.inputs] == [("text", "TEXT", True)]


@pytest.mark.parametrize(
    ("statements", "name"),
    [
        ("from app.state import get_services\nget_services()", "app.state.get_services"),
        ("from app.state import get_services\nget_services.registry", "app.state.get_services"),
        ("from app.replay.interface import Parser\nclass Mine(Parser): pass", "app.replay.interface.Parser"),
        ("from app.graph_def import NodeDef\nNodeDef(id='a')", "app.graph_def.NodeDef"),
    ],
)
def test_what_only_the_canvas_has_is_named_with_the_file_that_uses_it(tmp_path, statements, name):
    path = write(tmp_path / "nodesets" / "canvas_bound.py", source("canvas_bound", statements))
    error = the_error(path)
    assert f"{name} exists only inside AgentCanvas's own process" in error
    assert "(canvas_bound.py, line " in error


@pytest.mark.slow
def test_who_guards_against_the_canvas_being_absent_goes_on_without_it(tmp_path):
    guarded = "from app.state import get_services\n"
    guarded += "try:\n    get_services()\nexcept ImportError:\n    alone = True\n"
    write(tmp_path / "nodesets" / "guarded.py", source("guarded", guarded, description="str(alone)"))
    assert the_manifest(tmp_path, "guarded").description == "True"


@pytest.mark.slow
def test_a_stray_package_called_app_does_not_stand_before_ours(tmp_path, monkeypatch):
    write(tmp_path / "stray" / "app" / "__init__.py", "raise RuntimeError('not this one')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "stray"))
    write(tmp_path / "nodesets" / "plain.py", source("plain"))
    assert the_manifest(tmp_path, "plain").description == "says"


def test_a_folder_is_one_module_however_its_files_import_each_other(tmp_path):
    folder = tmp_path / "nodesets" / "method" / "walker"
    write(folder / "_prompts.py", "from workspace.nodesets.method.walker import LOADED\nPROMPT = 'go'\n")
    write(folder / "models" / "base.py", "class Base: pass\n")
    write(folder / "models" / "tall.py", "from .base import Base\nclass Tall(Base): pass\n")
    head = (
        "LOADED = []\n"
        "LOADED.append(__name__)\n"
        "import importlib\n"
        "from workspace.nodesets.method.walker._prompts import PROMPT\n"
        "from workspace.nodesets.method.walker import _prompts\n"
        "from . import _prompts as same\n"
        "assert same is _prompts and _prompts.LOADED is LOADED\n"
        "from .models.tall import Tall\n"
        "base = importlib.import_module('workspace.nodesets.method.walker.models.base')\n"
        "assert issubclass(Tall, base.Base)\n"
    )
    write(folder / "__init__.py", source("walker", head, description="PROMPT + str(len(LOADED))"))
    assert the_manifest(tmp_path, "walker").description == "go1"


@pytest.mark.slow
def test_a_nodeset_reaches_another_s_helpers_by_their_absolute_name(tmp_path):
    method = tmp_path / "nodesets" / "method"
    write(method / "walker" / "_prompts.py", "PROMPT = 'go'\n")
    write(method / "walker" / "__init__.py", source("walker"))
    write(method / "_maps.py", "SIDE = 7\n")
    head = (
        "from workspace.nodesets.method._maps import SIDE\n"
        "from workspace.nodesets.method.walker._prompts import PROMPT\n"
    )
    write(method / "runner.py", source("runner", head, description="PROMPT + str(SIDE)"))
    found = the_manifest(tmp_path, "runner")
    assert (found.description, list(found.tools)) == ("go7", ["runner__say"])


@pytest.mark.slow
def test_an_overlay_s_nodeset_finds_the_helpers_of_the_base_and_the_base_none_of_the_overlay_s(tmp_path):
    base, overlay = tmp_path / "base" / "nodesets", tmp_path / "overlay" / "nodesets"
    import_maps = "from workspace.nodesets._maps import SIDE\n"
    import_words = "from workspace.nodesets._words import WORD\n"
    for name in ("runner", "walker"):
        write(base / f"{name}.py", source(name, import_maps + import_words, description="WORD + str(SIDE)"))
    write(base / "_maps.py", "SIDE = 7\n")
    write(base / "_words.py", "WORD = 'base'\n")
    write(overlay / "_words.py", "WORD = 'overlay'\n")
    write(overlay / "runner.py", source("runner", import_maps + import_words, description="WORD + str(SIDE)"))
    found = {
        name: the_manifest(base.parent, name, overlay=overlay.parent).description
        for name in ("runner", "walker")
    }
    assert found == {"runner": "overlay7", "walker": "base7"}


@pytest.mark.slow
def test_attributes_by_agentcanvas_s_names(tmp_path, monkeypatch):
    python = write(tmp_path / "conda" / "python", "")
    monkeypatch.setenv("WALKER_PYTHON", str(python))
    attributes = (
        "server_python = conda_env_python('no-such-env', 'WALKER_PYTHON')\n"
        "server_env = {'A': '1', 'B': '1'}\n"
        "env = {'B': '2'}\n"
        "startup_timeout = 1800\n"
        "server_image = 'agentcanvas/walker:latest'\n"
        "mcp_exclusive = True\n"
        "replay_parser = 'walker_replay.py'\n"
    )
    write(tmp_path / "nodesets" / "walker.py", source("walker", attributes=attributes))
    write(
        tmp_path / "nodesets" / "plain.py",
        source("plain", attributes="start_deadline_sec = 9.0\nstartup_timeout = 5"),
    )
    found = the_manifest(tmp_path, "walker")
    assert found.server_python == str(python)
    assert found.env == {"A": "1", "B": "2"}
    assert found.start_deadline_sec == 1800
    assert found.server_image == "agentcanvas/walker:latest"
    assert the_manifest(tmp_path, "plain").start_deadline_sec == 9


@pytest.mark.slow
def test_folders_and_tests_that_agentcanvas_passes_over_are_passed_over(tmp_path):
    write(tmp_path / "nodesets" / "_upstream" / "theirs.py", source("theirs", "1 / 0\n"))
    write(tmp_path / "nodesets" / "env" / "walker" / "__init__.py", source("walker"))
    write(tmp_path / "nodesets" / "env" / "walker" / "walker_replay.py", source("replay", "1 / 0\n"))
    write(tmp_path / "nodesets" / "env" / "test_walker.py", source("tests", "1 / 0\n"))
    assert list(the_manifest(tmp_path, "walker").tools) == ["walker__say"]
    catalog = discover(standard_roots([tmp_path]), tmp_path / "cache")
    assert [name for name, found in catalog.nodesets.items() if found.origin == "workspace"] == ["walker"]


@pytest.mark.slow
def test_a_nested_graph_is_found_by_its_last_name_where_one_has_it(tmp_path):
    base, overlay = tmp_path / "base", tmp_path / "overlay"
    for name in ("vln/verified/walk", "vln/unverified/stroll", "eqa/stroll", "flat"):
        write(base / "graphs" / f"{name}.json", "{}")
    write(overlay / "graphs" / "walk.json", "{}")
    graphs = discover(standard_roots([base], overlay), tmp_path / "cache").graphs
    assert graphs["walk"] == str(overlay / "graphs" / "walk.json")
    assert graphs["vln/verified/walk"] == str(base / "graphs" / "vln" / "verified" / "walk.json")
    assert graphs["flat"] == str(base / "graphs" / "flat.json")
    assert graphs["eqa/stroll"] == str(base / "graphs" / "eqa" / "stroll.json")
    assert "stroll" not in graphs
