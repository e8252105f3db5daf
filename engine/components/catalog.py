"""What was discovered: every nodeset's manifest, what failed to load, what is hidden. Imports no nodeset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from engine.components.requirements import Condition, Package, Program
from engine.graph.model import Node, Port, Ports

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
Megabytes = Annotated[int, Meta(ge=0)]


SHARED_CALL_SEC = 120.0


class PortManifest(Struct, frozen=True, kw_only=True):
    """A ``PortDef``."""

    name: str
    wire_type: str
    description: str = ""
    optional: bool = False


class PortsManifest(Struct, frozen=True, kw_only=True):
    inputs: tuple[PortManifest, ...] = ()
    outputs: tuple[PortManifest, ...] = ()

    def ports(self) -> Ports:
        """As the graph checker and the planner know them."""
        return Ports(
            inputs=tuple(Port(p.name, p.wire_type, p.optional) for p in self.inputs),
            outputs=tuple(Port(p.name, p.wire_type, p.optional) for p in self.outputs),
        )


class ToolManifest(PortsManifest, frozen=True, kw_only=True):
    """A node type of a nodeset. ``dynamic_ports``: they depend on its config; ask ``Catalog.resolve``.
    ``config_keys``: those of its config that it declares; it may read others."""

    node_type: str
    display_name: str = ""
    description: str = ""
    default_config: dict[str, Any] = {}
    required_config: tuple[str, ...] = ()
    config_keys: tuple[str, ...] = ()
    batched: bool = False
    dynamic_ports: bool = False


class NodesetManifest(Struct, frozen=True, kw_only=True):
    """A nodeset's declarations, by the names of its class attributes, and where it was found.

    ``path`` is the file or folder; ``origin`` the kind of root (overlay, workspace, package, builtin);
    ``panel`` ``{name, display_name, fields[], actions[], only_fields}``; ``containers`` definitions as in a
    graph file; ``graphs`` the saved graphs beside it; ``workspaces`` where else its ``workspace.…`` imports
    may lie.
    ``server_image``: AgentCanvas runs it in this Docker image, so that here it can only be borrowed.
    ``has_requirements``: it can say what it needs of the machine beside its ``packages`` and ``conditions``.
    """

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$")]
    class_name: str
    path: str
    origin: str = ""
    source_hash: str = ""
    description: str = ""
    parallelism: Literal["shared", "replicated"]
    parallelism_assumed: bool
    server_python: str | None = None
    server_image: str | None = None
    expected_vram_mb: Megabytes | None = None
    expected_ram_mb: Megabytes | None = None
    default_per_step_budget_sec: Seconds = 30.0
    recycle_after: Positive | None = None
    recycle_above_mb: Positive | None = None
    determinism: Literal["exact", "seeded", "none"] = "exact"
    env: dict[str, str] = {}
    unchecked: bool = False
    scenes_are_tasks: bool = False
    max_batch: Positive = 16
    start_deadline_sec: Seconds = 300.0
    first_reset_deadline_sec: Seconds = 300.0
    reset_deadline_sec: Seconds = 120.0
    has_requirements: bool = False
    packages: tuple[Package, ...] = ()
    programs: tuple[Program, ...] = ()
    conditions: tuple[Condition, ...] = ()
    panel: dict[str, Any] | None = None
    containers: tuple[dict[str, Any], ...] = ()
    tools: dict[str, ToolManifest] = {}
    graphs: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()

    @property
    def call_deadline_sec(self) -> float:
        """What one call may take where a request says nothing: a step, or a shared model's answer."""
        step = self.default_per_step_budget_sec
        return step if self.parallelism == "replicated" else max(step, SHARED_CALL_SEC)


class ScanFailure(Struct, frozen=True):
    """A file or folder whose nodesets cannot be used, and why."""

    path: str
    error: str
    origin: str = ""


class HiddenNodeset(Struct, frozen=True):
    """A nodeset that another of the same name stands before; ``hidden_by`` is that one's path."""

    name: str
    path: str
    origin: str
    hidden_by: str
    source_hash: str = ""


@dataclass(frozen=True)
class Catalog:
    """``graphs`` maps a saved graph's names to its file, the workspaces' before the nodesets' own.

    ``resolve_dynamic`` gives the ports of a tool under a config, or raises ValueError.
    """

    nodesets: Mapping[str, NodesetManifest]
    failures: tuple[ScanFailure, ...] = ()
    hidden: tuple[HiddenNodeset, ...] = ()
    graphs: Mapping[str, str] = field(default_factory=dict)
    resolve_dynamic: Callable[[NodesetManifest, Node], Ports] = field(kw_only=True)

    def tool(self, node_type: str) -> ToolManifest | None:
        """The tool of this node type, or None where no nodeset has it."""
        nodeset = self.nodesets.get(nodeset_of(node_type))
        return nodeset.tools.get(node_type) if nodeset else None

    def resolve(self, node: Node) -> Ports | None:
        """The ports of a nodeset's tool under the node's config; None for any other node type.

        ValueError where the tool's own ``_resolve_ports`` refuses the config.
        """
        tool = self.tool(node.type)
        if tool is None:
            return None
        if tool.dynamic_ports:
            return self.resolve_dynamic(self.nodesets[nodeset_of(node.type)], node)
        return tool.ports()

    def changed_by_overlay(self) -> set[str]:
        """Nodesets of the overlay whose source differs from the one that they hide: no server of that one's
        may stand in for them."""
        before: dict[str, str] = {}
        for hidden in self.hidden:
            before.setdefault(hidden.name, hidden.source_hash)
        return {
            name
            for name, found in self.nodesets.items()
            if found.origin == "overlay" and before.get(name, found.source_hash) != found.source_hash
        }

    def known_types(self) -> list[str]:
        """Every node type of every nodeset, sorted."""
        return sorted(node_type for nodeset in self.nodesets.values() for node_type in nodeset.tools)


def environment_of(nodesets: Iterable[NodesetManifest]) -> NodesetManifest | None:
    """The environment among a graph's nodesets: the first that has a panel, or None."""
    return next((manifest for manifest in nodesets if manifest.panel is not None), None)


def nodeset_of(node_type: str) -> str:
    """The nodeset's name in a node type ``<nodeset>__<tool>``."""
    return node_type.partition("__")[0]
