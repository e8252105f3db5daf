"""Plays a saved graph's episodes on a host of a test's own, so that what they leave there can be seen."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from engine.components.catalog import NodesetManifest
from engine.components.discover import discover
from engine.components.roots import NodesetRoot
from engine.components.seeds import firing_key
from engine.execution.canonical import Canonical
from engine.hosting.client import HostClient
from engine.hosting.process import HostProcess, HostSpec, make_socket_dir
from tests.nodesets.gym_player import NODESETS
from tests.simulators.conformance.environments import Environment

CALL_SEC = 120.0


class Played:
    """One host, and the environment's graph: reset, then whoever acts, and step, over and over."""

    def __init__(self, host: HostProcess, manifest: NodesetManifest, environment: Environment) -> None:
        self.host = host
        self.manifest = manifest
        self._environment = environment
        self._client = HostClient(host.url, "conformance/0", manifest.name)
        path = NODESETS / manifest.name / "graphs" / f"{environment.graph}.json"
        graph = json.loads(path.read_text("utf-8"))
        self._nodes = {node["id"]: node for node in graph["nodes"]}
        self._edges = graph["edges"]

    async def episode(self, number: int, index: int | None = None) -> str:
        """A digest of all that its nodes give. Its seed is ``number``, and its index too where none is given;
        who acts draws the same in each."""
        index = number if index is None else index
        for name, value in {**self._environment.selectors, "seed": number, "episode_index": index}.items():
            await self._client.panel_field(name, value, CALL_SEC)
        answer = await self._client.panel_action("play", {}, CALL_SEC)
        assert answer["ok"], answer
        first, *body = self._order()
        given = [await self._fire(first, {}, 0, number)]
        carried = self._wired(first, given[-1], "iterIn")
        for step in range(1, self._environment.steps + 1):
            values = carried
            for node in body:
                given.append(await self._fire(node, values[node], step, number))
                for target, inputs in self._wired(node, given[-1]).items():
                    values.setdefault(target, {}).update(inputs)
            carried = self._wired(body[-1], given[-1], "iterOut") if body else {}
            if not body or self._stops(body[-1], given[-1]):
                break
        await self._client.evict(f"e{number}")
        return Canonical().digest(given)

    async def close(self) -> None:
        await self._client.close()

    def memory_mb(self) -> float:
        return self.host.tree_memory_mb()

    def handles(self) -> dict[str, int]:
        """What the host holds: open files, threads (a GL context of Mesa's has some), child processes."""
        process = psutil.Process(self.host.pid)
        return {
            "files": process.num_fds(),
            "threads": process.num_threads(),
            "children": len(process.children(recursive=True)),
        }

    def family(self) -> list[psutil.Process]:
        process = psutil.Process(self.host.pid)
        return [process, *process.children(recursive=True)]

    def _order(self) -> list[str]:
        """The first node; then those of the loop, each after those that it hears from."""
        ours = [name for name, node in self._nodes.items() if node["type"].startswith(self.manifest.name)]
        fed = {edge["target"] for edge in self._edges}
        (first,) = (name for name in ours if name not in fed)
        loop = [name for name in ours if "iterIn" in self._kinds_before(name)]
        after = [name for name in ours if name not in loop and set(self._before(name)) & set(loop)]
        return [first, *loop, *after]

    def _before(self, node: str) -> list[str]:
        return [edge["source"] for edge in self._edges if edge["target"] == node]

    def _kinds_before(self, node: str) -> set[str]:
        return {self._nodes[name]["type"] for name in self._before(node)}

    def _wired(self, node: str, outputs: Mapping[str, Any], through: str = "") -> dict[str, dict[str, Any]]:
        """What others hear of ``outputs``: at once, or through the loop's beginning or end."""
        heard: dict[str, dict[str, Any]] = {}
        for edge in self._edges:
            target = self._nodes[edge["target"]]
            if edge["source"] != node or edge["sourceHandle"] not in outputs:
                continue
            value = outputs[edge["sourceHandle"]]
            if not through and target["type"].startswith(self.manifest.name):
                heard.setdefault(target["id"], {})[edge["targetHandle"]] = value
            elif through and target["type"] == through:
                name = edge["targetHandle"].removeprefix("init_")
                for onward in self._edges:
                    if onward["sourceHandle"] == f"iterout_{name}":
                        heard.setdefault(onward["target"], {})[onward["targetHandle"]] = value
        return heard

    def _stops(self, node: str, outputs: Mapping[str, Any]) -> bool:
        stops = [edge["sourceHandle"] for edge in self._edges if edge["targetHandle"] == "stop"]
        return any(bool(outputs.get(handle)) for handle in stops)

    async def _fire(self, node: str, inputs: Mapping[str, Any], step: int, number: int) -> dict[str, Any]:
        execution = {
            "execution_id": f"e{number}",
            "node_id": node,
            "step": step,
            "key": firing_key(0, node, step),
        }
        config = self._nodes[node].get("config", {})
        reply = await self._client.call(self._nodes[node]["type"], inputs, config, execution, CALL_SEC)
        assert reply.error is None, reply.error
        assert reply.outputs is not None
        return reply.outputs


def manifest_of(nodeset: str, cache: Path) -> NodesetManifest:
    catalog = discover([NodesetRoot("built-in", (NODESETS / nodeset,))], cache)
    assert not catalog.failures, catalog.failures
    return catalog.nodesets[nodeset]


@asynccontextmanager
async def playing(environment: Environment, folder: Path) -> AsyncIterator[Played]:
    """A fresh host; nothing of it is left afterwards."""
    manifest = manifest_of(environment.nodeset, folder / "manifests")
    sockets = make_socket_dir()
    spec = HostSpec(
        name=manifest.name,
        path=Path(manifest.path),
        log_path=folder / "host.log",
        socket_dir=sockets,
        python=manifest.server_python or sys.executable,
        env=manifest.env,
    )
    host = await HostProcess.start(spec, manifest.start_deadline_sec)
    played = Played(host, manifest, environment)
    try:
        yield played
    finally:
        await played.close()
        await host.kill()
        sockets.rmdir()
