from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.store.records import task_of
from engine.store.task_names import task_names

VALUE = st.sampled_from([0, 1, "", "a", "1"])
CHOSEN = st.fixed_dictionaries({}, optional=dict.fromkeys(["env_id", "frames", "size", "task_id"], VALUE))


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ([{}], [""]),
        ([{"task_id": "open"}], ["open"]),
        ([{"env_id": "Ant-v5", "frames": "render"}], ["Ant-v5"]),
        ([{"frames": "render", "size": 8}], ["frames=render, size=8"]),
        ([{"env_id": "A", "frames": "render"}, {"env_id": "B", "frames": "render"}], ["A", "B"]),
        ([{"env_id": "A", "size": 8}, {"env_id": "A", "size": 16}], ["A, size=8", "A, size=16"]),
        ([{"env_id": "A"}, {"env_id": "A", "size": 8}], ["A", "A, size=8"]),
        ([{"env_id": "A", "more": {"b": [1]}}, {"env_id": "A"}], ['A, more={"b":[1]}', "A"]),
        ([{"task_id": "{not JSON"}], ["{not JSON"]),
    ],
)
def test_a_name_says_what_tells_a_task_from_the_others(
    chosen: list[dict[str, object]], told: list[str]
) -> None:
    assert list(task_names(map(task_of, chosen)).values()) == told


@settings(max_examples=60)
@given(st.lists(CHOSEN, max_size=5))
def test_no_two_tasks_have_one_name(chosen: list[dict[str, object]]) -> None:
    tasks = [task_of(one) for one in chosen]
    names = task_names(tasks)
    assert set(names) == set(tasks)
    assert len(set(names.values())) == len(names)
