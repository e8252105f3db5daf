"""A shared server that ends over one episode's call costs that episode, and none that had no call in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.store.records import EpisodeRow
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import finished

NODESET = '''
import os
import pathlib
import time

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef

DEATHS = pathlib.Path(os.environ["DEATHS"])


def wait_for(what):
    ends = time.monotonic() + 60
    while not (DEATHS / what).exists():
        assert time.monotonic() < ends, what
        time.sleep(0.01)


class Panel(BaseEnvPanel):
    """Every episode but the first begins, or goes on, when the model's server has ended."""

    name = "env_late"
    index = steps = 0

    async def on_field_change(self, name, value):
        if name == "episode_index":
            Panel.index = value
        return {}

    async def on_load(self):
        return {}

    async def on_action(self, name, params):
        Panel.steps = 0
        if os.environ["WHEN"] == "before" and Panel.index:
            wait_for("died")
        return {"ok": True}


class Reset(BaseCanvasNode):
    node_type = "env_late__reset"
    output_ports = [PortDef("observation", "TEXT")]

    async def forward(self, inputs, ctx):
        return {"observation": "begin"}


class Step(BaseCanvasNode):
    node_type = "env_late__step_discrete"
    input_ports = [PortDef("action", "TEXT")]
    output_ports = [PortDef("observation", "TEXT"), PortDef("terminated", "BOOL")]

    async def forward(self, inputs, ctx):
        if os.environ["WHEN"] == "between" and Panel.steps == 0:
            (DEATHS / f"fired{Panel.index}").touch()
            if Panel.index:
                wait_for("died")
            else:
                wait_for("fired1")
                wait_for("fired2")
        Panel.steps += 1
        return {"observation": inputs["action"], "terminated": Panel.steps == 2}


class Evaluate(BaseCanvasNode):
    node_type = "env_late__evaluate"
    input_ports = [PortDef("trigger", "ANY")]
    output_ports = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs, ctx):
        return {"metrics": {"success": 1.0}}


class Late(BaseNodeSet):
    name = "env_late"
    parallelism = "replicated"
    env_panel = Panel

    def get_tools(self):
        return [Reset(), Step(), Evaluate()]


class Act(BaseCanvasNode):
    """Ends its process in the last call of the first episode that asks it; ``calls``: what it remembers."""

    node_type = "model_mortal__act"
    input_ports = [PortDef("observation", "TEXT")]
    output_ports = [PortDef("action", "TEXT")]
    calls = 0

    async def forward(self, inputs, ctx):
        self.calls += 1
        last = os.environ["WHEN"] == "before" or self.calls == 2
        if ctx.execution_id.endswith("ep0000") and last and not (DEATHS / "died").exists():
            (DEATHS / "died").touch()
            os._exit(3)
        return {"action": f"{self.calls} calls"}


class Draw(BaseCanvasNode):
    node_type = "model_mortal__draw"
    input_ports = [PortDef("action", "TEXT")]
    output_ports = [PortDef("action", "TEXT")]
    batched = True
    unchecked = True

    async def forward(self, inputs, ctx):
        return {"_outputs": [{"action": sample["action"]} for sample in inputs["_samples"]]}


class Mortal(BaseNodeSet):
    name = "model_mortal"
    parallelism = "shared"

    def get_tools(self):
        return [Act(), Draw()]
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    nodesets = tmp_path / "workspace" / "nodesets"
    nodesets.mkdir(parents=True)
    (nodesets / "late.py").write_text(NODESET)
    return tmp_path


def graph() -> dict[str, Any]:
    """reset → loop of act → draw → step."""
    found = env_graph("env_late", carried=("observation",))
    found["nodes"] += [
        {"id": "act", "type": "model_mortal__act"},
        {"id": "draw", "type": "model_mortal__draw"},
    ]
    edges = [edge for edge in found["edges"] if edge["target"] != "step"]
    for source, handle, target, target_handle in (
        ("loop_in", "init_observation", "act", "observation"),
        ("loop_in", "iterout_observation", "act", "observation"),
        ("act", "action", "draw", "action"),
        ("draw", "action", "step", "action"),
    ):
        ends = {"source": source, "sourceHandle": handle, "target": target, "targetHandle": target_handle}
        edges.append({"id": f"{source}.{handle}-{target}", **ends})
    return {**found, "edges": edges}


def played(
    root: Path, monkeypatch: pytest.MonkeyPatch, when: str, workers: int, retries: int = 0
) -> tuple[dict[int, EpisodeRow], str | None]:
    """The rows by episode, and the digest; the model's server ends ``before`` any other episode calls it, or
    ``between`` two calls of the others."""
    deaths = root / f"{when}{workers}{retries}"
    deaths.mkdir()
    monkeypatch.setenv("DEATHS", str(deaths))
    monkeypatch.setenv("WHEN", when)
    run = finished(root, graph(), episode_count=3, worker_count=workers, retries=retries)
    summary = run.read_summary()
    assert (deaths / "died").exists(), summary.error
    return {row.episode_index: row for row in summary.episodes}, summary.result_digest


@pytest.mark.slow
def test_an_episode_that_had_no_call_in_it_goes_on_at_its_replacement(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, digest = played(root, monkeypatch, "before", workers=1)
    assert [row.error_class for row in one.values()] == ["infra", None, None]
    three, same = played(root, monkeypatch, "before", workers=3)
    assert [three[index].error for index in (1, 2)] == [None, None]
    assert (three[0].error_class, same) == ("infra", digest)


@pytest.mark.slow
def test_one_whose_nodes_remembered_something_there_is_played_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, _ = played(root, monkeypatch, "between", workers=3)
    assert [row.error_class for row in lost.values()] == ["infra"] * 3
    assert "model_mortal" in (lost[1].error or "")
    again, digest = played(root, monkeypatch, "between", workers=3, retries=1)
    _, undisturbed = played(root, monkeypatch, "before", workers=1, retries=1)
    assert [row.status for row in again.values()] == ["completed"] * 3
    assert digest == undisturbed
