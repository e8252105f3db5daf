"""What is wrong with a start request, whatever its graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.control.reports import Sources, StartRequest
from engine.control.selections import SET_BY_THE_RUN
from engine.graph.model import Problem
from engine.limits import LIMITS, MOST_EPISODES
from engine.store.records import identity_of
from engine.store.rundir import RUN_ID
from engine.store.runs import RunNotFoundError, find_run

_PARTITION = re.compile(r"[\w.-]+(,[\w.-]+)*")
LONGEST_LABEL = 100


def request_problems(request: StartRequest) -> list[Problem]:
    """Every problem of the request's numbers, episodes, label and workspaces, by its field."""
    return [
        *_number_problems(request),
        *_episode_problems(request),
        *_selector_problems(request),
        *_label_problems(request.label),
        *_cluster_problems(request),
        *sources_problems(request.sources),
    ]


def sources_problems(sources: Sources) -> list[Problem]:
    """Workspaces that are not there, or hold nothing of what a workspace is for."""
    problems = []
    if sources.active_workspace_dir is not None:
        problems += _folder_problems("active_workspace_dir", Path(sources.active_workspace_dir))
    for folder in map(Path, sources.workspaces):
        problems += _folder_problems("workspaces", folder) or _empty_workspace(folder)
    return problems


def unused_servers(servers: Iterable[str], used: Sequence[str]) -> list[Problem]:
    """Servers of nodesets that the graph does not use: a name may be mistyped."""
    known = ", ".join(used) or "none"
    return [
        _problem(f"servers.{name}", "the graph does not use this nodeset", f"it uses: {known}")
        for name in servers
        if name not in used
    ]


def dependency_problems(root: Path, wanted: Iterable[str]) -> tuple[list[str], list[Problem]]:
    """The ids of the runs to wait for, and a problem for each that is none."""
    found, problems = [], []
    for run in wanted:
        try:
            found.append(find_run(root, run).run_id)
        except RunNotFoundError as error:
            problems.append(_problem("depends_on", str(error), "name a run that is there"))
    return list(dict.fromkeys(found)), problems


def _selector_problems(request: StartRequest) -> list[Problem]:
    """Fields that a run sets itself: a selector of that name would be overwritten in silence."""
    return [
        _problem(f"selectors.{name}", "is set by the run, for each episode", remedy)
        for name, remedy in SET_BY_THE_RUN.items()
        if name in request.selectors
    ]


def _cluster_problems(request: StartRequest) -> list[Problem]:
    """What a run on a cluster, or on none, cannot ask for."""
    kind, colon, partition = request.on.partition(":")
    if not request.on:
        if request.nodes == 1:
            return []
        return [_problem("nodes", f"is {request.nodes}", "a run on this machine has one: add --on slurm")]
    problems = []
    if kind != "slurm" or (colon and not _PARTITION.fullmatch(partition)):
        problems.append(_problem("on", f"is {request.on!r}", "it is slurm or slurm:PARTITION"))
    planned = len(request.episode_indices or ()) or max(request.episode_count, 0)
    if 0 < planned * request.repeats < request.nodes:
        told = f"is {request.nodes}, and there are {planned * request.repeats} episodes to play"
        problems.append(_problem("nodes", told, "at most one node an episode"))
    if request.nodes > 1 and request.until_width is not None:
        told = "cannot end a run early that is split over nodes"
        problems.append(_problem("until_width", told, "leave it out, or run on one node"))
    if request.gpus:
        told = "name cards of this machine, and the cluster gives its own"
        problems.append(_problem("gpus", told, "leave them out, or set [slurm] gres"))
    if request.servers:
        told = "name servers that a node of the cluster may not reach"
        problems.append(_problem("servers", told, "leave them out: shared nodesets get servers there"))
    return problems


def _number_problems(request: StartRequest) -> list[Problem]:
    problems = []
    for field, limit in LIMITS.items():
        value = getattr(request, field)
        every = field == "episode_count" and value == -1
        if value is not None and not every and not limit.takes(value):
            more = ", or -1 for all" if field == "episode_count" else ""
            problems.append(_problem(field, f"is {_short(value)}", f"it must be {limit.described}{more}"))
    return problems


def _short(value: float) -> str:
    """A number as it is, if anybody could read it."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if abs(value) < 10**30 else "a number of more than 30 digits"


def _episode_problems(request: StartRequest) -> list[Problem]:
    indices, selectors = request.episode_indices, request.episode_selectors
    problems = []
    if selectors is not None:
        if indices is None or len(indices) != len(selectors):
            asked = "no episode_indices" if indices is None else f"{len(indices)} of episode_indices"
            problems.append(
                _problem("episode_selectors", f"has {len(selectors)} for {asked}", "give one for each")
            )
        if any("episode_index" in chosen for chosen in selectors):
            problems.append(_problem("episode_selectors", "holds episode_index", "put it in episode_indices"))
    if indices is None:
        return problems
    if not indices:
        problems.append(_problem("episode_indices", "is empty", "name at least one episode"))
    if outside := [index for index in indices if not 0 <= index <= MOST_EPISODES]:
        remedy = f"indices are 0 to {MOST_EPISODES}"
        problems.append(_problem("episode_indices", f"holds {_short(outside[0])}", remedy))
    own = selectors if selectors is not None and len(selectors) == len(indices) else [{}] * len(indices)
    counts = Counter(identity_of(index, chosen) for index, chosen in zip(indices, own, strict=True))
    if twice := sorted({identity[0] for identity, count in counts.items() if count > 1}):
        problems.append(_problem("episode_indices", f"holds {twice[0]} twice", "name each episode once"))
    return problems


def _label_problems(label: str) -> list[Problem]:
    if label == "last" or RUN_ID.fullmatch(label):
        return [_problem("label", f"{label!r} already means a run", "choose another")]
    if len(label) > LONGEST_LABEL:
        return [_problem("label", f"has {len(label)} characters", f"give at most {LONGEST_LABEL}")]
    if not label.isprintable():
        return [_problem("label", "holds characters that cannot be shown", "choose another")]
    return []


def _folder_problems(field: str, folder: Path) -> list[Problem]:
    if not folder.is_absolute():
        return [_problem(field, f"{folder} is relative", "give an absolute path")]
    if not folder.is_dir():
        return [_problem(field, f"{folder} is not a folder", "give one that is there")]
    return []


def _empty_workspace(folder: Path) -> list[Problem]:
    if any((folder / part).is_dir() for part in ("nodesets", "graphs")):
        return []
    inside = folder / "workspace"
    remedy = f"name {inside}" if inside.is_dir() else "name the folder that has them"
    return [_problem("workspaces", f"{folder} has neither nodesets/ nor graphs/", remedy)]


def _problem(field: str, message: str, remedy: str) -> Problem:
    return Problem(code="bad-request", where=field, message=message, remedy=remedy)
