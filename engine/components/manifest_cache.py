"""What scans found, kept on disk by source hash: one entry a nodeset file, replaced when it changes."""

from __future__ import annotations

import logging
import os
import sys
import time
from hashlib import blake2b
from pathlib import Path

import msgspec

from engine.components.bases import conda_envs
from engine.components.catalog import NodesetManifest, PortsManifest
from engine.components.loading import source_hash

_log = logging.getLogger(__name__)


class CacheEntry(msgspec.Struct, kw_only=True):
    """``ports``: what a tool answered, by :func:`ports_key`. ``endless``: why there are no manifests, of an
    import that took too long; that counts until ``until``, in seconds since the epoch."""

    key: str
    manifests: tuple[NodesetManifest, ...] = ()
    ports: dict[str, PortsManifest] = {}
    endless: str = ""
    until: float | None = None


class ManifestCache:
    """An entry that cannot be read, or is of another source or other surroundings, counts as absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._surroundings = _surroundings()

    def read(self, home: Path, hashed: str) -> CacheEntry | None:
        """The entry of a file or folder whose source has this hash."""
        try:
            entry = msgspec.json.decode(self._file(home).read_bytes(), type=CacheEntry)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        counts = entry.until is None or time.time() < entry.until
        return entry if counts and entry.key == self.key(hashed) else None

    def write(self, home: Path, hashed: str, entry: CacheEntry) -> None:
        """Keep an entry, unless the source changed under the scan. A cache that cannot be written is none."""
        try:
            if source_hash(home) != hashed:
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            import tempfile  # slow to import, and only here needed

            descriptor, temporary = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(msgspec.json.encode(entry))
            os.replace(temporary, self._file(home))
        except OSError as error:
            _log.warning("manifests cannot be kept in %s: %s", self._folder, error)

    def key(self, hashed: str) -> str:
        return f"{hashed}-{self._surroundings}"

    def _file(self, home: Path) -> Path:
        return self._folder / (_digest(sys.prefix, str(home)) + ".json")


def default_cache_dir() -> Path:
    """``$XDG_CACHE_HOME/evaltower/manifests``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evaltower" / "manifests"


def ports_key(node_type: str, config: dict[str, object]) -> str:
    """What a tool's ports depend on, as a key."""
    return _digest(node_type, msgspec.json.encode(config, order="deterministic").decode())


def _surroundings() -> str:
    """What a manifest depends on beside its source: this room's code, and which interpreters there are."""
    interpreters = [f"{name}={value}" for name, value in os.environ.items() if name.endswith("_PYTHON")]
    interpreters += map(str, conda_envs().glob("*/bin/python"))
    return _digest(source_hash(Path(__file__).parent), sys.version, sys.prefix, *sorted(interpreters))


def _digest(*parts: str) -> str:
    digest = blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode("utf-8", "surrogateescape")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()
