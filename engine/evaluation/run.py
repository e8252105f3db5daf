"""One run, from its spec to ``_DONE``."""

from __future__ import annotations

import asyncio
import logging
import math
import shutil
import signal
from collections.abc import Mapping
from typing import Any

from engine.components.catalog import NodesetManifest
from engine.components.errors import HostFailure
from engine.evaluation.early_stop import EarlyStopper
from engine.evaluation.environment import describe
from engine.evaluation.episode import Setting
from engine.evaluation.launching import Launcher
from engine.evaluation.loading import Loaded, load
from engine.evaluation.models import longest_calls_sec, model_records
from engine.evaluation.panel import step_budget_of
from engine.evaluation.plan import (
    PlanError,
    PlannedEpisode,
    cut_chunks,
    deal_groups,
    plan_episodes,
    useful_workers,
)
from engine.evaluation.recorder import Recorder
from engine.evaluation.slots import HostSlot
from engine.evaluation.verdict import SetupRefused
from engine.evaluation.worker import Worker
from engine.graph.model import GraphError
from engine.hosting.process import make_socket_dir
from engine.models.client import ChatClient
from engine.models.errors import ProfileError
from engine.statistics.stopping import UntilWidth
from engine.store.atomic import write_json
from engine.store.episode_folders import folder_names
from engine.store.records import (
    BatchedRecord,
    NodesetRecord,
    RunStatus,
    Spec,
    WorkerProgress,
    now_iso,
    task_of,
)
from engine.store.rundir import RunDir
from engine.store.settings import SettingsError

log = logging.getLogger(__name__)

PREFERRED_SPLIT = "val_unseen"


