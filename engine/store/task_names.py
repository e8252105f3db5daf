"""Tasks by names that people read, where a task is no more than the selectors of its episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from engine.store.records import task_of


def task_names(tasks: Iterable[str]) -> dict[str, str]:
    """A name for each of the tasks of a run, no two alike: its id where it has one; of a task that is its
    selectors those that tell it from the others, and those that are an id: ``CartPole-v1``,
    ``CartPole-v1, size=8``. Empty for the task of a run without any."""
    chosen = {task: _selectors(task) for task in dict.fromkeys(tasks)}
    several = [one for one in chosen.values() if one is not None]
    common = {
        name
        for name in (several[0] if several else {})
        if all(name in one and one[name] == several[0][name] for one in several)
    }
    names = {
        task: ("" if task == task_of({}) else task) if one is None else _named(one, common)
        for task, one in chosen.items()
    }
    told = Counter(names.values())
    return {task: name if told[name] == 1 else task for task, name in names.items()}


def _named(selectors: Mapping[str, Any], common: set[str]) -> str:
    ids = [str(value) for name, value in selectors.items() if name.endswith("_id")]
    others = [
        f"{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in selectors.items()
        if not name.endswith("_id") and name not in common
    ]
    return ", ".join([*ids, *others]) or ", ".join(f"{name}={value}" for name, value in selectors.items())


def _selectors(task: str) -> dict[str, Any] | None:
    """The selectors that a task is; None of one that has a name."""
    if not task.startswith("{"):
        return None
    try:
        found = msgspec.json.decode(task)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None
