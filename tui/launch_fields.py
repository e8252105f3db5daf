"""The lines of the launch form: what each asks for, offers and says is wrong. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.control.panel_fields import NUMBERS, bounds_text, panel_options
from engine.figures import count
from engine.graph.model import Problem
from tui.launch_form import LaunchForm, panel_of
from tui.launch_scoring import AS_THE_RUN, BESIDE, CODES, NONE, asked_text, problem_line
from tui.launch_values import EPISODES, panel_value, parse_episodes, whole

Kind = Literal["text", "number", "choice", "graph", "file", "told"]

OWN = ("split", "dataset", "seed", "episode_index")
"""Fields of a panel that the form has itself."""

PRIORITIES = ("normal", "high", "low")

_FIELDS_OF: Mapping[str, str] = {
    "episode_count": "episodes",
    "start_episode_index": "episodes",
    "episode_indices": "episodes",
    "worker_count": "workers",
    "step_budget": "steps",
    "graph_name": "graph",
}
"""What the backend calls them, where that is not their key here."""


@dataclass(frozen=True)
class Field:
    """A line of the form. value: as typed; "" is the default, which ``default`` tells. note: what is known of
    the value. hint: what may be typed. options: (value, what is known of it). problem: what is wrong."""

    key: str
    label: str
    kind: Kind = "text"
    value: str = ""
    default: str = ""
    note: str = ""
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def fields(form: LaunchForm) -> list[Field]:
    """In the order in which they are shown."""
    found = [_graph(form), _environment(form)]
    found += [*_offered(form)]
    found.append(_episodes(form))
    if form.purpose == "run":
        found += [
            _text(form, "workers", "Workers", "1", "how many episodes run at once", _at_least(1)),
            _text(form, "repeats", "Repeats", "1", "how often each episode is played", _at_least(1)),
        ]
    found += [
        _text(
            form,
            "steps",
            "Step limit",
            "the environment's",
            "how many steps an episode may take",
            _at_least(1),
        ),
        _text(form, "seed", "Seed", "0", "all chance comes from it and the episode", _at_least(0)),
    ]
    if form.purpose == "run":
        options = tuple((name, "") for name in PRIORITIES)
        found.append(_choice(form, "priority", "Priority", "normal", "its place in the queue", options))
        found += _cluster(form)
    found.append(_scoring(form))
    found.append(_text(form, "label", "Label", "none", "a name by which the run is found again", str))
    return found


def _cluster(form: LaunchForm) -> list[Field]:
    where = _text(form, "on", "On", "this machine", "slurm, or slurm:PARTITION, is a cluster", str)
    if not form.values.get("on"):
        return [where]
    return [where, _text(form, "nodes", "Nodes", "1", "over so many of its nodes it is split", _at_least(1))]


def problems(form: LaunchForm) -> dict[str, str]:
    """What is wrong with what was typed, by field."""
    return {
        entry.key: entry.problem for entry in fields(form) if entry.problem and entry.key not in form.refused
    }


def with_problems(form: LaunchForm, problems: list[Problem]) -> LaunchForm:
    """Each at its field, and under "" those of the graph and of what no field shows."""
    keys = {entry.key for entry in fields(form)}
    told: dict[str, list[str]] = {}
    for problem in problems:
        place = problem.where.split(".")[0]
        if problem.code in CODES:
            told.setdefault("scoring", []).append(problem_line(problem))
            continue
        name = problem.where.partition(".")[2]
        key = f"panel.{name}" if place == "selectors" and name else _FIELDS_OF.get(place, place)
        remedy = f" ({problem.remedy})" if problem.remedy else ""
        if key in keys:
            told.setdefault(key, []).append(f"{problem.message}{remedy}")
        else:
            told.setdefault("", []).append(f"{problem.where}: {problem.message}{remedy}")
    return replace(form, refused={key: "\n".join(lines) for key, lines in told.items()})


def _graph(form: LaunchForm) -> Field:
    problem = form.refused.get("graph", "") or ("" if form.graph else "choose one: enter shows them")
    note = "as it ran: the saved one has changed since" if form.base.graph is not None else ""
    return Field("graph", "Graph", "graph", form.graph, "none", note, "a saved graph", (), problem)


def _scoring(form: LaunchForm) -> Field:
    value, scored = form.values.get("scoring", ""), form.scored
    problem = form.refused.get("scoring", "")
    if scored is not None and not problem:
        problem = "\n".join(map(problem_line, scored.problems))
    names = (BESIDE, NONE, *([AS_THE_RUN] if form.base.scoring else []))
    return Field(
        "scoring",
        "Scoring",
        "file",
        value,
        BESIDE,
        "" if scored is None or value == NONE else asked_text(scored),
        "a file that says how, none, or what lies beside the graph",
        tuple((name, "") for name in names),
        problem,
    )


def _environment(form: LaunchForm) -> Field:
    if form.offer is None:
        return Field("env", "Environment", "told", "", form.asking or "of the graph")
    metadata, metrics = form.offer.metadata, form.offer.metadata.get("metrics")
    told = f"measures {', '.join(map(str, metrics))}" if isinstance(metrics, list) and metrics else ""
    name = form.offer.env_nodeset or ""
    title = metadata.get("env_name") or ""
    more = f"{title}: " if title and title != name and told else ""
    return Field("env", "Environment", "told", name, "the graph has none", f"{more}{told}")


def _offered(form: LaunchForm) -> list[Field]:
    """Split and selectors, as far as the environment names them, or the cloned run had them."""
    panel = panel_of(form)
    metadata = form.offer.metadata if form.offer else {}
    splits = [str(split) for split in metadata.get("splits") or ()]
    splits = splits or [str(value) for value, _ in panel_options(panel.get("split", {}))]
    counts = metadata.get("episode_counts") or {}
    options = tuple((split, count(counts[split], "episode") if split in counts else "") for split in splits)
    own = (form.offer.split if form.offer else "") or "the environment's own"
    found = []
    if splits or form.values.get("split"):
        found.append(_choice(form, "split", "Split", own, "which episodes there are", options))
    if "dataset" in panel or form.values.get("dataset"):
        found.append(_panel_field(form, "dataset", "dataset", panel.get("dataset", {})))
    names = [name for name in panel if name not in OWN]
    typed = [
        key.removeprefix("panel.") for key, value in form.values.items() if key.startswith("panel.") and value
    ]
    names += [name for name in typed if name not in names]
    return [*found, *(_panel_field(form, f"panel.{name}", name, panel.get(name, {})) for name in names)]


def _panel_field(form: LaunchForm, key: str, name: str, panel: dict[str, Any]) -> Field:
    label = str(panel.get("label") or name)
    options = tuple((str(value), told) for value, told in panel_options(panel))
    default = "the environment's own"
    if options:
        return _choice(form, key, name, default, label, options)
    bounds = bounds_text(panel) if panel.get("kind") in NUMBERS else ""
    hint = ", ".join(filter(None, [label, bounds, str(panel.get("placeholder") or "")]))
    return _text(form, key, name, default, hint, lambda typed: panel_value(panel, typed))


def _episodes(form: LaunchForm) -> Field:
    if form.base.episode_selectors is not None:
        told = f"{len(form.base.episode_selectors)}, each with selectors of its own"
        return Field("episodes", "Episodes", "told", told)
    if form.purpose == "play":
        return _text(form, "episodes", "Episode", "0", "the index of the one to play, from 0", _at_least(0))
    metadata = form.offer.metadata if form.offer else {}
    counts = metadata.get("episode_counts") or {}
    split = form.values.get("split") or next(
        (one.default for one in _offered(form) if one.key == "split"), ""
    )
    default = f"all {counts[split]}" if split in counts else "all"
    return _text(form, "episodes", "Episodes", default, EPISODES, parse_episodes)


def _at_least(least: int) -> Callable[[str], object]:
    return lambda typed: whole(typed, least)


def _text(
    form: LaunchForm, key: str, label: str, default: str, hint: str, read: Callable[[str], object]
) -> Field:
    value = form.values.get(key, "")
    problem = form.refused.get(key, "")
    if value and not problem:
        try:
            read(value)
        except ValueError as error:
            problem = str(error)
    kind: Kind = "text" if key == "label" else "number"
    return Field(key, label, kind, value, default, "", hint, (), problem)


def _choice(
    form: LaunchForm, key: str, label: str, default: str, hint: str, options: tuple[tuple[str, str], ...]
) -> Field:
    value = form.values.get(key, "")
    note = dict(options).get(value or default, "")
    problem = form.refused.get(key, "")
    if value and options and value not in dict(options) and not problem:
        problem = f"{value!r} is not offered; there are {', '.join(name for name, _ in options)}"
    return Field(key, label, "choice", value, default, note, hint, options, problem)
