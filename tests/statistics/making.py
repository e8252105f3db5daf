"""Rows for the tests of this room, and what hypothesis draws them from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from engine.statistics.rows import Identity, Place

patient = settings(deadline=None)
"""The machine is shared: how long an example takes says nothing."""


@dataclass
class Row:
    """An episode row as statistics see one."""

    episode_index: int
    metrics: Mapping[str, Any] = field(default_factory=dict)
    status: str = "completed"
    repeat: int = 1
    task: str = "_default"
    scene_id: str = ""
    error_class: str | None = None
    graded: Mapping[str, bool] = field(default_factory=dict)
    pending: bool = False

    def awaits(self, metric: str) -> bool:
        return self.pending and metric not in self.metrics

    @property
    def measures(self) -> Mapping[str, Any]:
        return self.metrics

    @property
    def identity(self) -> Identity:
        selectors = {} if self.task == "_default" else {"task_id": self.task}
        return self.episode_index, json.dumps(selectors), self.repeat


def successes(values: Iterable[float], **fields: Any) -> list[Row]:
    """Completed rows 0, 1, … with these values of ``success``."""
    return [Row(index, {"success": value}, **fields) for index, value in enumerate(values)]


def places(
    scenes: Sequence[str] | None = None, tasks: Sequence[str] | None = None, episodes: Sequence[int] = ()
) -> list[Place]:
    """A place for each scene, task or episode given."""
    n = max(map(len, (scenes or (), tasks or (), episodes)))
    return [
        Place(
            (episodes[i] if episodes else i, "{}"),
            tasks[i] if tasks else "_default",
            scenes[i] if scenes else "",
        )
        for i in range(n)
    ]


floats = st.floats(-1e9, 1e9).map(lambda x: round(x, 6))
any_floats = st.floats(allow_nan=False, allow_infinity=False)

raw_values = st.one_of(
    st.none(),
    st.floats(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        [10**400, np.float32(0.5), np.float16("inf"), np.int64(3), np.bool_(True), np.float64("nan")]
    ),
)


@st.composite
def hostile_rows(draw: st.DrawFn) -> list[Row]:
    """Final rows of any status, with any number in their metrics, indices shared by several tasks."""
    keys = draw(
        st.lists(
            st.tuples(st.integers(0, 20), st.sampled_from(["a", "b", "_default"]), st.integers(1, 3)),
            unique=True,
            max_size=30,
        )
    )
    return [
        Row(
            episode_index=index,
            task=task,
            repeat=repeat,
            metrics=draw(st.dictionaries(st.sampled_from(["success", "spl", "steps"]), raw_values)),
            status=draw(st.sampled_from(["completed", "completed", "error", "cancelled"])),
            scene_id=draw(st.sampled_from(["", "house", "flat"])),
            error_class=draw(st.sampled_from([None, "infra", "graph"])),
            pending=draw(st.booleans()),
        )
        for index, task, repeat in keys
    ]
