"""A platform that does not let us in, or is not there: what was measured without it stands."""

from __future__ import annotations

import pytest

from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.scores import Unmeasured
from tests.scoring.live.runs import TESTS_PASS, Lab, values
from tests.scoring.live.servers import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

GRADERS = [TESTS_PASS, {"id": "steps"}]


def test_who_is_not_let_in_collects_nothing_and_exports_nothing_and_may_try_again(lab: Lab) -> None:
    run = lab.run({}, options=lab.live.agent, graders=GRADERS, trace=lab.trace(), sinks=[lab.sink()])
    (row,) = lab.ended(run, live=lab.live.wrong_secret)
    assert "HTTP 401" in _failed_to_collect(row)
    (outcome,) = row.exports
    assert "HTTP 401" in str(outcome.error)
    _keeps_to_itself(run, lab.live.wrong_secret)
    (trace,) = lab.live.traces(lab.place)
    assert trace.scores == []

    (row,) = lab.scored_again(run)
    assert (row.failure, values(row)) == (None, {"tests_pass": 1, "tool_calls": 2})
    assert [(outcome.external_id, outcome.error) for outcome in row.exports] == [(trace.id, None)]
    _keeps_to_itself(run, lab.live.secret)


@pytest.mark.parametrize("collect", ["job", "control-plane"])
def test_a_dead_port_costs_what_needs_the_trace_and_nothing_else(lab: Lab, collect: str) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    trace = lab.trace(collect=collect, endpoint=dead)
    run = lab.run({}, options=lab.live.agent, graders=GRADERS, trace=trace, sinks=[lab.sink(endpoint=dead)])
    (row,) = lab.ended(run)
    if collect == "control-plane":
        assert row.failure is None
        (row,) = lab.completed(run)
    assert "ConnectError" in _failed_to_collect(row)
    (outcome,) = row.exports
    assert "connection failed" in str(outcome.error)

    (row,) = lab.scored_again(run, trace=lab.trace(), sinks=[])
    assert (row.failure, values(row)) == (None, {"tests_pass": 1, "tool_calls": 2})


def _failed_to_collect(row: EpisodeRow) -> str:
    """What is said of a trace that was not collected; the episode is what it was."""
    assert (row.status, row.scoring, row.verdict) == ("completed", "final", True)
    assert values(row) == {"tests_pass": 1}
    (steps,) = (score for score in row.scores if score.metric == "tool_calls")
    assert isinstance(steps, Unmeasured)
    assert (steps.reason, steps.retryable) == ("missing_evidence", True)
    assert row.failure is not None
    failure = dict(row.failure)
    message = str(failure.pop("message"))
    assert failure == {
        "stage": "collect",
        "class": "infra",
        "code": "TRACE_COLLECT_FAILED",
        "retryable": True,
    }
    return message


def _keeps_to_itself(run: RunDir, secret: str) -> None:
    """No file of the run holds it."""
    value = secret.split()[1].encode()
    files = [path for path in run.path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if value in path.read_bytes()] == []
