"""Which episodes a run has, and which worker plays which: fixed before the start, the same for every N."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.components.seeds import episode_seed
from engine.graph.splits import usual_split
from engine.store.offers import episodes_misfit, offer_of, split_misfit
from engine.store.records import EvalRequest, Identity, JobKind, identity_of


class PlanError(Exception):
    """The request names episodes that the environment does not have, or names none."""


@dataclass(frozen=True, slots=True)
class PlannedEpisode:
    """One episode of the list. Its identity is (index, selectors, repeat); its seed comes from it alone."""

    position: int
    index: int
    selectors: Mapping[str, Any]
    repeat: int
    seed: int

    @property
    def identity(self) -> Identity:
        """That of its row."""
        return identity_of(self.index, dict(self.selectors), self.repeat)


def choose_split(asked: str, graph_split: str, metadata: Mapping[str, Any]) -> str:
    """The split that is played, of those that the environment's metadata names. Raises PlanError."""
    splits = offer_of(metadata).splits
    if wrong := split_misfit(asked, splits):
        raise PlanError(str(wrong))
    return asked or usual_split(graph_split, splits)


def plan_request(request: EvalRequest, split: str, metadata: Mapping[str, Any]) -> list[PlannedEpisode]:
    """The episodes that a request asks for. Raises PlanError."""
    return plan_episodes(
        count=request.episode_count,
        start=request.start_episode_index,
        indices=request.episode_indices,
        selectors=request.selectors,
        episode_selectors=request.episode_selectors,
        run_seed=request.seed,
        available=offer_of(metadata).counts.get(split),
        repeats=request.repeats,
    )


def plan_episodes(
    *,
    count: int,
    start: int,
    indices: Sequence[int] | None,
    selectors: Mapping[str, Any],
    episode_selectors: Sequence[Mapping[str, Any]] | None,
    run_seed: int,
    available: int | None,
    repeats: int = 1,
) -> list[PlannedEpisode]:
    """The run's episodes in order. ``count`` -1 is all that the environment has from ``start`` on.

    Each comes ``repeats`` times, one after the other, and only its first repeat has the seed of a run
    without repeats.
    ``available`` is the number of episodes that the environment says it has, None where it does not say.
    Raises PlanError.
    """
    if wrong := episodes_misfit(count, start, indices, available):
        raise PlanError(str(wrong))
    end = start + count if count != -1 or available is None else available
    chosen = list(indices) if indices is not None else list(range(start, end))
    if not chosen:
        raise PlanError("no episode to run: ask for at least one (-n N, --all or --episodes LIST)")
    extra = list(episode_selectors) if episode_selectors is not None else [{}] * len(chosen)
    if len(extra) != len(chosen):
        raise PlanError(f"episode_selectors has {len(extra)} for a list of {len(chosen)}: give one for each")
    tries = itertools.product(zip(chosen, extra, strict=True), range(1, repeats + 1))
    planned = [
        PlannedEpisode(position, index, {**selectors, **own}, repeat, episode_seed(run_seed, index, repeat))
        for position, ((index, own), repeat) in enumerate(tries)
    ]
    _refuse_doubles(planned)
    return planned


def refuse_to_split(request: EvalRequest, kind: JobKind, shards: int) -> None:
    """PlanError where so many shards could not come to what one process comes to."""
    if shards > 1 and request.until_width is not None:
        raise PlanError(
            f"a run with --until-width cannot be split over {shards} nodes,"
            " since its list is to be played from its beginning on: leave out one of the two"
        )
    if shards > 1 and kind == "play":
        raise PlanError(f"a run that is played by hand cannot be split over {shards} nodes: play it on one")


def useful_workers(n: int, asked: int, recycle_after: int | None) -> int:
    """Workers that get an episode: a group of ``recycle_after`` is never split between two."""
    return min(asked, -(-n // (recycle_after or 1)))


def cut_chunks(n: int, workers: int, recycle_after: int | None) -> list[range]:
    """Contiguous positions for each worker, or for each shard (empty where there are more than groups).

    A chunk begins only at a multiple of ``recycle_after``, where a fresh process begins for every N.
    """
    size = recycle_after or 1
    groups = -(-n // size)
    edges = [min(n, (w * groups // max(workers, 1)) * size) for w in range(workers + 1)]
    return [range(a, b) for a, b in itertools.pairwise(edges)]


def deal_groups(n: int, workers: int, recycle_after: int | None) -> list[list[int]]:
    """Positions for each worker, dealt in turn, so that the list is played from its beginning on.

    In groups of ``recycle_after``, where a fresh process begins for every N.
    """
    size = recycle_after or 1
    return [[p for p in range(n) if p // size % workers == worker] for worker in range(workers)]


def common_multiple(counts: Iterable[int | None]) -> int | None:
    """Where every recycled nodeset begins afresh at once; None where none is recycled."""
    known = [count for count in counts if count is not None]
    return math.lcm(*known) if known else None


def _refuse_doubles(planned: Sequence[PlannedEpisode]) -> None:
    seen: set[tuple[int, str, int]] = set()
    for episode in planned:
        identity = (episode.index, repr(sorted(episode.selectors.items())), episode.repeat)
        if identity in seen:
            raise PlanError(f"episode {episode.index} is asked for twice with the same selectors")
        seen.add(identity)
