"""A run's folder: complete on disk before the run is queued."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import Literal

import msgspec

from engine.control.plans import RunPlan
from engine.store.atomic import fsync_folder, write_json
from engine.store.pending import pending_summary
from engine.store.process_identity import identity
from engine.store.records import Job, Spec, now_iso
from engine.store.rundir import RunDir, create_run_dir


def spec_of(plan: RunPlan, run_id: str = "") -> Spec:
    """What spec.json is to hold."""
    return Spec(
        run_id=run_id,
        created_at=now_iso(),
        eval=plan.request,
        needs=plan.needs,
        graph=plan.graph,
        scheduling=msgspec.to_builtins(plan.scheduling),
        scoring=dict(plan.scoring),
        workspaces=plan.sources.workspaces,
        active_workspace_dir=plan.sources.active_workspace_dir,
    )


def write_run(root: Path, plan: RunPlan, kind: Literal["run", "play"] = "run") -> tuple[RunDir, Spec]:
    """Claim an id, and write the folder whole. Raises OSError; nothing is left behind then."""
    run = create_run_dir(root)
    try:
        return run, _fill(run, plan, kind)
    except BaseException:
        shutil.rmtree(run.path, ignore_errors=True)
        raise


def _fill(run: RunDir, plan: RunPlan, kind: Literal["run", "play"]) -> Spec:
    spec = spec_of(plan, run.run_id)
    job = Job(
        run_id=run.run_id,
        state="queued",
        token=secrets.token_hex(16),
        kind=kind,
        process=identity(),
        submitted_at=spec.created_at,
    )
    written = {
        run.job: job,  # before the others, as it tells whose folder this is
        run.spec: spec,
        run.shared_urls: plan.sources.servers,
        run.summary: pending_summary(spec, plan.env_nodeset),
    }
    for path, record in written.items():
        write_json(path, record, durable=False)
    for path in written:
        _sync(path)
    fsync_folder(run.path)
    return spec


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
