"""What a report and a video take: bytes, time and memory, of runs that are large."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.finished_runs import fake_row
from tests.report.filmed import filmed_run, noise

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

EPISODES, SHOWN = 1000, 60
FRAME = (320, 240)
FEW, MANY = 500, 10_000
GROWTH_MB = 60
FILM = """
import resource, sys
from engine.cli.app import run_command_line
from engine.main import open_control
assert run_command_line(open_control, sys.argv[1:]) == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_a_report_of_a_thousand_episodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        fake_row(
            index,
            instruction=f"walk to the red chair in room {index}, past the kitchen and the long hall " * 2,
            metrics=dict.fromkeys(("spl", "ndtw", "path_length", "navigation_error"), index / 7)
            | {"success": float(index % 10 > 3)},
            worker_id=index % 8,
        )
        for index in range(EPISODES)
    ]
    failed = [row.episode_index for row in rows if not row.metrics["success"]][:SHOWN]
    run = filmed_run(tmp_path, rows=rows, steps=dict.fromkeys(failed, 8), size=FRAME)
    for index in failed:
        for step in range(8):
            noise(run.episodes / f"ep{index:04d}" / "assets" / f"f{step}.png", FRAME, 8 * index + step)
    target = tmp_path / "report.html"
    words = ["--root", str(tmp_path), "report", run.run_id, "-o", str(target)]
    began = time.perf_counter()
    evaltower = [sys.executable, "-m", "engine.main", *words]
    subprocess.run(evaltower, check=True, timeout=300, capture_output=True)
    taken, size = time.perf_counter() - began, target.stat().st_size
    page = target.read_text()
    told = f"{size / 1e6:.2f} MB with {page.count('<img')} images of noise, {taken:.1f} s"
    with capsys.disabled():
        print(f"\nreport of {EPISODES} episodes: {told}")
    assert page.count("<tr>") > EPISODES
    assert page.count("<img") > 100
    assert size < 5e6


@pytest.mark.parametrize("form", ["mp4", "gif"])
def test_memory_of_a_video_does_not_grow_with_its_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    took = {}
    for count in (FEW, MANY):
        root = tmp_path / str(count)
        run = filmed_run(root, rows=[fake_row(0)], steps={0: 50})
        log = run.episodes / "ep0000" / "log.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b"".join([lines[0], *lines[1:] * (count // 50)]))
        target = root / f"film.{form}"
        words = [
            "--root",
            str(root),
            "export",
            run.run_id,
            "--episode",
            "0",
            "--format",
            form,
            "-o",
            str(target),
        ]
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", FILM, *words, "-o", str(target)],
            check=True,
            timeout=600,
            capture_output=True,
            text=True,
        )
        took[count] = time.perf_counter() - began, int(done.stdout), target.stat().st_size
    with capsys.disabled():
        for count, (seconds, memory, size) in took.items():
            print(f"\n{form}, {count:6} frames: {seconds:5.1f} s, {memory} MB, {size / 1e6:.1f} MB on disk")
    assert took[MANY][1] - took[FEW][1] < GROWTH_MB
