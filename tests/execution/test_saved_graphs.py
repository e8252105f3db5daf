"""Graphs saved for AgentCanvas, fired in this process with nodes made up from their own types and ports."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path

import pytest

from engine.components.containers import ContainerStore
from engine.components.firing import NodeHandler
from engine.execution.executor import EpisodeContext, Executor
from engine.execution.handlers import LocalHandler, builtin_handler
from engine.execution.metrics import extract_metrics
from engine.graph.check import check_graph
from engine.graph.model import Node
from engine.graph.plan import plan_graph
from engine.graph.read import load_graph
from engine.models.answer import Answer
from engine.models.call import ChatCall, Reply
from tests.execution.sketch import Ran, Recording
from tests.fakes.stubs import load_stubs, resolver, write_stubs

FOLDER = Path(__file__).parents[1] / "fixtures" / "agentcanvas-graphs"
FILES = sorted(FOLDER.glob("*.json"))
BUDGET = 12
STANDS_STILL = "navgpt_mp3d"
"""Its init_observe waits for init_paper_objects and the other way round, so that its loop never begins."""


class Parrot:
    """A chat client that says how long the question was."""

    async def ask(self, profile: str, model: str, call: ChatCall) -> Reply:
        texts = [f"{len(str(call.messages))} FORWARD"] * call.n
        return Reply(
            Answer(texts=texts, model="parrot", finish_reasons=["stop"]),
            profile,
            {"model": "parrot"},
            1,
            None,
        )


def play(path: Path, folder: Path, seed: int = 7) -> Ran:
    graph = load_graph(path)
    tools = load_stubs(write_stubs(graph, folder))
    resolve = resolver(tools)
    assert [problem for problem in check_graph(graph, resolve, tools) if problem.severity == "error"] == []
    plan = plan_graph(graph, resolve)

    def handler(node: Node) -> NodeHandler:
        if node.type in tools:
            return LocalHandler(copy.copy(tools[node.type]))
        found = builtin_handler(node, Parrot(), plan.nodes[node.id].wired)
        assert found is not None
        return found

    log = Recording()
    executor = Executor(
        plan,
        handler,
        budget=BUDGET,
        episode=EpisodeContext("run/ep0000", seed),
        log=log,
        containers=ContainerStore(plan.graph.containers),
        progress=lambda step, node_id: None,
        stop=lambda: None,
    )
    return Ran(plan, asyncio.run(executor.run()), log)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_comes_to_its_end(path: Path, tmp_path: Path) -> None:
    ran = play(path, tmp_path)
    assert ran.outcome.node_errors == []
    metrics, _ = extract_metrics(ran.outcome.outputs)
    assert ("success" in metrics) == (path.stem not in ("simple_eqa", "tutorial_demo"))
    if path.stem == STANDS_STILL:
        assert (ran.outcome.termination, ran.outcome.steps) == ("drained", 0)
        return
    assert set(ran.order) == set(ran.plan.nodes)
    assert ran.outcome.termination == "stopped"
    assert ran.outcome.steps == (3 if ran.plan.root_loops else 1)
    for loop in ran.plan.loops.values():
        assert set(ran.inputs(loop.iter_in)[0]) >= loop.init_handles


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_is_the_same_again_and_another_with_another_seed(path: Path, tmp_path: Path) -> None:
    traces = [
        [
            (firing.planned.node.id, firing.step, repr(firing.outputs))
            for firing in play(path, tmp_path, seed).log.firings
        ]
        for seed in (7, 7, 8)
    ]
    assert traces[0] == traces[1] != traces[2]


def test_a_composite_gives_its_last_values_once_an_iteration(tmp_path: Path) -> None:
    ran = play(FOLDER / "voxposer_libero_decomposed.json", tmp_path)
    ticks = len(ran.of("waypoint_exec__step_ee_pose"))
    assert ticks == len(ran.of("waypoint_exec__graph_out__step_index")) == 9
    assert len(ran.of("vp_check_done")) == ran.outcome.steps == 3
    last = [firing.outputs["step_index"] for firing in ran.of("waypoint_exec__step_ee_pose")][2::3]
    assert [inputs["step_index"] for inputs in ran.inputs("vp_check_done")] == last
