"""Before a run is queued: what it would take, whether it could start now, and with how many workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from engine.scheduling.accounts import Accounts, emptied
from engine.scheduling.calibration import Calibration, Peak
from engine.scheduling.estimates import Estimate, estimate, server_estimate
from engine.scheduling.need import Need, server_key
from engine.scheduling.placement import never_fits, place
from engine.scheduling.reasons import Reason
from engine.scheduling.requests import request_for
from engine.scheduling.starts import Start
from engine.store.records import NodesetNeed

MOST_WORKERS = 256

NOT_SAMPLED = Reason("sampler_stale", "the machine has not been sampled yet")


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """start: as it would start now; None where it would not. refused: why the machine can never take it.
    waits: why it would not start now. max_workers: the most that would start now; 0 where not even one would,
    and one at most where nothing is known of it.
    """

    estimate: Estimate
    start: Start | None = None
    refused: Reason | None
    waits: Reason | None
    max_workers: int


def forecast(
    need: Need,
    calibration: Calibration,
    accounts: Accounts | None,
    running: Mapping[tuple[str, int], Peak],
    served: Callable[[str], int],
    lent: Mapping[str, str] | None = None,
) -> Forecast:
    """Look at ``need`` as admission would, were it alone in the queue. Loads and changes nothing."""
    wanted = estimate(need, calibration, running, served, lent)
    if accounts is None:
        return Forecast(estimate=wanted, refused=None, waits=NOT_SAMPLED, max_workers=0)
    bare = emptied(accounts)

    def try_with(workers: int) -> Start | Reason:
        smaller = msgspec.structs.replace(need, worker_count=workers)
        figures = estimate(smaller, calibration, running, served, lent)
        refused = never_fits(request_for("", smaller, figures, bare), bare)
        return refused or place(request_for("", smaller, figures, accounts), accounts)

    def fits(workers: int) -> bool:
        tried = try_with(workers)
        return isinstance(tried, Start) and (workers == 1 or not tried.cold)

    asked = try_with(need.worker_count)
    waits = asked if isinstance(asked, Reason) else None
    return Forecast(
        estimate=wanted,
        start=asked if isinstance(asked, Start) else None,
        refused=waits if waits and waits.code == "infeasible" else None,
        waits=waits,
        max_workers=_most(fits),
    )


def _most(fits: Callable[[int], bool]) -> int:
    """The largest number that fits: doubled until it does not, then halved between."""
    low, high = 0, 1
    while high <= MOST_WORKERS and fits(high):
        low, high = high, 2 * high
    high = min(high, MOST_WORKERS + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def place_server(nodeset: NodesetNeed, calibration: Calibration, accounts: Accounts | None) -> Start | Reason:
    """Where a shared server would go that an operator loads, with no run to use it yet."""
    if accounts is None:
        return NOT_SAMPLED
    need = Need(graph_name=nodeset.name, graph_hash="", nodesets=(nodeset,))
    figures = server_estimate(nodeset, calibration)
    bare = emptied(accounts)
    key = server_key(nodeset)
    refused = never_fits(request_for(key, need, figures, bare), bare)
    return refused or place(request_for(key, need, figures, accounts), accounts)
