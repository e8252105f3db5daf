"""One attempt at a run, from its spec to ``_DONE``."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from engine.components.errors import HostFailure
from engine.evaluation.early_stop import EarlyStopper
from engine.evaluation.environment import batched_records, describe, nodeset_record
from engine.evaluation.episode import Setting
from engine.evaluation.group import Group
from engine.evaluation.hosts import Hosts
from engine.evaluation.loading import Loaded, load
from engine.evaluation.models import longest_calls_sec, model_records
from engine.evaluation.panel import step_budget_of
from engine.evaluation.plan import (
    PlanError,
    PlannedEpisode,
    choose_split,
    cut_chunks,
    deal_groups,
    plan_request,
    refuse_to_split,
    useful_workers,
)
from engine.evaluation.play import PlayGate
from engine.evaluation.recorder import Recorder
from engine.evaluation.resuming import Earlier, read_earlier, remove_leftovers, reopened_summary
from engine.evaluation.scoring import RunScoring, open_means
from engine.evaluation.time_limit import TimeLimit
from engine.evaluation.verdict import SetupRefused
from engine.evaluation.worker import Worker
from engine.graph.model import GraphError
from engine.hosting.borrowing import until_up
from engine.hosting.leases import Leases
from engine.models.client import ChatClient
from engine.models.errors import ProfileError
from engine.scoring.pipeline import PhaseError
from engine.scoring.scored import Means
from engine.scoring.spec import ScoringError
from engine.statistics.stopping import UntilWidth
from engine.store.disk import advice, box_failure
from engine.store.environment_record import EnvironmentRecord
from engine.store.episode_folders import folder_names
from engine.store.fence import Fence, FencedError
from engine.store.keys import Keys
from engine.store.offers import keep_offer, offer_of
from engine.store.play import PlayAddress
from engine.store.records import RunStatus, Spec, WorkerProgress, now_iso, task_of
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import read_rows
from engine.store.settings import SettingsError

log = logging.getLogger(__name__)


class Run:
    """The run process's work, as the attempt of ``fence``. Use it once.

    ``shards``: over so many processes the run is split; this is the one that ``run`` says.
    """

    def __init__(self, run: RunDir, spec: Spec, fence: Fence, shards: int = 1) -> None:
        self._run = run
        self._shards = shards
        self._spec = spec
        self._fence = fence
        self._request = spec.eval
        self._folder = run.attempt(fence.attempt)
        before = read_rows(run)
        self._summary = reopened_summary(run, spec, before)
        self._recorder = Recorder(run, self._summary, spec.needs.graph_hash, fence, self._failed)
        self._recorder.adopt(before)
        self._leases: Leases | None = None
        self._hosts: Hosts | None = None
        self._chat: ChatClient | None = None
        self._keys = Keys({}, {})
        self._gate: PlayGate | None = None
        self._limit: TimeLimit | None = None
        self._workers: list[Worker] = []
        self._stopper: EarlyStopper | None = None
        self._scoring: RunScoring | None = None
        self._means: Means | None = None
        self._work: asyncio.Task[None] | None = None
        self._end: tuple[RunStatus, str | None] = ("completed", None)
        self._fenced: FencedError | None = None
        self._over = False

    async def go(self) -> RunStatus:
        """Play what has no finished row, or stop on a signal, the time limit or a failure; write everything.

        Raises FencedError where the run came to be another attempt's: then nothing was written any more. And
        OSError, where the last files could not be.
        """
        self._work = asyncio.create_task(self._everything())
        try:
            self._listen()
            await self._work
        except asyncio.CancelledError:
            log.info("stopped before the first episode")
        except (
            GraphError,
            PlanError,
            SettingsError,
            ProfileError,
            ScoringError,
            SetupRefused,
            HostFailure,
        ) as error:
            self.stop("error", self._told(error))
        except (OSError, FencedError) as error:
            self._failed(error)
        except Exception as error:
            log.exception("the run failed")
            self.stop("error", f"{type(error).__name__}: {error}")
        await self._close()
        if self._fenced is not None:
            await self._recorder.close()
            raise self._fenced
        if self._end[0] == "aborted":  # by now, the signal's reason may be on the disk
            self._end = self._asked()
        await self._recorder.finish(*self._end)
        return self._end[0]

    def stop(self, status: RunStatus, reason: str | None) -> None:
        """End the run early: what is being played is recorded as cancelled, nothing more is begun."""
        if self._over or self._end[0] != "completed":
            return
        self._end = (status, reason)
        self._cancel()

    def _cancel(self) -> None:
        if self._work is not None and not self._workers:
            self._work.cancel()
        for worker in self._workers:
            worker.cancel()
        if self._scoring is not None:
            self._scoring.close()

    def _end_early(self) -> None:
        """All that counts has ended, so that what else is being played need not."""
        self._over = True
        self._cancel()

    async def _everything(self) -> None:
        self._fence.check()
        remove_leftovers(self._run)
        await self._recorder.start()
        await self._recorder.write(self._run.graph, self._spec.graph)
        if self._spec.scoring:
            await self._recorder.write(self._run.scoring, self._spec.scoring)
        await self._prepare()
        await asyncio.gather(*(self._run_worker(worker) for worker in self._workers))
        await self._settle_scoring()
        self._over = True
        if self._stopper is not None:
            await self._stopper.settle()

    async def _run_worker(self, worker: Worker) -> None:
        try:
            await worker.run()
        except (OSError, FencedError) as error:
            self._failed(error)
        except Exception as error:
            log.exception("a worker failed")
            self.stop("error", f"{type(error).__name__}: {error}")

    async def _settle_scoring(self) -> None:
        """Join what goes on behind the episodes."""
        if self._scoring is None:
            return
        self._recorder.show(activity="scoring" if self._recorder.waiting() else "")
        try:
            await self._scoring.settle()
        except (OSError, FencedError) as error:
            log.warning("scoring ended early: %s", error)  # the run has been told
        except PhaseError as fault:  # it was logged where it happened
            self.stop("error", f"{fault}. What it left undone, `evaltower resume {self._run.run_id}` does")
        self._recorder.show(activity="")

    async def _prepare(self) -> None:
        """Everything before the first episode: graph, servers, the list of episodes, the workers."""
        job = self._fence.job()
        refuse_to_split(self._request, job.kind, self._shards)
        urls = self._run.read_shared_urls()
        call_sec = self._request.per_step_budget_sec or 0.0
        self._leases = await asyncio.to_thread(Leases, urls.values(), self._run.root, call_sec)
        await until_up(urls, lambda names: self._recorder.show(activity=f"waiting for {names}"))
        self._recorder.show(activity="loading the graph")
        loaded = await asyncio.to_thread(load, self._run, self._spec, self._fence.check)
        self._chat = loaded.chat
        opened = await asyncio.to_thread(open_means, self._run, self._spec, loaded.chat, loaded.keys)
        self._means, self._keys = opened
        before = self._environment_before()
        self._hosts = Hosts(self._run.run_id, self._folder / "hosts", urls, self._keys)
        if job.kind == "play":
            self._gate = PlayGate(self._first_worker, lambda: self.stop("cancelled", None))
            address = PlayAddress(socket=str(await self._gate.open(self._hosts.sockets)))
            await self._recorder.write(self._run.control, address)
        self._recorder.show(activity="starting " + ", ".join(loaded.nodesets))
        await self._hosts.start(loaded.nodesets, before.batched)
        asked = {"dataset": self._request.dataset, "split": self._request.split, **self._request.selectors}
        told = {name: value for name, value in asked.items() if value != ""}
        metadata = await self._hosts.metadata(loaded.env, told)
        if loaded.env is not None and loaded.env.origin != "server" and not told.keys() - {"split"}:
            await asyncio.to_thread(keep_offer, loaded.env, offer_of(metadata))
        self._summary.config.split = choose_split(self._request.split, loaded.plan.graph.eval_split, metadata)
        planned = plan_request(self._request, self._summary.config.split, metadata)
        await self._write_environment(self._hosts, loaded.chat, before)
        names = folder_names((e.index, task_of(dict(e.selectors)), e.repeat) for e in planned)
        listed = [(e, self._run.episodes / name) for e, name in zip(planned, names, strict=True)]
        parts = cut_chunks(len(listed), self._shards, self._hosts.together)
        episodes = [listed[position] for position in parts[self._run.shard or 0]]
        earlier = await asyncio.to_thread(read_earlier, self._run, episodes, rerun_errors=job.rerun_errors)
        self._recorder.show(activity="")
        self._staff(self._setting(loaded, metadata), self._hosts, episodes, earlier)

    def _setting(self, loaded: Loaded, metadata: Mapping[str, Any]) -> Setting:
        chosen = {"dataset": self._request.dataset, "split": self._summary.config.split}
        return Setting(
            run_id=self._run.run_id,
            request=self._request,
            plan=loaded.plan,
            env=loaded.env,
            selectors={name: value for name, value in chosen.items() if value},
            env_step_budget=step_budget_of(metadata.get("step_budget")),
            chat=loaded.chat,
            longest_calls_sec=longest_calls_sec(loaded.chat, loaded.plan.graph),
            hooks=loaded.hooks,
            child_ports=loaded.child_ports,
            keys=self._keys,
            guard=self._fence.check,
            gate=self._gate,
        )

    def _staff(
        self, setting: Setting, hosts: Hosts, episodes: list[tuple[PlannedEpisode, Any]], earlier: Earlier
    ) -> None:
        """Deal the episodes as at the first attempt, and take over what is finished of them."""
        asked = self._request
        if asked.until_width is not None:
            rule = UntilWidth(asked.until_metric, asked.until_width)
            self._stopper = EarlyStopper(rule, self._recorder, self._end_early, earlier.beyond)
        self._scoring = RunScoring(self._means, self._recorder, self._stopper, self._failed, self._keys)
        # To end early the list is played from its beginning on; else neighbours stay together.
        share = cut_chunks if self._stopper is None else deal_groups
        together = hosts.together
        workers = useful_workers(len(episodes), 1 if self._gate else asked.worker_count, together)
        first = (self._run.shard or 0) * asked.worker_count
        self._summary.total_episodes = len(episodes)
        self._summary.config.env_nodeset = setting.env.name if setting.env else None
        self._recorder.adopt([*earlier.unfinished.values(), *earlier.finished.values()])
        for number, chunk in enumerate(share(len(episodes), workers, together)):
            progress = WorkerProgress(worker_id=first + number, episodes_total=len(chunk), since=now_iso())
            self._recorder.progress.workers.append(progress)
            if number:
                hosts.add_worker()
            own = [episodes[place] for place in chunk]
            worker = Worker(
                setting,
                progress,
                own,
                earlier.finished,
                hosts.own[number],
                hosts.shared,
                Group(hosts.own[number].values(), together),
                self._folder / "replayed",
                self._recorder,
                self._scoring,
            )
            self._workers.append(worker)
            for planned, _ in own:
                if planned.position in earlier.finished:
                    worker.count(earlier.finished[planned.position])
        for planned, folder in episodes:
            if planned.position in earlier.finished:
                self._scoring.take_up(planned.position, earlier.finished[planned.position], folder)
            elif planned.position in earlier.unfinished and self._stopper is not None:
                self._stopper.stands(planned.position, earlier.unfinished[planned.position], folder)

    def _first_worker(self) -> WorkerProgress | None:
        return next(iter(self._recorder.progress.workers), None)

    def _environment_before(self) -> EnvironmentRecord:
        """That in which an earlier attempt has left rows; an empty one where there are none."""
        if self._run.episode_rows.exists():
            with suppress(RunDirError):
                return self._run.read_environment()
        return EnvironmentRecord(run_id=self._run.run_id)

    async def _write_environment(self, hosts: Hosts, chat: ChatClient, before: EnvironmentRecord) -> None:
        nodesets = [nodeset_record(slot) for slot in hosts.all_of_first().values()]
        batched = [record for slot in hosts.shared.values() for record in batched_records(slot)]
        models = model_records(chat)
        described = await asyncio.to_thread(describe, self._run, self._spec, nodesets, batched, models)
        for record in described.keep_other_versions(before):
            log.warning("an earlier attempt had %s with other versions: see environment.json", record.name)
        await self._recorder.write(self._run.environment, described)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)
        if self._request.timeout_sec is not None:
            told = f"the run's time limit of {self._request.timeout_sec:g} s was reached"
            self._limit = TimeLimit(
                self._request.timeout_sec, lambda: self.stop("error", told), self._waited_sec
            )

    def _waited_sec(self) -> float:
        return self._gate.waited_sec if self._gate is not None else 0.0

    def _on_signal(self) -> None:
        self.stop(*self._asked())

    def _asked(self) -> tuple[RunStatus, str | None]:
        """What end job.json asks for; ``aborted``, to be resumed, where it asks for none."""
        with suppress(OSError, FencedError):
            job = self._fence.job()
            if job.cancel_requested_at is not None:
                return ("error", job.stop_reason) if job.stop_reason else ("cancelled", None)
        return "aborted", (
            "its process was told to end (SIGTERM) by nobody who had asked for that: its backend is gone,"
            f" or it was done by hand. `evaltower resume {self._run.run_id}` plays the rest"
        )

    def _failed(self, error: OSError | FencedError) -> None:
        """Nothing can be written any more, or nothing may be."""
        if isinstance(error, FencedError):
            self._fenced = self._fenced or error
            self._cancel()
        else:
            self.stop("error", self._told(error))

    def _told(self, error: Exception) -> str:
        refused = error if isinstance(error, OSError) else box_failure(error)
        if refused is not None:
            return f"{advice(refused)}, then `evaltower resume {self._run.run_id}`"
        told: str = self._keys.strike_in(str(error))
        if isinstance(error, HostFailure) and error.detail:
            log.error("%s\n%s", told, self._keys.strike_in(error.detail))
            return f"{told} (more in stderr.log)"
        return told

    async def _close(self) -> None:
        """End everything that is not the files."""
        if self._limit is not None:
            self._limit.cancel()
        if self._gate is not None:
            await self._gate.close()
            with suppress(OSError, FencedError):
                self._fence.check()
                self._run.control.unlink(missing_ok=True)
        if self._hosts is not None:
            await self._hosts.stop()
        if self._leases is not None:
            await asyncio.to_thread(self._leases.close)
        if self._means is not None:
            await self._means.close()
        if self._chat is not None:
            await self._chat.close()
