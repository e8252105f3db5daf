"""Ids on a platform: the same for the same key, so that an export that is repeated changes nothing."""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID, uuid4


class Ids:
    """``key`` empty: nobody will repeat it, and each is fresh. Ids of two sinks differ: some platforms drop
    a second trace of an id silently, in whichever project."""

    def __init__(self, key: str, sink: str) -> None:
        self._seed = f"{key}#{sink}" if key else uuid4().hex

    def of(self, what: str, length: int) -> str:
        """Hexadecimal text of so many digits (at most 64) for one thing of the episode."""
        return sha256(f"{self._seed}#{what}".encode()).hexdigest()[:length]

    def trace(self) -> str:
        return self.of("trace", 32)

    def span(self, number: int) -> str:
        return self.of(f"span#{number}", 16)

    def uuid(self, what: str) -> str:
        return str(UUID(self.of(what, 32), version=4))
