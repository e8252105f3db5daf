"""Episodes on disk for the log browser: a run of them, and what may be wrong with one."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

from engine.store.atomic import write_json
from engine.store.episode_folders import folder_names
from engine.store.jsonl import LineAppender
from engine.store.records import EpisodeFile, EpisodeRow
from engine.store.rundir import RunDir
from tests.fakes.finished_runs import fake_row
from tests.tui.log_lines import encode, line

RUN = "20260518_120000"
ERROR = 'Traceback (most recent call last):\n  File "env.py", line 3, in step\nValueError: no such door'
HOSTILE = "\x1b]52;c;aGk=\x07\x1b[31mred\x9b31m \u202egnp.exe [/x] [b \ud800"


def steps(count: int = 4, *, error_at: int | None = None) -> list[dict[str, Any]]:
    """``iter_in``, ``agent``, ``env`` in each step. The agent sees the frame that the step before made."""
    lines = []
    for step in range(count):
        frame = {"$asset": f"assets/{step}_env_rgb.png", "shape": [8, 8, 3], "dtype": "uint8"}
        seen = {"$asset": f"assets/{max(0, step - 1)}_env_rgb.png", "shape": [8, 8, 3], "dtype": "uint8"}
        failed = step == error_at
        lines += [
            line(step, "iter_in", duration_ms=0.0, queue_wait_ms=0.0, compute_ms=0.0, transport_ms=0.0),
            line(
                step,
                "agent",
                node_type="policy__act",
                duration_ms=12.0 + step,
                queue_wait_ms=3.0,
                compute_ms=6.0,
                transport_ms=3.0,
                inputs={"rgb": seen, "instruction": "go to the red door"},
                outputs={"action": ["left", "forward"][step % 2], "confidence": step / 8},
            ),
            line(
                step,
                "env",
                outputs={}
                if failed
                else {"rgb": frame, "reward": 0.5 * step, "pose": {"position": [step, 0, 1.5]}},
                error=ERROR if failed else None,
                inner_log=[{"key": "warning", "value": "stuck"}] if step == 1 else [],
            ),
        ]
    return lines


def write_frames(folder: Path, count: int) -> None:
    (folder / "assets").mkdir(exist_ok=True)
    for step in range(count):
        image = numpy.zeros((8, 8, 3), dtype=numpy.uint8)
        image[:, : 2 * (step % 4 + 1)] = (200, 40, 40)
        out = io.BytesIO()
        Image.fromarray(image).save(out, "PNG")
        (folder / "assets" / f"{step}_env_rgb.png").write_bytes(out.getvalue())


def write_episode(
    folder: Path,
    row: EpisodeRow | None,
    lines: Iterable[dict[str, Any]] | None,
    *,
    frames: int = 0,
    torn: bytes = b"",
) -> Path:
    """row: None for one without an end. lines: None for one without a log."""
    folder.mkdir(parents=True)
    if row is not None:
        file = EpisodeFile(run_id=RUN, graph_name="toy_follow", graph_hash="0" * 32, seed=0, episode=row)
        write_json(folder / "episode.json", file)
    if lines is not None:
        (folder / "log.jsonl").write_bytes(b"".join(encode(fields) for fields in lines) + torn)
    if frames:
        write_frames(folder, frames)
    return folder


def error_row(index: int, error: str = "env: ValueError: no such door", **more: Any) -> EpisodeRow:
    fields = {
        "status": "error",
        "termination": "node_error",
        "error": error,
        "error_class": "graph",
        "metrics": {},
    }
    return fake_row(index, **(fields | more))


def write_run(
    root: Path,
    rows: list[EpisodeRow],
    lines: dict[int, list[dict[str, Any]]] | None = None,
    *,
    name: str = RUN,
) -> RunDir:
    """A run with a folder for each row. lines: by index; else four steps, those of an errored one with it."""
    run = RunDir(root / "outputs" / "eval_runs" / name)
    run.episodes.mkdir(parents=True)
    write_json(run.spec, {"run_id": name})
    names = folder_names((row.episode_index, row.task, row.repeat) for row in rows)
    writer = LineAppender(run.episode_rows)
    for folder, row in zip(names, rows, strict=True):
        errs = 2 if row.status == "error" else None
        own = (lines or {}).get(row.episode_index, steps(error_at=errs))
        write_episode(run.episodes / folder, row, own, frames=len(own) // 3)
        writer.append(row)
    writer.close()
    return run


def hostile_lines() -> list[dict[str, Any]]:
    """Text that would steer a terminal, in every field that is shown."""
    text = json.loads(json.dumps(HOSTILE))
    return [
        line(
            step,
            f"env{HOSTILE[:-1]}",
            node_label=HOSTILE[:-1],
            node_type=HOSTILE[:-1],
            timestamp=HOSTILE[:-1],
            inputs={HOSTILE[:-1]: text[:-1]},
            outputs={"text": HOSTILE[:-1] * 40, "lines": "a\nb\r\n" + HOSTILE[:-1], "$asset": HOSTILE[:-1]},
            inner_log=[{"key": HOSTILE[:-1], "value": HOSTILE[:-1]}],
            error=f"Traceback {HOSTILE[:-1]}\n  File\n{HOSTILE[:-1]}" if step == 1 else None,
        )
        for step in range(3)
    ]
