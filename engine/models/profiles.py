"""Which profile a node or a judge means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.graph.names import near_or_all
from engine.models.errors import ProfileError
from engine.store.profile import Profile
from engine.store.settings import FILE

DIRECT = "__direct__"
"""Saved graphs say so where a node names a provider and a model instead of a profile."""


def asked_for(config: Mapping[str, Any]) -> tuple[str, str]:
    """(Profile, model) that a node's config names: "" is the active profile, and the profile's model.

    A pinned ``provider`` is the profile of that name, and the node's ``model`` stands in for its own.
    """
    profile = str(config.get("profile") or "")
    if profile == DIRECT:
        return str(config.get("provider") or ""), str(config.get("model") or "")
    return profile, ""


def pick(profiles: Mapping[str, Profile], wanted: str) -> str:
    """The name of the profile ``wanted``; "" is the active one. ProfileError names what is near."""
    if wanted in profiles:
        return wanted
    remedy = f"add [profiles.{wanted or 'NAME'}] to {FILE}"
    if wanted:
        near = f"{near_or_all(wanted, profiles, 'there are')}; or " if profiles else ""
        raise ProfileError(f"there is no profile {wanted!r}", near + remedy)
    active = [name for name, profile in profiles.items() if profile.active] or list(profiles)
    if not active:
        raise ProfileError("there is no profile of a model", remedy)
    if len(active) > 1:
        named = ", ".join(active)
        raise ProfileError(f"none of the profiles {named} is active", f"say active = true in one, in {FILE}")
    return active[0]
