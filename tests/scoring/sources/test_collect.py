from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from engine.scoring.collect import collect
from engine.scoring.sources import CollectError
from tests.fakes.platforms.double import running
from tests.fakes.platforms.mlflow_reads import MlflowDouble, MlflowTrace
from tests.scoring.sources.conftest import RUN, MakeSource
from tests.scoring.sources.otlp_spans import AGENT_RUN, snake

EVENT = {"kind": "span", "name": "x"}


class Scripted:
    """Answers in turn; what is an error is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = deque(answers)
        self.asked: list[str] = []

    async def fetch(self, run_id: str) -> list[dict[str, Any]]:
        self.asked.append(run_id)
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        found: list[dict[str, Any]] = answer
        return found


class Waits(list[float]):
    async def sleep(self, seconds: float) -> None:
        self.append(seconds)


@pytest.mark.case(13)
async def test_emptiness_is_tried_three_times_two_seconds_apart() -> None:
    source, waits = Scripted([], [], [EVENT]), Waits()
    assert await collect(source, RUN, sleep=waits.sleep) == [EVENT]
    assert (source.asked, waits) == ([RUN] * 3, [2.0, 2.0])


async def test_after_the_last_try_there_is_nothing() -> None:
    source, waits = Scripted([], [], []), Waits()
    assert await collect(source, RUN, sleep=waits.sleep) == []
    assert waits == [2.0, 2.0]


async def test_what_is_there_is_not_waited_for() -> None:
    waits = Waits()
    assert await collect(Scripted([EVENT]), RUN, sleep=waits.sleep) == [EVENT]
    assert waits == []


@pytest.mark.parametrize("before", [0, 1])
async def test_an_error_is_conclusive_at_once(before: int) -> None:
    source, waits = Scripted(*[[]] * before, CollectError("down", 503), [EVENT]), Waits()
    with pytest.raises(CollectError, match="down"):
        await collect(source, RUN, sleep=waits.sleep)
    assert len(source.asked) == before + 1


@pytest.mark.case(9)
@pytest.mark.case(12)
async def test_a_trace_is_fetched_of_its_kind_at_its_endpoint_by_its_run(make: MakeSource) -> None:
    trace = MlflowTrace("tr-1", experiment_id="7", tags={"evaltower.run_id": RUN}, spans=snake(AGENT_RUN))
    async with running(MlflowDouble(traces=[trace], lets_in=("Authorization", "Basic abc"))) as mlflow:
        source = make("mlflow", mlflow, "Basic abc", auth_secret="M", correlate="tag", experiment="7")
        found = await collect(source, RUN)
    assert [event["kind"] for event in found] == ["llm_call", "tool_call", "tool_result", "message"]
    search = mlflow.asked[0].body
    assert search["locations"][0]["mlflow_experiment"] == {"experiment_id": "7"}
    assert RUN in search["filter"]


@pytest.mark.case(13)
async def test_spans_that_are_stored_while_we_wait_are_found(make: MakeSource) -> None:
    trace = MlflowTrace("tr-1", tags={"evaltower.run_id": RUN}, spans=None)

    async def sleep(seconds: float) -> None:
        trace.spans = snake(AGENT_RUN)

    async with running(MlflowDouble(traces=[trace])) as mlflow:
        source = make("mlflow", mlflow, correlate="tag", experiment="1")
        assert len(await collect(source, RUN, sleep=sleep)) == 4
