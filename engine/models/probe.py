"""Is there a server behind each profile, and does it have the model?"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from engine.graph.names import near
from engine.models.answer import error_text
from engine.models.api_key import ApiKey
from engine.models.errors import NoAnswer, ProfileError
from engine.models.transport import Response, Transport
from engine.store.profile import Profile

PROBE_SEC = 10.0
NAMED = 5
"""Models of a server that are named where none is near."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found. ``remedy``: what helps where it is not ``ok``."""

    profile: str
    ok: bool
    detail: str
    remedy: str = ""


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


async def probe(profiles: Mapping[str, Profile], environ: Mapping[str, str] = os.environ) -> list[Probe]:
    """Ask every profile's server, at once, which models it has. No tokens are spent."""
    transport = Transport()
    try:
        return await asyncio.gather(
            *(_probe(transport, name, profile, environ) for name, profile in profiles.items())
        )
    finally:
        await transport.close()


async def _probe(transport: Transport, name: str, profile: Profile, environ: Mapping[str, str]) -> Probe:
    url = profile.base_url.rstrip("/") + "/models"
    try:
        key = ApiKey(profile, environ)
        response = await transport.get(url, key.headers, PROBE_SEC)
    except ProfileError as error:
        return Probe(name, False, error.message, error.remedy)
    except NoAnswer as nothing:
        return Probe(name, False, f"{url}: {nothing}", "start the server, or mend base_url")
    if response.status in (401, 403):
        return Probe(name, False, f"{url}: {response.status_line}", "set api_key_env, or its key, right")
    if response.status != 200:
        told = f"{url}: {response.status_line}: {error_text(response.body, key.strike)}"
        missing = response.status == 404
        remedy = "mend base_url, which usually ends in /v1" if missing else "see the server's own log"
        return Probe(name, False, told, remedy)
    listed = _listed(response)
    if listed and profile.model not in listed:
        remedy = near(profile.model, listed) or f"it lists {', '.join(listed[:NAMED])}"
        return Probe(name, False, f"{profile.base_url} does not list {profile.model!r}", remedy)
    return Probe(name, True, f"{profile.model} at {profile.base_url}")


def _listed(response: Response) -> list[str]:
    """The models that the server names; empty where it names none in the usual way."""
    try:
        return [model.id for model in msgspec.json.decode(response.body, type=_Models).data]
    except msgspec.MsgspecError:
        return []
