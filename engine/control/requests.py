"""What is wrong with a start request, whatever its graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.control.reports import Sources, StartRequest
from engine.control.selections import SET_BY_THE_RUN
from engine.graph.model import Problem
from engine.store.records import identity_of
from engine.store.rundir import RUN_ID
from engine.store.runs import RunNotFoundError, find_run

MOST_WORKERS, MOST_EPISODES, MOST_MB = 4096, 10**7, 1e7
LONGEST_LABEL = 100
"""Beyond these a number is a slip, and would only be found out by what it costs."""


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
    return [
        _problem(f"selectors.{name}", "is set by the run, for each episode", remedy)
        for name, remedy in SET_BY_THE_RUN.items()
        if name in request.selectors
    ]


def _number_problems(request: StartRequest) -> list[Problem]:
    whole: dict[str, tuple[int | None, int, int]] = {
        "worker_count": (request.worker_count, 1, MOST_WORKERS),
        "episode_count": (request.episode_count, 1, MOST_EPISODES),
        "start_episode_index": (request.start_episode_index, 0, MOST_EPISODES),
        "retries": (request.retries, 0, 1000),
        "repeats": (request.repeats, 1, 10_000),
        "step_budget": (request.step_budget, 1, 10**9),
        "seed": (request.seed, -(2**63), 2**63 - 1),
    }
    if request.episode_count == -1:
        del whole["episode_count"]
    seconds = {
        "per_step_budget_sec": request.per_step_budget_sec,
        "timeout_sec": request.timeout_sec,
        "until_width": request.until_width,
    }
    problems = [
        _problem(field, f"is {_short(value)}", f"it must be {_between(field, low, high)}")
        for field, (value, low, high) in whole.items()
        if value is not None and not low <= value <= high
    ]
    problems += [
        _problem(field, f"is {value}", "it must be above 0")
        for field, value in seconds.items()
        if value is not None and not 0 < value < float("inf")
    ]
    vram = request.marginal_vram_mb
    if vram is not None and not 0 <= vram <= MOST_MB:
        remedy = f"it must be 0 (no GPU) to {MOST_MB:.0f} MB, or left out"
        problems.append(_problem("marginal_vram_mb", f"is {vram:g}", remedy))
    return problems


def _between(field: str, low: int, high: int) -> str:
    return f"{low} to {high}" + (", or -1 for all" if field == "episode_count" else "")


def _short(value: int) -> str:
    """A number as it is, if anybody could read it."""
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
