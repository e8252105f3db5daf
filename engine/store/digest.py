"""``result_digest``: one number that says whether two runs had the same results."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from engine.store.records import EpisodeRow


def result_digest(rows: Iterable[EpisodeRow]) -> str:
    """BLAKE2b-128 hex over the rows in identity order.

    A row enters as identity, status, step count, metrics and trajectory digest; a row of class ``infra``,
    whose content is the box's doing, as its identity and the word alone.
    """
    digest = blake2b(digest_size=16)
    for row in sorted(rows, key=lambda row: row.identity):
        digest.update(digest_part(row) + b"\n")
    return digest.hexdigest()


def digest_part(row: EpisodeRow) -> bytes:
    """What of a row enters the digest, in canonical JSON."""
    if row.error_class == "infra":
        return msgspec.json.encode([*row.identity, "infra"])
    metrics = {name: None if value is None else float(value) for name, value in row.metrics.items()}
    content = [*row.identity, row.status, row.step_count, metrics, row.trajectory_digest]
    return msgspec.json.encode(content, order="sorted")
