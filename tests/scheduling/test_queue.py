"""The queue file: order, operators' verbs, what survives, and what is never overwritten."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.scheduling.jobs import RISE_AFTER_SEC, Admitted, LoadedServer
from engine.scheduling.need import Priority, server_key
from engine.scheduling.queue import Queue, QueueError
from engine.scheduling.starts import Seated, Start
from tests.scheduling.making import NOW, job, shared


def queue_of(folder: Path, *run_ids: str) -> Queue:
    queue = Queue(folder / "queue.json")
    for run_id in run_ids:
        queue.submit(job(run_id))
    return queue


def order(queue: Queue) -> str:
    return " ".join(job.run_id for job in queue.jobs)


def start(run_id: str) -> Start:
    seated = Seated(
        owner=run_id, server=None, load=True, cards=("GPU-0",), visible=("GPU-0",), claims={}, after_sec=0.0
    )
    return Start(
        run_id=run_id, run=seated, servers=(), basis={"vram": None}, cold=False, exclusive=False, workers=1
    )


def loaded(name: str) -> LoadedServer:
    seated = Seated(
        owner=server_key(shared(name)),
        server=shared(name),
        load=True,
        cards=(),
        visible=(),
        claims={},
        after_sec=0.0,
    )
    return LoadedServer(seated=seated, at=NOW)


def test_first_come_first_served_within_a_priority(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "n1", "n2")
    queue.submit(job("l1", priority="low"))
    assert queue.submit(job("h1", priority="high")) == 1
    assert queue.submit(job("n3")) == 4
    assert order(queue) == "h1 n1 n2 n3 l1"


def test_what_was_answered_is_on_disk(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "a", "b", "c")
    queue.hold("b")
    queue.move("c", 1)
    queue.pause()
    again = Queue(tmp_path / "queue.json")
    assert order(again) == "c a b"
    assert (again.find("b").held, again.paused, again.set_aside) == (True, True, None)
    again.submit(job("d"))
    assert [job.sequence for job in again.jobs] == [3, 1, 2, 4]  # a sequence is never given twice


def test_a_run_is_queued_once(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "a")
    with pytest.raises(QueueError, match="a is queued or running already"):
        queue.submit(job("a"))
    queue.admit([Admitted(job=queue.find("a"), start=start("a"), at=NOW)], [])
    with pytest.raises(QueueError, match="already"):
        queue.submit(job("a"))


@pytest.mark.parametrize(
    ("position", "expected"), [(1, "c a b"), (2, "a c b"), (3, "a b c"), (99, "a b c"), (-5, "c a b")]
)
def test_move(tmp_path: Path, position: int, expected: str) -> None:
    queue = queue_of(tmp_path, "a", "b", "c")
    queue.move("c", position)
    assert order(queue) == expected


def test_another_priority_is_another_place(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "a", "b", "c")
    assert queue.prioritize("c", "high") == 1
    assert queue.prioritize("a", "low") == 3
    assert order(queue) == "c b a"
    assert queue.prioritize("a", "normal") == 2  # its old place, before the younger b
    assert order(queue) == "c a b"


def test_the_unknown_job_is_named(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "a")
    for verb in (queue.hold, queue.release, queue.find, queue.position, queue.remove):
        with pytest.raises(QueueError, match="x is not queued"):
            verb("x")


def test_an_admission_moves_a_job_in_one_write(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "a", "b")
    queue.admit([Admitted(job=queue.find("a"), start=start("a"), at=NOW)], [loaded("m")])
    again = Queue(tmp_path / "queue.json")
    assert order(again) == "b"
    assert [entry.job.run_id for entry in again.admitted] == ["a"]
    assert again.admitted[0].start == start("a")
    assert [server.seated.owner for server in again.servers] == [server_key(shared("m"))]
    again.finish("a")
    again.forget_server(server_key(shared("m")))
    assert not Queue(tmp_path / "queue.json").admitted
    assert not Queue(tmp_path / "queue.json").servers


def test_what_the_box_failed_comes_back_at_its_place_after_a_pause(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "a", "b")
    pauses = []
    for number in range(7):
        queue.admit([Admitted(job=queue.find("a"), start=start("a"), at=NOW)], [])
        queue.put_back("a", "the card fell off the bus", NOW)
        failed = queue.find("a")
        assert order(queue) == "a b"
        assert failed.failures == number + 1
        pauses.append((failed.not_before or 0.0) - NOW)
        blocked = failed.blocked({}, NOW)
        assert blocked is not None
        assert blocked.code == "backoff"
    assert pauses == [10, 20, 40, 80, 160, 300, 300]
    queue.admit([Admitted(job=queue.find("b"), start=start("b"), at=NOW)], [])
    queue.put_back("b", "", NOW)  # it never began
    assert queue.find("b").blocked({}, NOW) is None


def test_a_job_rises_when_it_has_waited_long(tmp_path: Path) -> None:
    queue = queue_of(tmp_path)
    queue.submit(job("low", priority="low", eligible_since=NOW))
    queue.submit(job("normal", eligible_since=NOW))
    for waited, expected in (
        (1, "normal low"),
        (RISE_AFTER_SEC, "normal low"),
        (2 * RISE_AFTER_SEC, "low normal"),
    ):
        queue.refresh({}, NOW + waited)
        queue.submit(job(f"h{waited}", priority="high"))
        assert order(queue).replace(f"h{waited} ", "").replace(f" h{waited}", "") == expected
        queue.remove(f"h{waited}")
    queue.submit(job("late", priority="high"))
    assert order(queue) == "low normal late"  # both are as urgent now, and older
    assert order(Queue(tmp_path / "queue.json")) == "low normal late"


def test_only_what_nothing_but_room_keeps_is_waiting(tmp_path: Path) -> None:
    queue = queue_of(tmp_path)
    queue.submit(job("held", held=True, eligible_since=None))
    queue.submit(job("after", depends_on=("x",), eligible_since=None))
    queue.refresh({"x": "running"}, NOW)
    assert [job.eligible_since for job in queue.jobs] == [None, None]
    queue.release("held")
    queue.refresh({"x": "completed"}, NOW + 5)
    queue.refresh({"x": "completed"}, NOW + 9)
    assert [job.eligible_since for job in queue.jobs] == [NOW + 5, NOW + 5]
    queue.hold("held")
    assert queue.find("held").eligible_since is None


def test_after_a_reboot_waiting_begins_anew_in_the_same_order(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "a", "b")
    queue.admit([Admitted(job=queue.find("a"), start=start("a"), at=NOW)], [loaded("m")])
    path = tmp_path / "queue.json"
    path.write_text(path.read_text().replace('"boot_id": "', '"boot_id": "another '))
    again = Queue(path)
    assert again.rebooted
    assert order(again) == "b"
    assert again.find("b").eligible_since is None
    assert [entry.job.run_id for entry in again.admitted] == ["a"]  # the launcher tells what became of it
    assert not again.servers
    assert not Queue(path).rebooted


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"jobs": 3}', b"\xff\xfe", b'{"schema": 1, "jobs": [{"run_id": "a"}]}']
)
def test_an_unreadable_file_is_kept_aside(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "queue.json"
    for number in (1, 2):
        path.write_bytes(content)
        queue = Queue(path)
        assert queue.set_aside == tmp_path / f"queue.json.unreadable-{number}"
        queue.submit(job("a"))
        assert queue.set_aside.read_bytes() == content
        assert queue.set_aside.name in caplog.text
    assert (tmp_path / "queue.json.unreadable-1").read_bytes() == content


def test_a_change_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "system"
    queue = queue_of(folder, "a", "b")
    before = (folder / "queue.json").read_bytes()
    moved = folder.rename(tmp_path / "gone")
    for change in (
        lambda: queue.submit(job("c")),
        lambda: queue.hold("a"),
        lambda: queue.move("b", 1),
        lambda: queue.pause(),
        lambda: queue.remove("a"),
        lambda: queue.admit([Admitted(job=queue.find("a"), start=start("a"), at=NOW)], []),
    ):
        with pytest.raises(OSError):
            change()
    assert (order(queue), queue.paused, queue.find("a").held) == ("a b", False, False)
    assert not queue.admitted
    assert (moved / "queue.json").read_bytes() == before


def test_the_file_is_replaced_whole(tmp_path: Path) -> None:
    queue = queue_of(tmp_path, "a")
    inode = os.stat(tmp_path / "queue.json").st_ino
    queue.submit(job("b"))
    assert os.stat(tmp_path / "queue.json").st_ino != inode
    assert [entry["run_id"] for entry in json.loads((tmp_path / "queue.json").read_bytes())["jobs"]] == [
        "a",
        "b",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["queue.json"]


priorities = st.sampled_from(["high", "normal", "low"])
verbs = st.one_of(
    st.tuples(st.just("submit"), priorities),
    st.tuples(st.just("move"), st.integers(0, 9), st.integers(1, 9)),
    st.tuples(st.just("prioritize"), st.integers(0, 9), priorities),
    st.tuples(st.just("hold"), st.integers(0, 9)),
    st.tuples(st.just("remove"), st.integers(0, 9)),
    st.tuples(st.just("admit"), st.integers(0, 9)),
    st.tuples(st.just("put_back"), st.integers(0, 9)),
    st.tuples(st.just("restart")),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(verbs, max_size=25))
def test_no_verb_loses_or_doubles_a_job(tmp_path_factory: pytest.TempPathFactory, done: list[Any]) -> None:
    path = tmp_path_factory.mktemp("queue") / "queue.json"
    queue = Queue(path)
    alive: set[str] = set()
    for number, (verb, *words) in enumerate(done):
        waiting = [job.run_id for job in queue.jobs]
        running = [entry.job.run_id for entry in queue.admitted]
        if verb == "submit":
            priority: Priority = words[0]
            queue.submit(job(f"r{number}", priority=priority))
            alive.add(f"r{number}")
        elif verb == "restart":
            queue = Queue(path)
        elif verb == "put_back" and running:
            queue.put_back(running[words[0] % len(running)], "failed", NOW)
        elif verb == "put_back" or not waiting:
            continue
        else:
            run_id = waiting[words[0] % len(waiting)]
            if verb == "admit":
                queue.admit([Admitted(job=queue.find(run_id), start=start(run_id), at=NOW)], [])
            else:
                getattr(queue, verb)(run_id, *words[1:])
            alive -= {run_id} if verb == "remove" else set()
        found = [job.run_id for job in queue.jobs] + [entry.job.run_id for entry in queue.admitted]
        assert sorted(found) == sorted(alive)
    again = Queue(path)
    assert order(again) == order(queue)
