"""Graphs saved for AgentCanvas play on our adapters, unchanged; what else they need is made up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.components.catalog import nodeset_of
from engine.graph.read import parse_graph
from tests.evaluation.test_saved_graphs import FOLDER, make_root
from tests.fakes.chat_server import ChatServer, chat_server
from tests.fakes.real_runs import finished
from tests.nodesets.adapter_host import SIMULATORS
from tests.nodesets.mp3d_world import make_world

ADAPTERS = ("env_habitat", "env_mp3d", "env_simpler")
A_NUMBER, SEVEN = "return int(rng.integers(4))", "return rng.uniform(-1, 1, 7).tolist()"
"""What a made-up policy puts out, and what an arm takes."""

GRAPHS = [
    path
    for path in sorted(FOLDER.glob("*.json"))
    if {nodeset_of(node.type) for node in parse_graph(json.loads(path.read_bytes())).nodes} & set(ADAPTERS)
]


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server(answer=lambda body: "I go FORWARD") as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_it_runs_with_no_node_in_error(
    path: Path, tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALTOWER_HABITAT_ROOT", str(SIMULATORS / "habitat" / "yacs"))
    monkeypatch.setenv("PYTHONPATH", str(SIMULATORS / "simpler"))
    for name, value in make_world(tmp_path / "world").items():
        monkeypatch.setenv(name, value)
    graph = json.loads(path.read_bytes())
    (tmp_path / "root").mkdir()
    root = make_root(tmp_path / "root", graph, server)
    for stub in (root / "workspace" / "nodesets").glob("*.py"):
        if stub.stem in ADAPTERS:
            stub.unlink()
        elif "simpler" in path.stem:
            stub.write_text(stub.read_text().replace(A_NUMBER, SEVEN))
    run = finished(root, graph, episode_count=2, worker_count=2, seed=3)
    summary = run.read_summary()
    assert summary.status == "completed", summary.error
    assert {row.status for row in summary.episodes} == {"completed"}, [row.error for row in summary.episodes]
    assert set(summary.aggregate_metrics) >= {"success"}
