"""Server-sent events: in order and numbered; one who does not read is not waited for."""

from __future__ import annotations

import itertools
import json
import socket
import time
from collections.abc import Iterator

import pytest

from engine.store.atomic import write_json
from engine.store.jsonl import LineAppender
from engine.store.process_identity import identity
from engine.store.records import Job, now_iso
from engine.store.rundir import RunDir
from tests.api.client import EVAL, Client
from tests.api.conftest import Server
from tests.fakes.finished_runs import fake_row, make_run

DEADLINE_SEC = 60.0


class Written:
    """A run whose process is this test."""

    def __init__(self, server: Server) -> None:
        self.run: RunDir = make_run(server.root, rows=[fake_row(0)], status="running", total_episodes=10_000)
        self.run.done.unlink()
        write_json(self.run.job, Job(run_id=self.run.run_id, state="started", process=identity()))
        self.rows = LineAppender(self.run.episode_rows)

    def add(self, index: int, **more: object) -> None:
        self.rows.append(fake_row(index, **more), durable=False)

    def finish(self) -> None:
        summary = self.run.read_summary()
        summary.status, summary.finished_at = "completed", now_iso()
        write_json(self.run.summary, summary)
        self.run.mark_done()


@pytest.fixture
def written(shared: Server) -> Iterator[Written]:
    run = Written(shared)
    yield run
    run.rows.close()


def test_what_happens_is_told_in_order(client: Client, written: Written) -> None:
    events = client.events(written.run.run_id)
    number, kind, data = next(events)
    assert kind == "eval_progress"
    assert json.loads(data)["snapshot"] is True
    assert json.loads(data)["run"]["status"] == "running"
    written.add(1)
    written.add(2)
    for index in (1, 2):
        following, kind, data = next(events)
        assert (following, kind) == (number + 1, "eval_episode_done")
        assert json.loads(data)["episode"]["episode_index"] == index
        number = following
    written.add(3)
    written.finish()
    rest = list(events)
    assert [kind for _, kind, _ in rest] == ["eval_episode_done", "eval_complete"]
    assert [found for found, _, _ in rest] == [number + 1, number + 2]
    assert json.loads(rest[-1][2])["run"]["status"] == "completed"
    again = list(client.events(written.run.run_id))
    assert [kind for _, kind, _ in again] == ["eval_complete"]


def test_an_episode_that_is_scored_is_told_when_it_has_ended_and_when_its_scores_are_final(
    client: Client, written: Written
) -> None:
    events = client.events(written.run.run_id)
    next(events)
    for scoring in ("pending", "pending", "pending", "final"):
        written.add(1, scoring=scoring)
    written.add(2)
    written.finish()
    told = [json.loads(data)["episode"] for _, kind, data in events if kind == "eval_episode_done"]
    assert [(row["episode_index"], row["scoring"]) for row in told] == [
        (1, "pending"),
        (1, "final"),
        (2, "none"),
    ]


@pytest.mark.slow
def test_a_slow_client_gets_a_snapshot_for_what_it_missed(
    client: Client, shared: Server, written: Written
) -> None:
    host, port = shared.url.removeprefix("http://").split(":")
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        slow.connect((host, int(port)))
        path = f"{EVAL}/runs/{written.run.run_id}/events"
        slow.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        slow.recv(1)
        quick = client.events(written.run.run_id)
        next(quick)
        wide = "x" * 20_000
        for index in range(1, 501):
            written.add(index, instruction=wide)
        last = _read_until(quick, 500)  # nobody waited for the other one
        written.finish()
        slow.settimeout(DEADLINE_SEC)
        received = bytearray()
        while b"event: eval_complete" not in received[-(1 << 17) :]:
            received += slow.recv(1 << 17)
    numbers = [int(line[4:]) for line in received.split(b"\n") if line.startswith(b"id: ")]
    assert numbers == sorted(numbers)
    assert numbers[-1] > last
    assert len(numbers) < 500
    assert len(received) < 500 * len(wide) / 2
    missed = max(after - before for before, after in itertools.pairwise(numbers))
    assert missed > 64
    assert received.count(b'"snapshot":true') >= 2


def _read_until(events: Iterator[tuple[int, str, str]], index: int) -> int:
    """The number of the last event that had to be told of by now; a snapshot may stand for many."""
    ends = time.monotonic() + DEADLINE_SEC
    for number, kind, data in events:
        if number >= index or (
            kind == "eval_episode_done" and json.loads(data)["episode"]["episode_index"] == index
        ):
            return number
        assert time.monotonic() < ends
    raise AssertionError("the events have ended")


def test_the_events_of_a_run_that_is_deleted_end(client: Client, written: Written) -> None:
    events = client.events(written.run.run_id)
    next(events)
    written.run.path.rename(written.run.path.with_name(".going"))  # as `delete` does
    assert list(events) == []


def test_no_events_of_what_is_not_there(client: Client) -> None:
    answer = client.http.get(f"{EVAL}/runs/20200101_000000/events")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("application/json")
