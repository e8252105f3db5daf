"""A run that is split over several processes, each with its part of the list, comes to what one comes to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.control.look import full_report
from engine.evaluation.plan import PlanError, refuse_to_split
from engine.scheduling.launchers.slurm.merging import Merger
from engine.statistics.folding import fold_rows
from engine.store.atomic import write_json
from engine.store.jsonl import LineAppender
from engine.store.records import EvalRequest, Job
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from tests.command import invoke
from tests.evaluation.run_checks import (
    assert_all_gone,
    assert_counted_once,
    assert_nothing_torn,
    last_words,
    rows_written,
    until,
)
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import (
    RUN_DEADLINE_SEC,
    attempt,
    finished,
    make_root,
    next_attempt,
    resumed,
    split,
    write_run,
)
from tests.fakes.scored_runs import GRAPH as GRADED
from tests.fakes.scored_runs import STEPS, all_values, rescored

pytestmark = pytest.mark.slow  # most of it is real runs, some of them killed

DIARY = env_graph("env_diary")
COIN = env_graph("env_coin")
PAUSE = {"pause": 0.005}
OWN: dict[str, Any] = {
    "episode_indices": [4, 4, 9],
    "episode_selectors": [{"task_id": "a"}, {"task_id": "b"}, {"pause": 0.01}],
    "repeats": 3,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


def merger(run: RunDir) -> Merger:
    """That of a backend which has just begun."""
    return Merger(run, len(run.shards()), fold_rows)


def all_ended(run: RunDir) -> None:
    """Each shard's next attempt, at once, until it ends by itself."""
    with ExitStack() as stack:
        for process in [stack.enter_context(attempt(shard)) for shard in run.shards()]:
            process.wait(RUN_DEADLINE_SEC)


def end(run: RunDir) -> RunDir:
    """What a backend does once every shard has ended."""
    merged = merger(run)
    outcome = merged.outcome()
    assert outcome is not None, "a shard has not ended"
    merged.finish(*outcome)
    return run


def split_run(root: Path, graph: dict[str, Any], shards: int, **request: Any) -> RunDir:
    run = write_run(root, graph, **request)
    split(run, shards)
    all_ended(run)
    return end(run)


def killed_after(shard: RunDir, rows: int) -> None:
    with attempt(shard) as process:
        until(lambda: rows_written(shard) >= rows, process)
    assert_all_gone(shard)


def written(run: RunDir) -> dict[Path, tuple[int, int]]:
    stats = {path: path.lstat() for path in run.path.iterdir()}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in stats.items()}


def assert_the_same(run: RunDir, whole: RunDir) -> None:
    mine, other = run.read_summary(), whole.read_summary()
    assert mine.result_digest == other.result_digest
    assert [row.identity for row in mine.episodes] == [row.identity for row in other.episodes]
    for name in ("aggregate_metrics", "metric_stats", "total_episodes", "completed_count", "scored"):
        assert getattr(mine, name) == getattr(other, name), name
    assert (mine.config.split, mine.config.env_nodeset) == (other.config.split, other.config.env_nodeset)
    names = [{path.name for path in found.episodes.iterdir()} for found in (run, whole)]
    assert names[0] == names[1]
    assert run.graph.read_bytes() == whole.graph.read_bytes()
    assert_nothing_torn(run)


