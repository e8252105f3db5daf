"""From a form to a run: it is started, its graph's hooks are asked about; and forms like a run there is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from engine.control.outline import same_graph
from engine.control.protocol import Control
from engine.control.reports import ControlError, RunReport, StartRequest, UntrustedHooksError
from engine.control.scoring import NOT_SCORED, checked_file
from engine.store.records import EpisodeRow, EvalRequest
from engine.store.rundir import RunDir, RunDirError
from tui.launch_form import LaunchForm, Purpose, form_of, remembered, request_of, scoring_file
from tui.widgets.confirm import Confirm
from tui.widgets.virtual_table import VirtualTable

if TYPE_CHECKING:
    from tui.app import ControlCentre

Begin = Callable[[StartRequest, Control], str]

LAST = ""
"""Where the forms that are kept say which graph was the last."""


def begin_run(request: StartRequest, control: Control) -> str:
    return control.start(request)


def begin_play(request: StartRequest, control: Control) -> str:
    return control.play(request)


BEGINS: dict[Purpose, Begin] = {"run": begin_run, "play": begin_play}


async def submit(centre: ControlCentre, form: LaunchForm) -> str | None:
    """The run's id; None where the operator does not let the graph's hooks run. Raises ControlError; what is
    wrong with a scoring file is among the problems of a RefusedError."""
    request = request_of(form)
    if (file := scoring_file(form)) is not None:
        request.scoring = await asyncio.to_thread(checked_file, centre.control.root, file)
    told = f"{'play' if form.purpose == 'play' else 'start'} {request.graph_name}"
    begin = BEGINS[form.purpose]
    try:
        run_id = await centre.attempt(partial(begin, request), told)
    except UntrustedHooksError as refused:
        lines = [f"{request.graph_name} has hooks. They would run as you, now and whenever it runs:"]
        lines += [f"  {problem.where} {problem.message}" for problem in refused.problems]
        if not await centre.ask(Confirm("hooks that run commands", lines, "Let them?")):
            return None
        trusted = msgspec.structs.replace(request, trust_hooks=True)
        run_id = await centre.attempt(partial(begin, trusted), f"{told}, its hooks trusted")
    if form.purpose == "run":
        remember(centre, form)
    return run_id


def remember(centre: ControlCentre, form: LaunchForm) -> None:
    """The values, for the next form of this graph."""
    forms = {**centre.state.forms, form.graph: dict(remembered(form)), LAST: {"graph": form.graph}}
    centre.state = msgspec.structs.replace(centre.state, forms=forms)
    centre.touched()


def last_values(centre: ControlCentre, graph: str) -> dict[str, str]:
    kept = centre.state.forms.get(graph, {}) if graph else {}
    return {key: value for key, value in kept.items() if isinstance(value, str)}


def last_graph(centre: ControlCentre) -> str:
    name = centre.state.forms.get(LAST, {}).get("graph", "")
    return name if isinstance(name, str) else ""


async def new_run(centre: ControlCentre) -> None:
    """``n``: an empty form, or the last one."""
    centre.open_view("launch", last_graph(centre))


async def clone_run(centre: ControlCentre) -> None:
    """``e``: a form with all that a run was asked."""
    for report in centre.targets[:1]:
        form = await _form_like(centre, report, "run")
        if form is not None:
            centre.open_view("launch", form.graph, form=form, like=report.run_id)


async def play(centre: ControlCentre) -> None:
    """The run that is played now; else a form for one episode, like the one under the cursor."""
    if playing := centre.snapshot.queue.playing:
        centre.open_view("play", playing)
        return
    for report in centre.targets[:1]:
        form = await _form_like(centre, report, "play")
        if form is not None:
            centre.open_view("launch_play", form.graph, form=form, like=report.run_id)
        return
    centre.open_view("launch_play", last_graph(centre))


async def _form_like(centre: ControlCentre, report: RunReport, purpose: Purpose) -> LaunchForm | None:
    try:
        request = await asyncio.to_thread(request_like, centre.control, report)
    except RunDirError as error:
        centre.tell(f"{report.run_id} cannot be cloned: {error}", severity="error")
        return None
    if purpose == "play":
        request = played(request, _episode_here(centre))
    return form_of(request, purpose)


def request_like(control: Control, report: RunReport) -> StartRequest:
    """What a run was asked, as its spec.json has it. The graph is the one that it ran where the saved one has
    changed since, or is gone. Raises RunDirError."""
    spec = RunDir(Path(report.path)).read_spec()
    asked = {name: getattr(spec.eval, name) for name in EvalRequest.__struct_fields__}
    known = StartRequest.__struct_fields__
    scheduling = {name: value for name, value in spec.scheduling.items() if name in known}
    request = StartRequest(
        **{**scheduling, **asked},
        scoring=spec.scoring or NOT_SCORED,
        workspaces=spec.workspaces,
        active_workspace_dir=spec.active_workspace_dir,
    )
    if not same_graph(_saved(control, spec.eval.graph_name), spec.graph):
        request.graph = spec.graph
    return request


def played(request: StartRequest, row: EpisodeRow | None) -> StartRequest:
    """The request for one episode of that run: that of ``row``, else its first."""
    indices, own = request.episode_indices, request.episode_selectors
    index = row.episode_index if row else (indices[0] if indices else request.start_episode_index)
    chosen = row.selectors if row else (own[0] if own else {})
    return msgspec.structs.replace(
        request,
        episode_count=1,
        start_episode_index=0,
        episode_indices=[index],
        episode_selectors=None,
        selectors={**request.selectors, **chosen},
        depends_on=[],
        label="",
    )


def _episode_here(centre: ControlCentre) -> EpisodeRow | None:
    """The finished one under the cursor of the episodes' pane, which tells of the selected run."""
    pane = centre.home.panes.get("episodes")
    row = pane.model.current if isinstance(pane, VirtualTable) else None
    return row if isinstance(row, EpisodeRow) else None


def _saved(control: Control, name: str) -> dict[str, Any]:
    """Empty where there is none of that name."""
    try:
        return control.graph(name)
    except ControlError:
        return {}
