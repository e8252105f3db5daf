from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from engine.control.look import folder_of
from engine.control.reader import Reader
from engine.control.reports import NotFoundError
from engine.store.atomic import write_json
from engine.store.jsonl import LineAppender
from engine.store.process_identity import identity
from engine.store.records import Job
from engine.store.rundir import RunDir
from tests.control.waiting import wait_for
from tests.fakes.finished_runs import fake_line, fake_row, make_run

LOGS = {0: [fake_line(0, "reset"), fake_line(1, "step")]}


def test_an_episode_by_index_and_by_folder(tmp_path: Path) -> None:
    control = Reader(tmp_path)
    run = make_run(
        tmp_path, rows=[fake_row(0), fake_row(1), fake_row(1, selectors={"task_id": "b"})], logs=LOGS
    )
    assert [line["node_id"] for line in control.log("last", "0")] == ["reset", "step"]
    assert list(control.log("last", "ep0001_b")) == []
    with pytest.raises(NotFoundError, match="ep0001, ep0001_b"):
        control.log("last", "1")
    with pytest.raises(NotFoundError, match="no episode '7'; it has 0 to 1"):
        control.log("last", "7")
    rows = control.episodes(run.run_id)
    assert {folder_of(run, row).name for row in rows} == {"ep0000", "ep0001", "ep0001_b"}


def test_a_torn_log_is_read_up_to_its_end(tmp_path: Path) -> None:
    control = Reader(tmp_path)
    run = make_run(tmp_path, logs=LOGS)
    path = run.episodes / "ep0000" / "log.jsonl"
    path.write_bytes(path.read_bytes() + b'{"step": 2, "node')
    assert len(list(control.log("last", "0"))) == 2


def test_following_an_episode_until_it_has_ended(tmp_path: Path) -> None:
    control = Reader(tmp_path)
    run = make_run(tmp_path, rows=[fake_row(0)], logs=LOGS, status="running")
    folder = run.episodes / "ep0000"
    finished = (folder / "episode.json").read_bytes()
    (folder / "episode.json").unlink()
    run.done.unlink()
    write_json(run.job, Job(run_id=run.run_id, state="started", process=identity()))
    seen: list[dict[str, Any]] = []
    reader = threading.Thread(target=_collect, args=(control, seen), daemon=True)
    reader.start()
    wait_for(lambda: len(seen) == 2, "the first lines")
    appender = LineAppender(folder / "log.jsonl")
    appender.append(fake_line(2, "step"))
    wait_for(lambda: len(seen) == 3, "the next line")
    assert reader.is_alive()
    appender.append(fake_line(3, "evaluate"))
    (folder / "episode.json").write_bytes(finished)
    reader.join(60)
    assert not reader.is_alive()
    assert [line["step"] for line in seen] == [0, 1, 2, 3]


def _collect(control: Reader, seen: list[dict[str, Any]]) -> None:
    seen.extend(control.log("last", "0", follow=True))


@pytest.mark.parametrize("verb", ["show", "episodes", "results"])
def test_a_run_that_is_deleted_as_it_is_read_is_not_told_as_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    control = Reader(tmp_path)
    run = make_run(tmp_path, rows=[fake_row(0)])
    find = control.find

    def find_then_delete(name: str) -> RunDir:
        found = find(name)
        found.path.rename(found.path.with_name(".going"))
        return found

    monkeypatch.setattr(control, "find", find_then_delete)
    with pytest.raises(NotFoundError, match=run.run_id):
        getattr(control, verb)(run.run_id)
