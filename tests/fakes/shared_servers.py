"""A shared server of ``model_line``, and what it leaves behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from engine.components.loading import source_hash
from engine.scheduling.need import server_key
from engine.scheduling.starts import Seated
from engine.store.records import NodesetNeed
from tests.fakes.graphs import env_graph

T = TypeVar("T")
DEADLINE_SEC = 60.0

NODESETS = Path(__file__).parent / "nodesets"
MODEL = NODESETS / "model_line.py"


def model_need(path: Path = MODEL, **changes: object) -> NodesetNeed:
    fields: dict[str, object] = {
        "name": "model_line",
        "path": str(path),
        "source_hash": source_hash(path),
        "parallelism": "shared",
        "expected_vram_mb": 0,
        "expected_ram_mb": 100,
        "start_deadline_sec": 60.0,
    }
    return NodesetNeed(**{**fields, **changes})  # type: ignore[arg-type]


def policy_graph(**config: object) -> dict[str, Any]:
    """``env_line`` walked by ``model_line``; ``config``: of its node."""
    graph = env_graph("env_line", carried=("observation",))
    graph["nodes"].append({"id": "act", "type": "model_line__act", "label": "Act", "config": config})
    edges = [edge for edge in graph["edges"] if edge["target"] != "step"]
    for source, handle, target, target_handle in (
        ("loop_in", "init_observation", "act", "observation"),
        ("loop_in", "iterout_observation", "act", "observation"),
        ("act", "action", "step", "action"),
    ):
        ends = {"source": source, "sourceHandle": handle, "target": target, "targetHandle": target_handle}
        edges.append({"id": f"{source}.{handle}-{target}", **ends})
    return {**graph, "name": "line_by_policy", "edges": edges}


def seated(need: NodesetNeed | None = None, visible: tuple[str, ...] | None = None) -> Seated:
    need = need or model_need()
    return Seated(
        owner=server_key(need), server=need, load=True, cards=(), visible=visible, claims={}, after_sec=0.0
    )


@dataclass
class ModelFiles:
    """``$MODEL_LINE``."""

    folder: Path

    def set(self, name: str, there: bool = True) -> None:
        if there:
            (self.folder / name).touch()
        else:
            (self.folder / name).unlink(missing_ok=True)

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def pids(self) -> list[int]:
        """Of the processes that loaded it, in order."""
        return [int(line.split()[0]) for line in self.lines("loads")]

    def living(self) -> list[int]:
        return [pid for pid in self.pids() if is_there(pid)]


def model_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFiles:
    folder.mkdir()
    monkeypatch.setenv("MODEL_LINE", str(folder))
    return ModelFiles(folder)


def is_there(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(condition: Callable[[], T], what: str) -> T:
    """What ``condition`` gives once it is true."""
    ends = time.monotonic() + DEADLINE_SEC
    while not (found := condition()):
        assert time.monotonic() < ends, f"waited in vain: {what}"
        time.sleep(0.02)
    return found
