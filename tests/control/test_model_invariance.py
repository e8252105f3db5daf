"""worker_count changes no bit of a run with a shared model: one digest at 1, 2 and 8 workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.control.test_invariance import verify
from tests.fakes.chat_server import chat_server
from tests.fakes.real_runs import make_root
from tests.fakes.tiny_transformers import language_model
from tests.nodesets.gym_player import NODESETS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WORKERS = [1, 2, 8]


def with_agent(root: Path, nodeset: str, graph: str, **config: Any) -> None:
    """Save the graph of a nodeset in the root's workspace, its agent with this config."""
    saved = json.loads((NODESETS / nodeset / "graphs" / f"{graph}.json").read_text("utf-8"))
    agent = next(node for node in saved["nodes"] if node["id"] == "agent")
    agent["config"].update(config)
    folder = root / "workspace" / "graphs"
    folder.mkdir(parents=True)
    (folder / f"{graph}.json").write_text(json.dumps(saved))


@pytest.mark.parametrize(
    ("graph", "step_budget"), [("cartpole_sb3", 60), ("voice_onnx", None), ("cartpole_torch", 60)]
)
def test_models_that_are_at_hand(tmp_path: Path, graph: str, step_budget: int | None) -> None:
    report = verify(tmp_path, WORKERS, graph_name=graph, episode_count=16, step_budget=step_budget)
    assert (report.verdict, report.determinism, report.notes) == ("same", "exact", [])


def test_a_language_model(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    with_agent(root, "policy_hf", "babyai_hf", path=str(language_model(tmp_path / "model")), length=160)
    report = verify(root, WORKERS, graph_name="babyai_hf", episode_count=8, step_budget=10)
    assert (report.verdict, report.determinism, report.notes) == ("same", "exact", [])


def test_a_vision_language_model_that_answers_alike(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    steps = ("forward", "turn_left", "turn_right")
    with chat_server(answer=lambda body: json.dumps({"choice": steps[body["seed"] % 3]})) as server:
        with_agent(root, "vlm_openai", "gridhouse_vlm", base_url=server.url, model="tiny")
        report = verify(root, WORKERS, graph_name="gridhouse_vlm", episode_count=8, step_budget=10)
    assert (report.verdict, report.determinism) == ("same", "none")
