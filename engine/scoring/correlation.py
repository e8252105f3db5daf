"""What ties a trace on a platform to the episode that made it."""

from __future__ import annotations

from hashlib import blake2b

RUN_KEY = "evaltower.run_id"
"""Attribute, tag or metadata key that holds the correlation id."""


def trace_id(run_id: str) -> str:
    """The trace of a correlation id, where traces are found by their id: 32 hex digits.

    An episode's own id (``<run_id>/<episode folder>``) is hashed, as in the ``TRACEPARENT`` that a harness
    gets; what a harness reports itself is a trace id already.
    """
    if "/" not in run_id:
        return run_id
    return blake2b(run_id.encode(), digest_size=16).hexdigest()
