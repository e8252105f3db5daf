"""What a graph asks for that is not installed, told apart from what is wrong with the graph itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engine.components.catalog import Catalog, nodeset_of
from engine.components.checking import needed_nodesets
from engine.control.reports import Missing
from engine.graph.expand import expand
from engine.graph.model import Graph, Problem
from engine.graph.names import near, node_name
from engine.models.profiles import asked_for


def unmet_needs(
    graph: Graph, catalog: Catalog, problems: Sequence[Problem]
) -> tuple[list[Missing], list[Problem], list[Problem]]:
    """(What is missing, the problems that say no more than that, the other problems).

    A nodeset whose interpreter or image is not here counts as missing. A tool that an installed nodeset does
    not have is another problem, too: graph and nodeset do not fit.
    """
    missing: dict[tuple[str, str], Missing] = {}
    said: list[Problem] = []
    by_place = {(problem.code, problem.where): problem for problem in problems}

    def miss(kind: Literal["nodeset", "tool", "profile"], name: str, wanted: str, remedy: str) -> None:
        found = missing.setdefault((kind, name), Missing(kind=kind, name=name, remedy=remedy))
        found.wanted += [wanted] if wanted not in found.wanted else []

    for node in expand(graph).graph.nodes:
        where, nodeset = node_name(node.shown), nodeset_of(node.type)
        unknown = by_place.get(("unknown-node-type", where))
        if unknown and nodeset in catalog.nodesets:
            miss("tool", node.type, node.shown, "")
        elif unknown and nodeset != node.type:
            miss("nodeset", nodeset, node.type, near(nodeset, catalog.nodesets))
            said.append(unknown)
        if no_profile := by_place.get(("unknown-profile", where)):
            miss("profile", asked_for(node.config)[0], node.shown, no_profile.remedy)
            said.append(no_profile)
    for name in needed_nodesets(graph):
        for code in ("no-interpreter", "needs-image"):
            if problem := by_place.get((code, f"nodeset {name!r}")):
                missing["nodeset", name] = Missing(
                    kind="nodeset", name=name, remedy=f"{problem.message}: {problem.remedy}"
                )
                said.append(problem)
    return list(missing.values()), said, [problem for problem in problems if problem not in said]