@pytest.mark.parametrize(
    ("graph", "shards", "request_"),
    [
        (COIN, 2, {"episode_count": 7, "worker_count": 2, "seed": 3}),
        (COIN, 3, {"episode_count": 2, "worker_count": 2}),
        (DIARY, 2, {"episode_count": 11, "worker_count": 2, "seed": 5}),
        (DIARY, 3, {"episode_count": 13, "worker_count": 1, "start_episode_index": 6}),
        (DIARY, 2, OWN),
    ],
    ids=["uneven", "more-shards-than-episodes", "groups", "three-shards", "repeats-and-selectors"],
)
def test_a_split_run_is_the_run(
    root: Path, graph: dict[str, Any], shards: int, request_: dict[str, Any]
) -> None:
    whole = finished(root, graph, **request_ | {"worker_count": 1})
    run = split_run(root, graph, shards, **request_)
    assert run.read_summary().status == "completed", last_words(run)
    assert_the_same(run, whole)
    workers = run.read_summary().config.worker_count
    for shard in run.shards():
        rows, number = read_rows(shard), shard.shard or 0
        assert {row.worker_id for row in rows} <= set(range(number * workers, (number + 1) * workers))
        assert shard.read_summary().total_episodes == len(rows)
    progress = run.read_progress()
    assert progress is not None
    ids = [worker.worker_id for worker in progress.workers]
    assert ids == sorted(set(ids))
    assert {row.worker_id for row in read_rows(run)} == set(ids)


def test_a_shard_without_an_episode_completes_with_nothing(root: Path) -> None:
    run = write_run(root, COIN, episode_count=1, worker_count=2)
    shards = split(run, 2)
    for shard in shards:
        resumed(shard)
    counts = [shard.read_summary().completed_count for shard in shards]
    assert sorted(counts) == [0, 1]
    assert [shard.read_summary().status for shard in shards] == ["completed"] * 2
    assert "made anew" not in "".join((shard.own / "stderr.log").read_text() for shard in shards)
    assert_counted_once(end(run), 1, attempts=0)


def test_it_is_gathered_while_it_runs_and_nothing_new_writes_nothing(root: Path) -> None:
    run = write_run(root, DIARY, episode_count=24, worker_count=2, selectors=PAUSE)
    shards = split(run, 2)
    merged, counts = merger(run), [0]
    with attempt(shards[0]) as first, attempt(shards[1]) as second:

        def gathered() -> bool:
            over = first.poll() is not None and second.poll() is not None
            merged.gather()
            counts.append(run.read_summary_head().completed_count)
            return over

        until(gathered)
    assert counts == sorted(counts)
    assert len(set(counts)) > 2
    assert run.read_summary_head().status == "running"
    before = written(run)
    for again in [*[merged] * 10, *(merger(run) for _ in range(10))]:
        again.gather()
    assert written(run) == before
    assert_counted_once(end(run), 24, attempts=0)
    before = written(run)
    merger(run).gather()
    merger(run).finish("error", "too late")
    assert written(run) == before


def test_one_shard_that_was_killed_goes_on_alone(root: Path) -> None:
    request: dict[str, Any] = {"episode_count": 22, "worker_count": 2, "selectors": PAUSE}
    whole = finished(root, DIARY, **request)
    run = write_run(root, DIARY, **request)
    first, second = split(run, 2)
    resumed(first)
    killed_after(second, 3)
    merged = merger(run)
    merged.gather()
    assert merged.outcome() is None
    merged.finish("aborted", "its node is gone")
    summary = run.read_summary()
    assert (summary.status, run.is_done()) == ("aborted", False)
    assert summary.episodes == read_rows(run)
    assert os.readlink(run.path / "stderr.log") == "shards/1/stderr.log"
    resumed(second)
    assert (first.read_job().attempt, second.read_job().attempt) == (1, 2)
    assert_counted_once(end(run), 22, attempts=0)
    assert_the_same(run, whole)
    lines = run.episode_rows.read_bytes().splitlines()
    assert len(lines) == len(set(lines)) == 22


def test_what_the_run_was_given_since_stands_when_a_shard_goes_on(root: Path) -> None:
    run = write_run(root, COIN, episode_count=12, worker_count=1)
    first, second = split(run, 2)
    resumed(first)
    killed_after(second, 2)
    merger(run).finish("aborted", "its node is gone")
    given = [
        msgspec.structs.replace(read_rows(shard)[0], instruction="scored since") for shard in (first, second)
    ]
    appender = LineAppender(run.episode_rows)
    for row in given:
        appender.append(row)
        (folder,) = run.episodes.glob(f"ep{row.episode_index:04d}")
        file = msgspec.json.decode((folder / "episode.json").read_bytes())
        write_json(folder / "episode.json", file | {"episode": row})
    appender.close()
    resumed(second)
    assert second.read_summary().episodes[0] == given[1]
    merger(run).gather()
    assert_counted_once(end(run), 12, attempts=0)
    rows = {row.identity: row for row in run.read_summary().episodes}
    assert [rows[row.identity] for row in given] == given


