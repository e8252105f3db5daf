"""Contract graph-json.md, "Errors", and what an execution does when the machine fails it."""

from __future__ import annotations

import asyncio

import numpy
import pytest

from engine.components.errors import HostCrashed, HostTimeout, StopExecution
from engine.components.firing import FiringRequest, FiringResult
from engine.execution.outcome import NodeError
from tests.execution.sketch import Recording, emits, executor, run, sketch, step
from tests.execution.test_loops import simple
from tests.execution.test_nested_loops import nested


def raises(error: BaseException):
    def do(inputs, ctx):
        raise error

    return do


def failing_at(firing: int, error: BaseException, stop_at: int | None = None):
    """The body of ``simple``, which raises in one of its firings."""
    count = 0

    def do(inputs, ctx):
        nonlocal count
        count += 1
        if count == firing:
            raise error
        return {"value": count, "done": stop_at is not None and count >= stop_at}

    return step("go x?", "value done", do)


async def test_a_node_that_raises_is_recorded_and_the_loop_goes_on():
    nodes, edges = simple(stop_at=3)
    nodes["side"] = step("x", "out", lambda i, c: 1 // (i["x"] - 2))
    edges.append("body.value -> side.x")
    ran = await run(nodes, edges, budget=9)
    message = "ZeroDivisionError: integer division or modulo by zero"
    assert ran.outcome.node_errors == [NodeError("side", 1, message)]
    assert (ran.outcome.termination, ran.outcome.outputs) == ("stopped", {"score": 3})
    failed = ran.of("side")[1]
    assert (failed.error, failed.outputs) == (message, {})
    (trace,) = failed.inner_log
    assert "ZeroDivisionError" in trace["value"]


async def test_a_raising_body_leaves_the_verdict_to_the_last_hand_over():
    nodes, edges = simple()
    nodes["body"] = failing_at(3, RuntimeError("boom"))
    ran = await run(nodes, edges, budget=9)
    assert ran.outcome.node_errors == [NodeError("body", 2, "RuntimeError: boom")]
    assert (ran.outcome.termination, ran.outcome.steps) == ("drained", 2)
    assert ran.outcome.outputs == {"score": 2}


@pytest.mark.parametrize("error", ["broken", "", {"code": 3}])
async def test_an_error_that_is_returned_counts_unless_it_is_declared(error):
    ran = await run(
        {
            "hidden": step("", "v", lambda i, c: {"error": error, "v": 1}),
            "declared": step("", "v error", lambda i, c: {"error": error}),
            "after": step("v"),
        },
        ["hidden.v -> after.v"],
    )
    assert ran.outcome.node_errors == [NodeError("hidden", 0, str(error))]
    assert ran.inputs("after") == [{"v": 1}]


@pytest.mark.parametrize("nothing", [None, False])
async def test_no_error_is_no_error(nothing):
    ran = await run({"a": step("", "v", lambda i, c: {"error": nothing, "v": 1})})
    assert ran.outcome.node_errors == []


@pytest.mark.parametrize(("returned", "named"), [(None, "NoneType"), ([1], "list")])
async def test_outputs_that_are_no_dict_are_an_error(returned, named):
    ran = await run({"a": step("", "", lambda i, c: returned)})
    ((node, _, message),) = ran.outcome.node_errors
    assert node == "a"
    assert f"must return a dict of outputs by port name, not {named}" in message


async def test_a_long_message_is_cut():
    ran = await run({"a": step("", "v", raises(ValueError("x" * 50_000_000)))})
    assert len(ran.outcome.node_errors[0].message) == 2001


async def test_stop_execution_ends_the_run_cleanly():
    nodes, edges = simple()
    nodes["body"] = failing_at(3, StopExecution("lost"))
    ran = await run(nodes, edges, budget=9)
    assert (ran.outcome.termination, ran.outcome.node_stop) == ("stopped", "lost")
    assert ran.outcome.node_errors == []
    assert ran.outcome.steps == 2
    assert ran.finals() == [{"final_value": 2, "final_stop": True}]
    assert ran.outcome.outputs == {"score": 2}


async def test_stop_execution_in_a_graph_without_a_loop():
    ran = await run(
        {"a": step("", "v", raises(StopExecution("enough"))), "b": emits(v=1), "c": step("x")},
        ["b.v -> c.x"],
    )
    assert ran.order == ["a"]
    assert (ran.outcome.termination, ran.outcome.node_stop) == ("stopped", "enough")


async def test_stop_execution_before_an_inner_loop_opens_keeps_it_shut():
    nodes, edges = nested()
    nodes["boom"] = step("x", "x", raises(StopExecution("enough")))
    edges.append("plan.task -> boom.x")
    ran = await run(nodes, edges)
    assert ran.order == ["reset", "outer_in", "plan", "boom", "outer_out", "o"]


async def test_stop_execution_while_settling_keeps_that_iterations_values():
    nodes, edges = simple()
    nodes["late"] = step("x", "x", raises(StopExecution("late")))
    edges.append("body.value -> late.x")
    ran = await run(nodes, edges, budget=9)
    assert ran.order == ["reset", "loop_in", "body", "late", "loop_out", "verdict", "o"]
    assert ran.finals() == [{"final_value": 1, "final_stop": True}]
    assert ran.outcome.steps == 1


@pytest.mark.parametrize("failure", [HostCrashed("gone", "env"), HostTimeout("late", "env")])
async def test_a_host_failure_ends_the_run_at_once_and_the_verdict_is_still_tried(failure):
    nodes, edges = simple()
    nodes["body"] = failing_at(2, failure)
    ran = await run(nodes, edges, budget=9)
    assert ran.outcome.failure is failure
    assert ran.outcome.node_errors == []
    assert ran.outcome.steps == 1
    assert ran.finals() == [{"final_value": 1, "final_stop": True}]
    assert ran.order[-3:] == ["loop_out", "verdict", "o"]
    assert ran.outcome.outputs == {"score": 1}


async def test_a_verdict_that_meets_the_dead_host_records_its_own_error():
    nodes, edges = simple()
    first = HostCrashed("exit code 139", "env")
    nodes["body"] = failing_at(2, first)
    nodes["verdict"] = step("trigger value", "score", raises(HostCrashed("no host", "env")))
    nodes["also"] = step("x", "y")
    edges.append("loop_out.final_value -> also.x")
    ran = await run(nodes, edges, budget=9)
    assert ran.outcome.failure is first
    assert ran.outcome.node_errors == [NodeError("verdict", 1, "no host")]
    assert ran.order[-2:] == ["verdict", "also"]


async def test_a_host_that_fails_in_the_verdict_is_the_failure():
    nodes, edges = simple(stop_at=2)
    failure = HostCrashed("gone", "env")
    nodes["verdict"] = step("trigger value", "score", raises(failure))
    ran = await run(nodes, edges)
    assert ran.outcome.failure is failure
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 2)


