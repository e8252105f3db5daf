"""Which cards each part of a job would get. No part is ever spread over the free memory of two cards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.scheduling.accounts import Accounts, Card, Pool
from engine.scheduling.estimates import Estimate, Figure, Part
from engine.scheduling.machine import RAM

COLD_ROOM = 0.5
"""A part of which nothing is known starts where at least this share of a card is free."""

SPARE_MB = 1024.0
"""What strangers, a desktop say, may always hold of a card: a job almost as large starts beside them."""


@dataclass(frozen=True)
class Request:
    """What one admission has to find room for.

    estimate: of all that it uses, as this machine counts it. parts: what would be started. growth: pool → MB
    by which servers that run already would grow. using: those servers. pinned: the cards that it must get,
    all of them. alone: it needs its card to itself; everything that it starts then goes there. cold: nothing
    is known of it.
    """

    run_id: str
    workers: int
    estimate: Estimate
    parts: tuple[Part, ...]
    growth: Mapping[str, float]
    using: tuple[str, ...]
    pinned: tuple[str, ...]
    alone: bool
    cold: bool

    @property
    def needs_card(self) -> bool:
        return self.alone or bool(self.pinned) or any(_wants_card(part) for part in self.parts)


@dataclass
class Seating:
    """cards: owner → the cards it would get. demand: pool → MB, margins included. unseated: the pool, or the
    part, for which there is no room.
    """

    cards: dict[str, tuple[Card, ...]] = field(default_factory=dict)
    demand: dict[str, float] = field(default_factory=dict)
    unseated: Part | Pool | None = None


Seat = tuple[Card, ...]


def seat(
    request: Request,
    accounts: Accounts,
    is_open: Callable[[Part, Seat, Seating], bool],
    order: Callable[[Part, Seat], tuple[Any, ...]],
) -> Seating:
    """Seat every part, the largest first; each on the first seat by ``order`` of those that fit and that
    ``is_open`` says are."""
    seating = Seating(demand=dict(request.growth))
    for key, mb in request.growth.items():
        pool = accounts.pool(key)
        if pool and mb > pool.available_mb:
            seating.unseated = pool
            return seating
    every = _seats(request, accounts)
    roomiest = roomiest_mb(allowed_cards(request, accounts))
    for part in sorted(request.parts, key=_vram, reverse=True):
        if not (request.alone or _wants_card(part) or (part.server is None and request.pinned)):
            seating.cards[part.owner] = ()
            continue
        same = next(iter(seating.cards.values()), None) if request.alone else None
        choices = [same] if same else every(part)
        fitting = [
            cards
            for cards in choices
            if _fits(part, cards, seating, roomiest) and is_open(part, cards, seating)
        ]
        if not fitting:
            seating.unseated = part
            return seating
        _take(part, min(fitting, key=lambda cards: order(part, cards)), seating)
    _seat_in_memory(request, accounts, seating)
    return seating


def wanted_mb(figure: Figure, pool: Pool, roomiest_mb: float) -> float:
    """What must be free: its margin too; of a pool that is otherwise empty, as much of the margin as the
    ``roomiest_mb`` pool that it could be given has."""
    whole = figure.mb + figure.margin_mb
    if pool.neighbours_mb > 0 or pool.standing_mb > 0:
        return whole
    return max(figure.mb, min(whole, roomiest_mb - SPARE_MB))


def roomiest_mb(cards: Iterable[Card]) -> float:
    """The most that one of the cards has."""
    return max((min(card.pool.total_mb, card.pool.ceiling_mb) for card in cards), default=0.0)


def allowed_cards(request: Request, accounts: Accounts) -> list[Card]:
    """The cards that it may be given at all."""
    if request.pinned:
        return [accounts.cards[uuid] for uuid in request.pinned if uuid in accounts.cards]
    return list(accounts.cards.values())


def _seats(request: Request, accounts: Accounts) -> Callable[[Part], list[Seat]]:
    cards = allowed_cards(request, accounts)
    each: list[Seat] = [(card,) for card in cards]
    together: list[Seat] = [tuple(cards)] if request.pinned else each
    return lambda part: together if part.server is None or request.alone else each


def _fits(part: Part, cards: Seat, seating: Seating, roomiest: float) -> bool:
    for card in cards:
        left = card.pool.available_mb - seating.demand.get(card.pool.key, 0.0)
        wanted = wanted_mb(part.vram, card.pool, roomiest) if part.vram else COLD_ROOM * card.pool.total_mb
        if wanted > left:
            return False
    return True


def _take(part: Part, cards: Seat, seating: Seating) -> None:
    seating.cards[part.owner] = cards
    for card in cards:
        if part.vram:
            key = card.pool.key
            mb = part.vram.mb + part.vram.margin_mb
            seating.demand[key] = seating.demand.get(key, 0.0) + mb


def _seat_in_memory(request: Request, accounts: Accounts, seating: Seating) -> None:
    ram = accounts.ram
    if ram is None:
        return
    taken = seating.demand.get(RAM, 0.0)
    wanted = sum(wanted_mb(part.ram, ram, ram.total_mb) for part in request.parts)
    seating.demand[RAM] = taken + sum(part.ram.mb + part.ram.margin_mb for part in request.parts)
    if wanted > 0 and taken + wanted > ram.available_mb:
        seating.unseated = ram


def _vram(part: Part) -> float:
    return part.vram.mb if part.vram else float("inf")


def _wants_card(part: Part) -> bool:
    return part.vram is None or part.vram.mb > 0
