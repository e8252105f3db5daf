"""Finished episodes on real platforms, as one sees them there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.scoring.exporting import fold_exports
from engine.store.runs import read_rows
from tests.evaluation.run_checks import until
from tests.fakes.chat_server import ChatServer, chat_server
from tests.fakes.real_runs import RUN_DEADLINE_SEC
from tests.scoring.judges import a_verdict
from tests.scoring.live.platforms import Trace
from tests.scoring.live.relay import relay
from tests.scoring.live.runs import Lab, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

TONE = {"id": "tone", "profile": "local", "prompt": "Is it friendly?", "criteria": ["brief"]}
MUTE = {"id": "mute", "profile": "local", "prompt": "Say nothing."}
JUDGES = [TONE, MUTE]
NO_TRACE = {"kind": "none"}
MEASURED = {"tests_pass", "judge:tone", "judge:tone:brief"}


def says(score: float, reason: str) -> Callable[[dict[str, Any]], str]:
    """What the judges answer: one a number, the other none."""

    def answer(body: dict[str, Any]) -> str:
        if MUTE["prompt"] in json.dumps(body["messages"]):
            return "[[90]]"
        return a_verdict(score, reason, criteria={"brief": {"score": 0.25, "reason": "it goes on"}})

    return answer


@pytest.fixture
def judge(lab: Lab) -> Iterator[ChatServer]:
    """The model that both ask."""
    with chat_server(answer=says(0.75, "as friends are")) as server:
        profile = {"base_url": server.url, "model": "judge-model-1"}
        lines = [f"{name} = {json.dumps(value)}" for name, value in profile.items()]
        (lab.root / "evaltower.toml").write_text("\n".join(["[profiles.local]", *lines]), "utf-8")
        yield server


def test_an_episode_is_on_the_platform_with_its_scores_while_another_still_runs(
    lab: Lab, judge: ChatServer, tmp_path: Path
) -> None:
    place, gate = lab.live.new_place(), tmp_path / "gate"
    run = lab.run({}, _waits_for(gate), trace=NO_TRACE, judges=JUDGES, sinks=[lab.sink(place=place)])
    with lab.going(run) as process:
        (seen,) = lab.live.seen(place, "the first episode's export", _has(MEASURED))
        assert process.poll() is None
        assert [row.episode_index for row in read_rows(run)] == [0]
        gate.touch()
        process.wait(RUN_DEADLINE_SEC)
    assert seen.tells == f"{run.run_id}/ep0000"
    _shows_what_was_measured(lab, seen)
    first, second = rows(run)
    assert [outcome.external_id for outcome in first.exports] == [seen.id]
    assert seen.id in first.exports[0].url
    assert [(outcome.error, outcome.warning) for outcome in second.exports] == [(None, None)]
    assert {trace.tells for trace in lab.live.traces(place)} == {seen.tells, f"{run.run_id}/ep0001"}


def test_scores_are_attached_to_the_trace_that_the_agent_has_there_and_replaced(
    lab: Lab, judge: ChatServer
) -> None:
    run = lab.run({}, options=lab.live.agent, trace=lab.trace(), judges=JUDGES, sinks=[lab.sink()])
    (row,) = lab.ended(run)
    (trace,) = lab.live.seen(lab.place, "the scores", _has(MEASURED))
    assert trace.spans == ["invoke_agent", "chat", "execute_tool", "execute_tool"]
    _shows_what_was_measured(lab, trace)
    assert [(outcome.external_id, outcome.error) for outcome in row.exports] == [(trace.id, None)]

    judge.answer = says(0.5, "on reflection")
    (row,) = lab.scored_again(run, judges=[{**TONE, "prompt": "Is it friendly, on reflection?"}, MUTE])
    assert [(outcome.external_id, outcome.error) for outcome in row.exports] == [(trace.id, None)]
    (again,) = lab.live.traces(lab.place)
    assert (again.spans, len(again.scores)) == (trace.spans, 3)
    tone = again.score("judge:tone")
    assert (tone.value, tone.by, tone.reason) == (0.5, lab.live.by_judge, "on reflection")


def test_a_platform_that_goes_away_costs_the_exports_after_it_which_are_made_up_for(
    lab: Lab, tmp_path: Path
) -> None:
    place, gate = lab.live.new_place(), tmp_path / "gate"
    with relay(lab.live.url) as front:
        sink = lab.sink(place=place, endpoint=front.url)
        run = lab.run({}, _waits_for(gate), trace=NO_TRACE, sinks=[sink])
        with lab.going(run) as process:
            lab.live.seen(place, "the first episode's export", _has({"tests_pass"}))
            until(
                lambda: any(row.exports for row in read_rows(run)), process
            )  # the answer has come back, too
            front.close()
            gate.touch()
            process.wait(RUN_DEADLINE_SEC)
    partial = rows(run)
    assert [row.verdict for row in partial] == [True, True]
    (report,) = fold_exports(partial)
    assert (report.status, report.message) == ("partial", "1/2 episodes failed to export")
    assert "connection failed" in str(report.cases[1].error)
    (report,) = fold_exports(lab.scored_again(run, sinks=[lab.sink(place=place)]))
    assert report.status == "succeeded"
    traces = lab.live.seen(place, "both exports", lambda found: len(found) == 2, _has({"tests_pass"}))
    assert [score.name for trace in traces for score in trace.scores] == ["tests_pass"] * 2


def _waits_for(gate: Path) -> dict[str, Any]:
    """A case whose agent ends when the file is there."""
    return {"params": {"more": ["--waits-for", str(gate)]}}


def _has(names: set[str]) -> Callable[[list[Trace]], bool]:
    """Platforms take scores one by one: a trace that has some of them is not yet what it will be."""

    def check(traces: list[Trace]) -> bool:
        return bool(traces) and all(names <= {score.name for score in trace.scores} for trace in traces)

    return check


def _shows_what_was_measured(lab: Lab, trace: Trace) -> None:
    assert {score.name for score in trace.scores} == MEASURED
    truth, tone, brief = (trace.score(name) for name in ("tests_pass", "judge:tone", "judge:tone:brief"))
    assert (truth.value, truth.by) == (1, lab.live.by_code)
    assert (tone.value, tone.by, tone.reason) == (0.75, lab.live.by_judge, "as friends are")
    assert (brief.value, brief.by) == (0.25, lab.live.by_judge)