async def test_a_host_failure_in_an_inner_loop_ends_all_loops_once():
    nodes, edges = nested()
    nodes["tick"] = step("mark", "tick done", raises(HostCrashed("gone", "env")))
    ran = await run(nodes, edges)
    assert len(ran.finals("inner_out")) == len(ran.finals("outer_out")) == 1
    assert "digest" not in ran.order


async def test_a_host_failure_before_the_loop_keeps_it_shut():
    nodes, edges = simple()
    nodes["other"] = step("", "v", raises(HostCrashed("gone", "env")))
    ran = await run(nodes, edges)
    assert "loop_in" not in ran.order
    assert len(ran.finals()) == 1
    assert ran.outcome.steps == 0


async def test_a_stop_value_that_is_neither_true_nor_false_is_an_error():
    nodes, edges = simple()
    ambiguous = numpy.array([True, False])
    nodes["body"] = step("go", "value done", lambda i, c: {"value": 1, "done": ambiguous})
    ran = await run(nodes, edges, budget=2)
    assert ran.outcome.termination == "budget"
    assert ran.outcome.node_errors[0].node_id == "loop_out"


async def test_numpy_truth_values_stop():
    nodes, edges = simple()
    done = numpy.bool_(True)
    nodes["body"] = step("go", "value done", lambda i, c: {"value": 1, "done": done})
    assert (await run(nodes, edges)).outcome.steps == 1


async def test_a_stop_request_before_anything_fired():
    nodes, edges = simple()
    ran = await run(nodes, edges, stop=lambda: "cancelled")
    assert ran.outcome.stop_reason == "cancelled"
    assert ran.order == ["loop_out", "verdict", "o"]


async def test_the_verdict_is_not_cut_short_by_a_stop_request():
    nodes, edges = simple(stop_at=1)
    fired: list[str] = []
    ran = await run(
        nodes,
        edges,
        progress=lambda at, node: fired.append(node),
        stop=lambda: "cancelled" if "verdict" in fired else None,
    )
    assert ran.outcome.stop_reason is None
    assert ran.outcome.outputs == {"score": 1}


async def test_cancelling_leaves_the_outcome_so_far():
    class Hanging:
        async def fire(self, request: FiringRequest) -> FiringResult:
            if request.step == 2:
                await asyncio.Event().wait()
            return FiringResult({"value": request.step, "done": False})

    nodes, edges = simple()
    reached = asyncio.Event()

    def progress(at: int, node: str) -> None:
        if (at, node) == (2, "body"):
            reached.set()

    plan = sketch(nodes, edges)
    made, log = executor(plan, nodes, budget=9, handlers={"body": Hanging()}, progress=progress)
    task = asyncio.create_task(made.run())
    await asyncio.wait_for(reached.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert made.outcome.steps == 2
    assert (log.firings[-1].planned.node.id, log.firings[-1].error) == (
        "body",
        "cancelled before it answered",
    )


async def test_what_the_logs_disk_raises_comes_out_of_the_run():
    class Full(Recording):
        def boundary(self) -> None:
            raise OSError(28, "No space left on device", "log.jsonl")

    nodes, edges = simple()
    with pytest.raises(OSError, match="No space left"):
        await run(nodes, edges, log=Full())
