"""What keeps a graph from the chat models that it asks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from engine.graph.expand import expand
from engine.graph.model import Graph, Node, Problem
from engine.graph.names import node_name
from engine.models.api_key import ApiKey
from engine.models.errors import ProfileError
from engine.models.profiles import asked_for, pick
from engine.store.profile import Profile
from engine.store.settings import FILE, SettingsError, read_settings


def model_problems(root: Path, graph: Graph) -> list[Problem]:
    """Settings that cannot be used, profiles that are not there, and, as warnings, keys that are not set."""
    try:
        profiles = read_settings(root).profiles
    except SettingsError as error:
        return [Problem("settings", FILE, problem) for problem in error.problems]
    nodes = expand(graph).graph.nodes
    found = (_problem(node, profiles) for node in nodes if node.type == "llmCall")
    return [problem for problem in found if problem is not None]


def _problem(node: Node, profiles: Mapping[str, Profile]) -> Problem | None:
    where = node_name(node.shown)
    try:
        name = pick(profiles, asked_for(node.config)[0])
    except ProfileError as error:
        return Problem("unknown-profile", where, error.message, error.remedy)
    try:
        ApiKey(profiles[name], os.environ)
    except ProfileError as error:
        told = f"profile {name!r}: {error.message}"
        return Problem("no-api-key", where, told, error.remedy, severity="warning")
    return None
