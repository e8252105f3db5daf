"""A backend that has two graphs, whose environment tells what it offers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.control.queue_reports import EstimateReport, GraphEntry, IntrospectReport, ResourceEstimate
from tests.fakes.control import FakeControl, busy_control

FOLLOW = Path(__file__).parents[2] / "nodesets/policy_gridhouse/graphs/gridhouse_follow.json"

OFFER = IntrospectReport(
    graph_name="gridhouse_follow",
    env_nodeset="env_gridhouse",
    loaded=True,
    metadata={
        "env_name": "Gridhouse",
        "splits": ["train", "val_seen", "val_unseen"],
        "episode_counts": {"train": 400, "val_seen": 100, "val_unseen": 120},
        "metrics": ["success", "spl"],
    },
    split="val_unseen",
    panel={
        "name": "env_gridhouse",
        "fields": [
            {"name": "split", "kind": "select", "label": "Split", "options": ["train", "val_unseen"]},
            {"name": "episode_index", "kind": "number", "label": "Episode"},
            {
                "name": "weather",
                "kind": "select",
                "label": "Weather",
                "options": [{"value": 1, "label": "rain"}],
            },
            {"name": "slip", "kind": "slider", "label": "Chance of a slip", "min": 0, "max": 1, "step": 0.05},
        ],
    },
)

FITS = EstimateReport(
    graph_name="gridhouse_follow",
    worker_count=1,
    resources={
        "vram": ResourceEstimate(estimate_mb=4200.0, measured_free_mb=60000.0),
        "ram": ResourceEstimate(estimate_mb=900.0, uncalibrated=["run"], measured_free_mb=400000.0),
    },
    max_workers=8,
    fits=True,
    gpus=["GPU-0001"],
)


def follow_graph() -> dict[str, Any]:
    graph: dict[str, Any] = json.loads(FOLLOW.read_text(encoding="utf-8"))
    return graph


def offering(control: FakeControl | None = None) -> FakeControl:
    control = control or busy_control()
    control.graph_entries = [
        GraphEntry(name="babyai_bot", path="/b", origin="env_gymnasium", description="It can follow, too."),
        GraphEntry(
            name="gridhouse_follow", path="/g", origin="policy_gridhouse", description="A small policy."
        ),
    ]
    control.answers |= {"introspect": OFFER, "estimate": FITS, "graph": follow_graph()}
    return control
