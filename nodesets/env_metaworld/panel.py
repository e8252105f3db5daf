"""Choosing the task, and where things lie in it."""

from __future__ import annotations

from engine.components import EnvPanelField, StagePanel

from .trial import CHOICES


class MetaWorldPanel(StagePanel):
    name = "env_metaworld"
    only_fields = True
    fields = [
        EnvPanelField("task_id", "text", "Task", placeholder="reach-v3; empty: the fifty in turn"),
        EnvPanelField("frames", "select", "Frames", options=CHOICES["frames"]),
        EnvPanelField("until", "select", "An episode ends at", options=CHOICES["until"]),
        EnvPanelField("seed", "number", "Seed", min=0),
        EnvPanelField("episode_index", "number", "Episode", min=0),
    ]
