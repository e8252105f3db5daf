"""environment.json: what a run's numbers were produced by."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.store.records import Determinism


class NodesetRecord(msgspec.Struct, kw_only=True):
    """A nodeset as it ran. python: the interpreter of its process. versions: package → version there, of what
    hosts it and of the packages that it declares.

    url: where it was borrowed; empty for a process of the run's own.
    """

    name: str
    source_hash: str = ""
    parallelism: str = ""
    determinism: Determinism = "exact"
    python: str = ""
    versions: dict[str, str] = {}
    url: str = ""


class BatchedRecord(msgspec.Struct, kw_only=True):
    """How a batched tool ran. Results of different regimes, shapes, threads or CPUs are not bit-comparable.

    shape: rows of a padded forward, None where any. threads: library → threads. versions: library → version
    or files. digest: BLAKE2b-128 hex of the load-time check's outputs. rows: how many rows it compared.
    """

    nodeset: str
    tool: str
    regime: str
    shape: int | None = None
    threads: dict[str, int | None] | None = None
    cpu: str = ""
    versions: dict[str, Any] = {}
    digest: str = ""
    rows: int = 0


class ModelRecord(msgspec.Struct, kw_only=True):
    """A chat model that the run's nodes ask, by its profile in evaltower.toml, which says its determinism."""

    profile: str
    model: str
    base_url: str
    determinism: Determinism = "none"


class EnvironmentRecord(msgspec.Struct, kw_only=True):
    """environment.json: what produced the numbers. determinism: the weakest label of nodesets and models.

    versions: package → version of the run process. command: a shell line that runs it again. nodesets: one
    stands here twice where attempts or parts of the run had it with other versions.
    """

    run_id: str
    versions: dict[str, str] = {}
    git_commit: str | None = None
    host: dict[str, Any] = {}
    gpus: list[dict[str, Any]] = []
    seed: int = 0
    command: str = ""
    determinism: Determinism = "exact"
    nodesets: list[NodesetRecord] = []
    batched: list[BatchedRecord] = []
    models: list[ModelRecord] = []

    def keep_other_versions(self, part: EnvironmentRecord) -> list[NodesetRecord]:
        """Add the nodesets that another part of the run, or an earlier attempt, had with other versions;
        which those are."""
        seen = [(record.name, record.versions) for record in self.nodesets]
        added = [record for record in part.nodesets if (record.name, record.versions) not in seen]
        self.nodesets += added
        return added
