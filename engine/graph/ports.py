"""The ports of a loop's two ends, which follow from their configs and from the edges into the ``iterIn``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.graph.model import Edge, Port, Ports
from engine.graph.pairs import LoopPort, Pair


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of an ``iterIn`` that holds a value; one that does not persist empties after each firing.

    ``declared``: by a port of the loop, rather than by an edge that targets it.
    """

    name: str
    wire_type: str = "ANY"
    required: bool = False
    persist: bool = False
    declared: bool = False


def loop_slots(pair: Pair, edges: Iterable[Edge]) -> dict[str, Slot]:
    """By name: ``init_<name>``, ``iterout_<name>``, then any other handle that an edge targets, as it is."""
    slots = [_slot("init", port, port.required) for port in pair.init_ports]
    slots += [_slot("iterout", port, required=False) for port in pair.loop_ports]
    found = {slot.name: slot for slot in slots}
    for edge in edges:
        if edge.target == pair.iter_in:
            found.setdefault(edge.target_handle, Slot(edge.target_handle))
    return found


def _slot(side: str, port: LoopPort, required: bool) -> Slot:
    return Slot(f"{side}_{port.name}", port.wire_type, required, port.persist, declared=True)


def loop_ports(pair: Pair, slots: Mapping[str, Slot]) -> dict[str, Ports]:
    """The ports of a loop's two ends. ``stop`` counts as true or false whatever it is, hence ``ANY``."""
    held = [Port(slot.name, slot.wire_type, optional=not slot.required) for slot in slots.values()]
    carried = [Port(port.name, port.wire_type, optional=not port.required) for port in pair.loop_ports]
    final = [Port(f"final_{port.name}", port.wire_type) for port in pair.loop_ports]
    return {
        pair.iter_in: Ports(tuple(held), (*held, Port("step"))),
        pair.iter_out: Ports((*carried, Port("stop", optional=True)), (*final, Port("final_stop"))),
    }


def required_inputs(ports: Ports) -> frozenset[str]:
    return frozenset(port.name for port in ports.inputs if not port.optional)


def find_port(ports: Sequence[Port], name: str) -> Port | None:
    return next((port for port in ports if port.name == name), None)
