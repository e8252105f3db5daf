"""Every view and what lies on it, over a fake backend and at a clock that stands still, to be looked at."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from textual.pilot import Pilot

from engine.control.comparing import CompareReport, compare_metrics
from engine.control.queue_reports import ForeignProcess
from engine.control.reports import CheckReport, ControlError, RefusedError
from engine.graph.model import Problem
from engine.store.atomic import write_json
from engine.store.cluster_note import ClusterNote
from engine.store.process_identity import identity
from engine.store.records import EpisodeRow, Job, Progress, WorkerProgress
from engine.store.rundir import RunDir
from tests.fakes.clock import START, FakeClock
from tests.fakes.control import FakeControl, busy_control, busy_workers, fake_report, mixed_rows, moment
from tests.fakes.fake_control import admitted, queued
from tests.fakes.finished_runs import fake_row, make_run
from tests.tui.episode_folders import error_row, steps, write_run
from tests.tui.offers import offering
from tests.tui.scored import opened, scored_on_disk
from tests.tui.screen import settled, until, until_seen
from tests.tui.test_metrics import repeated, results
from tests.tui.test_play import RUN as PLAYED
from tests.tui.test_play import playing
from tests.tui.test_servers import control as serving
from tui.app import ControlCentre
from tui.screens.compare import CompareView
from tui.screens.launch import LaunchView
from tui.screens.log import LogScreen
from tui.state_file import UiState

RUNNING, BASELINE = "20260518_141000", "20260518_120000"
LOOKS = ("small", "large", "no-colour")
LAST = UiState(forms={"": {"graph": "gridhouse_follow"}, "gridhouse_follow": {"workers": "4"}})

Going = Callable[[Pilot[Any]], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """view: the name of what is on top at the end. control: what it is over, given a root to write to.
    go: from the first look to what is shown. looks: those in which it is looked at."""

    view: str
    go: Going
    control: Callable[[Path], FakeControl] = busy_control
    looks: Sequence[str] = LOOKS


def app_of(pilot: Pilot[Any]) -> ControlCentre:
    app = pilot.app
    assert isinstance(app, ControlCentre)
    return app


def typing(*keys: str) -> Going:
    async def go(pilot: Pilot[Any]) -> None:
        await pilot.press(*keys)
        await settled(pilot)

    return go


async def machine(pilot: Pilot[Any]) -> None:
    """Ten minutes of cards that go up and down."""
    app, clock = app_of(pilot), app_of(pilot).clock
    control = app.control
    assert isinstance(control, FakeControl)
    assert isinstance(clock, FakeClock)
    gpus = control.resources_report.gpus
    gpus[0].foreign = [ForeignProcess(pid=4242, name="python train.py", mb=40000.0)]
    for turn in range(60):
        for place, gpu in enumerate(gpus):
            wave = math.sin(turn / 5 + place)
            gpu.utilization, gpu.power_w = 50 + 45 * wave, 300 + 200 * wave
        clock.elapsed += 10
        await app.store.look()
    await pilot.press("6", "plus", "plus")


def repeating(root: Path) -> FakeControl:
    """The baseline has several tries of each episode, of two tasks."""
    control = busy_control(root)
    control.rows[BASELINE] = repeated()
    control.reports[3] = fake_report(BASELINE, rows=repeated(), label="baseline")
    return control


async def metrics(pilot: Pilot[Any]) -> None:
    app = app_of(pilot)
    app.control.answers["results"] = results(repeated())  # type: ignore[attr-defined]
    app.home.runs.go_to_id(BASELINE)
    await until(pilot, lambda: app.snapshot.run is not None and app.snapshot.run.results is not None)
    await pilot.press("5", "plus", "plus")


async def activity(pilot: Pilot[Any]) -> None:
    """What was asked, one of it in vain."""
    app = app_of(pilot)
    control = app.control
    assert isinstance(control, FakeControl)
    control.refuses["pause"] = ControlError("the backend is ending")
    await app.verb(lambda control: control.hold("20260518_142830"), "hold 20260518_142830")
    await app.verb(lambda control: control.pause(), "pause the queue")
    app._notifications.clear()
    app._refresh_notifications()
    await pilot.press("at")


def launching(root: Path) -> FakeControl:
    """A graph with a problem and an old name, and a backend that refuses to start it."""
    control = offering(busy_control(root))
    wrong = Problem("wire-type", "node 'agent'", "takes TEXT on 'rgb'", "wire an IMAGE")
    old = Problem("old-name", "file", "maxIterations is the old name of step_budget", "rename it", "warning")
    checked = CheckReport(graph="g", path="g", problems=[wrong, old])
    control.answers |= {"check": checked, "validate": checked}
    control.refuses["start"] = RefusedError(
        [Problem("bad-request", "label", "'last' already means a run", "choose another"), wrong]
    )
    return control


async def launch(pilot: Pilot[Any]) -> None:
    """Filled in, with the cursor on a choice and the estimate there."""
    app = app_of(pilot)
    await pilot.press("n")
    await until(pilot, lambda: isinstance(app.view, LaunchView) and app.view.form.offer is not None)
    await until(pilot, lambda: isinstance(app.view, LaunchView) and app.view.form.scored is not None)
    assert isinstance(app.clock, FakeClock)
    app.clock.advance(0.4)
    await until_seen(pilot, "fits now on GPU 1")
    await pilot.press("j", "j")
    await until_seen(pilot, "which episodes there are")


async def refused(pilot: Pilot[Any]) -> None:
    await launch(pilot)
    await pilot.press("ctrl+g")
    await until_seen(pilot, "node 'agent': takes TEXT")


async def launch_play(pilot: Pilot[Any]) -> None:
    app = app_of(pilot)
    app.open_view("launch_play", "gridhouse_follow")
    await until(pilot, lambda: isinstance(app.view, LaunchView) and app.view.form.offer is not None)
    await until_seen(pilot, "Step limit")


async def scores(pilot: Pilot[Any]) -> None:
    await opened(pilot, "scores", 3)


async def trace(pilot: Pilot[Any]) -> None:
    await opened(pilot, "trace", 1)
    await pilot.press("j", "j")


async def graph(pilot: Pilot[Any]) -> None:
    app_of(pilot).open_view("graph", "graph:gridhouse_follow")
    await until_seen(pilot, "12 nodes, 1 error, 1 warning")
    await pilot.press("j", "j")
    await until_seen(pilot, "takes TEXT on 'rgb'")


def clustered(root: Path) -> FakeControl:
    """Beside the runs here, one that a cluster runs, and one that waits there."""
    control = busy_control(root)
    going = ClusterNote(on="slurm:gpu", job_id="12", state="RUNNING", node="n1", gpus=2)
    why = "Slurm job 13 waits in partition gpu: jobs of a higher priority are before it (Slurm: Priority)"
    waits = ClusterNote(on="slurm:gpu", job_id="13", state="PENDING", reason="Priority", why=why)
    rows = mixed_rows(6, 2)
    there, waiting = "20260518_141500", "20260518_142000"
    running = fake_report(there, "running", rows=rows, total=100, label="navS", workers=busy_workers(2))
    running.cluster = going
    pending = fake_report(waiting, "pending", label="navT", total=100)
    pending.cluster = waits
    control.reports[2:2] = [pending, running]
    control.rows[there] = rows
    control.queue_report.running.append(
        admitted(
            there,
            label="navS",
            worker_count=2,
            started_at=moment(900),
            admit_charges={"ram": 8192.0},
            cluster=going,
        )
    )
    control.queue_report.queued.append(
        queued(
            waiting,
            3,
            label="navT",
            worker_count=2,
            code="cluster_queue",
            reason=why,
            on="slurm:gpu",
            cluster=waits,
            estimate_mb={"vram": 9728.0, "ram": 8192.0},
        )
    )
    return control


def stepping(root: Path) -> FakeControl:
    """A play whose process is there, and stands before its first step."""
    control = playing(root)
    run = RunDir(root / "outputs" / "eval_runs" / PLAYED)
    write_json(run.spec, {"run_id": PLAYED})
    write_json(run.job, Job(run_id=PLAYED, state="started", kind="play", process=identity()))
    waits = WorkerProgress(worker_id=0, state="waiting", episode_index=7, budget=60, node="policy")
    write_json(run.progress, Progress(run_id=PLAYED, updated_at=moment(0), workers=[waits]))
    return control


async def play(pilot: Pilot[Any]) -> None:
    app = app_of(pilot)
    app.open_view("play", app.snapshot.queue.playing)
    await until_seen(pilot, "before step 0 of 60, at policy")
    await read(pilot, frame=False)


def failing(root: Path) -> FakeControl:
    """A run on disk whose second episode broke."""
    rows = [fake_row(0, metrics={"success": 1.0}), error_row(1)]
    run = write_run(root, rows, {1: steps(16, error_at=14)})
    control = FakeControl(root, [fake_report(run.run_id, rows=rows)])
    control.rows = {run.run_id: rows}
    return control


async def log(pilot: Pilot[Any]) -> None:
    app_of(pilot).open_log(BASELINE, "ep0001")
    await read(pilot, frame=True)


async def read(pilot: Pilot[Any], *, frame: bool) -> None:
    """Until the log, the firing under the cursor and its image are read and drawn."""
    app = app_of(pilot)

    def drawn() -> bool:
        screen = app.screen
        if not isinstance(screen, LogScreen) or not screen.session.whole:
            return False
        image = screen.frame
        has_frame = bool(image._pictures) and not image._busy and image._shown == image._wanted()
        return has_frame is frame and not screen._reading and screen._wanted() is None

    await until(pilot, drawn)
    await pilot.pause()


@cache
def four_runs() -> tuple[tuple[CompareReport, CompareReport], dict[str, list[EpisodeRow]]]:
    """The comparison of two runs, and of four, with one metric that is yes or no and one that is not; and
    their rows."""
    with TemporaryDirectory() as root:
        runs, kept = [], {}
        for run in range(4):
            rows = [
                fake_row(
                    index,
                    metrics={
                        "success": float((index * 7 + run) % 5 > 1 - run),
                        "spl": (index * 3 + run) % 10 / 10,
                    },
                    selectors={"task_id": f"kitchen {index % 3}"},
                )
                for index in range(40 - run)
            ]
            at = START + timedelta(minutes=run)
            runs.append(make_run(Path(root), rows=rows, label=f"nav{'ABCD'[run]}", now=at))
            kept[runs[-1].run_id] = rows
        return (compare_metrics(runs[:2]), compare_metrics(runs)), kept


async def compare(pilot: Pilot[Any], *, all_of_them: bool) -> None:
    app = app_of(pilot)
    control = app.control
    assert isinstance(control, FakeControl)
    reports, rows = four_runs()
    report = reports[all_of_them]
    control.answers["compare"] = report
    control.rows |= rows
    app.compared = [run.run_id for run in report.runs]
    await pilot.press("C")
    await until(pilot, lambda: isinstance(app.view, CompareView) and app.view.tasks.rows)
    await pilot.press(*(["j"] if all_of_them else []), "tab")


async def servers(pilot: Pilot[Any]) -> None:
    app = app_of(pilot)
    app.open_view("servers")
    await until(pilot, lambda: app.store._looker.watch_servers)
    await app.store.look()
    await pilot.press("j")


async def cancel(pilot: Pilot[Any]) -> None:
    await pilot.press("asterisk", "x")
    await until_seen(pilot, "cancel 3 runs")
    await until_seen(pilot, "any other no")


async def help_(pilot: Pilot[Any]) -> None:
    await pilot.press("question_mark")
    await until_seen(pilot, "help: ")
    await until_seen(pilot, "type to find")


SMALL = ("small", "no-colour")
SCENES: Mapping[str, Scene] = {
    "home": Scene("home", typing("j", "j")),
    "queue": Scene("home", typing("2"), looks=SMALL),
    "cluster": Scene("home", typing("2", "G"), clustered, looks=("small", "large")),
    "workers": Scene("home", typing("j", "j", "3", "h", "j"), looks=(*LOOKS, "ascii")),
    "episodes": Scene("home", typing("j", "j", "4", "plus", "plus", "e", "e")),
    "metrics": Scene("home", metrics, repeating),
    "gpus": Scene("home", machine),
    "activity": Scene("activity", activity),
    "launch": Scene("launch", launch, launching),
    "refused": Scene("launch", refused, launching),
    "launch_play": Scene("launch_play", launch_play, launching),
    "play": Scene("play", play, stepping),
    "graph": Scene("graph", graph, launching),
    "log": Scene("log", log, failing, looks=(*LOOKS, "ascii")),
    "scores": Scene("scores", scores, scored_on_disk),
    "trace": Scene("trace", trace, scored_on_disk),
    "compare": Scene("compare", partial(compare, all_of_them=False)),
    "compare_four": Scene("compare", partial(compare, all_of_them=True), looks=("large",)),
    "servers": Scene("servers", servers, lambda root: serving()),
    "cancel": Scene("home", cancel, looks=SMALL),
    "help": Scene("home", help_, looks=SMALL),
}
