"""What environments have of splits and episodes, as they last said: what asks for others need not be queued.

On disk, one file an environment, replaced when its source changes. A hint: its data may have changed since.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from engine.store.atomic import write_json

log = logging.getLogger(__name__)


class Misfit(NamedTuple):
    """What a request asks for in vain: its field, what is wrong, and the option that mends it."""

    field: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message} ({self.remedy})"


class Environment(Protocol):
    """Of its manifest, all that its answer depends on beside its data."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def source_hash(self) -> str: ...
    @property
    def server_python(self) -> str | None: ...
    @property
    def env(self) -> Mapping[str, str]: ...


class Offer(msgspec.Struct, kw_only=True):
    """counts: split → episodes, where it says so."""

    splits: list[str] = []
    counts: dict[str, int] = {}


class _Kept(msgspec.Struct, kw_only=True):
    key: str
    offer: Offer


def offer_of(metadata: Mapping[str, Any]) -> Offer:
    """What ``get_eval_metadata`` says of them; what is none of the kind is left out."""
    splits, counts = metadata.get("splits"), metadata.get("episode_counts")
    return Offer(
        splits=[str(split) for split in splits] if isinstance(splits, list | tuple) else [],
        counts={
            str(split): count
            for split, count in (counts.items() if isinstance(counts, Mapping) else ())
            if isinstance(count, int)
        },
    )


def split_misfit(asked: str, splits: Sequence[str]) -> Misfit | None:
    """``asked`` "" is the usual one."""
    if not asked or not splits or asked in splits:
        return None
    told = f"there is no split {asked!r}; the environment has {', '.join(splits)}"
    return Misfit("split", told, "choose one of them with --split")


def episodes_misfit(
    count: int, start: int, indices: Sequence[int] | None, available: int | None
) -> Misfit | None:
    """``count`` -1 is all; ``available`` None: the environment does not say."""
    if available is None:
        if indices is not None or count != -1:
            return None
        told = "the environment does not say how many episodes it has"
        return Misfit("episode_count", told, "say how many with -n N")
    beyond = f"is beyond the environment's {available}" + (f" (0 to {available - 1})" if available else "")
    if indices is not None:
        wrong = [index for index in indices if index >= available]
        told = f"episode {min(wrong)} {beyond}" if wrong else ""
        return Misfit("episode_indices", told, "name others with --episodes") if wrong else None
    if start >= available:
        return Misfit("start_episode_index", f"episode {start} {beyond}", "begin earlier with --start")
    if start + count > available:
        told = f"episode {available} {beyond}"
        return Misfit("episode_count", told, f"ask for at most {available - start} with -n, or for --all")
    return None


def keep_offer(env: Environment, offer: Offer) -> None:
    """For the next request. What cannot be written is not known then."""
    try:
        file = _file(env)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, _Kept(key=_key(env), offer=offer), durable=False)
    except OSError as error:
        log.warning("what %s offers cannot be kept: %s", env.name, error)


def last_offer(env: Environment) -> Offer | None:
    """None where it never said, or not since its source changed."""
    try:
        kept = msgspec.json.decode(_file(env).read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return kept.offer if kept.key == _key(env) else None


def _file(env: Environment) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "evaltower" / "offers" / f"{_digest(env.name, env.path)}.json"


def _key(env: Environment) -> str:
    return _digest(env.source_hash, env.server_python, sorted(env.env.items()))


def _digest(*parts: Any) -> str:
    return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()
