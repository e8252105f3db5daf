"""From a request to a plan: everything is checked, and everything that is wrong is said at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.components.catalog import environment_of
from engine.components.checking import needed_nodesets
from engine.control import checking, hook_trust
from engine.control.model_problems import keys_out_of_reach
from engine.control.reports import (
    NOTHING_MORE,
    NotFoundError,
    RefusedError,
    Sources,
    StartRequest,
    UntrustedHooksError,
)
from engine.control.requests import dependency_problems, request_problems, unused_servers
from engine.control.scoring import chosen_scoring, out_of_reach, problems_of
from engine.control.selections import selection_problems, selections
from engine.graph.model import Problem
from engine.graph.read import dump_graph
from engine.scheduling.need import Scheduling
from engine.store.records import EvalRequest, Needs

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunPlan:
    """A request that was found good, with all that spec.json freezes. ``graph``: the saved graph, whole."""

    request: EvalRequest
    graph: dict[str, Any]
    needs: Needs
    env_nodeset: str | None
    sources: Sources = NOTHING_MORE
    scheduling: Scheduling = field(default_factory=Scheduling)
    scoring: Mapping[str, Any] = field(default_factory=dict)


def plan_run(root: Path, request: StartRequest) -> RunPlan:
    """Check all of it. RefusedError with every problem; UntrustedHooksError where only hooks stand against
    it.
    """
    problems = [*request_problems(request), *problems_of(root, request.scoring)]
    depends_on, unknown = dependency_problems(root, request.depends_on)
    catalog = checking.open_catalog(root, request.sources)
    catalog, unlent = checking.borrow(catalog, request.servers, max(request.worker_count, 1))
    problems += [*unknown, *unlent]
    try:
        graph, selected = request.graph or request.graph_name, selections(request)
        prepared = checking.prepare(catalog, graph, root, request.graph_name, selected)
    except NotFoundError as error:
        problems.append(Problem("no-such-graph", "graph", str(error)))
        raise RefusedError(problems) from None
    # A cluster's nodes may have programs by `setup`, and cards, that this machine has not.
    there = ("no-program", "no-condition") if request.on else ()
    problems += [one for one in prepared.errors if one.code not in there]
    hooks = checking.workspace_hooks(root, request.sources)[1]
    problems += [one for one in hooks if one.severity == "error"]
    scoring, unfit = _scoring(root, request, prepared.source)
    problems += [*unfit, *out_of_reach(root, scoring, request.caller_secrets)]
    if prepared.graph is not None:
        problems += unused_servers(request.servers, needed_nodesets(prepared.graph))
        problems += selection_problems(prepared.graph, catalog, environment_of(prepared.nodesets), request)
        problems += keys_out_of_reach(root, prepared.graph, request.caller_secrets)
        if not problems:
            problems += _misfits(root, prepared, request)
    if prepared.graph is None or problems:
        raise RefusedError(problems)
    saved = dump_graph(prepared.graph)
    _ask_for_trust(prepared, request, saved)
    env = environment_of(prepared.nodesets)
    return RunPlan(
        request=_eval_request(request, prepared.name),
        graph=saved,
        needs=checking.needs_of(saved, prepared.nodesets),
        env_nodeset=env.name if env else None,
        sources=request.sources,
        scheduling=Scheduling(
            marginal_vram_mb=request.marginal_vram_mb,
            exclusive_gpu=request.exclusive_gpu,
            priority=request.priority,
            gpus=tuple(request.gpus),
            depends_on=tuple(depends_on),
            on=request.on,
            nodes=request.nodes,
        ),
        scoring=scoring,
    )


def _misfits(root: Path, prepared: checking.Prepared, request: StartRequest) -> list[Problem]:
    """A split or episodes that the environment is known not to have: the run would say so, once it starts."""
    from engine.control.introspection import misfit_of

    assert prepared.graph is not None
    found = misfit_of(prepared.graph, environment_of(prepared.nodesets), request, root)
    return [Problem("bad-request", *found)] if found else []


def _scoring(root: Path, request: StartRequest, source: str) -> tuple[Mapping[str, Any], list[Problem]]:
    """What the run is scored with, and what is wrong with the file beside the graph that says so."""
    try:
        scoring, file = chosen_scoring(request.scoring, source)
    except RefusedError as error:
        return {}, error.problems
    return scoring, problems_of(root, scoring, file) if file else []


def _ask_for_trust(prepared: checking.Prepared, request: StartRequest, saved: dict[str, Any]) -> None:
    if prepared.hooks_trusted:
        return
    if not request.trust_hooks:
        raise UntrustedHooksError(checking.hook_problems(prepared))
    try:
        hook_trust.remember(checking.graph_hash(saved))
    except OSError as error:  # it is asked again, then
        log.warning("that these hooks are trusted cannot be kept: %s", error)


def _eval_request(request: StartRequest, graph_name: str) -> EvalRequest:
    fields: Mapping[str, Any] = {name: getattr(request, name) for name in EvalRequest.__struct_fields__}
    return EvalRequest(**{**fields, "graph_name": graph_name})
