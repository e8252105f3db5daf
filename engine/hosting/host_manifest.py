"""``GET /manifest``: what runs in a host. The first half is AgentCanvas's, the rest is ours. Python 3.8+."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict
from typing import Any, Mapping

import aiohttp
import msgspec
import numpy

from engine.components.bases import BaseCanvasNode, BaseNodeSet, parallelism_of
from engine.components.versions import installed_versions

PROTOCOL = "evaltower"
"""By this a client tells our hosts from AgentCanvas's servers, which say nothing of the kind."""
VERSION = "1.0"


def manifest(
    nodeset: BaseNodeSet,
    tools: Mapping[str, BaseCanvasNode],
    source_hash: str,
    versions: Mapping[str, str],
    batching: Mapping[str, Any],
) -> dict[str, Any]:
    """``versions``: of this process, as of :func:`versions_here`. ``batching``: how each batched tool was
    found to run."""
    return {
        "name": nodeset.name,
        "version": VERSION,
        "description": nodeset.description,
        "functions": [_function(tool) for tool in tools.values()],
        "containers": [asdict(container) for container in nodeset.get_containers()],
        "protocol": PROTOCOL,
        "parallelism": parallelism_of(nodeset),
        "determinism": nodeset.determinism,
        "source_hash": source_hash,
        "pid": os.getpid(),
        "executable": sys.executable,
        "versions": versions,
        "batching": batching,
    }


def versions_here(nodeset: BaseNodeSet) -> dict[str, str]:
    """Package → version: the host's own, and of the nodeset's declared packages all that are installed."""
    return {
        "python": platform.python_version(),
        "aiohttp": aiohttp.__version__,
        "msgspec": msgspec.__version__,
        "numpy": numpy.__version__,
        **installed_versions(nodeset.packages),
    }


def _function(tool: BaseCanvasNode) -> dict[str, Any]:
    return {
        "name": tool.node_type,
        "description": tool.description,
        "input_ports": [asdict(port) for port in tool.input_ports],
        "output_ports": [asdict(port) for port in tool.output_ports],
        "config_schema": tool.config_schema,
        "ui_config": asdict(tool.ui_config),
        "batched": tool.batched,
    }
