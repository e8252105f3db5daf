"""What keeps a graph from the chat models that it asks."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from engine.control.reach import ELSEWHERE, only_here
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


def keys_out_of_reach(root: Path, graph: Graph, caller_secrets: Collection[str]) -> list[Problem]:
    """Keys that nodes need for their models, which the caller has set, and this process, the backend, has
    not."""
    try:
        profiles = read_settings(root).profiles
    except SettingsError:  # told by model_problems
        return []
    lacking = {
        problem.where: profiles[pick(profiles, asked_for(node.config)[0])].api_key_env
        for node in expand(graph).graph.nodes
        if node.type == "llmCall"
        and (problem := _problem(node, profiles)) is not None
        and problem.code == "no-api-key"
    }
    return [
        Problem("no-api-key", where, only_here(variable), ELSEWHERE)
        for where, variable in lacking.items()
        if variable in caller_secrets
    ]


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
