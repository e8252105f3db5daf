"""habitat-lab 0.1.7, whose configuration is YACS's: upper case, and a flat list of names and values."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
import habitat_world
from habitat_world import Env  # noqa: F401

__version__ = "0.1.7"
_DEFAULTS = {
    "DATASET.SPLIT": "train",
    "ENVIRONMENT.MAX_EPISODE_STEPS": 500,
    "ENVIRONMENT.ITERATOR_OPTIONS.SHUFFLE": True,
    "TASK.MEASUREMENTS": ["DISTANCE_TO_GOAL", "SUCCESS", "SPL", "NDTW"],
    "TASK.SENSORS": ["INSTRUCTION_SENSOR", "SHORTEST_PATH_SENSOR", "VLN_ORACLE_PROGRESS_SENSOR"],
    "SIMULATOR.FORWARD_STEP_SIZE": 0.25,
}


def get_config(config_paths: Any = None, opts: list[Any] | None = None) -> Any:
    file = Path(config_paths)
    assert file.name in {"vlnce_task.yaml", "rxr_vlnce_hindi_task.yaml"}, f"no such file: {file}"
    values, words = dict(_DEFAULTS), iter(opts or [])
    for name in words:
        value = next(words)
        if name not in values:
            raise AssertionError(f"Non-existent key: {name}")
        try:
            values[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            values[name] = value
    kind = "R2R-VLN-CE-v1" if file.name == "vlnce_task.yaml" else "RxR-VLN-CE-v1"
    steps, forward = values["ENVIRONMENT.MAX_EPISODE_STEPS"], values["SIMULATOR.FORWARD_STEP_SIZE"]
    assert values["ENVIRONMENT.ITERATOR_OPTIONS.SHUFFLE"] is False
    assert "NDTW" not in values["TASK.MEASUREMENTS"], "its files are not here"
    data = SimpleNamespace(SPLIT=values["DATASET.SPLIT"], split=values["DATASET.SPLIT"], TYPE=kind)
    names = ["STOP", "MOVE_FORWARD", "TURN_LEFT", "TURN_RIGHT"]
    truth = "data/datasets/R2R_VLNCE_v1-3_preprocessed/{split}/{split}_gt.json.gz"
    return SimpleNamespace(
        DATASET=data,
        ENVIRONMENT=SimpleNamespace(MAX_EPISODE_STEPS=steps),
        SIMULATOR=SimpleNamespace(FORWARD_STEP_SIZE=forward, TURN_ANGLE=15),
        TASK=SimpleNamespace(
            SUCCESS=SimpleNamespace(SUCCESS_DISTANCE=3.0), NDTW=SimpleNamespace(GT_PATH=truth)
        ),
        facts=SimpleNamespace(kind=kind, data=data, forward=forward, turn=15, actions=names, max_steps=steps),
    )


habitat_world.install(get_config)
