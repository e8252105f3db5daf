"""The scheduler: once a second it observes, reaps, admits and unloads."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec

from engine.scheduling.accounts import Accounts
from engine.scheduling.admission import Decisions, State, decide
from engine.scheduling.attribution import NOTHING_SEEN, Usage, attribute
from engine.scheduling.calibration import Calibration
from engine.scheduling.estimates import Estimate, estimate
from engine.scheduling.forecast import Forecast, forecast, place_server
from engine.scheduling.jobs import Admitted, LoadedServer, QueuedJob
from engine.scheduling.launching import Launcher
from engine.scheduling.ledger import Entry, Ledger, LedgerBusyError
from engine.scheduling.machine import Root, Sample, boottime
from engine.scheduling.need import Need, server_key
from engine.scheduling.policy import Policy
from engine.scheduling.queue import Queue, QueueError
from engine.scheduling.reaper import Reaper
from engine.scheduling.reasons import Reason, listed
from engine.scheduling.shortage import title
from engine.scheduling.starts import Start
from engine.scheduling.tenancy import Tenants
from engine.store.records import NodesetNeed, RunStatus
from engine.store.server_folder import ServerFolder, server_folder

log = logging.getLogger(__name__)


class Scheduler:
    """The scheduler of one root. Everything happens in the thread that calls it.

    queue: for what an operator does to it. playing: a run that is being played by hand, while there is one.
    admitting: False lets nothing in any more. tenants: what runs. decisions: the last ones, with why each job
    waits; one that was let in, and waits for a server, is among them. sample, usage: the last ones seen.
    """

    def __init__(
        self,
        queue: Queue,
        calibration: Calibration,
        launcher: Launcher,
        observe: Callable[[Sequence[Root]], Sample | None],
        status_of: Callable[[str], RunStatus | None],
        *,
        policy: Policy | None = None,
        ledger: Ledger | None = None,
        root: str = "",
        clock: Callable[[], float] = boottime,
    ) -> None:
        """Take up what an earlier scheduler let in: it goes on, or is queued again where it never began.

        ``observe`` gives the last sample of the machine, and is told whose processes to look at.
        ``status_of`` tells how a run stands that is neither queued nor running; None where it is not there.
        ``ledger``: where the backends of this host meet; None is to be alone on it.
        """
        self.queue = queue
        self.policy = policy or Policy()
        self.playing: str | None = None
        self.admitting = True
        self.tenants = Tenants(self.policy.cold_longest_sec)
        self.decisions = Decisions()
        self.sample: Sample | None = None
        self.usage = NOTHING_SEEN
        self._calibration = calibration
        self._launcher = launcher
        self._reaper = Reaper(queue, calibration, launcher, self.tenants)
        self._observe = observe
        self._status_of = status_of
        self._ledger = ledger
        self._root = root
        self._clock = clock
        self._leaving: set[str] = set()
        self._lent: Mapping[str, str] = {}
        self._theirs: Mapping[int, str] = {}
        self._reserved: deque[tuple[float, dict[str, float]]] = deque()
        self._reaper.take_up(clock())

    def tick(self) -> Decisions:
        """Do what there is to do now, and tell what was decided."""
        now = self._clock()
        sample, usage = self._look()
        self._reaper.reap(now)
        if self.admitting:
            self._admit(sample, usage, now)
        self._unload()
        return self.decisions

    def cancel(self, run_id: str, grace_sec: float | None = None) -> Literal["cancelled", "cancelling"]:
        """End a run, queued or running; see :meth:`Launcher.stop_run` for the grace.

        QueueError where it is neither, OSError where that is not written.
        """
        run = self.tenants.runs.get(run_id)
        if run and run.launched:
            self._launcher.stop_run(run_id, "cancelled", grace_sec)
            return "cancelling"
        if run is None:
            self.queue.find(run_id)
        self._launcher.end_unstarted(run_id, "cancelled", "cancelled before it was started")
        if run is None:
            self._leaving.add(run_id)
            self._let_go()
        else:
            self._reaper.forget(run, self._clock())
        return "cancelled"

    def forecast(self, need: Need) -> Forecast:
        """What such a run would take, and whether it would start now, as of the last tick."""
        now = self._clock()
        return forecast(
            need,
            self._calibration,
            self.decisions.accounts,
            self.tenants.holdings(now),
            self.tenants.workers,
            self._lent_servers(),
        )

    def keep_server(self, nodeset: NodesetNeed) -> Reason | None:
        """Load a shared server, or keep the one that runs, until :meth:`release_server`.

        The reason where there is no room for it. Raises OSError where it cannot be written.
        """
        key = server_key(nodeset)
        if key in self.tenants.servers:
            self._mark_kept(key, True)
            return None
        placed = place_server(nodeset, self._calibration, self.decisions.accounts)
        if isinstance(placed, Reason):
            return placed
        now = self._clock()
        entry = LoadedServer(seated=placed.run, at=now, cold=placed.cold, kept=True)
        self.queue.admit([], [entry])
        self.tenants.load(entry)
        self._reaper.start_server(entry, now)
        return None

    def release_server(self, key: str) -> None:
        """Let a shared server go after its last user. QueueError where it does not run."""
        if key not in self.tenants.servers:
            raise QueueError(f"{key} is not loaded")
        self._mark_kept(key, False)

    def _mark_kept(self, key: str, kept: bool) -> None:
        self.queue.keep_server(key, kept)
        server = self.tenants.servers[key]
        server.entry = next(entry for entry in self.queue.servers if entry.seated.owner == key)

    def _look(self) -> tuple[Sample | None, Usage]:
        roots = self.tenants.roots()
        sample = self._observe(roots)
        if sample is None:
            return None, NOTHING_SEEN
        usage = attribute(sample, roots, self._theirs)
        self.tenants.see(sample, usage)
        self.sample, self.usage = sample, usage
        return sample, usage

    def _admit(self, sample: Sample | None, usage: Usage, now: float) -> None:
        outcomes = self._outcomes()
        try:
            self.queue.refresh(outcomes, now)
        except OSError as error:
            log.error("the queue's new order is not written yet: %s", error)
        state = State(
            policy=self.policy,
            queue=[job for job in self.queue.jobs if job.run_id not in self._leaving],
            paused=self.queue.paused,
            estimates=self.estimates(),
            tenants=self.tenants.as_seen(now),
            usage=usage,
            outcomes=outcomes,
            over=self._over(),
            playing=self.playing,
            held_cards=self.decisions.held_cards,
        )
        self.decisions = self._decide(state, sample, now)
        try:
            for run_id, reason in self.decisions.refused.items():
                self._launcher.end_unstarted(run_id, "error", str(reason))
                self._leaving.add(run_id)
            self._let_go()
            self._let_in(self.decisions.starts, now)
        except OSError as error:
            log.error("what was decided is not written yet, and not done: %s", error)
        self._tell_who_is_loading()

    def _let_go(self) -> None:
        """Take those out of the queue that have ended; one that cannot be taken out yet does not start."""
        for run_id in tuple(self._leaving):
            self.queue.remove(run_id)
            self._leaving.remove(run_id)

    def _decide(self, state: State, sample: Sample | None, now: float) -> Decisions:
        if self._ledger is None:
            return decide(state, sample, now)
        try:
            with self._ledger.turn() as turn:
                self._lent, self._theirs = turn.lent, turn.others.processes
                decisions = decide(replace(state, neighbours=turn.others), sample, now)
                if decisions.accounts:
                    turn.publish(self._entry(self._ledger, state.queue, decisions, now))
                return decisions
        except LedgerBusyError as error:
            return decide(replace(state, ledger_busy=str(error)), sample, now)

    def _entry(self, ledger: Ledger, jobs: Sequence[QueuedJob], decisions: Decisions, now: float) -> Entry:
        accounts = decisions.accounts
        assert accounts is not None
        waits = [
            now if job.eligible_since is None else job.eligible_since
            for job in jobs
            if (reason := decisions.waiting.get(job.run_id)) and reason.code == "cold_start_wait"
        ]
        cold = [tenant.owner for tenant in accounts.tenants.values() if tenant.cold and not tenant.settled]
        return Entry(
            process=ledger.process,
            root=self._root,
            pending=self._pending(accounts, now),
            exclusive=[card.uuid for card in accounts.cards.values() if card.exclusive],
            occupied=[card.uuid for card in accounts.cards.values() if card.owners],
            cold=cold[0] if cold else None,
            waits_since=min(waits, default=None),
            told_at=now,
            servers=self._servers_to_lend(),
            owners={root.pid: title(root.owner) for root in self.tenants.roots()},
        )

    def _servers_to_lend(self) -> dict[str, str]:
        return {
            key: str(server_folder(Path(self._root), key).path)
            for key, server in self.tenants.servers.items()
            if not (server.ending or server.entry.seated.lender)
        }

    def _lent_servers(self) -> dict[str, str]:
        """What others have loaded and we have not; and what we use of theirs already."""
        lent = {key: path for key, path in self._lent.items() if ServerFolder(Path(path)).is_lendable()}
        ours = {key: server.entry.seated.lender for key, server in self.tenants.servers.items()}
        return {key: lender for key, lender in {**lent, **ours}.items() if lender}

    def _pending(self, accounts: Accounts, now: float) -> dict[str, float]:
        """The most that was reserved of each pool lately: others' samples may be older than ours, and not yet
        show what ours shows."""
        pools = [card.pool for card in accounts.cards.values()] + ([accounts.ram] if accounts.ram else [])
        self._reserved.append((now, {pool.key: pool.reserved_mb for pool in pools}))
        while now - self._reserved[0][0] > self.policy.stale_after_sec:
            self._reserved.popleft()
        return {pool.key: max(then.get(pool.key, 0.0) for _, then in self._reserved) for pool in pools}

    def _let_in(self, starts: Sequence[Start], now: float) -> None:
        if not starts:
            return
        admitted = [Admitted(job=self.queue.find(start.run_id), start=start, at=now) for start in starts]
        loaded = [
            LoadedServer(seated=server, at=now, cold=start.cold)
            for start in starts
            for server in start.servers
            if server.load
        ]
        self.queue.admit(admitted, loaded)
        for server in loaded:
            self.tenants.load(server)
        for entry in admitted:
            self.tenants.admit(entry)
        for server in loaded:
            self._reaper.start_server(server, now)
        for entry in admitted:
            run = self.tenants.runs.get(entry.job.run_id)
            if run and all(self.tenants.is_ready(key) for key in run.servers):
                self._reaper.launch(run, now)

    def _tell_who_is_loading(self) -> None:
        for run in self.tenants.runs.values():
            loading = [title(key) for key in run.servers if not self.tenants.is_ready(key)]
            if loading and not run.launched:
                reason = Reason("server_loading", f"it starts when {listed(loading)} can be used")
                self.decisions.waiting[run.run_id] = reason

    def _unload(self) -> None:
        for server in self.tenants.servers.values():
            if not (server.entry.kept or server.ending or server.leased or self.tenants.users(server.key)):
                self._launcher.stop_server(server.key)
                server.ending = True

    def estimate(self, need: Need) -> Estimate:
        """What one such run is expected to take, with nothing of it running."""
        return estimate(need, self._calibration)

    def estimates(self) -> dict[str, Estimate]:
        """What every queued run is expected to take; those that need the same share one estimate."""
        holdings, workers = self.tenants.holdings(self._clock()), self.tenants.workers
        lent = self._lent_servers()
        of_need: dict[bytes, Estimate] = {}
        found = {}
        for job in self.queue.jobs:
            key = msgspec.json.encode(job.need)
            if key not in of_need:
                of_need[key] = estimate(job.need, self._calibration, holdings, workers, lent)
            found[job.run_id] = of_need[key]
        return found

    def _over(self) -> dict[str, RunStatus]:
        """How those stand that have ended while their processes have not; only those that others wait for."""
        if not self.queue.jobs:
            return {}
        first = [run.run_id for run in self.tenants.runs.values() if run.launched and run.entry.start.cold]
        found = {run_id: self._status_of(run_id) for run_id in first}
        return {run_id: how for run_id, how in found.items() if how not in (None, "pending", "running")}

    def _outcomes(self) -> dict[str, RunStatus]:
        waiting = {job.run_id for job in self.queue.jobs}
        outcomes: dict[str, RunStatus] = {}
        for run_id in {run for job in self.queue.jobs for run in job.depends_on}:
            if run_id in waiting:
                outcomes[run_id] = "pending"
            elif run_id in self.tenants.runs:
                outcomes[run_id] = "running"
            elif status := self._status_of(run_id):
                outcomes[run_id] = status
        return outcomes
