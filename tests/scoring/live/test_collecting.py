"""What an agent with a real OpenTelemetry SDK sent to a real platform is found there by its episode."""

from __future__ import annotations

import pytest

from tests.scoring.live.mlflow import Mlflow
from tests.scoring.live.runs import TESTS_PASS, Lab, collected, values

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

GRADERS = [TESTS_PASS, {"id": "steps"}, {"id": "cost"}, {"id": "latency"}]
TOLD = ["span", "llm_call", "tool_call", "tool_result", "tool_call", "tool_result"]


@pytest.mark.parametrize("correlate", ["tag", "id"])
def test_the_run_collects_the_trace_of_each_episode(lab: Lab, correlate: str) -> None:
    options = "--joins" if correlate == "id" else lab.live.agent
    run = lab.run({}, {}, options=options, graders=GRADERS, trace=lab.trace(correlate=correlate))
    found = lab.ended(run)
    assert [(row.scoring, row.failure, row.verdict) for row in found] == [("final", None, True)] * 2
    traces = set()
    for row in found:
        measured = values(row)
        assert measured.pop("span") > 0
        assert measured == {"tests_pass": 1, "tool_calls": 2, "usd": 0.25}
        events = collected(run, row)
        assert [event["kind"] for event in events] == TOLD
        call, failed = events[1], events[-1]
        assert (call["model"], call["cost"]["prompt_tokens"]) == ("agent-model-1", 120)
        assert (failed["ok"], failed["output"]) == (False, "exit 2")
        traces |= {event["trace_id"] for event in events}
    there = lab.live.traces(lab.place)
    assert {trace.id for trace in there} == traces
    assert len(traces) == 2
    if correlate == "tag" or isinstance(lab.live, Mlflow):  # Phoenix drops what a process says of itself
        assert {trace.tells for trace in there} == {f"{run.run_id}/ep0000", f"{run.run_id}/ep0001"}


def test_what_the_run_leaves_to_the_backend_is_collected_after_it(lab: Lab) -> None:
    trace = lab.trace(collect="control-plane")
    run = lab.run({}, {}, options=lab.live.agent, graders=GRADERS, trace=trace)
    for row in lab.ended(run):
        assert (row.scoring, row.verdict, values(row)) == ("pending", True, {"tests_pass": 1})
        assert row.trace_ref == {
            "kind": lab.live.kind,
            "endpoint": lab.live.url,
            "run_id": f"{run.run_id}/ep{row.episode_index:04d}",
            "correlate": "tag",
            lab.live.place_field: lab.place,
            "auth_secret": "live",
        }
        assert collected(run, row) == []
    for row in lab.completed(run):
        assert (row.scoring, row.failure, row.verdict) == ("final", None, True)
        assert [score.metric for score in row.scores] == ["tests_pass", "tool_calls", "usd", "span"]
        assert (values(row)["tool_calls"], values(row)["usd"]) == (2, 0.25)
        assert [event["kind"] for event in collected(run, row)] == TOLD
