"""Runs in processes of their own whose episodes are graded, judged and exported."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.scoring.exporting import fold_exports
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.runs import read_rows, view_run
from engine.store.scores import Unmeasured
from tests.evaluation.run_checks import (
    assert_all_gone,
    assert_counted_once,
    assert_nothing_torn,
    last_words,
    until,
)
from tests.fakes.chat_server import Act, ChatServer, Handler, chat_server, drips, fails, hangs, says, sends
from tests.fakes.graphs import env_graph
from tests.fakes.platforms.otlp_sink import OtlpSink
from tests.fakes.platforms.sink_server import dies
from tests.fakes.platforms.sink_server import says as platform_says
from tests.fakes.real_runs import (
    RUN_DEADLINE_SEC,
    ask_to_end,
    attempt,
    finished,
    make_root,
    resumed,
    write_run,
)
from tests.scoring.judges import a_verdict
from tests.scoring.scored_runs import (
    GRAPH,
    JUDGES,
    METRICS,
    Journal,
    assert_never_held_behind,
    at,
    in_thread,
    scores,
    scoring,
    settle,
    stage_of,
    verdicts,
)

SECRET = "a-token-that-nobody-may-read"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


@pytest.fixture
def server(root: Path) -> Iterator[ChatServer]:
    with chat_server(answer=verdicts) as running:
        settle(root, running)
        yield running


def rows(run: RunDir) -> dict[int, EpisodeRow]:
    return {row.episode_index: row for row in read_rows(run)}


def graded(run: RunDir) -> list[EpisodeRow]:
    """Those of which the environment was released."""
    return [row for row in read_rows(run) if row.scores]


def choose(journal: Journal, **more: Any) -> dict[str, Any]:
    return {"journal": str(journal.path), **more}


def holds(gate: threading.Event) -> Act:
    """Answer once the gate is open."""

    def act(handler: Handler, body: dict[str, Any]) -> None:
        gate.wait(RUN_DEADLINE_SEC)
        says()(handler, body)

    return act


def touches(path: Path) -> Act:
    def act(handler: Handler, body: dict[str, Any]) -> None:
        path.touch()
        says()(handler, body)

    return act


class TestWhole:
    @pytest.mark.slow
    @pytest.mark.case(2)
    def test_no_environment_is_held_for_what_does_without(
        self, root: Path, journal: Journal, server: ChatServer
    ) -> None:
        with in_thread(OtlpSink()) as sink:
            asked = scoring(
                sinks=[{"name": "main", "kind": "otlp", "endpoint": sink.url, "auth_secret": "sink"}],
                graders=[{"id": "latency"}, *scoring()["graders"]],
                trace={"kind": "file", "endpoint": "trace.jsonl"},
            )
            run = write_run(
                root,
                GRAPH,
                scoring=asked,
                episode_count=4,
                worker_count=2,
                selectors=choose(journal, steps=2, wait_ms=10),
            )
            with attempt(run, EVALTOWER_SECRET_SINK=SECRET) as process:
                process.wait(RUN_DEADLINE_SEC)
        assert_counted_once(run, 4)
        for index, row in rows(run).items():
            assert (row.scoring, row.status, row.failure) == ("final", "completed", None)
            assert [score.metric for score in row.scores] == ["span", *METRICS]
            assert_never_held_behind(row)
            assert [stage.name for stage in row.stages] == [
                *("execute", "snapshot", "grade", "materialise", "release"),
                *("observe", "judge:j1", "judge:j2", "export:main"),
            ]
            assert not [stage.error for stage in row.stages if stage.error]
            assert journal.order(index) == [
                *("play", "reset", "snapshot", "exec", "read_file", "read_file", "release")
            ]
            assert "picture" not in (run.episodes / f"ep{index:04d}" / "snapshot.json").read_text()
        assert "image_url" in json.dumps(server.bodies[0]), "the judge sees the picture"
        assert len(sink.sent("/v1/traces")) == 4
        assert {seen.headers["Authorization"] for seen in sink.seen} == {f"Bearer {SECRET}"}
        whole = b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())
        assert SECRET.encode() not in whole
        stats = run.read_summary().metric_stats
        assert {name: stats[name].n for name in (*METRICS, "pass", "success")} == dict.fromkeys(
            (*METRICS, "pass", "success"), 4
        )
        assert "judge:j2:tone" in run.read_summary().aggregate_metrics

    @pytest.mark.case(5)
    @pytest.mark.case(6)
    @pytest.mark.case(35)
    @pytest.mark.case(36)
    @pytest.mark.case(39)
    def test_each_episode_has_its_own_fate_and_one_release(
        self, root: Path, journal: Journal, server: ChatServer
    ) -> None:
        faults = {
            "0": "die_once",
            "1": "raise",
            "2": "fail",
            "3": "die_at_release",
            "4": "die_grading",
        }
        run = finished(
            root,
            GRAPH,
            scoring=scoring(),
            episode_count=6,
            worker_count=2,
            retries=1,
            selectors=choose(journal, faults=faults, wait_ms=20),
        )
        found = rows(run)
        assert run.read_summary().status == "completed"
        assert {index: (row.status, row.verdict) for index, row in found.items()} == {
            0: ("completed", True),
            1: ("error", None),
            2: ("completed", False),
            3: ("completed", True),
            4: ("completed", found[4].verdict),
            5: ("completed", True),
        }
        assert [score.metric for score in found[1].scores] == [], "what failed is not judged"
        assert dict(found[4].measures).keys().isdisjoint({"tests_pass"})
        assert stage_of(found[3], "release").error
        assert [score.metric for score in found[3].scores] == METRICS
        # What the box failed is played again; what the graph failed, or the graders, is not.
        assert journal.count("reset") == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
        released = journal.count("release")
        assert {index: released[index] for index in (0, 2, 3, 5)} == {0: 1, 2: 1, 3: 1, 5: 1}
        executed = [stage_of(row, "execute") for row in found.values()]
        at_once = [
            sum(at(other.started_at) <= at(one.started_at) < at(other.finished_at) for other in executed)
            for one in executed
        ]
        assert max(at_once) == 2, "as many as workers"

    @pytest.mark.slow
    @pytest.mark.case(19)
    @pytest.mark.case(21)
    def test_an_episode_runs_on_the_judge_of_the_one_before_in_the_runs_own_process(
        self, root: Path, journal: Journal, server: ChatServer, tmp_path: Path
    ) -> None:
        gate = tmp_path / "gate"
        asked_by: list[int] = []
        run = write_run(
            root,
            GRAPH,
            scoring=scoring(judges=JUDGES[:1]),
            episode_count=2,
            selectors=choose(journal, gate=str(gate)),
        )
        with attempt(run) as process:

            def opens(handler: Handler, body: dict[str, Any]) -> None:
                ours = psutil.Process(process.pid).net_connections()
                ports = {connection.laddr.port for connection in ours}
                asked_by.append(process.pid if handler.client_address[1] in ports else 0)
                touches(gate)(handler, body)

            server.acts.append(opens)
            process.wait(RUN_DEADLINE_SEC)
            assert_counted_once(run, 2)
            assert asked_by == [process.pid]
        first, second = rows(run)[0], rows(run)[1]
        assert at(stage_of(first, "judge:j1").finished_at) < at(stage_of(second, "execute").finished_at)

    @pytest.mark.slow
    @pytest.mark.case(25)
    def test_an_episode_runs_on_the_export_of_the_one_before(
        self, root: Path, journal: Journal, tmp_path: Path
    ) -> None:
        gate = tmp_path / "gate"

        class Opening(OtlpSink):
            def answer(self, seen: Any) -> tuple[int, Any]:
                gate.touch()
                return super().answer(seen)

        with in_thread(Opening()) as sink:
            run = finished(
                root,
                GRAPH,
                scoring={"sinks": [{"name": "main", "kind": "otlp", "endpoint": sink.url}]},
                episode_count=2,
                selectors=choose(journal, gate=str(gate)),
            )
        assert_counted_once(run, 2)
        assert [row.exports[0].error for row in rows(run).values()] == [None, None]


class TestResults:
    @pytest.mark.slow
    def test_one_digest_and_the_same_scores_at_1_and_3_workers_and_without_scoring(
        self, root: Path, server: ChatServer, tmp_path: Path
    ) -> None:
        runs = []
        for number, (workers, asked) in enumerate(((1, scoring()), (3, scoring()), (2, None))):
            settle(root, server, cache=f"{number}.jsonl")
            selectors = {"journal": str(tmp_path / "one journal")}
            runs.append(
                finished(
                    root, GRAPH, scoring=asked, episode_count=7, worker_count=workers, selectors=selectors
                )
            )
        one, three, bare = runs
        digests = [view_run(run).head.result_digest for run in runs]
        assert len(set(digests)) == 1
        assert scores(one) == scores(three)
        assert [list(dict(found)) for found in scores(one).values()] == [METRICS] * 7
        assert all(row.stages == [] and row.scoring == "none" for row in read_rows(bare))
        assert len(server.asked) == 2 * 7 * 2, "each question was asked once a run"

    @pytest.mark.slow
    def test_a_panel_that_lists_no_action_is_left_alone(self, root: Path, server: ChatServer) -> None:
        diary = env_graph("env_diary")
        runs = [finished(root, diary, scoring=asked, episode_count=4, seed=3) for asked in (scoring(), None)]
        assert len({view_run(run).head.result_digest for run in runs}) == 1
        for row in read_rows(runs[0]):
            (tests,) = (score for score in row.scores if score.metric == "tests_pass")
            assert isinstance(tests, Unmeasured)
            assert tests.reason == "unsupported"

    @pytest.mark.slow
    def test_early_stop_by_what_judges_say(self, root: Path, server: ChatServer) -> None:
        def coin(body: dict[str, Any]) -> str:
            heads = sum(json.dumps(body["messages"]).encode()) % 4 > 0
            return a_verdict(float(heads), **{"pass": heads})

        server.answer = coin
        asked = scoring(graders=[], judges=[{"id": "j", "profile": "local", "prompt": "Heads?"}])
        heads = []
        for number, workers in enumerate((1, 4)):
            settle(root, server, cache=f"{number}.jsonl")
            run = finished(
                root,
                env_graph("env_coin"),
                scoring=asked,
                episode_count=300,
                worker_count=workers,
                until_width=0.3,
                until_metric="pass",
            )
            heads.append(view_run(run).head)
            assert heads[-1].status == "completed", heads[-1].error
            assert heads[-1].early_stop is not None
            assert {row.scoring for row in read_rows(run)} == {"final"}
            interval = heads[-1].metric_stats["pass"].ci95
            assert interval is not None
            assert interval[1] - interval[0] <= 0.3
            assert_nothing_torn(run)
        assert heads[0].result_digest == heads[1].result_digest


class TestTroubledJudges:
    @pytest.mark.slow
    def test_nothing_that_a_judge_does_is_a_number_that_it_did_not_give(
        self, root: Path, journal: Journal, server: ChatServer
    ) -> None:
        settle(root, server, timeout_sec=4.0, retries=0)
        troubles: dict[str, Act] = {
            "brackets": says("[[90]]"),
            "nan": says('{"score": NaN, "reason": "?"}'),
            "refusal": says("I cannot help with that."),
            "too_many": fails(429, Retry_After="0"),
            "slow": drips,
            "no_json": sends(b"<html>"),
            "not_let_in": fails(401),
        }

        def trouble(handler: Handler, body: dict[str, Any]) -> None:
            name = next((name for name in troubles if name in json.dumps(body["messages"])), "")
            (troubles[name] if name else says())(handler, body)

        server.acts.extend([trouble] * 100)
        judges = [{"id": name, "profile": "local", "prompt": name} for name in (*troubles, "fine")]
        judges.append({"id": "nobody", "profile": "gone"})
        with in_thread(OtlpSink()) as sink:
            run = finished(
                root,
                GRAPH,
                scoring=scoring(
                    judges=judges, sinks=[{"name": "main", "kind": "otlp", "endpoint": sink.url}]
                ),
                episode_count=2,
                selectors=choose(journal),
            )
            sent = json.dumps([seen.body for seen in sink.seen])
        assert_counted_once(run, 2)
        for row in read_rows(run):
            why = {s.metric: (s.reason, s.retryable) for s in row.scores if isinstance(s, Unmeasured)}
            assert why == {
                **{f"judge:{name}": ("grader_error", True) for name in ("brackets", "nan", "refusal")},
                **{f"judge:{name}": ("grader_error", True) for name in ("too_many", "no_json")},
                "judge:slow": ("grader_timeout", True),
                "judge:not_let_in": ("grader_error", False),
                "judge:nobody": ("unsupported", False),
            }
            assert list(row.measures)[:2] == ["success", "length"]
            assert set(row.measures) == {"success", "length", "tests_pass", "judge:fine", "pass"}
            assert {stage.name for stage in row.stages if stage.error} == set(why)
        assert set(run.read_summary().aggregate_metrics) == set(row.measures)
        assert "judge:fine" in sent
        assert "judge:brackets" not in sent
        assert server.most_at_once <= 2

    @pytest.mark.slow
    def test_a_storm_of_429_costs_its_judge_and_no_episode(
        self, root: Path, journal: Journal, server: ChatServer
    ) -> None:
        server.acts.extend(fails(429, Retry_After="0") for _ in range(9))
        run = finished(
            root,
            GRAPH,
            scoring=scoring(judges=JUDGES[:1]),
            episode_count=6,
            worker_count=2,
            selectors=choose(journal),
        )
        assert_counted_once(run, 6)
        judged = [dict(found)["judge:j1"] for found in scores(run).values()]
        assert None in judged
        assert any(value is not None for value in judged)
        stats = run.read_summary().metric_stats
        assert stats["judge:j1"].n == sum(value is not None for value in judged)
        assert stats["tests_pass"].n == 6


class TestEnds:
    @pytest.mark.slow
    def test_killed_while_judging_it_is_judged_and_never_played_again(
        self, root: Path, journal: Journal, server: ChatServer
    ) -> None:
        request: dict[str, Any] = {"scoring": scoring(), "episode_count": 5, "worker_count": 2}
        whole = finished(root, GRAPH, **request, selectors=choose(journal))
        journal.path.unlink()
        settle(root, server, cache="again.jsonl")
        server.asked.clear()
        server.acts.extend([says()] * 3 + [hangs] * 20)
        run = write_run(root, GRAPH, **request, selectors=choose(journal))
        with attempt(run) as process:
            until(lambda: len(graded(run)) == 5 and server.inside >= 3, process)
            process.kill()
            process.wait(RUN_DEADLINE_SEC)
        assert_all_gone(run)
        asked = len(server.asked)
        server.acts.clear()
        server.closing.set()
        before = len(journal.lines)
        resumed(run)
        assert_counted_once(run, 5, attempts=2)
        assert journal.count("reset") == dict.fromkeys(range(5), 1)
        assert [line["what"] for line in journal.lines[before:]] == []
        assert scores(run) == scores(whole)
        assert [list(dict(found)) for found in scores(run).values()] == [METRICS] * 5
        assert len(server.asked) - asked == 10 - 3, "what was answered is not asked again"
        assert view_run(run).head.result_digest == view_run(whole).head.result_digest
        for row in read_rows(run):
            assert row.scoring == "final"
            assert_never_held_behind(row)

    @pytest.mark.slow
    def test_killed_while_it_was_graded_it_says_so_and_can_be_played_again(
        self, root: Path, journal: Journal, server: ChatServer
    ) -> None:
        run = write_run(
            root,
            GRAPH,
            scoring=scoring(),
            episode_count=2,
            selectors=choose(journal, faults={"1": "hang_grading"}),
        )
        with attempt(run) as process:
            until(lambda: journal.count("exec")[1], process)
            process.kill()
            process.wait(RUN_DEADLINE_SEC)
        assert_all_gone(run)
        resumed(run)
        row = rows(run)[1]
        assert run.read_summary().status == "completed"
        assert row.failure is not None
        assert (row.failure["stage"], row.failure["retryable"]) == ("grade", True)
        assert dict(scores(run)[1])["tests_pass"] is None
        assert journal.count("reset") == {0: 1, 1: 1}

        with attempt(run, rerun_errors=True) as process:
            until(lambda: journal.count("exec")[1] == 2, process)
        assert journal.count("reset") == {0: 1, 1: 2}

    @pytest.mark.slow
    @pytest.mark.case(38)
    def test_told_to_end_right_after_the_last_episode_it_joins_what_was_launched(
        self, root: Path, journal: Journal, server: ChatServer
    ) -> None:
        gate = threading.Event()
        server.acts.extend([holds(gate)] * 2)
        run = write_run(
            root,
            GRAPH,
            scoring=scoring(concurrency={"judges": 2, "exports": 2}),
            episode_count=4,
            worker_count=2,
            selectors=choose(journal),
        )
        with attempt(run) as process:
            until(lambda: len(graded(run)) == 4 and server.inside == 2, process)
            ask_to_end(run)
            process.send_signal(signal.SIGTERM)
            until(lambda: _is_told(run), process)
            gate.set()
            assert process.wait(RUN_DEADLINE_SEC) == 1
        summary = run.read_summary()
        assert (summary.status, summary.error) == ("cancelled", None), "whatever succeeds late"
        found = scores(run)
        assert sorted(len(dict(each)) for each in found.values()) == [1, 1, 4, 4]
        assert sorted(row.scoring for row in read_rows(run)) == ["final", "final", "pending", "pending"]
        assert len(server.asked) == 4, "both judges of the two episodes that had begun to be judged"
        assert {row.status for row in read_rows(run)} == {"completed"}
        progress = run.read_progress()
        assert progress is not None
        assert [waits.waits_for[:8] for waits in progress.scoring] == ["its turn"] * 2
        assert_nothing_torn(run)
        assert_all_gone(run)

        resumed(run)
        assert_counted_once(run, 4, attempts=2)
        assert journal.count("reset") == dict.fromkeys(range(4), 1)
        assert [list(dict(each)) for each in scores(run).values()] == [METRICS] * 4

    @pytest.mark.slow
    @pytest.mark.case(7)
    @pytest.mark.case(37)
    def test_cancelled_before_in_the_middle_of_and_after_an_episode(
        self, root: Path, journal: Journal, server: ChatServer
    ) -> None:
        gate = threading.Event()
        server.acts.extend([holds(gate)])
        run = write_run(
            root,
            GRAPH,
            scoring=scoring(),
            episode_count=3,
            selectors=choose(journal, faults={"1": "hang"}),
            per_step_budget_sec=60,
        )
        with attempt(run) as process:
            until(lambda: server.inside == 1 and journal.count("step")[1] == 1, process)
            ask_to_end(run)
            process.send_signal(signal.SIGTERM)
            until(lambda: 1 in rows(run), process)
            gate.set()
            process.wait(RUN_DEADLINE_SEC)
        assert run.read_summary().status == "cancelled"
        found = rows(run)
        assert {index: row.status for index, row in found.items()} == {0: "completed", 1: "cancelled"}
        assert [score.metric for score in found[0].scores] == METRICS
        assert (found[1].scores, found[1].stages) == ([], [])
        assert journal.count("exec") == {0: 1}
        assert len(server.asked) == 2
        assert_nothing_torn(run)
        assert_all_gone(run)

    @pytest.mark.slow
    def test_a_fault_of_ours_ends_the_phase_and_a_resume_does_the_rest(
        self, root: Path, journal: Journal, server: ChatServer, tmp_path: Path
    ) -> None:
        trap = tmp_path / "trap"
        trap.mkdir()
        (trap / "sitecustomize.py").write_text(
            "import engine.scoring.judging as judging\n"
            "real = judging.judge_messages\n"
            "def broken(judge, evidence):\n"
            "    if judge.id == 'j2' and evidence.case.episode_index == 1:\n"
            "        raise ZeroDivisionError('ours')\n"
            "    return real(judge, evidence)\n"
            "judging.judge_messages = broken\n"
        )
        with in_thread(OtlpSink()) as sink:
            run = write_run(
                root,
                GRAPH,
                scoring=scoring(sinks=[{"name": "main", "kind": "otlp", "endpoint": sink.url}]),
                episode_count=3,
                selectors=choose(journal),
            )
            before = os.environ.get("PYTHONPATH", "")
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(trap), before)))
            try:
                with attempt(run) as process:
                    assert process.wait(RUN_DEADLINE_SEC) == 1
            finally:
                os.environ["PYTHONPATH"] = before
            summary = run.read_summary()
            assert summary.status == "error"
            assert str(summary.error).startswith("judges: ZeroDivisionError: ours"), last_words(run)
            assert [list(dict(found)) for found in scores(run).values()] == [METRICS, METRICS[:2], METRICS]
            assert [row.exports[0].error for row in read_rows(run)] == [None] * 3
            assert [row.scoring for row in read_rows(run)] == ["final", "pending", "final"]
            resumed(run)
        assert_counted_once(run, 3, attempts=2)
        assert [list(dict(found)) for found in scores(run).values()] == [METRICS] * 3
        assert journal.count("reset") == dict.fromkeys(range(3), 1)
        assert len(sink.sent("/v1/traces")) == 4


def _is_told(run: RunDir) -> bool:
    """Whether the run has heard that it is to end: by then it launches nothing more."""
    progress = run.read_progress()
    return progress is not None and all(worker.state == "done" for worker in progress.workers)


@pytest.mark.slow
def test_a_platform_in_trouble_costs_its_exports_alone(root: Path, journal: Journal) -> None:
    with ExitStack() as stack:
        doubles = {
            name: stack.enter_context(in_thread(OtlpSink())) for name in ("full", "dying", "late", "partial")
        }
        doubles["full"].then("/v1/traces", *[platform_says(503, "full")] * 2)
        doubles["dying"].then("/v1/traces", *[dies()] * 2)
        doubles["late"].then("/v1/traces", *[takes(1.0)] * 2)
        doubles["partial"].partial = {"rejectedSpans": "1", "errorMessage": "too long"}
        urls = {"down": "http://127.0.0.1:9", **{name: double.url for name, double in doubles.items()}}
        run = finished(
            root,
            GRAPH,
            scoring=scoring(
                judges=[],
                sinks=[{"name": name, "kind": "otlp", "endpoint": url} for name, url in urls.items()],
            ),
            episode_count=2,
            selectors=choose(journal),
        )
    assert_counted_once(run, 2)
    for row in read_rows(run):
        assert (row.verdict, row.scoring) == (True, "final")
        assert {outcome.name: bool(outcome.error) for outcome in row.exports} == {
            **dict.fromkeys(("down", "full", "dying"), True),
            **dict.fromkeys(("late", "partial"), False),
        }
        assert {stage.name for stage in row.stages if stage.error} == {
            *("export:down", "export:full", "export:dying")
        }
        assert_never_held_behind(row)
    reports = {report.name: report.status for report in fold_exports(read_rows(run))}
    assert reports == {
        **dict.fromkeys(("down", "full", "dying"), "failed"),
        **dict.fromkeys(("late", "partial"), "succeeded"),
    }


def takes(seconds: float) -> Any:
    async def act(request: Any, server: Any) -> Any:
        await asyncio.sleep(seconds)
        return await platform_says(200, {})(request, server)

    return act
