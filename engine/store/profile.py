"""``[profiles.NAME]`` of ``evaltower.toml``: a chat model, and what may be wrong with what is said of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from engine.store.records import Determinism

_ENVIRONMENT_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_HOST = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_LONGEST_URL = 2000
_OURS = ("messages", "model", "n", "stream")
"""Parts of a request that a node, a profile or the client decides on."""

_Price = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """USD for a million tokens. cached_input: those of a prompt that the server had cached; None: input."""

    input: _Price
    output: _Price
    cached_input: _Price | None = None


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A model behind an OpenAI-compatible chat completions server.

    base_url: what comes before ``/chat/completions``. api_key_env: the environment variable that holds the
    key; empty, none is sent. key_for: nodesets whose processes get that variable, too. active: the profile of
    a node that names none (so is an only one). determinism: what the server promises for equal requests;
    unless ``none``, each request carries a ``seed``. params: sent with every request, over what a node says.
    max_tokens_field: how the server calls ``max_tokens``. timeout_sec: wall seconds for one try. retries:
    tries after the first. concurrency: requests at once, of one run. cache: a file under the root that keeps
    answers beyond the run; empty, the run's own.
    """

    base_url: str
    model: Annotated[str, msgspec.Meta(min_length=1)]
    api_key_env: str = ""
    key_for: list[str] = []
    price: Price | None = None
    active: bool = False
    determinism: Determinism = "none"
    params: dict[str, Any] = {}
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    timeout_sec: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 120.0
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 4
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 8
    cache: str = ""


def profile_problems(profile: Profile, root: Path) -> Iterator[str]:
    """What its fields' types do not tell. Repeats no value that may be a secret."""
    if not _is_plain_url(profile.base_url):
        yield (
            "base_url must be http://HOST… or https://HOST… without a password, ? or #, its host in ASCII;"
            " a key goes into the variable that api_key_env names"
        )
    if profile.api_key_env and not _ENVIRONMENT_VARIABLE.fullmatch(profile.api_key_env):
        yield "api_key_env must be the name of an environment variable (A-Z, 0-9, _), not a key"
    if profile.cache and not _is_place_for_answers(profile.cache, root):
        yield (
            f"cache is {profile.cache!r}, and must be the path of a .jsonl file under the root, relative to"
            " it and outside the runs, such as outputs/answers.jsonl"
        )
    for name in profile.params.keys() & set(_OURS):
        yield f"params.{name} cannot be set for all requests: a request's {name} is decided elsewhere"
    yield from _not_json(profile.params, "params")


def _is_plain_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        plain = url.scheme in ("http", "https") and (url.port is None or url.port > 0)
        plain = plain and _is_host(url.hostname or "")
    except ValueError:  # a bad port, or a bad IPv6 address
        return False
    return (
        plain and text.isprintable() and len(text) < _LONGEST_URL and not any(mark in text for mark in "@?# ")
    )


def _is_host(host: str) -> bool:
    """ValueError for an address, or a name of another alphabet in its ASCII form, that is damaged."""
    if ":" in host:
        return bool(IPv6Address(host.partition("%")[0]))
    if "xn--" in host:
        host.encode().decode("idna")
    return bool(_HOST.fullmatch(host))


def _is_place_for_answers(text: str, root: Path) -> bool:
    path = Path(text)
    if path.is_absolute() or ".." in path.parts or not text.isprintable() or path.suffix != ".jsonl":
        return False
    place, home = (root / path).resolve(), root.resolve()
    kept = [home / "outputs" / name for name in ("eval_runs", "servers", "system")]
    return place.is_relative_to(home) and not any(place.is_relative_to(folder) for folder in kept)


def _not_json(value: Any, where: str) -> Iterator[str]:
    """Dates and nan, which TOML has and JSON has not."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _not_json(item, f"{where}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_json(item, f"{where}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{where} is {value}, which no request can hold"
    elif not isinstance(value, str | int | float):
        yield f"{where} is a {type(value).__name__}, which no request can hold: write it as text"
