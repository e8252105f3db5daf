"""The two ends of each loop, as their configs say: who is paired with whom, and which ports a loop has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.graph.model import Node, Problem
from engine.graph.names import near, node_name
from engine.graph.wiretypes import WIRE_TYPES, is_known


@dataclass(frozen=True, slots=True)
class LoopPort:
    """A declared port of a loop: an init port of its ``iterIn``, or a carried port of its ``iterOut``."""

    name: str
    wire_type: str
    required: bool
    persist: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """A loop's ends. ``step_budget`` is what its ``iterIn`` asks for, or None."""

    iter_in: str
    iter_out: str
    init_ports: tuple[LoopPort, ...]
    loop_ports: tuple[LoopPort, ...]
    step_budget: int | None


def find_pairs(nodes: Mapping[str, Node]) -> tuple[list[Pair], list[Problem]]:
    """The sound pairs, in file order of their ``iterIn``, and what is wrong with the ends."""
    ends = {node.id: node for node in nodes.values() if node.type in _OPPOSITE}
    partners = {node.id: node.config.get("pairedWith") for node in ends.values()}
    problems = _claimed_twice(partners)
    contested = {problem.where for problem in problems}
    pairs = []
    for node in ends.values():
        wrong = _partner_problem(node, nodes, partners)
        if wrong and node_name(str(partners[node.id])) not in contested:
            problems.append(wrong)
        ports, port_problems = _declared_ports(node)
        problems += port_problems
        if node.type == "iterIn":
            budget, budget_problems = _step_budget(node)
            problems += budget_problems
            if not wrong:
                iter_out = str(partners[node.id])
                pairs.append(Pair(node.id, iter_out, ports, _declared_ports(ends[iter_out])[0], budget))
    return pairs, problems


_OPPOSITE = {"iterIn": "iterOut", "iterOut": "iterIn"}


def _partner_problem(node: Node, nodes: Mapping[str, Node], partners: Mapping[str, Any]) -> Problem | None:
    """Why the node and the one that it names are not a pair; None where they are."""
    partner, other_end = partners[node.id], _OPPOSITE[node.type]
    remedy = (
        f"an iterIn and its iterOut name each other in config.pairedWith; {node.id!r} needs an {other_end}"
    )
    if not isinstance(partner, str) or not partner:
        message = "has no config.pairedWith"
    elif partner not in nodes:
        message = f"config.pairedWith names {partner!r}, which is not in the graph"
        remedy = near(partner, (one.id for one in nodes.values() if one.type == other_end)) or remedy
    elif nodes[partner].type != other_end:
        message = f"config.pairedWith names {partner!r}, which is of type {nodes[partner].type}"
    elif partners[partner] != node.id:
        message = f"config.pairedWith names {partner!r}, which names {partners[partner]!r}"
    else:
        return None
    return Problem("loop-unpaired", node_name(node.id), message, remedy)


def _claimed_twice(partners: Mapping[str, Any]) -> list[Problem]:
    claims: dict[str, list[str]] = {}
    for node_id, partner in partners.items():
        if isinstance(partner, str) and partner in partners:
            claims.setdefault(partner, []).append(node_id)
    return [
        Problem(
            "loop-claimed-twice",
            node_name(claimed),
            f"is named in config.pairedWith by {' and '.join(map(repr, sorted(claimants)))}",
            "each loop has an iterIn and an iterOut of its own",
        )
        for claimed, claimants in claims.items()
        if len(claimants) > 1
    ]


def _step_budget(iter_in: Node) -> tuple[int | None, list[Problem]]:
    budget = iter_in.config.get("step_budget")
    if budget is None:
        return None, []
    if isinstance(budget, int) and not isinstance(budget, bool) and budget >= 1:
        return budget, []
    message = f"config.step_budget must be a whole number from 1 on, not {budget!r}"
    return None, [Problem("bad-budget", node_name(iter_in.id), message)]


def _declared_ports(node: Node) -> tuple[tuple[LoopPort, ...], list[Problem]]:
    """``initPorts`` of an ``iterIn``, or ``ports`` of an ``iterOut``, which must have some."""
    key = "initPorts" if node.type == "iterIn" else "ports"
    where = node_name(node.id)
    items = node.config.get(key) or []
    if not isinstance(items, list):
        return (), [Problem("bad-port", where, f"config.{key} must be a list of ports")]
    if not items and node.type == "iterOut":
        message = "declares no config.ports, so its loop would carry nothing and never step"
        return (), [Problem("iterout-without-ports", where, message, "name what the next iteration gets")]
    ports: dict[str, LoopPort] = {}
    problems = []
    for index, item in enumerate(items):
        reason = _port_problem(item, node.type, ports)
        if reason:
            problems.append(Problem("bad-port", where, f"config.{key}[{index}] {reason}"))
            continue
        ports[item["name"]] = LoopPort(
            name=item["name"],
            wire_type=item.get("wire_type") or "ANY",
            required=item.get("required", False),
            persist=item.get("persist", node.type == "iterOut"),
        )
    return tuple(ports.values()), problems


def _port_problem(item: Any, node_type: str, earlier: Mapping[str, LoopPort]) -> str | None:
    if not isinstance(item, dict):
        return "must be an object with a name"
    name = item.get("name")
    if not isinstance(name, str) or not name:
        return "has no name"
    if name in earlier:
        return f"repeats the name {name!r}"
    if node_type == "iterOut" and name == "stop":
        return "is named 'stop', the input that ends the loop, which every iterOut has"
    wire_type = item.get("wire_type") or "ANY"
    if not isinstance(wire_type, str) or not is_known(wire_type):
        return f"has wire_type {wire_type!r}; there are {', '.join(WIRE_TYPES)}, and LIST[any of them]"
    if not all(isinstance(item.get(flag, False), bool) for flag in ("required", "persist")):
        return "has a required or persist that is neither true nor false"
    return None
