"""A job: a run that waits, and what there is to know when it is let in."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from engine.scheduling.need import Need, Priority, Scheduling
from engine.scheduling.reasons import Reason, duration, listed
from engine.scheduling.starts import Seated, Start
from engine.store.records import JobKind, RunStatus, Spec

RANKS: dict[Priority, int] = {"high": 0, "normal": 1, "low": 2}

RISE_AFTER_SEC = 7200.0
"""A job rises by one priority each time that it has waited this long: no stream of urgent ones starves it."""

BACKOFF_SEC, LONGEST_BACKOFF_SEC = 10.0, 300.0


class QueuedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A run that waits. Changed by replacing it.

    sequence: order of submission, for ever. rank: its priority as a number, after any rise. eligible_since:
    since when nothing but room keeps it; None while something else does. not_before: after a failure, when it
    may be tried again. failures: how often the box failed it; failure: how, the last time. retries: how often
    it may. timeout_sec: wall seconds that it may run. kind: ``score`` plays nothing, and starts beside
    others. on, nodes: the cluster that it goes to, and how many of its nodes; "" is this machine.
    """

    run_id: str
    sequence: int
    need: Need
    priority: Priority = "normal"
    rank: int = RANKS["normal"]
    submitted_at: str = ""
    eligible_since: float | None = None
    held: bool = False
    depends_on: tuple[str, ...] = ()
    retries: int = 0
    failures: int = 0
    failure: str = ""
    not_before: float | None = None
    timeout_sec: float | None = None
    kind: JobKind = "run"
    on: str = ""
    nodes: int = 1

    @classmethod
    def of(cls, spec: Spec, submitted_at: str, kind: JobKind = "run") -> QueuedJob:
        """The job of a spec; it gets its sequence when it is queued. Raises msgspec.ValidationError."""
        asked = msgspec.convert(spec.scheduling, Scheduling)
        scored = kind == "score"  # it has been played: it waits for no run, and no episode takes time
        return cls(
            run_id=spec.run_id,
            sequence=0,
            need=Need.to_score(spec) if scored else Need.of(spec),
            priority=asked.priority,
            rank=RANKS[asked.priority],
            submitted_at=submitted_at,
            depends_on=() if scored else asked.depends_on,
            retries=spec.eval.retries,
            timeout_sec=None if scored else spec.eval.timeout_sec,
            kind=kind,
            on="" if scored else asked.on,
            nodes=1 if scored else asked.nodes,
        )

    def blocked(self, outcomes: Mapping[str, RunStatus], now: float) -> Reason | None:
        """What keeps it apart from the machine. ``outcomes``: how the runs that it depends on stand."""
        if self.held:
            return Reason("held", "an operator holds it")
        if self.not_before is not None and now < self.not_before:
            left = duration(self.not_before - now)
            return Reason("backoff", f"{self.failure}; failure {self.failures}, tried again in {left}")
        undone = [run for run in self.depends_on if outcomes.get(run) != "completed"]
        lost = [run for run in undone if outcomes.get(run) not in ("pending", "running")]
        if lost:
            how = outcomes.get(lost[0], "deleted")
            return Reason(
                "dependency_failed", f"{lost[0]} is {how}, not completed; resume that one, or cancel this one"
            )
        return Reason("dependency", f"waits for {listed(undone)} to complete") if undone else None

    def refreshed(self, outcomes: Mapping[str, RunStatus], now: float) -> QueuedJob:
        """The job with it noted since when nothing but room keeps it, and risen if that is long ago."""
        since = None
        if self.blocked(outcomes, now) is None:
            since = now if self.eligible_since is None else self.eligible_since
        waited = 0.0 if since is None else now - since
        rank = max(0, min(self.rank, RANKS[self.priority] - int(waited // RISE_AFTER_SEC)))
        if (since, rank) == (self.eligible_since, self.rank):
            return self
        return msgspec.structs.replace(self, eligible_since=since, rank=rank)

    def failed(self, failure: str, now: float) -> QueuedJob:
        """The job after a failure of the box, to be tried again after a pause that doubles each time."""
        pause = min(LONGEST_BACKOFF_SEC, BACKOFF_SEC * 2.0**self.failures)
        return msgspec.structs.replace(
            self,
            failures=self.failures + 1,
            failure=failure,
            not_before=now + pause,
            eligible_since=None,
        )


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was let in, and with what. at: when."""

    job: QueuedJob
    start: Start
    at: float


class LoadedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A shared server that was started, for the workers of the runs that use it. kept: by an operator, beyond
    its last user. cold: nothing was known of it. at: when it was started.
    """

    seated: Seated
    at: float
    cold: bool = False
    kept: bool = False
