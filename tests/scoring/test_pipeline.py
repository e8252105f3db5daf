"""What becomes of episodes after their last step, in this process: order, streams, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.control.scoring_report import report_of
from engine.models.call import ChatCall
from engine.models.errors import ChatRefused
from engine.scoring import collecting, pipeline
from engine.scoring.again import to_score_again
from engine.scoring.collect import collect
from engine.scoring.evidence import read_events
from engine.scoring.graders import AnyGrader
from engine.scoring.pipeline import PhaseError
from engine.scoring.reading import read_scoring
from engine.scoring.sources import CollectError
from engine.store.outcomes import outcome_of
from engine.store.records import EpisodeRow
from engine.store.scores import Measured, ModelUse, Stage, Unmeasured
from tests.scoring.judges import a_verdict
from tests.scoring.making import Made, gives, measured
from tests.scoring.pipelines import (
    PICTURE,
    RUN,
    Bench,
    Chat,
    Desk,
    Exporter,
    Source,
    an_episode,
    graders,
    stages,
    values,
)

TWO_JUDGES = [{"id": "j1"}, {"id": "j2"}]
PLATFORM = {"kind": "phoenix", "endpoint": "http://x", "project": "p"}
SINK = [{"name": "main", "kind": "otlp", "endpoint": "http://x"}]
CALLED = {"kind": "tool_call", "id": "1", "name": "ls", "trace_id": "abc"}

MakeBench = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path) -> MakeBench:
    """``scoring``: as in a request; ``kinds``: of its graders, unless they are given."""

    def made(
        *kinds: str,
        graders_: list[AnyGrader] | None = None,
        chat: Chat | None = None,
        source: Source | None = None,
        exporter: Exporter | None = None,
        in_backend: bool = False,
        **scoring: Any,
    ) -> Bench:
        spec = read_scoring({"graders": [{"id": kind} for kind in kinds], **scoring})
        at_work = graders(*kinds) if graders_ is None else graders_
        return Bench(tmp_path, spec, at_work, chat or Chat(), source, exporter, in_backend)

    return made


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(collecting, "collect", partial(collect, sleep=sleep))


class TestOrder:
    @pytest.mark.case(1)
    async def test_scores_are_in_the_order_of_graders_and_only_those_that_need_it_have_the_environment(
        self, bench: MakeBench
    ) -> None:
        seen: dict[str, Any] = {}

        async def look(name: str, evidence: Any, compute: Any) -> list[Any]:
            seen[name] = compute is not None and compute.held
            return [measured(name, 1.0, True)]

        made = [
            Made(partial(look, "last"), "last", metrics=("last",)),
            Made(partial(look, "first"), "first", needs_compute=True, metrics=("first",)),
        ]
        row = await bench(graders_=made, judges=TWO_JUDGES).played()
        assert seen == {"first": True, "last": False}
        assert list(values(row)) == ["last", "first", "judge:j1", "judge:j2"]
        assert stages(row) == ["execute", "snapshot", "grade", "observe", "judge:j1", "judge:j2"]
        assert (row.scoring, row.verdict) == ("final", True)

    async def test_a_row_is_on_disk_before_anything_is_graded(self, bench: MakeBench) -> None:
        graded: list[int] = []

        async def count(evidence: Any, compute: Any) -> list[Any]:
            graded.append(len(table.files.rows))
            return [measured("m", 1.0)]

        table = bench(graders_=[Made(count, needs_compute=True)], judges=TWO_JUDGES)
        await table.played()
        assert graded == [1]
        assert table.files.rows[0].scoring == "pending"
        assert [row.scoring for row in table.files.rows[:-1]] == ["pending"] * (len(table.files.rows) - 1)

    @pytest.mark.case(2)
    async def test_a_picture_is_fetched_before_the_release_and_is_not_in_the_stored_snapshot(
        self, bench: MakeBench
    ) -> None:
        table = bench(judges=[{"id": "eye"}])
        desk = Desk(files={"shot.png": PICTURE}, snapshot_={"screenshotRef": "shot.png", "windows": []})
        row = await table.played(desk=desk)
        assert desk.done == ["snapshot", "read_file"]
        assert stages(row) == ["execute", "snapshot", "materialise", "judge:eye"]
        stored = json.loads((table.place(0) / "snapshot.json").read_bytes())
        assert stored == {"screenshotRef": "shot.png", "windows": []}
        (call,) = table.chat.asked
        assert "image_url" in str(call.messages), "the judge sees the picture"

    async def test_a_picture_that_cannot_be_had_costs_the_picture_alone(self, bench: MakeBench) -> None:
        row = await bench(judges=[{"id": "eye"}]).played(desk=Desk(snapshot_={"screenshotRef": "gone.png"}))
        (stage,) = (stage for stage in row.stages if stage.name == "materialise")
        assert "gone.png" in str(stage.error)
        assert values(row) == {"judge:eye": 0.75}

    async def test_a_snapshot_that_is_no_json_costs_the_snapshot_alone(self, bench: MakeBench) -> None:
        row = await bench("tests-pass").played(desk=Desk(snapshot_={"odd": object()}))
        assert "object" in str(row.stages[1].error)
        assert values(row) == {"tests_pass": 1.0}

    async def test_an_environment_that_offers_nothing_leaves_its_graders_unmeasured(
        self, bench: MakeBench
    ) -> None:
        row = await bench("tests-pass", judges=TWO_JUDGES).played(desk=Desk(offers=()))
        (score,) = (score for score in row.scores if score.metric == "tests_pass")
        assert isinstance(score, Unmeasured)
        assert score.reason == "unsupported"
        assert row.verdict is True, "by the judges"
        assert "snapshot" not in stages(row)

    async def test_what_did_not_come_to_its_end_is_neither_graded_nor_judged(self, bench: MakeBench) -> None:
        table = bench("tests-pass", "steps", judges=TWO_JUDGES, exporter=Exporter(), sinks=SINK)
        row = await table.played(status="error", termination="node_error", error_class="graph")
        assert (row.scores, row.verdict, row.scoring) == ([], None, "final")
        assert table.chat.asked == []
        assert len(table.exporter.items) == 1  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        "row",
        [{"status": "cancelled", "termination": "cancelled"}, {"status": "error", "error_class": "infra"}],
    )
    async def test_what_is_played_again_goes_nowhere(self, bench: MakeBench, row: dict[str, Any]) -> None:
        table = bench("tests-pass", judges=TWO_JUDGES, exporter=Exporter(), sinks=SINK)
        found = await table.played(**{"termination": "env_crash", **row})
        assert (found.scoring, found.stages) == ("none", [])
        assert table.exporter.items == []  # type: ignore[union-attr]
        assert table.final == [found]


class TestTraces:
    @pytest.mark.case(3)
    async def test_in_job_mode_the_trace_is_collected_after_the_release_by_the_id_of_the_episode(
        self, bench: MakeBench
    ) -> None:
        table = bench("steps", source=Source([[CALLED]]), trace=PLATFORM)
        (table.place(0) / "trace.jsonl").write_text('{"kind": "tool_call", "name": "own"}\n')
        desk = Desk()
        await table.play(desk=desk)
        assert (desk.held, table.source.fetched) == (False, [])  # type: ignore[union-attr]
        await table.pipeline.settle()
        row = table.last()
        assert table.source.fetched == [f"{RUN}/ep0000"]  # type: ignore[union-attr]
        assert values(row) == {"tool_calls": 2.0}, "of the run's own events and the platform's"
        assert row.trace_ref is None

    @pytest.mark.case(4)
    async def test_in_control_plane_mode_the_run_leaves_the_trace_to_the_backend(
        self, bench: MakeBench
    ) -> None:
        scoring = {"trace": {**PLATFORM, "collect": "control-plane"}, "judges": TWO_JUDGES}
        table = bench("steps", "tests-pass", source=Source([[CALLED]]), **scoring)
        row = await table.played()
        assert (values(row), row.verdict, row.scoring) == ({"tests_pass": 1.0}, True, "pending")
        assert row.trace_ref == {
            "kind": "phoenix",
            "endpoint": "http://x",
            "run_id": f"{RUN}/ep0000",
            "correlate": "id",
            "project": "p",
        }
        assert (table.source.fetched, table.chat.asked) == ([], [])  # type: ignore[union-attr]
        assert [waits.waits_for for waits in table.pipeline.waiting()] == ["collect"]
        assert table.final == [row], "an early end need not wait for what the run does not do"

        later = bench("steps", "tests-pass", source=Source([[CALLED]]), in_backend=True, **scoring)
        later.pipeline.push(0, row, later.place(0))
        await later.pipeline.settle()
        done = later.last()
        assert list(values(done)) == ["tool_calls", "tests_pass", "judge:j1", "judge:j2"]
        assert (done.scoring, done.trace_ref) == ("final", row.trace_ref)

    async def test_a_trace_that_cannot_be_had_is_waited_for(self, bench: MakeBench) -> None:
        table = bench(
            "steps", "tests-pass", source=Source([CollectError("401")]), trace=PLATFORM, judges=TWO_JUDGES
        )
        row = await table.played()
        assert row.failure is not None
        assert (row.failure["stage"], row.failure["class"], row.failure["retryable"]) == (
            "collect",
            "infra",
            True,
        )
        assert (row.status, row.verdict, row.scoring) == ("completed", True, "final")
        assert values(row) == {"tool_calls": None, "tests_pass": 1.0, "judge:j1": None, "judge:j2": None}
        assert {score.reason for score in row.scores if isinstance(score, Unmeasured)} == {"missing_evidence"}
        assert table.chat.asked == []

        healed = bench(
            "steps",
            "tests-pass",
            source=Source([[CALLED]]),
            trace=PLATFORM,
            judges=TWO_JUDGES,
            in_backend=True,
        )
        healed.pipeline.push(0, row, healed.place(0))
        await healed.pipeline.settle()
        assert healed.last().failure is None
        assert values(healed.last()) == {
            "tool_calls": 1.0,
            "tests_pass": 1.0,
            "judge:j1": 0.75,
            "judge:j2": 0.75,
        }

    async def test_or_is_done_without_where_that_was_asked_for(self, bench: MakeBench) -> None:
        trace = {**PLATFORM, "on_pull_error": "degrade"}
        table = bench("steps", source=Source([CollectError("down")]), trace=trace, judges=TWO_JUDGES)
        row = await table.played()
        assert row.failure is None
        assert values(row) == {"tool_calls": None, "judge:j1": 0.75, "judge:j2": 0.75}
        assert [event["kind"] for event in read_events(table.place(0))] == ["error"]
        assert report_of([row], "completed").degraded == 1
        assert report_of([row], "completed").not_collected == 0

    async def test_a_file_that_was_done_without_is_told_as_any_other_trace(self, bench: MakeBench) -> None:
        trace = {"kind": "file", "endpoint": "gone.json", "on_pull_error": "degrade"}
        row = await bench("steps", trace=trace).played()
        assert row.failure is None
        (collect,) = (stage for stage in row.stages if stage.name == "collect")
        assert "gone.json" in (collect.error or "")
        assert report_of([row], "completed").degraded == 1

    async def test_a_platform_that_answers_nonsense_is_one_that_cannot_be_read(
        self, bench: MakeBench
    ) -> None:
        row = await bench("steps", source=Source([KeyError("spans")]), trace=PLATFORM).played()
        assert row.failure is not None
        assert "KeyError" in row.failure["message"]

    async def test_a_run_without_a_source_says_why(self, bench: MakeBench) -> None:
        row = await bench("steps", trace=PLATFORM).played()
        assert row.failure is not None
        assert row.failure["message"] == "no source was made"

    @pytest.mark.parametrize("offers", [("read_file",), ()], ids=["of the environment", "among the run's"])
    async def test_a_trace_in_a_file(self, bench: MakeBench, offers: tuple[str, ...]) -> None:
        table = bench("steps", trace={"kind": "file", "endpoint": "agent.json"})
        if not offers:
            (table.place(0) / "agent.json").write_text(json.dumps([CALLED]))
        inside = {"agent.json": json.dumps(CALLED).encode()}
        row = await table.played(desk=Desk(files=inside, offers=offers))
        assert values(row) == {"tool_calls": 1.0}

    @pytest.mark.parametrize("offers", [("read_file",), ()], ids=["in the environment", "among the run's"])
    async def test_a_file_that_is_not_there_is_told_and_not_waited_for(
        self, bench: MakeBench, offers: tuple[str, ...]
    ) -> None:
        table = bench("steps", trace={"kind": "file", "endpoint": "gone.json"})
        row = await table.played(desk=Desk(offers=offers))
        assert row.failure is not None
        assert (row.failure["stage"], row.failure["retryable"]) == ("collect", False)
        assert "gone.json" in row.failure["message"]
        assert values(row) == {"tool_calls": None}

    async def test_waiting_for_traces_takes_no_judges_place(self, bench: MakeBench) -> None:
        gate = asyncio.Event()
        source = Source([[CALLED]], gate=gate)
        table = bench(source=source, trace=PLATFORM, judges=[{"id": "j"}], concurrency={"judges": 1})
        for index in range(4):
            await table.play(index)
        while len(source.fetched) < 4:
            await asyncio.sleep(0)
        assert {waits.waits_for for waits in table.pipeline.waiting()} == {"collect"}
        gate.set()
        await table.pipeline.settle()
        assert [row.scoring for row in table.final] == ["final"] * 4

    async def test_scores_are_added_to_the_trace_that_the_platform_has(self, bench: MakeBench) -> None:
        exporter = Exporter()
        table = bench("steps", source=Source([[CALLED]]), trace=PLATFORM, exporter=exporter, sinks=SINK)
        await table.played()
        assert [item.existing_id for item in exporter.items] == ["abc"]


class TestJudges:
    @pytest.mark.case(20)
    async def test_a_fault_of_ours_fails_the_phase_and_keeps_everything(self, bench: MakeBench) -> None:
        async def faulty(call: ChatCall) -> str:
            if "trouble" in str(call.messages) and '"j2' in str(call.messages):
                raise ZeroDivisionError("ours")
            return '{"score": 1, "reason": "fine", "pass": true}'

        exporter = Exporter()
        judges = [{"id": "j1", "prompt": "a"}, {"id": "j2", "prompt": 'say "j2'}, {"id": "j3"}]
        table = bench("tests-pass", chat=Chat(faulty), judges=judges, exporter=exporter, sinks=SINK)
        await table.play(0)
        await table.play(1, instruction="trouble")
        with pytest.raises(PhaseError, match=r"^judges: ZeroDivisionError: ours$"):
            await table.pipeline.settle()
        good, bad = table.last(0), table.last(1)
        assert list(values(good)) == ["tests_pass", "judge:j1", "judge:j2", "judge:j3"]
        assert list(values(bad)) == ["tests_pass", "judge:j1"], "those before it scored, those after it not"
        assert (good.scoring, bad.scoring) == ("final", "pending"), "a resume judges what is left"
        (stage,) = (stage for stage in bad.stages if stage.name == "judge:j2")
        assert stage.error == "ZeroDivisionError: ours"
        assert sorted(len(item.row.scores) for item in exporter.items) == [2, 4]
        assert [outcome.error for outcome in bad.exports] == [None]
        assert table.pipeline.waiting() == []

        mended = bench("tests-pass", judges=judges, exporter=exporter, sinks=SINK)
        mended.pipeline.push(1, bad, mended.place(1))
        await mended.pipeline.settle()
        assert list(values(mended.last(1))) == ["tests_pass", "judge:j1", "judge:j2", "judge:j3"]
        assert exporter.items[-1].row.exports == [], "what was exported of it is not all there is now"

    @pytest.mark.case(23)
    async def test_an_episode_that_failed_is_not_judged(self, bench: MakeBench) -> None:
        table = bench(judges=[{"id": "j"}])
        for index, status in enumerate(("completed", "error", "cancelled")):
            await table.play(index, status=status)
        await table.pipeline.settle()
        rows = {row.episode_index: row for row in table.final}
        assert [list(values(rows[index])) for index in range(3)] == [["judge:j"], [], []]
        assert len(table.chat.asked) == 1

    async def test_a_resume_between_two_judges_asks_the_second_alone(self, bench: MakeBench) -> None:
        table = bench("tests-pass", "steps", judges=[{"id": "j1", "criteria": ["tone"]}, {"id": "j2"}])
        left = an_episode(
            scoring="pending",
            scores=[
                Measured(grader_id="tests-pass", metric="tests_pass", value=1.0, passed=True),
                Measured(grader_id="judge:j1", metric="judge:j1", value=0.25, passed=False),
                Measured(grader_id="judge:j1", metric="judge:j1:tone", value=0.5),
            ],
            stages=[Stage(name=name, started_at="a", finished_at="b") for name in ("grade", "observe")],
        )
        table.pipeline.push(0, left, table.place(0))
        await table.pipeline.settle()
        assert [(score.metric, getattr(score, "value", None)) for score in table.last().scores] == [
            ("tests_pass", 1.0),
            ("judge:j1", 0.25),
            ("judge:j1:tone", 0.5),
            ("judge:j2", 0.75),
        ]
        assert len(table.chat.asked) == 1

    async def test_what_they_took_is_in_their_stages_and_over_all_attempts_in_the_row(
        self, bench: MakeBench
    ) -> None:
        async def garbage(call: ChatCall) -> str:
            return "[[90]]"

        first = await bench(chat=Chat(garbage), judges=TWO_JUDGES).played()
        once = ModelUse(asked=1, unpriced=1)
        assert [stage.used for stage in first.stages if stage.used] == [once, once]
        assert first.judges_used == ModelUse(asked=2, unpriced=2)

        again = bench(judges=[{"id": "j2"}])
        left = to_score_again(again.means, first)
        again.pipeline.push(0, left, again.place(0))
        await again.pipeline.settle()
        assert [name for name in stages(again.last()) if name.startswith("judge:")] == ["judge:j2"]
        assert again.last().judges_used == ModelUse(asked=3, unpriced=3)

    async def test_a_judge_that_lost_its_evidence_has_no_stage_that_says_it_went_well(
        self, bench: MakeBench
    ) -> None:
        judged = await bench(judges=TWO_JUDGES).played()
        lost = bench(judges=TWO_JUDGES, trace=PLATFORM, source=Source([CollectError("down")]))
        lost.pipeline.push(0, to_score_again(lost.means, judged), lost.place(0))
        await lost.pipeline.settle()
        assert values(lost.last()) == {"judge:j1": None, "judge:j2": None}
        assert not any(name.startswith("judge:") for name in stages(lost.last()))

    async def test_each_judges_scores_are_on_disk_before_the_next_is_asked(self, bench: MakeBench) -> None:
        seen: list[list[str]] = []
        table = bench(judges=TWO_JUDGES)

        async def look(call: ChatCall) -> str:
            seen.append(list(values(table.last())))
            return '{"score": 1, "reason": "fine", "pass": true}'

        table.chat.says = look
        await table.played()
        assert seen == [[], ["judge:j1"]]

    async def test_an_episode_that_was_cut_short_in_its_environment_says_so(self, bench: MakeBench) -> None:
        trace = {"kind": "file", "endpoint": "trace.json"}
        table = bench("tests-pass", "steps", judges=TWO_JUDGES, trace=trace)
        table.pipeline.push(0, an_episode(scoring="pending"), table.place(0))
        await table.pipeline.settle()
        row = table.last()
        assert values(row) == {"tests_pass": None, "tool_calls": None, "judge:j1": None, "judge:j2": None}
        assert (row.verdict, row.scoring) == (None, "final")

        table = bench("tests-pass", judges=TWO_JUDGES)
        table.pipeline.push(0, an_episode(scoring="pending"), table.place(0))
        await table.pipeline.settle()
        row = table.last()
        assert row.failure is not None
        assert (row.failure["stage"], row.failure["code"]) == ("grade", "GRADING_INTERRUPTED")
        assert values(row) == {"tests_pass": None, "judge:j1": 0.75, "judge:j2": 0.75}

    @pytest.mark.case(8)
    async def test_what_is_no_number_is_invalid_and_its_siblings_stand(self, bench: MakeBench) -> None:
        async def throws(evidence: Any, compute: Any) -> Any:
            raise RuntimeError("no")

        made = [
            gives(measured("nan", float("nan")), name="nan", metrics=("nan",)),
            Made(throws, "throws", metrics=("throws",)),
            gives(measured("fine", 1.0, True), name="fine", metrics=("fine",)),
        ]
        exporter = Exporter()
        row = await bench(graders_=made, exporter=exporter, sinks=SINK).played()
        assert values(row) == {"nan": None, "throws": None, "fine": 1.0}
        assert row.measures == {"fine": 1.0}
        assert row.verdict is None, "two that were asked could not tell"

    async def test_a_pass_counts_once_all_judges_of_the_rung_have_answered(self, bench: MakeBench) -> None:
        async def says(call: ChatCall) -> str:
            if "second" in str(call.messages):
                raise ChatRefused("no", 400)
            return a_verdict()

        judges = [{"id": "one", "prompt": "first"}, {"id": "two", "prompt": "second"}]
        made = bench(chat=Chat(says), judges=judges)
        row = await made.played()
        assert values(row) == {"judge:one": 0.75, "judge:two": None}
        assert {"pass" in written.measures for written in made.files.rows} == {False}
        assert (row.verdict, row.scoring, outcome_of(row)) == (None, "final", "unmeasured")

    async def test_two_graders_of_one_metric_are_never_one_number(self, bench: MakeBench) -> None:
        made = [
            gives(measured("part", 1.0), measured("own", 0.0), name="a", metrics=("part",)),
            gives(measured("own", 1.0, True), measured("part", 3.0), name="b", metrics=("own",)),
        ]
        row = await bench(graders_=made).played()
        assert [(s.grader_id, s.metric, getattr(s, "value", None)) for s in row.scores] == [
            ("a", "part", 1.0),
            ("a", "own", None),
            ("b", "own", 1.0),
            ("b", "part", None),
        ]
        assert "is scored by the grader 'b'" in row.scores[1].detail
        assert row.measures == {"part": 1.0, "own": 1.0, "pass": 1.0}


class TestStreams:
    @pytest.mark.case(37)
    async def test_closed_it_launches_nothing_and_what_was_launched_is_there(self, bench: MakeBench) -> None:
        inside, gate = asyncio.Event(), asyncio.Event()

        async def slow(call: ChatCall) -> str:
            inside.set()
            await gate.wait()
            return '{"score": 1, "reason": "fine", "pass": true}'

        exporter = Exporter()
        table = bench(
            chat=Chat(slow), judges=TWO_JUDGES, exporter=exporter, sinks=SINK, concurrency={"judges": 1}
        )
        for index in range(3):
            await table.play(index)
        await inside.wait()
        table.pipeline.close()
        gate.set()
        await table.pipeline.settle()
        assert [list(values(table.last(index))) for index in range(3)] == [["judge:j1", "judge:j2"], [], []]
        assert [table.last(index).scoring for index in range(3)] == ["pending"] * 3
        assert exporter.items == [], "an export that was not launched is left for a resume"
        assert [waits.waits_for for waits in table.pipeline.waiting()] == [
            "its turn to be exported",
            "its turn to be judged",
            "its turn to be judged",
        ]

        table = bench(judges=TWO_JUDGES, exporter=exporter, sinks=SINK)
        for row in _left_behind(3):
            table.pipeline.push(row.episode_index, row, table.place(row.episode_index))
        await table.pipeline.settle()
        assert len(table.chat.asked) == 4, "the first episode's judges are not asked again"

    async def test_judges_and_exports_run_at_most_so_many_at_once(self, bench: MakeBench) -> None:
        inside = [0, 0]

        async def count(call: ChatCall) -> str:
            inside[0] += 1
            inside[1] = max(inside)
            await asyncio.sleep(0.001)
            inside[0] -= 1
            return '{"score": 1, "reason": "fine", "pass": true}'

        table = bench(chat=Chat(count), judges=TWO_JUDGES, concurrency={"judges": 3})
        for index in range(12):
            await table.play(index)
        await table.pipeline.settle()
        assert inside[1] == 3
        assert len(table.final) == 12

    async def test_an_export_that_fails_is_an_outcome_and_a_stage(self, bench: MakeBench) -> None:
        exporter = Exporter(errors={1: "HTTP 503"})
        table = bench("tests-pass", exporter=exporter, sinks=SINK)
        for index in range(2):
            await table.play(index)
        await table.pipeline.settle()
        good, bad = table.last(0), table.last(1)
        assert (good.stages[-1].name, good.stages[-1].error) == ("export:main", None)
        assert (bad.stages[-1].error, bad.stages[-1].retryable, bad.scoring) == ("HTTP 503", True, "final")
        assert values(bad) == {"tests_pass": 1.0}

    async def test_a_fault_of_ours_in_an_export_is_told_as_one(
        self, bench: MakeBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any) -> str:
            raise ZeroDivisionError("ours")

        monkeypatch.setattr(pipeline, "trace_on_platform", broken)
        table = bench(exporter=Exporter(), sinks=SINK)
        await table.play()
        with pytest.raises(PhaseError, match=r"^exports: ZeroDivisionError"):
            await table.pipeline.settle()

    async def test_it_is_told_what_each_waits_for(self, bench: MakeBench) -> None:
        seen: list[list[str]] = []

        async def look(call: ChatCall) -> str:
            seen.append([waits.waits_for for waits in table.pipeline.waiting()])
            return '{"score": 1, "reason": "fine", "pass": true}'

        table = bench(chat=Chat(look), judges=TWO_JUDGES)
        await table.played()
        assert seen == [["judge:j1"], ["judge:j2"]]
        assert table.pipeline.waiting() == []


def _left_behind(count: int) -> list[EpisodeRow]:
    """The rows as a run that was closed while it judged its first episode has left them."""
    done = [
        Measured(grader_id=f"judge:{j}", metric=f"judge:{j}", value=1.0, passed=True) for j in ("j1", "j2")
    ]
    return [an_episode(i, scoring="pending", scores=done if i == 0 else []) for i in range(count)]
