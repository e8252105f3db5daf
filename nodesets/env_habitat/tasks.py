"""The tasks, and their settings in both generations of habitat-lab: YACS's until 0.2.2, and Hydra's."""

from __future__ import annotations

import gzip
import inspect
import json
import os
from importlib import import_module
from typing import Any

from engine.components import Package, below, blaming, foreign_imports

ROOT = "EVALTOWER_HABITAT_ROOT"
ACTIONS = ("stop", "move_forward", "turn_left", "turn_right", "look_up", "look_down")
_LANGUAGES = {"en": "english", "hi": "hindi", "te": "telugu"}
_VLN, _OBJECT = ("val_unseen", "val_seen", "train", "test"), ("val", "val_mini", "train")
_RXR = tuple(f"{split}_{code}" for split in (*_VLN[:3], "test_challenge") for code in _LANGUAGES)
TASKS = {
    "R2R-CE": ("habitat_extensions/config/vlnce_task.yaml", _VLN),
    "RxR-CE": ("habitat_extensions/config/rxr_vlnce_{}_task.yaml", _RXR),
    "R2R": ("benchmark/nav/vln_r2r.yaml", _VLN),
    "ObjectNav-HM3D": ("benchmark/nav/objectnav/objectnav_hm3d.yaml", _OBJECT),
    "ObjectNav-MP3D": ("benchmark/nav/objectnav/objectnav_mp3d.yaml", _OBJECT),
}
"""(file of settings, splits). VLN-CE's lie in its checkout, the others in habitat's package."""
PACKAGES = (
    Package(("habitat_sim",), "conda install -c aihabitat -c conda-forge habitat-sim headless"),
    Package(
        ("habitat",),
        "pip install -e habitat-lab, of habitat_sim's version (VLN-CE: both 0.1.7)",
        beside=ROOT,
        stands_on=("habitat-lab", "gym"),
    ),
    Package(
        ("habitat_extensions",),
        f"git clone https://github.com/jacobkrantz/VLN-CE, and set {ROOT} to that folder",
        {"dataset": "(R2R-CE|RxR-CE)?"},
        "VLN-CE",
        beside=ROOT,
    ),
)


class Settings:
    """``config`` as ``habitat.Env`` takes it, ``data`` its part for ``make_dataset``; lengths in metres.

    ``paths``: by episode id, those that VLN-CE scores nDTW by, (N, 3). ``overrides``: ``KEY=VALUE; …`` in
    habitat's own names. ImportError says how to get what is missing; ValueError which override is none.
    """

    def __init__(self, dataset: str, split: str, overrides: str) -> None:
        file, code = TASKS[dataset][0], ""
        if "{}" in file:
            split, _, code = split.rpartition("_")
        get_config = _get_config(file)
        own = [part.strip() for part in overrides.split(";") if part.strip()]
        if odd := [pair for pair in own if not pair.partition("=")[2]]:
            raise ValueError(
                f"selector overrides: {odd[0]!r} is not KEY=VALUE; more than one are parted by ;"
            )
        taking = blaming(f"selector overrides is {overrides!r}: habitat refuses", bool(own))
        self.paths: dict[str, Any] = {}
        if "overrides" in inspect.signature(get_config).parameters:
            pairs = [*own, f"habitat.dataset.split={split}"]
            pairs += ["habitat.environment.iterator_options.shuffle=False"]
            with taking:
                self.config = get_config(file, overrides=pairs)
            told, self.actions = self.config.habitat, ACTIONS
            self.data, self.kind = told.dataset, told.dataset.type
            self.radius = float(told.task.measurements.success.success_distance)
            self.max_steps = int(told.environment.max_episode_steps)
            self.forward = float(told.simulator.forward_step_size)
            return
        # VLN-CE's own measures need more files, and RxR's sensor 142 GB of features: the distance is enough.
        sensors = ["INSTRUCTION_SENSOR"] if dataset == "R2R-CE" else []
        pairs = [*own, "TASK.MEASUREMENTS=['DISTANCE_TO_GOAL']", f"TASK.SENSORS={sensors}"]
        pairs += [f"DATASET.SPLIT={split}", "ENVIRONMENT.ITERATOR_OPTIONS.SHUFFLE=False"]
        words = [word for pair in pairs for word in pair.split("=", 1)]
        with taking:
            told = self.config = get_config(file.format(_LANGUAGES.get(code)), words)
        self.data, self.kind, self.actions = told.DATASET, told.DATASET.TYPE, tuple(map(str.upper, ACTIONS))
        self.radius = float(told.TASK.SUCCESS.SUCCESS_DISTANCE)
        self.max_steps = int(told.ENVIRONMENT.MAX_EPISODE_STEPS)
        self.forward = float(told.SIMULATOR.FORWARD_STEP_SIZE)
        truth = told.TASK.NDTW.GT_PATH.format(split=split, role="guide")
        if os.path.exists(truth):
            with gzip.open(truth, "rt") as stream:
                self.paths = {name: path["locations"] for name, path in json.load(stream).items()}


def _get_config(file: str) -> Any:
    os.chdir(below(ROOT))  # habitat's own paths (data/…) start there
    with foreign_imports(*PACKAGES):
        if file.startswith("habitat_extensions"):
            import_module("habitat_extensions")  # registers its data sets
            return import_module("habitat_extensions.config.default").get_extended_config
        return import_module("habitat.config.default").get_config
