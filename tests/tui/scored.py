"""Episodes that are scored: all that may become of their scores, on disk and in a fake backend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from engine.control.scoring_report import report_of
from engine.scoring.spec import SinkSpec
from engine.store.records import EpisodeRow, EpisodeWaits, Progress
from engine.store.scores import ExportOutcome, Invalid, Measured, Score, Stage, Unmeasured
from tests.fakes.control import FakeControl, busy_workers, fake_report, moment, results_from
from tests.fakes.finished_runs import fake_row
from tests.tui.episode_folders import write_run
from tests.tui.screen import settled, until
from tui.app import ControlCentre
from tui.screens.scores import ScoresView
from tui.screens.trace import TraceView

RUN = "20260518_141000"
LINK = "http://mlflow.lab:5000/#/experiments/7/traces?selectedEvaluationId=tr-00a1"
REASON = (
    "The desk is tidy, and the lamp was left on as the instruction asks.\n"
    "It opened the drawer twice, which it need not have done; I take a little off for that, and nothing for "
    "the pen that was already on the floor when it came."
)
SINKS = (
    SinkSpec(name="lab", kind="mlflow", endpoint="http://mlflow.lab:5000", experiment="7"),
    SinkSpec(name="lake", kind="otlp", endpoint="http://lake:4318"),
)
NO_TRACE = {
    "stage": "collect",
    "class": "infra",
    "code": "TRACE_COLLECT_FAILED",
    "retryable": True,
    "message": "mlflow answered 503: no healthy upstream",
}


def stages(*names: str, errors: dict[str, str] | None = None, ago: float = 60.0) -> list[Stage]:
    """One after the other, three seconds each."""
    return [
        Stage(
            name=name,
            started_at=moment(ago - 3 * place),
            finished_at=moment(ago - 3 * place - 2.5),
            error=(errors or {}).get(name),
            error_class="infra" if name in (errors or {}) else None,
            retryable=name in (errors or {}),
        )
        for place, name in enumerate(names)
    ]


def scored_row(index: int, *, passes: bool = True, scoring: str = "final", **more: Any) -> EpisodeRow:
    """With a grader's and a judge's scores, exported to two sinks."""
    value = float(passes)
    detail = None if passes else 'expected "on the desk", got "under the desk"'
    scores: list[Score] = [
        Measured(
            grader_id="where", metric="answer_match", value=value, passed=passes, label="exact", detail=detail
        ),
        Measured(grader_id="steps", metric="steps", value=12.0),
        Measured(grader_id="judge:helpful", metric="judge:helpful", value=0.75, passed=True, detail=REASON),
    ]
    exports = [
        ExportOutcome(
            sink="mlflow", name="lab", external_id=f"tr-{index:04x}", url=LINK, exported_at=moment(5)
        ),
        ExportOutcome(sink="otlp", name="lake", exported_at=moment(4)),
    ]
    fields: dict[str, Any] = {
        "metrics": {},
        "scores": scores,
        "verdict": passes,
        "scoring": scoring,
        "stages": stages("execute", "snapshot", "grade", "release", "judge:helpful", "export:lab"),
        "exports": exports if scoring == "final" else [],
    }
    return fake_row(index, **(fields | more))


def troubled_row(index: int = 3, **more: Any) -> EpisodeRow:
    """One in which all went wrong that can: nothing of it is a number."""
    row = scored_row(index, passes=False)
    row.verdict = None
    row.scores = [
        Unmeasured(
            grader_id="where", metric="answer_match", reason="grader_timeout", retryable=True, attempts=2
        ),
        Invalid(grader_id="ratio", metric="score", reason="contract_violation", detail={"value": "NaN"}),
        Unmeasured(
            grader_id="judge:helpful",
            metric="judge:helpful",
            reason="grader_error",
            detail="the reply is no JSON: [[90]]",
        ),
    ]
    row.stages = stages(
        "execute", "grade", "collect", "judge:helpful", "export:lab", errors={"collect": NO_TRACE["message"]}
    )
    row.exports[0] = ExportOutcome(sink="mlflow", name="lab", error="503 no healthy upstream")
    row.exports[1].warning = "2 of 31 spans were refused"
    row.failure = dict(NO_TRACE)
    row.trace_ref = {"kind": "mlflow", "endpoint": "http://mlflow.lab:5000", "run_id": f"{RUN}/ep0003"}
    for name, value in more.items():
        setattr(row, name, value)
    return row


def scored_rows() -> list[EpisodeRow]:
    """Eight: two wait, one failed by its verdict, one is in trouble. Times follow on two workers."""
    rows = [scored_row(index, passes=index != 1) for index in range(8)]
    rows[3] = troubled_row(3)
    for index in (6, 7):
        rows[index] = scored_row(index, scoring="pending")
        rows[index].scores = rows[index].scores[:2]
    for index, row in enumerate(rows):
        began = 300.0 - 40.0 * (index // 2) - 3.0 * (index % 2)
        row.worker_id, row.elapsed_sec = index % 2, 35.0
        row.started_at, row.finished_at = moment(began), moment(began - 35.0)
    return rows


def waits(index: int, what: str, seconds: float) -> EpisodeWaits:
    return EpisodeWaits(episode_index=index, folder=f"ep{index:04d}", waits_for=what, since=moment(seconds))


def scored_control(root: Path = Path("/nowhere"), *, live: bool = False) -> FakeControl:
    """One run of :func:`scored_rows`; ``live``: it goes on, and two of them wait; else all are final, and
    twelve more passed."""
    more = [scored_row(index) for index in range(8, 20)]
    rows = scored_rows() if live else [*scored_rows()[:6], *more]
    workers = busy_workers(2) if live else ()
    report = fake_report(
        RUN,
        "running" if live else "completed",
        rows=rows,
        total=12 if live else 18,
        label="tidy",
        workers=workers,
    )
    report.path = str(root / "outputs" / "eval_runs" / RUN)
    if live:
        assert isinstance(report.progress, Progress)
        report.progress.scoring = [waits(6, "judge:helpful", 4.2), waits(7, "judge:helpful", 1.0)]
    control = FakeControl(root, [report])
    control.rows = {RUN: rows}
    control.answers |= {
        "scoring": report_of(rows, report.status, SINKS),
        "results": results_from(rows, "pass"),
    }
    return control


def trace_lines() -> bytes:
    """Events of the run's own nodes, and of a platform."""
    node = {"timestamp": moment(50), "step": 0, "node_id": "ask"}
    late = {"timestamp": moment(48.5), "step": 1, "node_id": "ask"}
    platform = {"t": 0.0, "collected": True}
    events: list[dict[str, Any]] = [
        {**node, "kind": "message", "role": "user", "text": "Where is the pen?"},
        {**node, "kind": "llm_call", "model": "tiny", "cost": {"usd": 0.002}, "latency_ms": 812.5},
        {**late, "kind": "message", "role": "assistant", "text": "On the desk.\nI looked."},
        {**platform, "kind": "tool_call", "id": "c1", "name": "open", "args": {"what": "drawer"}},
        {**platform, "kind": "tool_result", "t": 1200.0, "id": "c1", "ok": False, "output": "it is stuck"},
        {**platform, "kind": "error", "t": 1300.0, "message": "gave up on the drawer"},
    ]
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def scored_on_disk(root: Path) -> FakeControl:
    """A backend with one run, whose folders are there."""
    run = write_run(root, scored_rows(), name=RUN)
    for folder in run.episodes.iterdir():
        (folder / "trace.jsonl").write_bytes(trace_lines())
    return scored_control(root, live=True)


async def opened(pilot: Pilot[Any], view: str, episode: int) -> Any:
    """The view of an episode, once it is read."""
    app = pilot.app
    assert isinstance(app, ControlCentre)
    await settled(pilot)
    app.open_view(view, f"{RUN}/ep{episode:04d}")
    await until(pilot, lambda: app.view is not None and app.view.view_name == view)
    shown = app.view
    assert isinstance(shown, ScoresView | TraceView)
    await until(pilot, lambda: shown.row is not None)
    return shown
