"""Where a profile's key gets to: real runs whose nodesets and hooks tell all that they know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import NODESETS, finished

KEY = 'sk-"0123456789\\abcdefghij'
"""JSON has it in another form than plain text."""

NOSY = """
import os

from engine.components import BaseCanvasNode, BaseNodeSet, PortDef

TOLD = "\\n".join(f"{name}={value}" for name, value in sorted(os.environ.items()))
if "ASK_KEY" not in os.environ:
    print(TOLD)


class Act(BaseCanvasNode):
    node_type = "model_nosy__act"
    input_ports = [PortDef("observation", "TEXT")]
    output_ports = [PortDef("action", "TEXT"), PortDef("told", "ANY"), PortDef("length", "ANY")]

    async def forward(self, inputs, ctx):
        ctx.trace("told", text=TOLD)
        self._self_log("told", TOLD)
        if ctx.episode["episode_index"] == 1:
            raise ValueError(TOLD)
        long = TOLD * (1 + (100 << 10) // len(TOLD))
        return {"action": "STOP", "told": {TOLD: TOLD}, "long": long, "has": "ASK_KEY" in os.environ}


class Nosy(BaseNodeSet):
    name = "model_nosy"
    parallelism = "shared"

    def get_tools(self):
        return [Act()]
"""


def nosy_graph() -> dict[str, Any]:
    graph = env_graph("env_line", carried=("observation",))
    graph["nodes"].append({"id": "act", "type": "model_nosy__act"})
    edges = [edge for edge in graph["edges"] if edge["target"] != "step"]
    for number, (source, handle, target, target_handle) in enumerate(
        (
            ("loop_in", "init_observation", "act", "observation"),
            ("loop_in", "iterout_observation", "act", "observation"),
            ("act", "action", "step", "action"),
        )
    ):
        ends = {"source": source, "sourceHandle": handle, "target": target, "targetHandle": target_handle}
        edges.append({"id": f"act{number}", **ends})
    hooks = [{"event": "GraphStart", "command": "env >> hooks.txt; env >&2"}]
    return {**graph, "edges": edges, "hooks": hooks}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASK_KEY", KEY)
    nodesets = tmp_path / "workspace" / "nodesets"
    nodesets.mkdir(parents=True)
    (nodesets / "env_line.py").symlink_to(NODESETS / "env_line.py")
    (nodesets / "model_nosy.py").write_text(NOSY)
    return tmp_path


def settle(root: Path, key_for: list[str]) -> None:
    (root / "evaltower.toml").write_text(
        f'[profiles.p]\nbase_url = "http://h/v1"\nmodel = "m"\napi_key_env = "ASK_KEY"\nkey_for = {key_for}\n'
    )


def fired(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "log.jsonl").read_bytes().split(b"\n")
    return [line for line in map(json.loads, filter(None, lines)) if line["node_id"] == "act"]


def holders(root: Path) -> list[Path]:
    """The files that hold the key, plain or as JSON has it."""
    forms = (KEY.encode(), json.dumps(KEY)[1:-1].encode())
    files = [file for file in root.rglob("*") if file.is_file()]
    return [file for file in files if any(form in file.read_bytes() for form in forms)]


def test_neither_hosts_nor_hooks_have_it(root: Path) -> None:
    settle(root, [])
    run = finished(root, nosy_graph(), episode_count=2)
    (line,) = fired(run.episodes / "ep0000")
    assert line["outputs"]["has"] is False
    assert "PATH=" in (root / "hooks.txt").read_text()
    assert "PATH=" in next((run.path / "attempts/1/hosts").glob("model_nosy*.log")).read_text()
    assert holders(root) == []


def test_a_nodeset_that_is_given_it_has_it_and_it_is_struck_from_what_it_says(root: Path) -> None:
    settle(root, ["model_nosy"])
    run = finished(root, nosy_graph(), episode_count=2)
    (line,) = fired(run.episodes / "ep0000")
    assert line["outputs"]["has"] is True
    assert "ASK_KEY=[key]" in json.dumps(line["outputs"]["told"])
    assert "ASK_KEY=[key]" in (run.episodes / "ep0000" / line["outputs"]["long"]["$asset"]).read_text()
    _, failed = run.read_summary().episodes
    assert failed.error is not None
    assert "ASK_KEY=[key]" in failed.error
    assert "ASK_KEY" not in (root / "hooks.txt").read_text()
    assert holders(root) == []


def test_a_nodeset_that_says_it_when_it_does_not_start_is_not_quoted_with_it(root: Path) -> None:
    settle(root, ["model_nosy"])
    nosy = root / "workspace" / "nodesets" / "model_nosy.py"
    nosy.write_text(
        NOSY + "\n    async def initialize(self, **more):\n        raise ValueError(os.environ['ASK_KEY'])\n"
    )
    summary = finished(root, nosy_graph(), episode_count=1).read_summary()
    assert summary.status == "error"
    assert "ValueError: [key]" in (summary.error or "")
    assert holders(root) == []