class Run:
    """The run process's work. Use it once."""

    def __init__(self, run: RunDir, spec: Spec) -> None:
        self._run = run
        self._spec = spec
        self._request = spec.eval
        self._summary = run.read_summary()
        self._recorder = Recorder(run, self._summary, spec.needs.graph_hash, self._disk_failed)
        self._sockets = make_socket_dir()
        logs = run.attempt(run.read_job().attempt) / "hosts"
        self._launcher = Launcher(run.run_id, logs, self._sockets, run.read_shared_urls())
        self._shared: dict[str, HostSlot] = {}
        self._own: list[dict[str, HostSlot]] = []
        self._chat: ChatClient | None = None
        self._workers: list[Worker] = []
        self._stopper: EarlyStopper | None = None
        if self._request.until_width is not None:
            rule = UntilWidth(self._request.until_metric, self._request.until_width)
            self._stopper = EarlyStopper(rule, self._recorder, self._end_early)
        self._preparation: asyncio.Task[None] | None = None
        self._end: tuple[RunStatus, str | None] = ("completed", None)
        self._over = False

    async def go(self) -> RunStatus:
        """Play every episode, or stop on a signal, the time limit or a failure; write everything."""
        self._summary.status = "running"
        self._summary.started_at = now_iso()
        write_json(self._run.summary, self._summary)
        write_json(self._run.graph, self._spec.graph)
        self._listen()
        self._recorder.start()
        self._preparation = asyncio.create_task(self._prepare())
        try:
            await self._preparation
            await asyncio.gather(*(self._work(worker) for worker in self._workers))
            self._over = True
            if self._stopper is not None:
                await self._stopper.settle()
        except asyncio.CancelledError:
            log.info("stopped before the first episode")
        except (GraphError, PlanError, SettingsError, ProfileError, SetupRefused, HostFailure) as error:
            self._end = ("error", _told(error))
        except Exception as error:
            log.exception("the run failed")
            self._end = ("error", f"{type(error).__name__}: {error}")
        await self._stop_hosts()
        if self._chat is not None:
            await self._chat.close()
        await self._recorder.finish(*self._end)
        return self._end[0]

    def stop(self, status: RunStatus, reason: str | None) -> None:
        """End the run early: what is being played is recorded as cancelled, nothing more is begun."""
        if self._over or self._end[0] != "completed":
            return
        self._end = (status, reason)
        if self._preparation is not None:
            self._preparation.cancel()
        for worker in self._workers:
            worker.cancel()

    def _end_early(self) -> None:
        """All that counts has ended, so that what else is being played need not."""
        self._over = True
        for worker in self._workers:
            worker.cancel()

    async def _work(self, worker: Worker) -> None:
        try:
            await worker.run()
        except Exception as error:
            log.exception("a worker failed")
            self.stop("error", f"{type(error).__name__}: {error}")

    async def _prepare(self) -> None:
        """Everything before the first episode: graph, servers, the list of episodes, the workers."""
        self._recorder.show(activity="loading the graph")
        loaded = await asyncio.to_thread(load, self._run, self._spec)
        self._chat = loaded.chat
        kinds = loaded.nodesets.values()
        self._shared = {m.name: self._launcher.slot(m) for m in kinds if m.parallelism == "shared"}
        self._own = [self._slots_of_a_worker(loaded, 0)]
        self._recorder.show(activity="starting " + ", ".join(loaded.nodesets))
        await asyncio.gather(*(slot.ensure() for slot in (*self._shared.values(), *self._own[0].values())))
        metadata = await self._metadata(loaded.env)
        planned = self._planned(metadata)
        await asyncio.to_thread(self._write_environment, loaded.chat)
        self._recorder.show(activity="")
        self._staff(loaded, planned, metadata)

    def _staff(self, loaded: Loaded, planned: list[PlannedEpisode], metadata: Mapping[str, Any]) -> None:
        setting = Setting(
            run_id=self._run.run_id,
            request=self._request,
            plan=loaded.plan,
            env=loaded.env,
            selectors=self._common_selectors(),
            env_step_budget=step_budget_of(metadata.get("step_budget")),
            chat=loaded.chat,
            longest_calls_sec=longest_calls_sec(loaded.chat, loaded.plan.graph),
            hooks=loaded.hooks,
            child_ports=loaded.child_ports,
        )
        names = folder_names((e.index, task_of(dict(e.selectors)), e.repeat) for e in planned)
        recycles = [m.recycle_after for m in loaded.nodesets.values() if m.parallelism == "replicated"]
        # To end early the list is played from its beginning on; else neighbours stay together.
        share = cut_chunks if self._stopper is None else deal_groups
        together = _common_multiple(recycles)
        workers = useful_workers(len(planned), self._request.worker_count, together)
        self._own += [self._slots_of_a_worker(loaded, number) for number in range(1, workers)]
        chunks = share(len(planned), workers, together)
        self._summary.total_episodes = len(planned)
        for number, chunk in enumerate(chunks):
            progress = WorkerProgress(worker_id=number, episodes_total=len(chunk), since=now_iso())
            self._recorder.progress.workers.append(progress)
            episodes = [(planned[position], self._run.episodes / names[position]) for position in chunk]
            own = self._own[number]
            self._workers.append(
                Worker(setting, progress, episodes, own, self._shared, self._recorder, self._stopper)
            )

    def _slots_of_a_worker(self, loaded: Loaded, number: int) -> dict[str, HostSlot]:
        replicated = [m for m in loaded.nodesets.values() if m.parallelism == "replicated"]
        return {m.name: self._launcher.slot(m, f"#{number}") for m in replicated}

    async def _metadata(self, env: NodesetManifest | None) -> Mapping[str, Any]:
        """``get_eval_metadata`` of the environment; empty where there is none."""
        if env is None:
            return {}
        slot = self._shared.get(env.name) or self._own[0][env.name]
        client = (await slot.ensure()).connect(self._run.run_id)
        try:
            answer = await client.metadata(env.first_reset_deadline_sec)
        finally:
            await client.close()
        if not isinstance(answer, Mapping):
            raise SetupRefused(f"{env.name}: get_eval_metadata answered {type(answer).__name__}, not a dict")
        return answer

    def _planned(self, metadata: Mapping[str, Any]) -> list[PlannedEpisode]:
        request, config = self._request, self._summary.config
        splits = [str(split) for split in metadata.get("splits") or ()]
        if request.split and splits and request.split not in splits:
            raise PlanError(f"there is no split {request.split!r}; the environment has {', '.join(splits)}")
        config.split = request.split or (
            PREFERRED_SPLIT if PREFERRED_SPLIT in splits else next(iter(splits), "")
        )
        counts = metadata.get("episode_counts") or {}
        return plan_episodes(
            count=request.episode_count,
            start=request.start_episode_index,
            indices=request.episode_indices,
            selectors=request.selectors,
            episode_selectors=request.episode_selectors,
            run_seed=request.seed,
            available=counts.get(config.split),
            repeats=request.repeats,
        )

    def _common_selectors(self) -> dict[str, object]:
        chosen = {"dataset": self._request.dataset, "split": self._summary.config.split}
        return {name: value for name, value in chosen.items() if value}

    def _write_environment(self, chat: ChatClient) -> None:
        slots = {**self._shared, **self._own[0]}
        nodesets = [_nodeset_record(slot) for slot in slots.values()]
        batched = [record for slot in self._shared.values() for record in _batched_records(slot)]
        described = describe(self._run, self._spec, nodesets, batched, model_records(chat))
        write_json(self._run.environment, described)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop, "cancelled", None)
        if self._request.timeout_sec is not None:
            told = f"the run's time limit of {self._request.timeout_sec:g} s was reached"
            loop.call_later(self._request.timeout_sec, self.stop, "error", told)

    def _disk_failed(self, error: OSError) -> None:
        self.stop("error", f"the run's files cannot be written: {error}")

    async def _stop_hosts(self) -> None:
        slots = [*self._shared.values(), *(slot for own in self._own for slot in own.values())]
        await asyncio.gather(*(slot.recycle() for slot in slots))
        shutil.rmtree(self._sockets, ignore_errors=True)


def _told(error: Exception) -> str:
    detail = error.detail if isinstance(error, HostFailure) else ""
    return f"{error}\n{detail}".strip()


def _common_multiple(counts: list[int | None]) -> int | None:
    """Where every recycled nodeset begins afresh at once; None where none is recycled."""
    known = [count for count in counts if count is not None]
    return math.lcm(*known) if known else None


def _nodeset_record(slot: HostSlot) -> NodesetRecord:
    return NodesetRecord(
        name=slot.manifest.name,
        source_hash=slot.manifest.source_hash,
        url=slot.borrowed_from,
        parallelism=slot.manifest.parallelism,
        determinism=slot.manifest.determinism,
        python=str(slot.manifest_there.get("executable", "")),
        versions=slot.manifest_there.get("versions", {}),
    )


def _batched_records(slot: HostSlot) -> list[BatchedRecord]:
    return [
        BatchedRecord(
            nodeset=slot.manifest.name,
            tool=label,
            regime=str(record.get("regime", "")),
            shape=record.get("shape"),
            threads=record.get("threads"),
            cpu=str(record.get("cpu", "")),
            versions=record.get("versions", {}),
            digest=str(record.get("digest", "")),
            rows=record.get("rows", 0),
        )
        for label, record in slot.manifest_there.get("batching", {}).items()
    ]