def test_a_split_run_is_scored_again_as_any_other(root: Path) -> None:
    scoring: dict[str, Any] = {"graders": [STEPS]}
    own: dict[str, Any] = {"episode_count": 4, "selectors": {"journal": str(root / "journal.jsonl")}}
    run = split_run(root, GRADED, 2, scoring=scoring, **own)
    assert json.loads(run.scoring.read_bytes()) == scoring
    before = run.read_summary()
    rescored(run)
    after = run.read_summary()
    assert (after.status, after.result_digest) == ("completed", before.result_digest)
    assert len(all_values(run)) == 4
    content = run.episode_rows.read_bytes()
    merger(run).gather()
    assert run.episode_rows.read_bytes() == content


def test_what_needs_the_whole_list_is_not_split(root: Path) -> None:
    run = write_run(root, COIN, episode_count=60, until_width=0.5)
    split(run, 2)
    all_ended(run)
    end(run)
    error = str(run.read_summary().error)
    assert error.startswith("shard 0: ")
    assert "--until-width cannot be split over 2 nodes" in error
    assert run.read_summary().status == "error"
    with pytest.raises(PlanError, match="by hand"):
        refuse_to_split(EvalRequest(graph_name="g"), "play", 2)
    refuse_to_split(run.read_spec().eval, "run", 1)


def test_an_attempt_at_one_shard_fences_off_no_other(root: Path) -> None:
    run = write_run(root, DIARY, episode_count=24, worker_count=1, selectors=PAUSE)
    shards = split(run, 2)
    with attempt(shards[0]) as first, attempt(shards[1]) as old:
        until(lambda: rows_written(shards[1]) >= 2, old)
        next_attempt(shards[1])
        assert old.wait(RUN_DEADLINE_SEC) == 1
        assert first.wait(RUN_DEADLINE_SEC) == 0
    assert "attempt 2 has taken its place" in (shards[1].own / "stderr.log").read_text()
    assert not shards[1].is_done()


@pytest.mark.parametrize("text", ["2", "2/2", "-1/2", "a/b", "0/0", "/", "1/"])
def test_a_shard_that_there_cannot_be_is_refused(text: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "engine.evaluation", "--run-dir", str(tmp_path), f"--shard={text}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"{text!r} is not K/N" in done.stderr
    assert "Traceback" not in done.stderr


def test_readers_see_a_run_like_any_other(root: Path, tmp_path: Path) -> None:
    run = write_run(root, COIN, episode_count=5, worker_count=2, label="split")
    shards = split(run, 2)
    resumed(shards[0])
    killed_after(shards[1], 1)
    merger(run).finish("aborted", "its node is gone")
    write_json(run.job, Job(run_id=run.run_id, state="ended"))
    report = full_report(run)
    assert report.status == "aborted"
    assert report.stderr_tail == (shards[1].own / "stderr.log").read_text().splitlines()[-12:]
    resumed(shards[1])
    end(run)
    report = full_report(run)
    assert (report.status, report.summary.completed_count) == ("completed", 5)
    assert report.environment is not None
    assert f"evaltower run outputs/eval_runs/{run.run_id}/graph.json" in report.environment.command
    page = tmp_path / "page.html"
    for words in (
        ("show", "split"),
        ("episodes", "split"),
        ("log", "split", "3"),
        ("export", "split", "--format", "csv"),
        ("report", "split", "-o", str(page)),
    ):
        done = invoke(root, *words)
        assert done.returncode == 0, (words, done.stderr)
        assert "Traceback" not in done.stderr
