"""Judges, and episodes for them, as the tests use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.scoring.context import Case, Evidence
from engine.scoring.spec import Criterion, JudgeSpec


def a_judge(name: str = "j1", *criteria: str, **fields: Any) -> JudgeSpec:
    return JudgeSpec(id=name, criteria=[Criterion(name=criterion) for criterion in criteria], **fields)


def an_episode(*events: dict[str, Any], snapshot: dict[str, Any] | None = None, **case: Any) -> Evidence:
    """What is left of one; keywords are its case's."""
    fields = {"episode_index": 0, "instruction": "Go to the kitchen.", **case}
    return Evidence(Case(**fields), list(events), snapshot, Path("ep0000"))


def a_verdict(score: Any = 0.75, reason: Any = "well done", **more: Any) -> str:
    """A reply as a judge is asked for it."""
    return json.dumps({"score": score, "reason": reason, **more})
