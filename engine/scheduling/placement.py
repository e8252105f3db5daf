"""Where a job goes, and what it takes there; or the reason why it can go nowhere now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property

from engine.scheduling.accounts import Accounts, Card, cleared
from engine.scheduling.estimates import RUN, Part
from engine.scheduling.holds import Hold
from engine.scheduling.machine import RAM
from engine.scheduling.reasons import Reason, listed
from engine.scheduling.requests import claims_of
from engine.scheduling.seating import Request, Seat, Seating, seat
from engine.scheduling.shortage import explain, impossible, kept, never, title, unreadable
from engine.scheduling.starts import Seated, Start


def never_fits(request: Request, bare: Accounts) -> Reason | None:
    """Why the machine could not take the job with nothing else on it. None, too, where that cannot be told.

    ``bare``: the machine as :func:`emptied` shows it, for which ``request`` was made.
    """
    if bare.driver == "failing" or bare.problems or bare.ram is None:
        return None
    if reason := impossible(request, bare):
        return reason
    seating = seat(request, bare, lambda *_: True, _by_label)
    return never(request, bare, seating) if seating.unseated else None


def place(
    request: Request,
    accounts: Accounts,
    holds: Sequence[Hold] = (),
    later_mb: Callable[[float], float] = lambda most: 0.0,
) -> Start | Reason:
    """Find room for a job that fits the machine: on the least crowded card that leaves room for those behind.

    ``later_mb``: the largest need of a card, up to so many MB, among the jobs that may start behind it.
    """
    ending = [owner for owner in request.using if accounts.tenants[owner].ending]
    if ending:
        return Reason(
            "server_ending", f"{title(ending[0])} is being unloaded, and is loaded again after that"
        )
    if request.needs_card and (reason := unreadable(request, accounts)):
        return reason
    if reason := _not_first(request, accounts) or _server_held(request, accounts):
        return reason
    in_the_way: list[Hold] = []

    def is_open(part: Part, cards: Seat, seating: Seating) -> bool:
        if not all(_is_free(card, request, accounts) for card in cards):
            return False
        taking = dict(seating.demand)
        for card in cards:
            if part.vram:
                mb = part.vram.mb + part.vram.margin_mb
                taking[card.pool.key] = taking.get(card.pool.key, 0.0) + mb
        hold = _delayed(holds, accounts, taking, [card.uuid for card in cards], request.using)
        if hold:
            in_the_way.append(hold)
        return hold is None

    seating = seat(request, accounts, is_open, _Order(accounts, later_mb))
    if seating.unseated:
        return explain(request, accounts, seating, in_the_way[0] if in_the_way else None)
    cards = [card.uuid for seats in seating.cards.values() for card in seats]
    hold = _delayed(holds, accounts, seating.demand, cards, request.using)
    return kept(hold, accounts) if hold else _start(request, seating, accounts)


def hold_for(
    request: Request, accounts: Accounts, waited_sec: float, before: Sequence[str], taken: Collection[str]
) -> Hold | None:
    """What to keep for a job that does not fit now; None where keeping would not help it.

    ``before``: the cards kept for it so far. ``taken``: cards kept for jobs ahead of it. Memory that others
    than ours hold does not come free by waiting: a card on which they leave no room is not kept.
    """
    if request.cold and not accounts.cards:
        return Hold(request.run_id, waited_sec, (), {RAM: 0.0}, alone=True)
    later = cleared(accounts, request.using)

    def is_open(part: Part, cards: Seat, seating: Seating) -> bool:
        return all(_is_free(card, request, later) for card in cards)

    def order(part: Part, cards: Seat) -> tuple[object, ...]:
        now = min(accounts.cards[card.uuid].pool.available_mb for card in cards)
        return (
            not all(card.uuid in before for card in cards),
            any(card.uuid in taken for card in cards),
            -now,
            [card.label for card in cards],
        )

    seating = seat(request, later, is_open, order)
    if seating.unseated:
        return None
    limits = {}
    for key, mb in seating.demand.items():
        pool = later.pool(key)
        if pool:
            kept = sum(pool.standing.get(owner, 0.0) for owner in request.using)
            limits[key] = max(0.0, pool.available_mb + kept - mb)
    chosen = tuple(dict.fromkeys(card.uuid for cards in seating.cards.values() for card in cards))
    return Hold(request.run_id, waited_sec, chosen, limits, request.alone)


def _not_first(request: Request, accounts: Accounts) -> Reason | None:
    """Where only main memory counts, a run of which nothing is known has the whole of it to itself."""
    others = [
        owner for owner, tenant in accounts.tenants.items() if owner not in request.using and not tenant.aside
    ]
    if not request.cold or accounts.cards or not others:
        return None
    who = listed(map(title, others))
    return Reason("cold_start_wait", f"nothing is known yet of what it takes, so it starts alone; {who} runs")


def _server_held(request: Request, accounts: Accounts) -> Reason | None:
    """A server on a card that a run has to itself serves that run alone."""
    for owner in request.using:
        for card in (
            accounts.cards[uuid] for uuid in accounts.tenants[owner].cards if uuid in accounts.cards
        ):
            if card.exclusive:
                who = title(card.exclusive)
                return Reason(
                    "exclusive_held", f"{title(owner)} is on {card.name}, which {who} has to itself"
                )
    return None


def _is_free(card: Card, request: Request, accounts: Accounts) -> bool:
    if not card.fresh or card.exclusive or card.neighbour_exclusive:
        return False
    if not request.alone:
        return True
    others = [owner for owner in card.owners if not _is_only_used_by(owner, request, accounts)]
    return not others and not card.neighbour_occupied


def _is_only_used_by(owner: str, request: Request, accounts: Accounts) -> bool:
    return owner in request.using and set(accounts.tenants[owner].users) <= {request.run_id}


def _delayed(
    holds: Sequence[Hold],
    accounts: Accounts,
    taking: Mapping[str, float],
    cards: Collection[str],
    using: Collection[str],
) -> Hold | None:
    return next((hold for hold in holds if hold.is_delayed_by(accounts, taking, cards, using)), None)


def _start(request: Request, seating: Seating, accounts: Accounts) -> Start:
    run, *servers = (_seated(part, request, seating, accounts) for part in request.estimate.parts)
    own = request.estimate.run
    return Start(
        run_id=request.run_id,
        run=run,
        servers=tuple(servers),
        basis={"vram": own.vram.basis if own.vram else None, "ram": own.ram.basis},
        cold=request.cold,
        exclusive=request.alone and not request.cold,
        workers=request.workers,
    )


def _seated(part: Part, request: Request, seating: Seating, accounts: Accounts) -> Seated:
    load = part.owner in seating.cards
    if load:
        cards = tuple(card.uuid for card in seating.cards[part.owner])
    else:
        cards = accounts.tenants[part.owner].cards
    return Seated(
        owner=request.run_id if part.owner == RUN else part.owner,
        server=part.server,
        load=load,
        cards=cards,
        visible=None if accounts.driver == "absent" else cards,
        claims=claims_of(part, cards, accounts),
        after_sec=part.after_sec,
        lender=part.lender,
    )


class _Order:
    """Cards for a part, the best first: those that leave room for the largest that could start behind it, of
    them the least crowded, of them the fullest."""

    def __init__(self, accounts: Accounts, later_mb: Callable[[float], float]) -> None:
        fresh = [card for card in accounts.cards.values() if card.fresh]
        self._available = {card.uuid: card.pool.available_mb for card in fresh}
        self._find_later = later_mb

    @cached_property
    def _later_mb(self) -> float:
        return self._find_later(max(self._available.values(), default=0.0))

    def __call__(self, part: Part, cards: Seat) -> tuple[object, ...]:
        taken = part.vram.mb + part.vram.margin_mb if part.vram else float("inf")
        here = {card.uuid for card in cards}
        left = (mb - taken if uuid in here else mb for uuid, mb in self._available.items())
        return (
            self._later_mb > max(left, default=0.0),
            sum(len(card.owners) for card in cards),
            sum(card.pool.available_mb for card in cards),
            cards[0].label,
        )


def _by_label(part: Part, cards: Seat) -> tuple[object, ...]:
    return (cards[0].label,)
