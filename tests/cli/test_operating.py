"""The verbs of the queue, as a shell sees them; the control is a fake one, its runs are on disk."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.cli.commands import watch
from engine.control.queue_reports import QueueReport, ResourceEstimate, ServerReport
from engine.control.reports import AlreadyOverError, ConflictError, NoBackendError, StillAliveError
from tests.cli.conftest import Operate
from tests.fakes.fake_control import FakeControl, admitted, end, make_waiting, queued
from tests.fakes.finished_runs import make_run

NEEDS_BACKEND = [
    ("queue",), ("pause",), ("unpause",), ("hold", "last"), ("move", "last", "1"), ("delete", "last"),
    ("priority", "last", "low"), ("cancel", "last"), ("estimate", "toy"), ("watch",), ("stop",),
]  # fmt: skip

WHY = "gpu_memory: needs 9.5 GB; GPU 1 has 7.1 free, 2.0 of it reserved by 20260518_143052"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "POLL_SEC", 0.01)


@pytest.mark.parametrize("words", NEEDS_BACKEND)
def test_without_a_backend_it_is_3_and_the_remedy(
    root: Path, operate: Operate, words: tuple[str, ...]
) -> None:
    make_run(root)
    said = operate(*words, alive=False)
    assert (said.code, said.out) == (3, "")
    assert "evaltower --serve" in said.err
    assert set(operate(*words, "--json", alive=False).json) == {"error"}


def test_the_queue_says_what_runs_and_why_the_rest_waits(control: FakeControl, operate: Operate) -> None:
    assert operate("queue").err == "nothing runs, and nothing waits\n"
    control.report = QueueReport(
        running=[
            admitted("a", worker_count=4, admit_charges={"vram": 512.0}, gpus=["GPU-1"]),
            admitted("b", cancel_requested=True),
        ],
        queued=[queued("c", reason=WHY, estimate_mb={"vram": 9728.0, "ram": None}, exclusive_gpu=True)],
        paused=True,
        playing="a",
        measured_free_mb={"GPU-1": 9216.0, "ram": 4096.0},
        attribution={"GPU-1": {"jobs_mb": {"a": 2048.0}}, "ram": {"jobs_mb": {"a": 3072.0}}},
        reservations_mb={
            "GPU-1": {"a": 1024.0, "model_x": 2048.0},
            "ram": {"a": 4608.0, "b": 512.0, "other backends": 1024.0},
        },
    )
    said = operate("queue")
    assert said.code == 0
    for part in (
        "The queue is paused",
        "a is played by hand",
        "vram 2.0 GB, ram 3.0 GB vram 1.0 GB, ram 4.5 GB GPU GPU-1",
        "- ram 0.5 GB -",
        "GPU-1",
        "cancelling",
        f"1st: {WHY}",
        "vram 9.5 GB, ram ?, alone",
        "GPU-1: 9.0 GB free, 3.0 GB of it reserved (2.0 GB by model_x);"
        " ram: 4.0 GB free, while 6.0 GB are reserved (1.0 GB by other backends)",
    ):
        assert part in " ".join(said.out.split())
    assert operate("queue", "--json").json["queued"][0]["reason"] == WHY


@pytest.mark.parametrize(
    ("words", "call", "out"),
    [
        (("pause",), ("pause",), "the queue is paused"),
        (("unpause",), ("unpause",), "the queue goes on"),
        (("hold", "mine"), ("hold", "RUN"), "RUN held"),
        (("hold", "mine", "--release"), ("release", "RUN"), "RUN released"),
        (("move", "mine", "3"), ("move", "RUN", 3), "RUN is 3rd"),
        (("priority", "mine", "high"), ("prioritize", "RUN", "high"), "RUN is high, and 2nd"),
        (("cancel", "mine"), ("cancel", "RUN", None), "RUN cancelled"),
        (("cancel", "mine", "--grace", "0"), ("cancel", "RUN", 0.0), "RUN cancelled"),
        (("delete", "mine"), ("delete", "RUN"), "RUN deleted"),
        (("stop",), ("stop", False), "is ending"),
        (("stop", "--cancel"), ("stop", True), "(process 7)"),
        (("resume", "mine", "--errors", "--no-follow"), ("resume", "RUN", True), "RUN"),
        (("rescore", "mine", "--no-follow"), ("rescore", "RUN", None), "RUN"),
    ],
)
def test_a_verb_reaches_the_control(
    root: Path,
    control: FakeControl,
    operate: Operate,
    words: tuple[str, ...],
    call: tuple[object, ...],
    out: str,
) -> None:
    run = make_run(root, label="mine").run_id
    said = operate(*words)
    assert said.code == 0, said.err
    assert control.calls == [tuple(run if part == "RUN" else part for part in call)]
    assert out.replace("RUN", run) in said.out
    assert operate(*words, "--json").json


def test_what_the_control_refuses_is_1_and_its_words(
    root: Path, control: FakeControl, operate: Operate
) -> None:
    make_run(root)
    control.refuses = {
        "hold": ConflictError("it is not queued: it runs"),
        "cancel": AlreadyOverError("it is over already: completed"),
        "delete": StillAliveError("it runs: cancel it first"),
        "stop": ConflictError("it is ending already"),
    }
    for verb, error in control.refuses.items():
        said = operate(verb, *(["last"] if verb != "stop" else []))
        assert (said.code, said.err) == (1, f"error: {error}\n"), verb


def test_one_run_that_fails_does_not_keep_a_verb_from_the_others(root: Path, operate: Operate) -> None:
    runs = [make_run(root).run_id for _ in range(2)]
    said = operate("cancel", runs[0], "nope", runs[1])
    assert said.code == 2
    assert said.out.split() == [runs[0], "cancelled", runs[1], "cancelled"]
    assert "no run is called 'nope'" in said.err
    done = operate("delete", runs[0], "nope", "--json").json
    assert [set(item) for item in done] == [{"run_id", "status"}, {"run", "error"}]


def test_an_estimate_for_people_and_for_programs(control: FakeControl, operate: Operate) -> None:
    control.estimated = msgspec.structs.replace(
        control.estimated,
        worker_count=4,
        resources={
            "vram": ResourceEstimate(
                estimate_mb=None,
                uncalibrated=["model_x"],
                measured_free_mb=10240.0,
                basis={"run": "measured"},
            )
        },
        fits=False,
        waits=WHY,
        max_workers=2,
    )
    said = operate("estimate", "toy", "-w", "4")
    assert said.code == 0
    told = " ".join(said.out.split())
    assert "vram ? 10.0 GB model_x run: measured" in told
    assert "4 workers: would wait: gpu_memory: needs 9.5 GB" in told
    assert "the most that would start now: 2" in told
    control.estimated.refused = "needs 90.0 GB; the largest card has 24.0"
    said = operate("estimate", "toy", "--json")
    assert (said.code, said.json["max_workers"]) == (1, 2)
    assert "never on this machine: needs 90.0 GB" in operate("estimate", "toy").out


def test_nodesets_tell_of_the_servers_of_a_live_backend(control: FakeControl, operate: Operate) -> None:
    assert "address" not in operate("nodesets", alive=False).out
    control.served = [
        ServerReport(name="env_toy", parallelism="shared", state="ready", url="unix:/x", pid=9,
                     users=["a", "b"], memory_mb={"GPU-1": 3072.0}),
        ServerReport(name="model_y", parallelism="shared", state="failed", detail="exit code 1"),
        ServerReport(name="model_z", parallelism="shared", state="installed"),
    ]  # fmt: skip
    lines = [" ".join(line.split()) for line in operate("nodesets").out.splitlines()]
    assert "env_toy ready a, b GPU-1 3.0 GB - 9 unix:/x" in lines
    assert "model_y failed - - - - exit code 1" in lines
    assert not any(line.startswith("model_z") for line in lines)
    assert "ready, process 9, unix:/x" in operate("nodesets", "env_toy").out
    assert len(operate("nodesets", "--json").json["servers"]) == 2


def test_errors_are_json_where_json_was_asked_for(root: Path, operate: Operate) -> None:
    make_run(root, label="baseline")
    said = operate("run", "toy", "-w", "many", "--json")
    assert said.code == 2
    assert "is not a whole number from 1 to 4096, or auto." in said.json["error"]
    assert "near: baseline" in operate("show", "basline", "--json").json["error"]
    assert "Usage" in operate("move", "last", "--json").err


def test_a_root_that_is_not_there_is_said(tmp_path: Path, control: FakeControl, operate: Operate) -> None:
    missing = str(tmp_path / "missing")
    said = operate("--root", missing, "queue")
    assert said.code == 2
    assert missing in said.err


def test_a_long_list_of_runs_is_asked_for_in_part(root: Path, operate: Operate) -> None:
    runs = [make_run(root).run_id for _ in range(3)]
    assert [run["run_id"] for run in operate("runs", "--limit", "2", "--json").json] == runs[:0:-1]


def test_watching_tells_each_change_once(root: Path, control: FakeControl, operate: Operate) -> None:
    first, second = make_waiting(root), make_waiting(root)
    control.report = QueueReport(
        queued=[queued(first.run_id, reason="so"), queued(second.run_id, 2, code="x", reason=WHY)]
    )

    def let_in() -> None:
        control.report = QueueReport(
            running=[admitted(first.run_id)],
            queued=[queued(second.run_id, code="x", reason=WHY)],
            paused=True,
        )

    def finish() -> None:
        end(first)
        control.report = QueueReport(queued=[queued(second.run_id, code="x", reason=WHY + ", now 8.0")])

    def leave() -> None:
        raise KeyboardInterrupt

    control.looks = [lambda: None, let_in, finish, lambda: None, leave]
    said = operate("watch")
    assert said.code == 130
    texts = [line[9:] for line in said.out.splitlines()]
    assert texts == [
        f"{first.run_id} toy queued, 1st: so",
        f"{second.run_id} toy queued, 2nd: {WHY}",
        "the queue is paused",
        f"{first.run_id} fake_follow let in: starting",
        f"{second.run_id} toy queued, 1st: {WHY}",
        "the queue goes on",
        f"{first.run_id} fake_follow completed, 0/0 episodes",
    ]
    control.looks = [lambda: None, leave]
    lines = operate("watch", "--json").out.splitlines()
    assert msgspec.json.decode(lines[0])["reason"].endswith("now 8.0")


def test_watching_outlives_a_short_silence(
    control: FakeControl, operate: Operate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PATIENCE_SEC", 0.1)

    def vanish() -> None:
        control.refuses["queue"] = NoBackendError("the backend does not answer")

    control.looks = [lambda: None, vanish]
    said = operate("watch", "--plain")
    assert said.code == 3
    assert "waiting for it" in said.err
