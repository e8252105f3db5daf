"""The sentence for a job that found no room: what it needs, what there is, and who has the rest."""

from __future__ import annotations

from collections.abc import Sequence

from engine.scheduling.accounts import Accounts, Card, Pool
from engine.scheduling.attribution import Foreign
from engine.scheduling.estimates import Part
from engine.scheduling.holds import Hold
from engine.scheduling.reasons import OTHERS, Reason, duration, gb, listed
from engine.scheduling.seating import COLD_ROOM, Request, Seating, allowed_cards, roomiest_mb, wanted_mb

_WORTH_NAMING_MB = 1024.0


def impossible(request: Request, accounts: Accounts) -> Reason | None:
    """Why no amount of memory would help: there is no such card, and every card could be read."""
    if not request.needs_card:
        return None
    missing = [name for name in request.pinned if name not in accounts.cards]
    if missing:
        there = listed([card.name for card in accounts.cards.values()], most=8) or "none"
        return Reason("infeasible", f"asks for GPU {listed(missing)}; this machine has {there}")
    if not accounts.cards:
        wanted = max((part.vram.mb for part in request.parts if part.vram), default=0.0)
        return Reason(
            "infeasible",
            f"needs {gb(wanted)} GB of GPU memory, and this machine shows no GPU; where it has one without"
            " NVIDIA driver, say how much may be used: usable_vram_mb under [admission] in evaltower.toml",
        )
    return None


def unreadable(request: Request, accounts: Accounts) -> Reason | None:
    """Why nothing is known of the cards that it needs, where there may be some."""
    if accounts.cards and all(name in accounts.cards for name in request.pinned):
        return None
    if accounts.driver == "failing" or accounts.problems:
        said = accounts.problems[0] if accounts.problems else "the NVIDIA driver does not answer"
        return Reason("sampler_stale", f"not every GPU can be read ({said})")
    return None


def never(request: Request, bare: Accounts, seating: Seating) -> Reason:
    """Why it does not fit the machine with nothing else on it (``bare``)."""
    part = seating.unseated
    if isinstance(part, Part) and part.vram:
        cards = allowed_cards(request, bare)
        largest = max(cards, key=lambda card: min(card.pool.total_mb, card.pool.ceiling_mb))
        most = min(largest.pool.total_mb, largest.pool.ceiling_mb)
        capped = " (usable_vram_mb)" if most < largest.pool.total_mb else ""
        whose = f" for {title(part.owner)}" if part.server else ""
        beside = " beside what else it needs" if part.vram.mb <= most else ""
        return Reason(
            "infeasible",
            f"needs {gb(part.vram.mb)} GB{whose} on one GPU; the most that one can give{beside} is"
            f" {gb(most)} GB, {largest.name}{capped}",
        )
    wanted = sum(each.ram.mb for each in request.parts) + sum(
        each.vram.mb
        for each in request.parts
        for card in seating.cards.get(each.owner, ())
        if each.vram and card.pool is bare.ram  # where a card has no memory of its own
    )
    total = bare.ram.total_mb if bare.ram else 0.0
    return Reason("infeasible", f"needs {gb(wanted)} GB of RAM; this machine can give {gb(total)} GB")


def explain(request: Request, accounts: Accounts, seating: Seating, hold: Hold | None) -> Reason:
    """Why it finds no room now. ``hold``: what is kept for an older job, where that is in the way."""
    if hold:
        return kept(hold, accounts)
    if isinstance(seating.unseated, Pool):
        return _short_pool(request, accounts, seating, seating.unseated)
    cards = allowed_cards(request, accounts)
    fresh = [card for card in cards if card.fresh]
    if not fresh or (request.pinned and len(fresh) < len(cards)):
        stale = next(card for card in cards if not card.fresh)
        said = f" ({accounts.problems[0]})" if accounts.problems else ""
        age = duration(stale.pool.age_sec)
        return Reason("sampler_stale", f"the memory of {stale.name} was last read {age} ago{said}")
    part = seating.unseated
    assert isinstance(part, Part)
    return _alone(request, fresh) if request.alone else _short_cards(part, fresh)


def kept(hold: Hold, accounts: Accounts) -> Reason:
    """Waiting for an older job."""
    cards = [accounts.cards[uuid].name for uuid in hold.cards if uuid in accounts.cards]
    what = listed(cards) if cards else "memory"
    return Reason(
        "fair_wait", f"{what} is kept for {hold.run_id}, which has waited {duration(hold.waited_sec)}"
    )


