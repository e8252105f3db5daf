"""Submitting with wishes, and following a run from its place in the queue to its end."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import click
import pytest

from engine.cli import follow, queueing
from engine.cli.queueing import ordinal, parse_gpus, parse_workers, place_in
from engine.control.queue_reports import QueueReport
from engine.control.reports import ConflictError, NoBackendError
from tests.cli.conftest import Operate
from tests.fakes.fake_control import FakeControl, admitted, end, queued
from tests.fakes.finished_runs import make_run

WHY = "gpu_memory: needs 9.5 GB; GPU 1 has 7.1 free"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "POLL_SEC", 0.01)
    monkeypatch.setattr(follow, "LINE_EVERY_SEC", 0.0)
    monkeypatch.setattr(queueing, "ASK_EVERY_SEC", 0.0)


def newest(control: FakeControl) -> Any:
    return control.find("last")


def test_positions_in_words() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th",
    ]  # fmt: skip


def test_a_place_in_the_queue() -> None:
    report = QueueReport(queued=[queued("a", 2, reason=WHY)], running=[admitted("c", servers=["model_x"])])
    assert place_in(report, "a") == f"queued, 2nd: {WHY}"
    assert place_in(report, "c") == "let in, with model_x: starting"
    assert place_in(report, "d") == ""


def test_cards_and_workers() -> None:
    assert (parse_gpus(None), parse_gpus("0, GPU-1")) == ([], ["0", "GPU-1"])
    for bad in ("", "0,,1", "0,0"):
        with pytest.raises(click.BadParameter):
            parse_gpus(bad)
    assert (parse_workers("3"), parse_workers("auto")) == (3, None)
    with pytest.raises(click.BadParameter):
        parse_workers("some")


def test_what_is_wished_reaches_the_request(root: Path, control: FakeControl, operate: Operate) -> None:
    before = [make_run(root, label=label).run_id for label in ("one", "two")]
    words = "--vram 9500 --exclusive --priority high --gpus 0,1 --depends-on one --depends-on two --retries 2"
    said = operate("run", "toy", *words.split(), "--no-follow")
    assert said.code == 0, said.err
    asked = control.started[0]
    assert (asked.marginal_vram_mb, asked.exclusive_gpu, asked.priority) == (9500.0, True, "high")
    assert (asked.gpus, asked.depends_on, asked.retries) == (["0", "1"], before, 2)
    assert said.out.strip() == newest(control).run_id
    assert operate("run", "toy", "--depends-on", "nope", "--no-follow").code == 2
    assert operate("run", "toy", "--priority", "urgent").code == 2
    plain = operate("run", "toy", "--no-follow")
    assert plain.code == 0
    assert (control.started[1].marginal_vram_mb, control.started[1].worker_count) == (None, 1)


@pytest.mark.parametrize(
    ("fits", "words", "workers"),
    [
        (6, (), 6),
        (6, ("-n", "4"), 4),
        (6, ("--episodes", "0-2"), 3),
        (0, (), 1),
        (144, (), 8),
        (144, ("-n", "9"), 8),
        (144, ("-n", "2"), 2),
    ],
)
def test_auto_is_the_most_workers_that_fit(
    control: FakeControl, operate: Operate, fits: int, words: tuple[str, ...], workers: int
) -> None:
    """No more than there are episodes, or CPU cores: eight here."""
    control.estimated.max_workers = fits
    control.estimated.waits = "" if fits else WHY
    said = operate("run", "toy", "-w", "auto", *words, "--no-follow")
    assert said.code == 0, said.err
    assert control.started[0].worker_count == workers
    assert said.err.startswith(f"-w auto: {workers} worker{'s' * (workers != 1)}")
    assert (WHY in said.err) == (fits == 0)
    assert ("one for each CPU core (there is memory for 144" in said.err) == (fits == 144 and workers == 8)


def test_auto_asks_what_the_selected_would_take(control: FakeControl, operate: Operate) -> None:
    assert operate("run", "toy", "-w", "auto", "--select", "env_id=Pong", "--no-follow").code == 0
    assert ("estimate", "toy", 1, {"env_id": "Pong"}) in control.calls


def test_a_run_is_followed_from_its_place_to_its_end(control: FakeControl, operate: Operate) -> None:
    def stand(report: QueueReport) -> None:
        control.report = report

    def run_id() -> str:
        return str(newest(control).run_id)

    def vanish() -> None:
        control.refuses["queue"] = NoBackendError("gone")

    def come_back_and_finish() -> None:
        control.refuses.clear()
        end(newest(control))

    control.looks = [
        lambda: stand(QueueReport(queued=[queued(run_id(), 2, reason=WHY)])),
        lambda: stand(QueueReport(queued=[queued(run_id(), 1, reason=WHY)])),
        vanish,
        come_back_and_finish,
    ]
    said = operate("run", "toy", "--json")
    assert (said.code, said.json["status"]) == (0, "completed")
    lines = said.err.splitlines()
    assert lines[0].startswith(f"run {run_id()}: ")
    assert lines[1:4] == [
        f"queued, 2nd: {WHY}",
        f"queued, 1st: {WHY}",
        "queued; the backend does not answer now",
    ]


def test_ctrl_c_cancels_a_queued_run(control: FakeControl, operate: Operate) -> None:
    control.looks = [lambda: os.kill(os.getpid(), signal.SIGINT)]
    said = operate("run", "toy")
    assert said.code == 130
    assert control.calls[1:] == [("cancel", newest(control).run_id, None)]
    assert "press Ctrl-C again" in said.err
    assert "cancelled" in said.out


def test_a_second_ctrl_c_ends_it_at_once(control: FakeControl, operate: Operate) -> None:
    control.refuses["cancel"] = ConflictError("not now")

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def wait_then_finish() -> None:
        if len(control.calls) < 3:
            control.looks.insert(0, wait_then_finish)
        else:
            end(newest(control), "cancelled")

    control.looks = [press, press, wait_then_finish]
    said = operate("run", "toy")
    run = newest(control).run_id
    assert said.code == 130
    assert sorted(control.calls[1:], key=str) == [("cancel", run, 0.0), ("cancel", run, None)]
    assert f"error: {run} is not cancelled: not now" in said.err


def test_a_resumed_run_is_followed_to_its_result(root: Path, control: FakeControl, operate: Operate) -> None:
    run = make_run(root, label="mine")
    said = operate("resume", "mine", "--json")
    assert (said.code, said.json["run_id"]) == (0, run.run_id)
    assert control.calls == [("resume", run.run_id, False)]
    assert operate("resume", "nope").code == 2
