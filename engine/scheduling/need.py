"""What a run asks of the machine, as its spec says it, and who has something of the machine already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from engine.store.records import NodesetNeed, Spec

Priority = Literal["high", "normal", "low"]


class Scheduling(msgspec.Struct, frozen=True, kw_only=True):
    """``scheduling`` of spec.json. marginal_vram_mb: None is not known, 0 is no GPU.

    gpus: UUIDs or labels of the cards to give it, all of them; none is one card of the scheduler's choice.
    depends_on: runs that must complete first. on: "" is this machine, else ``slurm`` or ``slurm:PARTITION``;
    nodes: over so many of its nodes the run is split.
    """

    marginal_vram_mb: float | None = None
    exclusive_gpu: bool = False
    priority: Priority = "normal"
    gpus: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    on: str = ""
    nodes: int = 1


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What a run will load, and what its submitter said about it. selection: of its environment's panel, as
    :func:`selection_of` has it. worker_count: those that have an episode to play, as far as that is known."""

    graph_name: str
    graph_hash: str
    selection: str = ""
    worker_count: int = 1
    nodesets: tuple[NodesetNeed, ...] = ()
    marginal_vram_mb: float | None = None
    exclusive_gpu: bool = False
    gpus: tuple[str, ...] = ()

    @classmethod
    def to_score(cls, spec: Spec) -> Need:
        """What it takes to score the finished episodes of ``spec``: one process, whatever they were played
        with."""
        return cls(graph_name=spec.eval.graph_name, graph_hash="scoring", marginal_vram_mb=0.0)

    @classmethod
    def of(cls, spec: Spec) -> Need:
        """What ``spec`` asks. Raises msgspec.ValidationError for a ``scheduling`` that is none."""
        asked = msgspec.convert(spec.scheduling, Scheduling)
        return cls(
            graph_name=spec.eval.graph_name,
            graph_hash=spec.needs.graph_hash,
            selection=selection_of(spec.eval.selectors, spec.eval.episode_selectors or ()),
            worker_count=min(spec.eval.worker_count, spec.eval.asked_episodes or spec.eval.worker_count),
            nodesets=tuple(spec.needs.nodesets),
            marginal_vram_mb=asked.marginal_vram_mb,
            exclusive_gpu=asked.exclusive_gpu,
            gpus=asked.gpus,
        )

    @property
    def run_key(self) -> str:
        """What a run's memory depends on, its worker count apart: its graph, its nodesets' sources, and what
        is played."""
        return self._key(*([self.selection] if self.selection else []))

    @property
    def kin_key(self) -> str:
        """The same of all runs that differ in what is played alone."""
        return self._key()

    def _key(self, *more: str) -> str:
        sources = sorted((nodeset.name, nodeset.source_hash) for nodeset in self.nodesets)
        return blake2b(msgspec.json.encode([self.graph_hash, sources, *more]), digest_size=16).hexdigest()

    @property
    def shared(self) -> list[NodesetNeed]:
        """The nodesets that one server serves to all runs."""
        return [nodeset for nodeset in self.nodesets if nodeset.parallelism == "shared"]

    @property
    def own(self) -> list[NodesetNeed]:
        """The nodesets of which every worker has its own."""
        return [nodeset for nodeset in self.nodesets if nodeset.parallelism != "shared"]


def selection_of(selectors: Mapping[str, Any], of_episodes: Sequence[Mapping[str, Any]] = ()) -> str:
    """What is played, as a text that tells it from another choice; empty where nothing is chosen."""
    chosen = [{**selectors, **own} for own in of_episodes or ({},)]
    played = {repr(sorted((name, str(value)) for name, value in one.items())) for one in chosen}
    return blake2b("\n".join(sorted(played)).encode(), digest_size=6).hexdigest() if any(chosen) else ""


def server_key(nodeset: NodesetNeed) -> str:
    """What a shared server goes by: all that its process is made of. The configs of nodes are not among it,
    since one server serves every config. Servers of other sources, interpreters or environments stand beside
    each other."""
    made_of = [nodeset.source_hash, nodeset.python, sorted(nodeset.env.items()), nodeset.workspaces]
    digest = blake2b(msgspec.json.encode(made_of), digest_size=6).hexdigest()
    return f"server:{nodeset.name}@{digest}"


class Claim(msgspec.Struct, frozen=True):
    """What an owner is expected to take of a pool; the margin above it goes when the owner has settled."""

    mb: float
    margin_mb: float = 0.0


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """A running run, or a shared server, as admission sees it.

    owner: its run id, or its server key. claims: by pool. peaks: the most it was seen to hold, by pool.
    settled: it works, has stopped growing, and past runs had reached their peak by now. cold: nothing was
    known of it when it started. lasting: waiting does not end it (a server that the operator keeps).
    ending: a server that is being unloaded. users: the runs that use it. aside: what it takes is small and
    known, so that neither waits for the other.
    """

    owner: str
    cards: tuple[str, ...] = ()
    claims: Mapping[str, Claim] = {}
    peaks: Mapping[str, float] = {}
    settled: bool = False
    cold: bool = False
    exclusive: bool = False
    lasting: bool = False
    ending: bool = False
    users: Sequence[str] = ()
    workers: int = 1
    aside: bool = False

    def standing_mb(self, pool: str) -> float:
        """What must be left to it of ``pool``, whatever it holds of that at the moment."""
        claim = self.claims.get(pool, Claim(0.0))
        expected = claim.mb + (0.0 if self.settled else claim.margin_mb)
        peak = self.peaks.get(pool, 0.0)
        return max(expected, peak + (peak * COLD_SHARE + COLD_MB if self.cold and peak else 0.0))


COLD_SHARE, COLD_MB = 0.25, 512.0
"""What a tenant of which nothing was known may still grow, beyond the most that it was seen to hold."""
