"""What a graph asks for that is not installed, told apart from what is wrong with the graph itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from engine.components.catalog import Catalog, NodesetManifest, nodeset_of
from engine.components.checking import needed_nodesets
from engine.components.packages import absent_packages
from engine.components.requirements import Condition, Package, Program
from engine.control.reports import Missing, MissingKind
from engine.graph.expand import expand
from engine.graph.model import Graph, Problem
from engine.graph.names import did_you_mean, near_nodesets, node_name
from engine.models.profiles import asked_for

MOST_TOLD = 3
"""Node types of an absent nodeset that a start's refusal names; ``check`` names them all."""

_Needed = TypeVar("_Needed", Package, Program, Condition)


def unmet_needs(
    graph: Graph, catalog: Catalog, problems: Sequence[Problem], selected: Sequence[Mapping[str, Any]] = ()
) -> tuple[list[Missing], list[Problem], list[Problem]]:
    """(What is missing, the problems that say no more than that, the other problems).

    ``selected``: what the episodes select, where that is known. A nodeset whose interpreter or image is not
    here counts as missing, and so do the packages that its interpreter lacks, the programs that are not on
    its PATH, and the conditions that do not hold. A tool that an installed nodeset does not have is another
    problem, too: graph and nodeset do not fit.
    """
    missing: dict[tuple[str, str], Missing] = {}
    said: list[Problem] = []
    of_absent: list[Problem] = []
    by_place = {(problem.code, problem.where): problem for problem in problems}

    def miss(kind: MissingKind, name: str, wanted: str, remedy: str) -> None:
        # Of a package, each interpreter that lacks it.
        place = remedy if kind in ("package", "program", "condition") else ""
        found = missing.setdefault((kind, name + place), Missing(kind=kind, name=name, remedy=remedy))
        found.wanted += [wanted] if wanted not in found.wanted else []

    for node in expand(graph).graph.nodes:
        where, nodeset = node_name(node.shown), nodeset_of(node.type)
        unknown = by_place.get(("unknown-node-type", where))
        if unknown and nodeset in catalog.nodesets:
            miss("tool", node.type, node.shown, "")
        elif unknown and nodeset != node.type:
            miss("nodeset", nodeset, node.type, did_you_mean(near_nodesets(nodeset, catalog.nodesets)))
            of_absent.append(unknown)
        if no_profile := by_place.get(("unknown-profile", where)):
            miss("profile", asked_for(node.config)[0], node.shown, no_profile.remedy)
            said.append(no_profile)
    failed = {Path(problem.where).stem for problem in problems if problem.code == "nodeset-failed"}
    said += [
        _absent(found) for found in missing.values() if found.kind == "nodeset" and found.name not in failed
    ]
    for name in needed_nodesets(graph):
        for code in ("no-interpreter", "needs-image"):
            if problem := by_place.get((code, f"nodeset {name!r}")):
                missing["nodeset", name] = Missing(
                    kind="nodeset", name=name, remedy=f"{problem.message}: {problem.remedy}"
                )
                said.append(problem)
    startable = [
        found
        for name in needed_nodesets(graph)
        if (found := catalog.nodesets.get(name)) and found.origin != "server"
        if ("nodeset", name) not in missing
    ]
    wanted = [(found, list(_needed(found.packages, graph, found, selected))) for found in startable]
    for found, package in absent_packages(wanted):
        python = found.server_python or sys.executable
        miss("package", package.name, found.name, f"{python} lacks it: {package.remedy}")
        told = f"needs {package.name}, which {python} lacks"
        said.append(Problem("no-package", f"nodeset {found.name!r}", told, package.remedy))
    for found in startable:
        environment = {**os.environ, **found.env}
        path = environment.get("PATH")
        for program in _needed(found.programs, graph, found, selected):
            if program.found(path) is None:
                miss("program", program.name, found.name, f"it is not on the PATH: {program.remedy}")
                told = f"needs {program.name}, which is not on the PATH"
                said.append(Problem("no-program", f"nodeset {found.name!r}", told, program.remedy))
        for condition in _needed(found.conditions, graph, found, selected):
            if wrong := condition.wrong(environment, found.server_python):
                miss("condition", condition.what, found.name, f"{wrong}: {condition.remedy}")
                told = f"needs {condition.what}, and {wrong}"
                said.append(Problem("no-condition", f"nodeset {found.name!r}", told, condition.remedy))
    others = [problem for problem in problems if problem not in said and problem not in of_absent]
    return list(missing.values()), said, others


def _absent(found: Missing) -> Problem:
    """One for all the nodes that it would provide."""
    more = len(found.wanted) - MOST_TOLD
    types = ", ".join(found.wanted[:MOST_TOLD]) + (f" and {more} more" if more > 0 else "")
    remedy = f"name the folder that has it with --workspace, or a server with --server {found.name}=URL"
    told = f"is not installed, and the graph needs its {types}"
    return Problem("no-nodeset", f"nodeset {found.name!r}", told, found.remedy or remedy)


def _needed(
    all_needs: Sequence[_Needed],
    graph: Graph,
    manifest: NodesetManifest,
    selected: Sequence[Mapping[str, Any]],
) -> Iterator[_Needed]:
    """Those of its packages, programs or conditions that the nodeset needs, for any of the episodes."""
    configs: dict[str, object] = {}
    for node in expand(graph).graph.nodes:
        if tool := manifest.tools.get(node.type):
            configs.update({**tool.default_config, **node.config})
    environment = {**os.environ, **manifest.env}
    episodes = selected if manifest.panel is not None and selected else [{}]
    for need in all_needs:
        if any(need.wanted_by({**configs, **own}, environment) for own in episodes):
            yield need
