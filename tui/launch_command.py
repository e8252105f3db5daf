"""The command line that starts what a launch form asks for. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec

from engine.control.reports import StartRequest
from tui.launch_values import episodes_text

OWN = StartRequest(graph_name="")
"""What a request is that says nothing."""


def command_of(request: StartRequest) -> str:
    """``evaltower run …``; empty where no command says the same: of a graph that is not the saved one, of
    episodes with selectors of their own, of scoring that a graph does not name."""
    if request.graph is not None or request.episode_selectors is not None or request.scoring:
        return ""
    return shlex.join(["evaltower", "run", request.graph_name, *_options(request)])


def asked(request: StartRequest) -> str:
    """The request as the body of a REST call: what differs from one that says nothing, as JSON."""
    own = msgspec.to_builtins(OWN)
    said = msgspec.to_builtins(request).items()
    return json.dumps({name: value for name, value in said if value != own[name]}, ensure_ascii=False)


def _options(request: StartRequest) -> Iterator[str]:
    yield from _episodes(request)
    single = {
        "-w": (request.worker_count, OWN.worker_count),
        "--split": (request.split, OWN.split),
        "--dataset": (request.dataset, OWN.dataset),
        "--step-budget": (request.step_budget, OWN.step_budget),
        "--seed": (request.seed, OWN.seed),
        "--repeats": (request.repeats, OWN.repeats),
        "--retries": (request.retries, OWN.retries),
        "--timeout": (request.timeout_sec, OWN.timeout_sec),
        "--step-timeout": (request.per_step_budget_sec, OWN.per_step_budget_sec),
        "--until-width": (request.until_width, OWN.until_width),
        "--until-metric": (request.until_metric, OWN.until_metric),
        "--vram": (request.marginal_vram_mb, OWN.marginal_vram_mb),
        "--priority": (request.priority, OWN.priority),
        "--gpus": (",".join(request.gpus), ""),
        "--on": (request.on, OWN.on),
        "--nodes": (request.nodes, OWN.nodes),
        "--overlay": (request.active_workspace_dir, OWN.active_workspace_dir),
        "--label": (request.label, OWN.label),
    }
    for option, (value, own) in single.items():
        if value != own:
            yield from (option, str(value).removesuffix(".0") if isinstance(value, float) else str(value))
    several = {
        "--select": [f"{name}={_scalar(value)}" for name, value in request.selectors.items()],
        "--depends-on": request.depends_on,
        "--workspace": request.workspaces,
        "--server": [f"{name}={url}" for name, url in request.servers.items()],
    }
    for option, values in several.items():
        for value in values:
            yield from (option, value)
    yield from ["--exclusive"] if request.exclusive_gpu else []


def _episodes(request: StartRequest) -> Iterator[str]:
    indices, start = request.episode_indices, request.start_episode_index
    if indices is not None:
        yield from ("--episodes", episodes_text(0, 0, indices).removeprefix("only "))
        return
    if request.episode_count != -1:
        yield from ("-n", str(request.episode_count))
    if start:
        yield from ("--start", str(start))


def _scalar(value: Any) -> str:
    """As the command reads it: JSON where it is JSON, else text."""
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        json.loads(value, parse_constant=str)
    except ValueError:
        return value
    return json.dumps(value)
