"""What is wrong with edges and inputs: handles that do not exist, types that do not fit, inputs unwired."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from engine.graph.analysis import Analysis
from engine.graph.model import Edge, Ports, Problem
from engine.graph.names import edge_name, near, near_or_all, node_name
from engine.graph.ports import required_inputs
from engine.graph.wiretypes import mismatch


def edge_problems(analysis: Analysis) -> Iterator[Problem]:
    for edge in analysis.edges.values():
        gives, takes = analysis.output_type(edge), analysis.input_type(edge)
        if gives is None:
            yield _no_output(analysis, edge)
        if takes is None:
            yield _no_input(analysis, edge)
        hops = pairwise((gives, *edge.via, takes)) if gives and takes else ()
        reason = next(filter(None, (mismatch(*hop) for hop in hops)), None)
        if reason:
            message = (
                f"{edge.source!r} {edge.source_handle} into {edge.target!r} {edge.target_handle}: {reason}"
            )
            yield Problem("wire-type", edge_name(edge.id), message)
        yield from _slot_problems(analysis, edge)
        yield from _undeclared(analysis, edge)


def unwired_inputs(analysis: Analysis) -> Iterator[Problem]:
    for node_id, ports in analysis.ports.items():
        for name in sorted(required_inputs(ports) - analysis.wired[node_id]):
            message = f"its required input {name!r} has no edge"
            remedy = f"wire an edge into {name!r}{_strays(analysis, node_id)}"
            yield Problem("required-input-unwired", node_name(node_id), message, remedy)


def _strays(analysis: Analysis, node_id: str) -> str:
    """The edges into slots that a loop does not declare: one of them may be the one that is missed."""
    slots = analysis.slots.get(node_id, {})
    return "".join(
        f"; {edge_name(edge.id)} goes into {edge.target_handle!r}, which it does not declare"
        for edge in analysis.edges.values()
        if edge.target == node_id and edge.target_handle in slots and not slots[edge.target_handle].declared
    )


def _no_output(analysis: Analysis, edge: Edge) -> Problem:
    options = [port.name for port in analysis.ports[edge.source].outputs]
    message = f"{edge.source!r} has no output {edge.source_handle!r}"
    remedy = near_or_all(edge.source_handle, options, "its outputs")
    if analysis.nodes[edge.source].type == "iterOut":
        remedy += "; an iterOut emits only these, once, when its loop ends"
    return Problem("unknown-handle", edge_name(edge.id), message, remedy)


def _no_input(analysis: Analysis, edge: Edge) -> Problem:
    options = [port.name for port in analysis.ports[edge.target].inputs]
    message = f"{edge.target!r} has no input {edge.target_handle!r}"
    return Problem(
        "unknown-handle", edge_name(edge.id), message, near_or_all(edge.target_handle, options, "its inputs")
    )


def _slot_problems(analysis: Analysis, edge: Edge) -> Iterator[Problem]:
    """Any handle of an ``iterIn`` that an edge targets becomes a slot: a mistyped one would go unnoticed."""
    slots = analysis.slots.get(edge.target)
    if slots is None:
        return
    handle = edge.target_handle
    if handle == "step":
        message = f"{edge.target!r} gives its own 'step', which counts the iterations; no edge may go into it"
        yield Problem("unknown-handle", edge_name(edge.id), message, "use another name")
    elif not slots[handle].declared and handle.startswith(("init_", "iterout_")):
        declared = [slot.name for slot in slots.values() if slot.declared]
        message = f"{edge.target!r} declares no {handle!r}; the value is kept for one firing, under that name"
        yield Problem(
            "undeclared-slot", edge_name(edge.id), message, near(handle, declared), severity="warning"
        )


def _undeclared(analysis: Analysis, edge: Edge) -> Iterator[Problem]:
    """A node that takes more inputs than it declares gets a mistyped one too, which would go unnoticed."""
    ports, handle = analysis.ports.get(edge.target, Ports()), edge.target_handle
    declared = [port.name for port in ports.inputs]
    if ports.open_inputs and declared and handle not in declared:
        message = f"{edge.target!r} declares no input {handle!r}; the value reaches it under that name"
        yield Problem(
            "undeclared-input", edge_name(edge.id), message, near(handle, declared), severity="warning"
        )
