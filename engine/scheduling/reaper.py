"""Runs and servers from their admission to their end: started when their servers are ready, learned from,
forgotten when their last process is gone.

What cannot be written down is not done, and is tried again at the next tick.
"""

from __future__ import annotations

import logging

from engine.scheduling.calibration import Calibration
from engine.scheduling.jobs import LoadedServer
from engine.scheduling.launching import Launcher, LaunchError, NotNowError, RunEnd, RunState, ServerState
from engine.scheduling.queue import Queue
from engine.scheduling.reasons import Reason, duration
from engine.scheduling.shortage import title
from engine.scheduling.tenancy import Run, Server, Tenants
from engine.scheduling.watch import Watch

log = logging.getLogger(__name__)

_LOST = "its process is gone without a trace"

MOST_RESTARTS = 3
"""How often a shared server is started again that was killed while runs use it."""


class Reaper:
    """Works on ``tenants``, and on the queue where one of them leaves or comes back."""

    def __init__(self, queue: Queue, calibration: Calibration, launcher: Launcher, tenants: Tenants) -> None:
        self._queue = queue
        self._calibration = calibration
        self._launcher = launcher
        self._tenants = tenants

    def take_up(self, now: float) -> None:
        """Go on with what an earlier scheduler let in; what never began is queued again."""
        for server in self._queue.servers:
            self._tenants.load(server, from_start=False)
        entries = {entry.job.run_id: entry for entry in self._queue.admitted}
        begun = self._launcher.poll(entries, []).runs
        for run_id, entry in entries.items():
            if run_id in begun:
                self._tenants.admit(entry, from_start=False)
                self._tenants.runs[run_id].launched = True
            else:
                self._queue.put_back(run_id, "", now)

    def reap(self, now: float) -> None:
        """See how everything stands, and act on it."""
        launched = [run.run_id for run in self._tenants.runs.values() if run.launched]
        poll = self._launcher.poll(launched, list(self._tenants.servers))
        for server in list(self._tenants.servers.values()):
            self._look_at_server(server, poll.servers.get(server.key), now)
        for run in list(self._tenants.runs.values()):
            if run.launched:
                self._look_at_run(run, poll.runs.get(run.run_id), now)
            elif all(self._tenants.is_ready(key) for key in run.servers):
                self.launch(run, now)

    def launch(self, run: Run, now: float) -> None:
        """Start a run. One that the box does not let start goes back into the queue for a while."""
        try:
            self._launcher.start_run(run.entry.job, run.entry.start)
        except NotNowError as error:
            run.waits = Reason("server_loading", str(error))
            return  # it is tried again at the next tick
        except (LaunchError, OSError) as error:
            log.warning("%s was not started: %s", run.run_id, error)
            self._put_back(run, str(error), now)
            return
        run.launched, run.waits = True, None
        run.watch = Watch(now, after_sec=run.entry.start.run.after_sec)

    def start_server(self, entry: LoadedServer, now: float) -> None:
        """Start a server; those that wait for one that does not start go back, or end."""
        try:
            self._launcher.start_server(entry.seated)
        except NotNowError as error:
            self._server_left(self._tenants.servers[entry.seated.owner], str(error), now)
        except (LaunchError, OSError) as error:
            self._server_ended(self._tenants.servers[entry.seated.owner], str(error), now)

    def forget(self, run: Run, now: float) -> None:
        """Let go of a run that has ended, or was never started. Raises OSError; then it stays."""
        self._queue.finish(run.run_id)
        self._tenants.depart(run.run_id, now)

    def _look_at_server(self, server: Server, state: ServerState | None, now: float) -> None:
        if state is None or state.ended is not None:
            why = state.ended if state and state.ended else _LOST
            if state and state.killed and self._is_missed(server):
                self._start_again(server, why, now)
            else:
                self._server_ended(server, why, now)
            return
        server.pid, server.ready, server.url = state.pid or None, state.ready, state.url
        server.leased = state.leased
        if state.leased:  # somebody was quicker than its unloading
            server.ending = False
        if state.ready and server.watch.working_since is None:
            server.watch.working_since = now

    def _is_missed(self, server: Server) -> bool:
        """Runs use it that wait for it to come back."""
        in_use = server.leased or any(run.launched for run in self._tenants.users(server.key))
        return in_use and not server.ending and server.restarts < MOST_RESTARTS

    def _start_again(self, server: Server, why: str, now: float) -> None:
        """On the cards that it has. Its memory stays reserved meanwhile."""
        log.warning("%s is started again: %s", title(server.key), why)
        server.pid, server.ready, server.restarts = None, False, server.restarts + 1
        self.start_server(server.entry, now)

    def _look_at_run(self, run: Run, state: RunState | None, now: float) -> None:
        end = state.end if state else RunEnd("infra", _LOST)
        if state and not end:
            run.pid = state.pid or None
            run.waits = state.waits
            if state.waits:  # its time counts from when it begins
                run.watch.started_at = now
        if state and state.working and run.watch.working_since is None:
            run.watch.working_since = now
        limit = run.entry.job.timeout_sec
        if end:
            self._run_ended(run, end, now)
        elif limit is not None and now - run.watch.started_at > limit:
            self._launcher.stop_run(run.run_id, f"its time limit of {duration(limit)} is over")

    def _run_ended(self, run: Run, end: RunEnd, now: float) -> None:
        if end.outcome == "infra" and run.entry.job.failures < run.entry.job.retries:
            self._put_back(run, end.message, now)
            return
        if end.outcome == "completed" and end.teaches:
            self._learn(run, now)
        try:
            self.forget(run, now)
        except OSError as error:
            log.error("the end of %s is not written yet: %s", run.run_id, error)

    def _learn(self, run: Run, now: float) -> None:
        if run.learned:
            return
        run.learned = True
        if peak := run.watch.peak(run.entry.start.run.cards, now):
            self._calibration.record_run(run.entry.job.need, peak)
        for use in run.entry.start.servers:
            server = self._tenants.servers.get(use.owner)
            if use.server is None or server is None or server.entry.seated.lender:
                continue
            if peak := server.watch.peak(server.entry.seated.cards, now):
                self._calibration.record_server(use.server, server.most_workers, peak)

    def _server_ended(self, server: Server, why: str, now: float) -> None:
        users = self._tenants.users(server.key)
        try:
            self._queue.forget_server(server.key)
        except OSError as error:
            log.error("the end of %s is not written yet: %s", title(server.key), error)
            return
        self._tenants.depart(server.key, now)
        if server.name and not server.ending:
            self._tenants.failed[server.name] = why
        for run in users:
            if not run.launched:
                self._give_up(run, f"{title(server.key)} did not start: {why}", now)

    def _server_left(self, server: Server, why: str, now: float) -> None:
        """Those that were to use it are admitted anew."""
        log.info("%s is not to be had: %s", title(server.key), why)
        users = self._tenants.users(server.key)
        try:
            self._queue.forget_server(server.key)
        except OSError as error:
            log.error("that %s is not used is not written yet: %s", title(server.key), error)
            return
        self._tenants.depart(server.key, now)
        for run in users:
            if not run.launched:
                self._put_back(run, "", now)

    def _give_up(self, run: Run, why: str, now: float) -> None:
        if run.entry.job.failures < run.entry.job.retries:
            self._put_back(run, why, now)
            return
        try:
            self._launcher.end_unstarted(run.run_id, "error", why)
            self.forget(run, now)
        except OSError as error:
            log.error("%s: %s; and that is not written yet: %s", run.run_id, why, error)

    def _put_back(self, run: Run, why: str, now: float) -> None:
        try:
            self._queue.put_back(run.run_id, why, now)
        except OSError as error:
            log.error("%s: %s; it is not back in the queue yet: %s", run.run_id, why, error)
            return
        self._tenants.depart(run.run_id, now)
