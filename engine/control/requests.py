"""What is wrong with a start request, whatever its graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.control.reports import Sources, StartRequest
from engine.graph.model import Problem
from engine.store.records import identity_of
from engine.store.rundir import RUN_ID
from engine.store.runs import RunNotFoundError, find_run


def request_problems(request: StartRequest) -> list[Problem]:
    """Every problem of the request's numbers, episodes, label and workspaces, by its field."""
    return [
        *_number_problems(request),
        *_episode_problems(request),
        *_selector_problems(request),
        *_label_problems(request.label),
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
    own = {
        "seed": "use --seed (seed), from which every episode's seed comes",
        "episode_index": "use --episodes",
    }
    return [
        _problem(f"selectors.{name}", "is set by the run, for each episode", remedy)
        for name, remedy in own.items()
        if name in request.selectors
    ]


def _number_problems(request: StartRequest) -> list[Problem]:
    wrong = [
        (request.worker_count < 1, "worker_count", request.worker_count, "at least 1"),
        (
            request.episode_count != -1 and request.episode_count < 1,
            "episode_count",
            request.episode_count,
            "at least 1, or -1 for all",
        ),
        (request.start_episode_index < 0, "start_episode_index", request.start_episode_index, "0 or more"),
        (request.retries < 0, "retries", request.retries, "0 or more"),
        (request.repeats < 1, "repeats", request.repeats, "at least 1"),
        (_below(request.step_budget, 1), "step_budget", request.step_budget, "at least 1"),
        (
            _not_positive(request.per_step_budget_sec),
            "per_step_budget_sec",
            request.per_step_budget_sec,
            "above 0",
        ),
        (_not_positive(request.timeout_sec), "timeout_sec", request.timeout_sec, "above 0"),
        (_not_positive(request.until_width), "until_width", request.until_width, "above 0"),
    ]
    return [_problem(field, f"is {value}", f"it must be {rule}") for bad, field, value, rule in wrong if bad]


def _below(value: float | None, least: float) -> bool:
    return value is not None and value < least


def _not_positive(value: float | None) -> bool:
    return value is not None and not 0 < value < float("inf")


def _episode_problems(request: StartRequest) -> list[Problem]:
    indices, selectors = request.episode_indices, request.episode_selectors
    problems = []
    if selectors is not None:
        if indices is None or len(indices) != len(selectors):
            asked = "no episode_indices" if indices is None else f"{len(indices)} episode_indices"
            problems.append(
                _problem(
                    "episode_selectors", f"has {len(selectors)} entries for {asked}", "give one for each"
                )
            )
        if any("episode_index" in chosen for chosen in selectors):
            problems.append(_problem("episode_selectors", "holds episode_index", "put it in episode_indices"))
    if indices is None:
        return problems
    if not indices:
        problems.append(_problem("episode_indices", "is empty", "name at least one episode"))
    if negative := [index for index in indices if index < 0]:
        problems.append(_problem("episode_indices", f"holds {negative[0]}", "indices count from 0"))
    own = selectors if selectors is not None and len(selectors) == len(indices) else [{}] * len(indices)
    counts = Counter(identity_of(index, chosen) for index, chosen in zip(indices, own, strict=True))
    if twice := sorted({identity[0] for identity, count in counts.items() if count > 1}):
        problems.append(_problem("episode_indices", f"holds {twice[0]} twice", "name each episode once"))
    return problems


def _label_problems(label: str) -> list[Problem]:
    if label == "last" or RUN_ID.fullmatch(label):
        return [_problem("label", f"{label!r} already means a run", "choose another")]
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
