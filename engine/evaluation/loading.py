"""What a run is made of, found afresh on disk by its own process: the frozen graph and its nodesets."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from engine.components.catalog import Catalog, NodesetManifest, environment_of
from engine.components.checking import all_problems, child_resolver, needed_nodesets, resolver
from engine.components.discover import discover
from engine.components.hook_files import global_hooks
from engine.components.roots import roots_of
from engine.evaluation.models import open_chat
from engine.execution.hooks import Hooks
from engine.graph.hooks import enabled_hooks
from engine.graph.model import GraphError, PortResolver
from engine.graph.plan import Plan, plan_graph
from engine.graph.read import parse_graph
from engine.hosting.borrowing import with_servers
from engine.models.client import ChatClient
from engine.store.keys import Keys
from engine.store.records import Spec
from engine.store.rundir import RunDir

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Loaded:
    """The plan, the manifests of the nodesets that it uses, and the client for the models that it asks.

    ``env``: the nodeset with a panel, or None. ``child_ports``: of a dynamic child.
    """

    plan: Plan
    nodesets: dict[str, NodesetManifest]
    env: NodesetManifest | None
    chat: ChatClient
    keys: Keys
    hooks: Hooks
    child_ports: PortResolver


def load(run: RunDir, spec: Spec, guard: Callable[[], object]) -> Loaded:
    """Read, check and plan the graph of ``spec``. ``guard`` as of
    :func:`engine.evaluation.models.open_chat`. Raises GraphError with every problem, HostFailure for a
    server that cannot be borrowed, and what :func:`engine.evaluation.models.open_chat` raises."""
    roots = roots_of(run.root, spec.workspaces, spec.active_workspace_dir)
    catalog = discover(roots)
    catalog, failures = with_servers(catalog, run.read_shared_urls(), spec.eval.worker_count)
    for failure in failures.values():
        raise failure

    graph = parse_graph(spec.graph, str(run.graph))
    errors = [problem for problem in all_problems(graph, catalog) if problem.severity == "error"]
    if errors:
        raise GraphError(errors, str(run.graph))
    nodesets = {name: catalog.nodesets[name] for name in needed_nodesets(graph)}
    _tell_changes(spec, catalog)
    plan = plan_graph(graph, resolver(catalog))
    chat, keys = open_chat(run, plan.graph, guard)
    hooks = Hooks([*global_hooks(roots), *enabled_hooks(plan.graph)])
    return Loaded(
        plan,
        nodesets,
        environment_of(nodesets.values()),
        chat,
        keys,
        hooks,
        child_resolver(catalog),
    )


def _tell_changes(spec: Spec, catalog: Catalog) -> None:
    for need in spec.needs.nodesets:
        now = catalog.nodesets.get(need.name)
        if now is not None and now.source_hash != need.source_hash:
            log.warning("%s changed between the request and the start: what is on disk now runs", need.name)
