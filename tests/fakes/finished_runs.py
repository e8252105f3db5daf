"""A finished run on disk, without anything having run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.store.atomic import write_json
from engine.store.digest import result_digest
from engine.store.environment_record import EnvironmentRecord
from engine.store.episode_folders import folder_names
from engine.store.jsonl import LineAppender
from engine.store.records import (
    EpisodeFile,
    EpisodeRow,
    EvalRequest,
    Job,
    MetricStats,
    Needs,
    Progress,
    Spec,
    Summary,
    SummaryConfig,
    WorkerProgress,
)
from engine.store.rundir import RunDir, create_run_dir

GRAPH: dict[str, Any] = {"name": "fake_follow", "nodes": [], "edges": []}
CREATED = "2026-05-18T12:00:00.000+00:00"


def fake_row(index: int, **more: Any) -> EpisodeRow:
    fields: dict[str, Any] = {
        "status": "completed",
        "termination": "stopped",
        "instruction": f"go to room {index}",
        "metrics": {"success": float(index % 2)},
        "step_count": 10 + index,
        "elapsed_sec": 0.5,
        "trajectory_digest": f"{index:032x}",
    }
    return EpisodeRow(episode_index=index, **(fields | more))


def fake_line(step: int, node: str, **more: Any) -> dict[str, Any]:
    """A line of log.jsonl."""
    line: dict[str, Any] = {
        "timestamp": CREATED,
        "execution_id": "x",
        "source": "graph",
        "step": step,
        "node_id": node,
        "node_type": f"env_fake__{node}",
        "node_label": node,
        "duration_ms": 1.5,
        "inputs": {},
        "outputs": {"value": step},
        "output_digests": {"value": f"{step:032x}"},
        "inner_log": [],
        "error": None,
    }
    return line | more


def make_spec(run_id: str, label: str = "", **request: Any) -> Spec:
    return Spec(
        run_id=run_id,
        created_at=CREATED,
        eval=EvalRequest(graph_name="fake_follow", label=label, **request),
        needs=Needs(graph_hash="0" * 32),
        graph=GRAPH,
    )


def make_run(
    root: Path,
    *,
    now: datetime | None = None,
    label: str = "",
    rows: Sequence[EpisodeRow] = (fake_row(0), fake_row(1)),
    logs: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    environment: EnvironmentRecord | None = None,
    **summary: Any,
) -> RunDir:
    """``logs``: episode index → lines of its log.jsonl. ``summary``: fields of summary.json to replace."""
    run = create_run_dir(root, now)
    spec = make_spec(run.run_id, label)
    write_json(run.spec, spec)
    write_json(run.job, Job(run_id=run.run_id, state="ended"))
    write_json(run.graph, GRAPH)
    write_json(run.environment, environment or EnvironmentRecord(run_id=run.run_id))
    write_json(
        run.progress,
        Progress(
            run_id=run.run_id,
            updated_at=CREATED,
            workers=[
                WorkerProgress(worker_id=0, state="done", episodes_done=len(rows), episodes_total=len(rows))
            ],
        ),
    )
    _write_rows(run, spec, rows, logs or {})
    write_json(run.summary, _summary(run, rows, summary))
    run.mark_done()
    return run


def _write_rows(
    run: RunDir, spec: Spec, rows: Sequence[EpisodeRow], logs: Mapping[int, Sequence[Mapping[str, Any]]]
) -> None:
    appender = LineAppender(run.episode_rows)
    names = folder_names((row.episode_index, row.task, row.repeat) for row in rows)
    for row, name in zip(rows, names, strict=True):
        appender.append(row)
        folder = run.episodes / name
        folder.mkdir(parents=True)
        write_json(
            folder / "episode.json",
            EpisodeFile(
                run_id=run.run_id,
                graph_name=spec.eval.graph_name,
                graph_hash=spec.needs.graph_hash,
                seed=row.seed,
                episode=row,
            ),
        )
        log = LineAppender(folder / "log.jsonl")
        for line in logs.get(row.episode_index, ()):
            log.append(line)
        log.close()
    appender.close()


def _summary(run: RunDir, rows: Sequence[EpisodeRow], replaced: Mapping[str, Any]) -> Summary:
    completed = [
        row.metrics["success"] or 0.0
        for row in rows
        if row.status == "completed" and "success" in row.metrics
    ]
    fields: dict[str, Any] = {
        "status": "completed",
        "created_at": CREATED,
        "started_at": CREATED,
        "finished_at": CREATED,
        "elapsed_sec": 12.5,
        "total_episodes": len(rows),
        "completed_count": len(rows),
        "error_count": sum(row.status == "error" for row in rows),
        "result_digest": result_digest(rows),
    }
    if completed:
        mean = sum(completed) / len(completed)
        fields["aggregate_metrics"] = {"success": mean}
        fields["metric_stats"] = {"success": MetricStats(mean=mean, n=len(completed), ci95=(0.1, 0.9))}
    fields["config"] = SummaryConfig(graph_name="fake_follow", split="val")
    return Summary(run_id=run.run_id, episodes=list(rows), **(fields | dict(replaced)))
