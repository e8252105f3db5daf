"""From a job and its estimate to what has to be found room for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from engine.scheduling.accounts import Accounts
from engine.scheduling.estimates import Estimate, Figure, Part
from engine.scheduling.machine import RAM
from engine.scheduling.need import Claim, Need
from engine.scheduling.seating import Request


def request_for(run_id: str, need: Need, estimated: Estimate, accounts: Accounts) -> Request:
    """What is to be found room for, given the servers that run already."""
    estimate = Estimate(tuple(on_this_machine(part, accounts) for part in estimated.parts))
    missing = tuple(part for part in estimate.parts if part.owner not in accounts.tenants)
    present = [part for part in estimate.parts if part.owner in accounts.tenants]
    unstated = need.marginal_vram_mb is None and estimate.run.ram.basis == "assumed"
    unknown = any(part.vram is None for part in missing) or (not accounts.cards and unstated)
    return Request(
        run_id=run_id,
        workers=need.worker_count,
        estimate=estimate,
        parts=missing,
        growth=_growth(present, accounts),
        using=tuple(part.owner for part in present),
        pinned=pinned_cards(need, accounts),
        alone=bool(accounts.cards) and (need.exclusive_gpu or unknown),
        cold=unknown and not need.exclusive_gpu,
    )


def pinned_cards(need: Need, accounts: Accounts) -> tuple[str, ...]:
    """The cards that were asked for, by UUID; what names none stays as it was written."""
    by_label = {card.label: uuid for uuid, card in accounts.cards.items()}
    return tuple(by_label.get(name, name) for name in need.gpus)


def on_this_machine(part: Part, accounts: Accounts) -> Part:
    """Without a driver nothing is known of cards: what was declared for one counts against what an operator
    said may be used, and where nobody said, nothing does."""
    if accounts.driver != "absent" or (accounts.cards and part.vram and part.vram.basis == "declared"):
        return part
    return msgspec.structs.replace(part, vram=Figure(0.0, 0.0, "assumed"))


def _growth(present: Iterable[Part], accounts: Accounts) -> dict[str, float]:
    growth: dict[str, float] = {}
    for part in present:
        for key, claim in claims_of(part, accounts.tenants[part.owner].cards, accounts).items():
            pool = accounts.pool(key)
            standing = pool.standing.get(part.owner, 0.0) if pool else 0.0
            growth[key] = growth.get(key, 0.0) + max(0.0, claim.mb + claim.margin_mb - standing)
    return {key: mb for key, mb in growth.items() if mb > 0}


def claims_of(part: Part, cards: Sequence[str], accounts: Accounts) -> dict[str, Claim]:
    """What a part on these cards is expected to take, by pool."""
    claims = {RAM: Claim(part.ram.mb, part.ram.margin_mb)}
    for uuid in cards:
        pool = accounts.pool(uuid)
        if pool and part.vram:
            before = claims.get(pool.key, Claim(0.0))  # where a card has no memory of its own
            claims[pool.key] = Claim(before.mb + part.vram.mb, before.margin_mb + part.vram.margin_mb)
    return claims
