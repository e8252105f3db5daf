"""Graphs saved for AgentCanvas, in real runs against nodesets made up from their own node types and ports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.graph.read import parse_graph
from engine.models.profiles import asked_for
from engine.store.records import Summary
from tests.fakes.chat_server import ChatServer, chat_server
from tests.fakes.real_runs import finished
from tests.fakes.stubs import write_stubs

FOLDER = Path(__file__).parents[1] / "fixtures" / "agentcanvas-graphs"
FILES = sorted(FOLDER.glob("*.json"))
NO_VERDICT = {"simple_eqa", "tutorial_demo"}
"""They put out no number: the first ends without a verdict, and the second, no evaluation, needs none."""
QUICK = {"voxposer_libero_decomposed"}
"""A loop in a composite in a loop. The others are slow."""


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server(answer=lambda body: f"{len(json.dumps(body['messages']))} steps on: FORWARD") as running:
        yield running


def make_root(folder: Path, graph: dict[str, Any], server: ChatServer) -> Path:
    """A root whose workspace has the graph's nodesets, and whose profiles are those that it asks for."""
    write_stubs(parse_graph(graph), folder / "workspace" / "nodesets")
    names = {asked_for(node["config"])[0] or "any" for node in graph["nodes"] if node["type"] == "llmCall"}
    profile = f'base_url = "{server.url}"\nmodel = "tiny"\ndeterminism = "exact"\n'
    settings = "".join(f'[profiles."{name}"]\n{profile}' for name in sorted(names))
    (folder / "evaltower.toml").write_text(settings)
    return folder


def play(root: Path, graph: dict[str, Any], workers: int) -> Summary:
    run = finished(root, graph, episode_count=4, worker_count=workers, seed=3)
    return run.read_summary()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else pytest.mark.slow)
        for path in FILES
    ],
)
def test_one_digest_with_1_and_4_workers(path: Path, tmp_path: Path, server: ChatServer) -> None:
    graph = json.loads(path.read_bytes())
    root = make_root(tmp_path, graph, server)
    one, four = (play(root, graph, workers) for workers in (1, 4))
    for summary in (one, four):
        assert summary.status == "completed", summary.error
        told = {(row.status, row.termination, row.error) for row in summary.episodes}
        if path.stem == "simple_eqa":
            assert {row.termination for row in summary.episodes} == {"no_verdict"}
        else:
            assert {row.status for row in summary.episodes} == {"completed"}, told
        if path.stem not in NO_VERDICT:
            assert set(summary.aggregate_metrics) >= {"success"}
    assert one.result_digest == four.result_digest
    assert len({row.trajectory_digest for row in one.episodes}) == 4
