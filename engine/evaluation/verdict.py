"""How an episode ended, in the words of its row. Pure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.components.errors import HostCrashed, HostFailure, HostUnreached, WrongChoice
from engine.store.disk import advice, box_failure
from engine.store.records import EpisodeStatus, ErrorClass, Termination

NAMED_NODE_ERRORS = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """``error`` and ``error_class`` are None for a completed episode."""

    status: EpisodeStatus
    termination: Termination
    error: str | None = None
    error_class: ErrorClass | None = None


class SetupRefused(Exception):
    """The environment did not accept the episode: a selector, a split or an index that it does not have."""


class InfraError(Exception):
    """The box failed the episode (its time limit, its group's past), not the agent."""

    def __init__(self, message: str, termination: Termination = "exception") -> None:
        super().__init__(message)
        self.termination = termination


def of_exception(error: BaseException, step: int | None = None) -> Verdict:
    """The verdict on an episode that an exception, or its cancellation, ended; ``step``: where a host that
    crashed was called.

    One whose files the box refuses is as good as never begun: a resume plays it again.
    """
    if isinstance(error, asyncio.CancelledError):
        return Verdict("cancelled", "cancelled", "cancelled while it was running")
    if (refused := box_failure(error)) is not None:
        return Verdict("cancelled", "cancelled", f"it could not go on: {advice(refused)}")
    if isinstance(error, HostFailure):
        crashed = isinstance(error, HostCrashed) and not isinstance(error, HostUnreached)
        place = f", at step {step}" if crashed and step is not None and not error.outgrew else ""
        return Verdict("error", error.termination, f"{error}{place}", "infra")
    if isinstance(error, InfraError):
        return Verdict("error", error.termination, str(error), "infra")
    if isinstance(error, OSError):
        return Verdict("error", "exception", f"{type(error).__name__}: {error}", "infra")
    if isinstance(error, (SetupRefused, WrongChoice)):
        return Verdict("error", "exception", str(error), "config")
    return Verdict("error", "exception", f"{type(error).__name__}: {error}", "graph")


def of_outcome(
    termination: Termination,
    node_errors: Sequence[tuple[str, int, str]],
    metrics: Mapping[str, float | None],
    *,
    needs_verdict: bool,
) -> Verdict:
    """The verdict on an episode that its executor ended. ``node_errors``: (node id, step, message)."""
    if node_errors:
        named = "; ".join(
            f"{node} at step {step}: {message}" for node, step, message in node_errors[:NAMED_NODE_ERRORS]
        )
        more = len(node_errors) - NAMED_NODE_ERRORS
        return Verdict("error", "node_error", named + (f"; and {more} more" if more > 0 else ""), "graph")
    if needs_verdict and not metrics:
        return Verdict("error", "no_verdict", "no verdict: the graph ended without a metric", "graph")
    return Verdict("completed", termination)
