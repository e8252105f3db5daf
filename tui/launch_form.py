"""The launch form as data: what was typed, what the environment offers, and the request that follows.

Pure; every change gives a new form. :mod:`tui.launch_fields` has its lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.control.queue_reports import IntrospectReport
from engine.control.reports import StartRequest
from engine.control.scoring import NOT_SCORED
from tui.launch_scoring import AS_THE_RUN, NONE, Scored, is_path
from tui.launch_values import episodes_text, panel_value, parse_episodes, whole

Purpose = Literal["run", "play"]


@dataclass(frozen=True)
class LaunchForm:
    """base: what no field shows, from the run that is cloned. values: key → as typed. offer: what the
    environment says of itself; asking: why it is not there (yet). refused: key → what the backend said.
    kept: what of ``base`` no field shows, in words. scored: what the line of the scoring means; None until
    that was looked at."""

    purpose: Purpose = "run"
    base: StartRequest = field(default_factory=lambda: StartRequest(graph_name=""))
    values: Mapping[str, str] = field(default_factory=dict)
    offer: IntrospectReport | None = None
    asking: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    scored: Scored | None = None

    def with_value(self, key: str, typed: str) -> LaunchForm:
        """What the backend said of that field is no longer so."""
        values = {**self.values, key: typed}
        refused = {name: told for name, told in self.refused.items() if name not in (key, "")}
        return replace(self, values=values, refused=refused)

    def with_graph(self, graph: str, values: Mapping[str, str]) -> LaunchForm:
        """Another graph, with what was last typed for it. The label stays, as does how it is scored where
        that was chosen, and not taken over from the run that is cloned."""
        kept = {**values, "graph": graph, "label": self.values.get("label", "")}
        scoring = self.values.get("scoring", "")
        if scoring and scoring != _scoring_line(self.base):
            kept["scoring"] = scoring
        if self.purpose == "play":
            kept.pop("episodes", None)  # of a run: how many
        return LaunchForm(self.purpose, StartRequest(graph_name=graph), kept)

    @property
    def graph(self) -> str:
        return self.values.get("graph", "")

    @property
    def workers(self) -> int:
        """As typed, where that is a number."""
        try:
            return whole(self.values.get("workers") or "1", 1)
        except ValueError:
            return 1


def form_of(request: StartRequest, purpose: Purpose = "run") -> LaunchForm:
    """A form that asks for the same."""
    indices = request.episode_indices
    episodes = episodes_text(request.episode_count, request.start_episode_index, indices)
    values = {
        "graph": request.graph_name,
        "split": request.split,
        "dataset": request.dataset,
        "episodes": str(indices[0]) if purpose == "play" and indices else episodes,
        "workers": str(request.worker_count) if request.worker_count != 1 else "",
        "steps": str(request.step_budget) if request.step_budget is not None else "",
        "repeats": str(request.repeats) if request.repeats != 1 else "",
        "seed": str(request.seed) if request.seed else "",
        "priority": request.priority if request.priority != "normal" else "",
        "on": request.on,
        "nodes": str(request.nodes) if request.nodes != 1 else "",
        "label": request.label,
        "scoring": _scoring_line(request),
        **{f"panel.{name}": str(value) for name, value in request.selectors.items()},
    }
    values = {key: value for key, value in values.items() if value}
    return LaunchForm(purpose, request, values, kept=_kept(request))


def remembered(form: LaunchForm) -> dict[str, str]:
    """What the next form of the same graph begins with. A label is one run's own, as how a run was scored."""
    return {
        key: value
        for key, value in form.values.items()
        if value and key not in ("graph", "label") and (key, value) != ("scoring", AS_THE_RUN)
    }


def request_of(form: LaunchForm) -> StartRequest:
    """What is asked for, but for what a file says of the scoring (:func:`scoring_file`). Nothing may be wrong
    with what was typed."""
    typed = form.values
    return msgspec.structs.replace(
        form.base,
        graph_name=form.graph,
        split=typed.get("split", ""),
        dataset=typed.get("dataset", ""),
        selectors=selectors_of(form),
        worker_count=form.workers,
        step_budget=whole(typed["steps"], 1) if typed.get("steps") else None,
        repeats=whole(typed.get("repeats") or "1", 1),
        seed=whole(typed.get("seed") or "0", 0),
        priority=typed.get("priority") or "normal",
        on=typed.get("on", "").strip(),
        nodes=whole(typed.get("nodes") or "1", 1),
        label=typed.get("label", "").strip(),
        scoring=_scoring(form),
        **_episodes(form),
    )


def scoring_file(form: LaunchForm) -> Path | None:
    """The file that was named to say how the run is scored."""
    typed = form.values.get("scoring", "")
    return Path(typed).expanduser() if is_path(typed) else None


def _scoring(form: LaunchForm) -> dict[str, Any]:
    typed = form.values.get("scoring", "")
    if typed == AS_THE_RUN:
        return form.base.scoring
    return dict(NOT_SCORED) if typed == NONE else {}


def _scoring_line(request: StartRequest) -> str:
    if request.scoring == NOT_SCORED:
        return NONE
    return AS_THE_RUN if request.scoring else ""


def selectors_of(form: LaunchForm) -> dict[str, Any]:
    """What a cloned run had is sent just as it was."""
    before, panel = form.base.selectors, panel_of(form)
    names = [
        key.removeprefix("panel.") for key, typed in form.values.items() if key.startswith("panel.") and typed
    ]
    typed = {name: form.values[f"panel.{name}"] for name in names}
    return {
        name: before[name] if str(before.get(name)) == text else panel_value(panel.get(name, {}), text)
        for name, text in typed.items()
    }


def _episodes(form: LaunchForm) -> dict[str, Any]:
    """What the request says of episodes. A list with selectors of its own stays as it is."""
    typed = form.values.get("episodes", "")
    if form.base.episode_selectors is not None:
        return {}
    if form.purpose == "play":
        return {"episode_count": 1, "start_episode_index": 0, "episode_indices": [whole(typed or "0", 0)]}
    found = parse_episodes(typed or "all")
    return {
        "episode_count": found.number,
        "start_episode_index": found.start,
        "episode_indices": found.indices,
    }


def panel_of(form: LaunchForm) -> dict[str, dict[str, Any]]:
    """The fields of the environment's panel, by name."""
    listed = (form.offer.panel or {}).get("fields") if form.offer else None
    entries = listed if isinstance(listed, list) else []
    return {str(entry["name"]): entry for entry in entries if isinstance(entry, dict) and "name" in entry}


def _kept(request: StartRequest) -> tuple[str, ...]:
    """What a clone takes over that no field shows."""
    parts = {
        "retries {}": request.retries or None,
        "time limit {} s": request.timeout_sec,
        "limit of a call {} s": request.per_step_budget_sec,
        "until the interval is {} wide": request.until_width,
        "alone on its card{}": "" if request.exclusive_gpu else None,
        "card memory {:g} MB": request.marginal_vram_mb,
        "cards {}": ", ".join(request.gpus) or None,
        "after {}": ", ".join(request.depends_on) or None,
        "workspaces {}": ", ".join(request.workspaces) or None,
        "overlay {}": request.active_workspace_dir,
    }
    return tuple(text.format(value) for text, value in parts.items() if value is not None)