def title(owner: str) -> str:
    """An owner for a sentence: a run by its id, a server by its nodeset."""
    if owner.startswith("server:"):
        return f"the server {owner.removeprefix('server:').partition('@')[0]}"
    return owner


def _short_cards(part: Part, cards: Sequence[Card]) -> Reason:
    held = [card for card in cards if card.exclusive or card.neighbour_exclusive]
    if part.vram is None or len(held) == len(cards):
        return Reason("exclusive_held", "; ".join(_held(card) for card in held[:2]))
    wanted = part.vram.mb + part.vram.margin_mb
    for card in held:
        if wanted_mb(part.vram, card.pool, roomiest_mb(cards)) <= card.pool.available_mb:
            return Reason("exclusive_held", _held(card))
    others = sorted((card for card in cards if card not in held), key=lambda card: -card.pool.available_mb)
    whose = f" for {title(part.owner)}" if part.server else ""
    has = "; ".join(_has(card) for card in others[:2])
    rest = len(others) - 2
    more = f"; {rest} more {'has' if rest == 1 else 'have'} less" if rest > 0 else ""
    return Reason("gpu_memory", f"needs {gb(wanted)} GB{whose}; {has}{more}")


def _held(card: Card) -> str:
    who = title(card.exclusive) if card.exclusive else "another backend's run"
    return f"{card.name} is held exclusively by {who}"


def _has(card: Card) -> str:
    pool = card.pool
    text = f"{card.name} has {gb(pool.free_mb)} free" + _spoken_for(pool)
    if pool.ceiling_mb < pool.total_mb:
        text += f" (up to {gb(pool.ceiling_mb)} may be used)"
    return text + _foreign(pool.foreign)


def _spoken_for(pool: Pool) -> str:
    reserved = {owner: pool.reserved_of(owner) for owner in pool.standing}
    owners = [title(owner) for owner, mb in sorted(reserved.items(), key=lambda item: -item[1]) if mb >= 50]
    if pool.neighbours_mb >= 50:
        owners.append(OTHERS)
    total = pool.reserved_mb + pool.neighbours_mb
    if not owners:
        return ""
    if total > pool.free_mb:  # what holds less than it was let in with is yet to take more than there is
        return f", while {gb(total)} are reserved by {listed(owners)}"
    return f", {gb(total)} of it reserved by {listed(owners)}"


def _foreign(foreign: Sequence[Foreign]) -> str:
    named = [process for process in foreign if (process.mb or 0.0) >= _WORTH_NAMING_MB]
    if not named:
        return ""
    first = named[0]
    whose = f" of {first.whose}" if first.whose else ", which is not ours"
    return f", {gb(first.mb or 0.0)} taken by {first}{whose}"


def _alone(request: Request, cards: Sequence[Card]) -> Reason:
    why = (
        "nothing is known yet of what it takes, so it starts alone on a GPU"
        if request.cold
        else "it needs a GPU to itself"
    )
    empty = [card for card in cards if not card.owners and not card.neighbour_occupied]
    if not empty:
        return Reason(
            "cold_start_wait" if request.cold else "exclusive_wait",
            f"{why}; {'; '.join(_occupied(card) for card in cards[:2])}",
        )
    named = [card for card in empty if _foreign([each for each in card.pool.foreign if not each.whose])]
    return Reason(
        "gpu_unmanaged_process" if named else "gpu_memory",
        f"{why}, with {_room(request)} free; {_has((named or empty)[0])}",
    )


def _room(request: Request) -> str:
    known = [part.vram.mb for part in request.parts if part.vram]
    return f"{gb(sum(known))} GB" if len(known) == len(request.parts) else f"{COLD_ROOM:.0%} of it"


def _occupied(card: Card) -> str:
    return f"{card.name} is used by {listed(map(title, card.owners)) or 'another backend'}"


def _short_pool(request: Request, accounts: Accounts, seating: Seating, pool: Pool) -> Reason:
    if pool is not accounts.ram:
        wanted = request.growth.get(pool.key, 0.0)
        card = next(card for card in accounts.cards.values() if card.pool is pool)
        servers = listed(map(title, request.using))
        return Reason("gpu_memory", f"{servers} would need {gb(wanted)} GB more; {_has(card)}")
    wanted = seating.demand[pool.key]
    text = f"needs {gb(wanted)} GB of RAM; {gb(pool.free_mb)} are free{_spoken_for(pool)}"
    return Reason("ram", text + _foreign(pool.foreign))
