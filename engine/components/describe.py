"""A nodeset's class as a manifest; what is declared wrongly is refused. Runs inside the scan process."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from engine.components.bases import BaseCanvasNode, BaseNodeSet, PortDef, parallelism_of
from engine.components.catalog import NodesetManifest, PortManifest, PortsManifest, ToolManifest, nodeset_of
from engine.components.containers import ContainerStore
from engine.components.env_panel import BaseEnvPanel

_T = TypeVar("_T")
_NODESET_FIELDS = [name for name in NodesetManifest.__struct_fields__ if hasattr(BaseNodeSet, name)]
_TOOL_FIELDS = [name for name in ToolManifest.__struct_fields__ if hasattr(BaseCanvasNode, name)]


class DeclarationError(Exception):
    """A class attribute is not what it must be; the message names class and attribute."""


def describe_nodeset(declared: type[BaseNodeSet], home: Path) -> NodesetManifest:
    """Construct the nodeset and take down what it declares. DeclarationError, or whatever its code raises."""
    where = f"class {declared.__name__}"
    nodeset = declared()
    fields = {name: getattr(nodeset, name) for name in _NODESET_FIELDS}
    fields.update(_by_agentcanvas_names(nodeset))
    panel = _panel(where, nodeset.env_panel)
    fields["parallelism"] = parallelism_of(nodeset)
    manifest = _checked(
        where,
        NodesetManifest,
        fields,
        name=getattr(nodeset, "name", None),
        class_name=declared.__name__,
        path=str(home),
        parallelism_assumed=nodeset.parallelism is None,
        has_requirements=bool(nodeset.programs) or type(nodeset).requirements is not BaseNodeSet.requirements,
        panel=panel,
        containers=_containers(where, nodeset),
    )
    return msgspec.structs.replace(manifest, tools=_tools(where, manifest.name, nodeset))


def _by_agentcanvas_names(nodeset: BaseNodeSet) -> dict[str, Any]:
    """``env`` and ``start_deadline_sec``, where an author has them under AgentCanvas's names."""
    found: dict[str, Any] = {}
    if server_env := getattr(nodeset, "server_env", None):
        found["env"] = {**server_env, **nodeset.env}
    timeout = getattr(nodeset, "startup_timeout", None)
    if timeout is not None and nodeset.start_deadline_sec == BaseNodeSet.start_deadline_sec:
        found["start_deadline_sec"] = timeout
    return found


def resolve_ports(tool: BaseCanvasNode, config: dict[str, Any]) -> PortsManifest:
    """The tool's ports under a config, by its own ``_resolve_ports``."""
    where = _tool_name(tool)
    inputs, outputs = tool._resolve_ports(config)
    return PortsManifest(
        inputs=_ports(where, "_resolve_ports", inputs), outputs=_ports(where, "_resolve_ports", outputs)
    )


def _tools(where: str, nodeset_name: str, nodeset: BaseNodeSet) -> dict[str, ToolManifest]:
    found: dict[str, ToolManifest] = {}
    classes: dict[str, str] = {}
    for tool in nodeset.get_tools():
        if not isinstance(tool, BaseCanvasNode):
            raise DeclarationError(f"{where}, get_tools: {tool!r} is not an instance of a BaseCanvasNode")
        manifest = _tool(tool)
        node_type, class_name = manifest.node_type, type(tool).__name__
        if nodeset_of(node_type) != nodeset_name or len(node_type) < len(nodeset_name) + 3:
            raise DeclarationError(
                f"class {class_name}, node_type: must be '{nodeset_name}__<tool>', not {node_type!r}"
            )
        if node_type in found:
            raise DeclarationError(
                f"class {class_name}, node_type: {node_type!r} is also that of class {classes[node_type]}"
            )
        found[node_type] = manifest
        classes[node_type] = class_name
    return found


def _tool(tool: BaseCanvasNode) -> ToolManifest:
    where = _tool_name(tool)
    return _checked(
        where,
        ToolManifest,
        {name: getattr(tool, name) for name in _TOOL_FIELDS},
        config_keys=_config_keys(tool),
        node_type=getattr(tool, "node_type", None),
        inputs=_ports(where, "input_ports", tool.input_ports),
        outputs=_ports(where, "output_ports", tool.output_ports),
        dynamic_ports=inspect.getattr_static(type(tool), "_resolve_ports")
        is not inspect.getattr_static(BaseCanvasNode, "_resolve_ports"),
    )


def _config_keys(tool: BaseCanvasNode) -> list[str]:
    """By any of the ways in which a class may declare them."""
    schema: Any = tool.config_schema if isinstance(tool.config_schema, dict) else {}
    fields = schema.get("properties", schema)
    drawn = [getattr(field, "name", "") for field in getattr(tool.ui_config, "config_fields", None) or ()]
    found = [
        *tool.default_config,
        *tool.required_config,
        *(fields if isinstance(fields, dict) else ()),
        *drawn,
    ]
    return sorted({name for name in found if isinstance(name, str) and name})


def _tool_name(tool: BaseCanvasNode) -> str:
    return f"class {type(tool).__name__}"


def _ports(where: str, attribute: str, ports: Any) -> tuple[PortManifest, ...]:
    if not isinstance(ports, (list, tuple)):
        raise DeclarationError(f"{where}, {attribute}: must be a list of PortDef, not {ports!r}")
    found: dict[str, PortManifest] = {}
    for port in ports:
        if not isinstance(port, PortDef):
            raise DeclarationError(f"{where}, {attribute}: {port!r} is not a PortDef")
        if port.name in found:
            raise DeclarationError(f"{where}, {attribute}: port {port.name!r} is declared twice")
        found[port.name] = _checked(f"{where}, {attribute}", PortManifest, asdict(port))
    return tuple(found.values())


def _panel(where: str, panel: Any) -> dict[str, Any] | None:
    if panel is None:
        return None
    if not (inspect.isclass(panel) and issubclass(panel, BaseEnvPanel)):
        raise DeclarationError(f"{where}, env_panel: must be a subclass of BaseEnvPanel, not {panel!r}")
    name = getattr(panel, "name", None)
    if not isinstance(name, str):
        raise DeclarationError(f"class {panel.__name__}, name: must be a text, not {name!r}")
    return {
        "name": name,
        "display_name": panel.display_name or name,
        "fields": [asdict(field) for field in panel.fields],
        "actions": [asdict(action) for action in panel.actions],
        "only_fields": panel.only_fields is True,
    }


def _containers(where: str, nodeset: BaseNodeSet) -> list[dict[str, Any]]:
    containers = list(nodeset.get_containers())
    try:
        ContainerStore(containers)
    except ValueError as error:
        raise DeclarationError(f"{where}, get_containers: {error}") from error
    return [asdict(container) for container in containers]


def _checked(where: str, struct: type[_T], fields: dict[str, Any], **more: Any) -> _T:
    """The struct of these fields, which holds plain data only; its own types say what is allowed."""
    fields = dict(fields, **more)
    for name, value in fields.items():
        try:
            fields[name] = msgspec.to_builtins(value)
        except (TypeError, ValueError) as error:
            raise DeclarationError(f"{where}, {name}: {error}") from error
    try:
        return msgspec.convert(fields, struct)
    except msgspec.ValidationError as error:
        message, _, at = str(error).partition(" - at `$.")
        attribute = at.rstrip("`")
        shown = repr(fields.get(attribute))
        if attribute in fields and shown not in message:
            message += f" (it is {shown})"
        raise DeclarationError(f"{where}, {attribute}: {message}") from error
