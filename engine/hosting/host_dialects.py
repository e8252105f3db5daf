"""How a call is put: by a run of ours, by AgentCanvas's canvas, or in JSON. Python 3.8+.

A run says who it is in the caller header; it sends and gets MessagePack as ``codec`` has it. Whoever does not
is answered as by a server of AgentCanvas's: arrays as its blobs, or, in JSON, values as their ports say.
"""

from __future__ import annotations

import itertools
from typing import Any, Mapping

from engine.components.agentcanvas.json_values import deserialize_value, serialize_value
from engine.components.bases import BaseCanvasNode, PortDef
from engine.components.seeds import derive
from engine.hosting import codec

_strangers = itertools.count()


class Dialect:
    """Reads one call to ``tool``, and writes the answer."""

    def __init__(self, tool: BaseCanvasNode, *, as_json: bool, of_a_run: bool) -> None:
        self._tool = tool
        self._as_json = as_json
        self._of_a_run = of_a_run

    def execution(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """Which node fires, in which episode. A stranger's calls go to one node, each with a key of its own.

        ValueError where the canvas grants containers of its own, which are out of reach.
        """
        if self._of_a_run:
            return said
        if said.get("grants"):
            raise ValueError(
                f"the containers {said['grants']} live in the canvas, and cannot be reached from here"
            )
        return {"key": derive("stranger", next(_strangers))}

    def inputs(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """The inputs as ``forward`` gets them. ValueError names the one whose JSON is damaged."""
        if not self._as_json:
            return said
        types = _types(self._tool.input_ports)
        return {name: _input(name, value, types.get(name, "")) for name, value in said.items()}

    def encode(self, reply: dict[str, Any]) -> bytes:
        """The answer's bytes. TypeError names the place in it of what cannot be sent."""
        if self._of_a_run and not self._as_json:
            return codec.encode(reply)
        if not self._as_json:
            return codec.encode_for_agentcanvas(reply)
        types = _types(self._tool.output_ports)
        plain = {name: serialize_value(value, "") for name, value in reply.items() if name != "outputs"}
        if "outputs" in reply:
            outputs = reply["outputs"].items()
            plain["outputs"] = {name: serialize_value(value, types.get(name, "")) for name, value in outputs}
        return codec.encode_json(plain)


def _input(name: str, value: Any, wire_type: str) -> Any:
    try:
        return deserialize_value(value, wire_type)
    except Exception as error:  # a damaged picture raises many kinds
        raise ValueError(f"input {name!r}: {error or type(error).__name__}") from None


def _types(ports: list[PortDef]) -> dict[str, str]:
    return {port.name: port.wire_type for port in ports}
