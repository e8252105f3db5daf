"""What is kept for a job that has waited its fair wait: nothing starts any more that would delay it.

A candidate would delay the holder if some of those who are there could end such that the holder could start,
but not beside the candidate. As nobody knows who ends first, every combination counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from engine.scheduling.accounts import Accounts, Pool

_MOST_COMBINED = 12
"""With more tenants than this on a pool whose combinations matter, any candidate is held to delay."""


@dataclass(frozen=True)
class Hold:
    """limits: pool → MB that others may hold of it when the holder starts. cards: those it will go to, always
    the same. alone: it needs them empty.
    """

    run_id: str
    waited_sec: float
    cards: tuple[str, ...]
    limits: Mapping[str, float]
    alone: bool

    def is_delayed_by(
        self,
        accounts: Accounts,
        taking: Mapping[str, float],
        cards: Collection[str],
        using: Collection[str] = (),
    ) -> bool:
        """Whether a candidate delays the holder.

        ``taking``: pool → MB that it would take. ``cards``: those that it would go to. ``using``: servers
        that it would keep from being unloaded.
        """
        if self.alone:
            used = {card for owner in using for card in accounts.tenants[owner].cards}
            if not used.union(cards).isdisjoint(self.cards):
                return True
        return any(
            _delays(pool, limit, taking.get(key, 0.0), using)
            for key, limit in self.limits.items()
            if (pool := accounts.pool(key))
        )


def _delays(pool: Pool, limit: float, taking: float, using: Collection[str]) -> bool:
    standing = {owner: mb for owner, mb in pool.standing.items() if mb > 0 and owner not in pool.lasting}
    extra = taking + sum(mb for owner, mb in standing.items() if owner in using)
    others = [mb for owner, mb in standing.items() if owner not in using]
    if extra <= 0 or sum(others) + extra <= limit:
        return False
    if len(others) > _MOST_COMBINED:
        return True
    sums = {0.0}
    for mb in others:
        sums |= {combined + mb for combined in sums}
    return any(limit - extra < combined <= limit for combined in sums)
