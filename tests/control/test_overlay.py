"""Workspaces, and an overlay over them for one run: real runs, side by side."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec import structs

from engine.cli.app import run_command_line
from engine.control.local import LocalControl
from engine.control.reader import Reader
from engine.control.reports import RefusedError, RunReport, StartRequest
from engine.main import open_control
from tests.control.waiting import wait_for, wait_until_over
from tests.fakes import agentcanvas_workspace as fake
from tests.fakes.live_backend import LiveControl, live


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Without a workspace of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def control(root: Path) -> Iterator[LiveControl]:
    with live(root) as control:
        yield control


def processes_that_mention(*words: str) -> list[list[str]]:
    lines = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
    return [line for line in lines if any(word in part for word in words for part in line)]


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def metrics_of(report: RunReport) -> dict[str, Any]:
    return dict(report.summary.aggregate_metrics)


@pytest.mark.slow
def test_an_overlay_holds_for_its_run_and_no_other(control: LocalControl, tmp_path: Path) -> None:
    workspace = fake.make_workspace(tmp_path / "workspace")
    overlay = fake.write(
        tmp_path / "overlay",
        {
            "nodesets/model/model_eyes.py": fake.model(2),
            "graphs/walk.json": json.dumps(fake.graph("walk with great care")),
        },
    )
    before = files_below(overlay), files_below(workspace)
    together = tmp_path / "together"
    together.mkdir()
    request = StartRequest(
        graph_name="walk",
        workspaces=[str(workspace)],
        episode_count=2,
        selectors={"meet": str(together)},
        marginal_vram_mb=0,
    )
    base = control.start(request)
    over = control.start(structs.replace(request, active_workspace_dir=str(overlay)))
    reports = [wait_until_over(control, run) for run in (base, over)]
    assert [(r.status, r.summary.error_count) for r in reports] == [("completed", 0)] * 2
    assert len(list(together.iterdir())) == 2  # each was still going when the other had begun
    assert metrics_of(reports[0]) == {"success": 1.0, "steps": 3.0, "version": 1.0, "prompt": 4.0}
    assert metrics_of(reports[1]) == {"success": 1.0, "steps": 3.0, "version": 2.0, "prompt": 20.0}
    hashes = [{n.name: n.source_hash for n in r.environment.nodesets} for r in reports if r.environment]
    assert hashes[0]["env_walk"] == hashes[1]["env_walk"]
    assert hashes[0]["model_eyes"] != hashes[1]["model_eyes"]
    # A run's id alone may be another root's, too.
    wait_for(lambda: processes_that_mention(str(tmp_path)) == [], "the end of every process")
    assert (files_below(overlay), files_below(workspace)) == before
    assert [p.name for p in control.root.iterdir()] == ["outputs"]


@pytest.mark.slow
def test_a_run_on_agentcanvas_s_workspace_can_be_run_again_from_its_record(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = fake.make_workspace(tmp_path / "their repository" / "workspace")
    words = ["run", "vln/verified/walk", "-n", "3", "-w", "2", "--workspace", str(workspace)]
    where, reader = ["--root", str(root)], Reader(root)
    assert run_command_line(open_control, [*where, *words]) == 0
    first = reader.show("last")
    assert first.environment is not None
    (evaltower, *again) = shlex.split(first.environment.command)
    assert evaltower == "evaltower"
    monkeypatch.chdir(root)
    assert run_command_line(open_control, [*where, *again]) == 0
    second = reader.show("last")
    assert second.run_id != first.run_id
    assert second.summary.result_digest == first.summary.result_digest is not None


@pytest.mark.slow
def test_an_overlay_s_broken_nodeset_is_not_replaced_by_the_base_s(
    control: LocalControl, tmp_path: Path
) -> None:
    workspace = fake.make_workspace(tmp_path / "workspace")
    overlay = fake.write(tmp_path / "overlay", {"nodesets/model/model_eyes.py": "1 / 0  # BaseNodeSet"})
    request = StartRequest(
        graph_name="walk", workspaces=[str(workspace)], active_workspace_dir=str(overlay), episode_count=1
    )
    with pytest.raises(RefusedError, match="ZeroDivisionError"):
        control.start(request)
    assert control.runs() == []
