"""When a request is tried again. Pure."""

from __future__ import annotations

from email.utils import mktime_tz, parsedate_tz

from engine.components.seeds import derive

FIRST_PAUSE_SEC = 0.5
LONGEST_BACKOFF_SEC = 30.0
LONGEST_PAUSE_SEC = 120.0
"""A server that asks for more patience is given up on."""

RETRIED = frozenset({408, 409, 425, 429})
"""HTTP statuses that a later try may not meet, beside all from 500 on."""


def is_retried(status: int) -> bool:
    """Whether a later try may go better."""
    return status in RETRIED or status >= 500


def backoff_sec(attempt: int, draw: int) -> float:
    """The pause after try ``attempt`` (from 0), doubling; ``draw`` keeps equal ones from coming in step."""
    whole = min(FIRST_PAUSE_SEC * 2.0 ** min(attempt, 30), LONGEST_BACKOFF_SEC)
    return whole * (0.5 + derive("backoff", draw, attempt) / 2**64)


def retry_after_sec(retry_after: str | None, date: str | None, now: float) -> float:
    """The wait that ``Retry-After`` asks for (seconds, or an HTTP date); 0 where it cannot be read.

    ``date``: the answer's ``Date``, so that it is the server's clock that counts; else ``now``, in seconds
    since the epoch.
    """
    if retry_after is None:
        return 0.0
    try:
        asked = float(retry_after)
        return asked if asked > 0 else 0.0
    except ValueError:
        until = _timestamp(retry_after)
    if until is None:
        return 0.0
    sent = _timestamp(date) if date is not None else None
    return max(until - (now if sent is None else sent), 0.0)


def _timestamp(http_date: str) -> float | None:
    parsed = parsedate_tz(http_date)
    try:
        return float(mktime_tz(parsed)) if parsed is not None else None
    except (ValueError, OverflowError):
        return None
