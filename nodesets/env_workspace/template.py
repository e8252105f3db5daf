"""A harness's command line from its template."""

from __future__ import annotations

import re
import shlex
from typing import Any, Mapping, Match

RESERVED = ("task", "model", "run_id")
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def fill(command: str, task: str, model: str, run_id: str, params: Mapping[str, Any]) -> str:
    """``{{name}}`` becomes the value as one word of the shell, a list's items one word each.

    What a value holds is never taken for a template. ValueError names what has no value, and parameters that
    would stand for the task, the model or the run.
    """
    taken = sorted(set(params) & set(RESERVED))
    if taken:
        raise ValueError(f"params may not be called {', '.join(taken)}: rename them")
    values: dict[str, Any] = {**params, "task": task, "model": model, "run_id": run_id}

    def word(place: Match[str]) -> str:
        name = place.group(1)
        if name not in values:
            known = ", ".join(values)
            raise ValueError(f"command has {{{{{name}}}}}, which nothing gives; there are {known}")
        if name == "model" and not model:
            raise ValueError("command has {{model}}, but no model is set: pass --select model=…")
        return _quoted(name, values[name])

    return _PLACE.sub(word, command)


def _quoted(name: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(_quoted(name, item) for item in value)
    if value is None or isinstance(value, dict):
        raise ValueError(f"parameter {name} is {value!r}; a command takes text, numbers, or a list of them")
    return shlex.quote(str(value))
