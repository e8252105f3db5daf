"""One episode: set up, executed, let go, and put in the words of its row."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.components.catalog import NodesetManifest, nodeset_of
from engine.components.containers import ContainerStore
from engine.components.errors import HostFailure
from engine.components.firing import NodeHandler
from engine.evaluation.compute import NoCompute, PanelCompute
from engine.evaluation.connection import Connection, Hosted
from engine.evaluation.panel import EpisodeFacts, set_up
from engine.evaluation.plan import PlannedEpisode
from engine.evaluation.play import PlayGate
from engine.evaluation.slots import HostSlot, post_mortem
from engine.evaluation.verdict import InfraError, Verdict, of_exception, of_outcome
from engine.execution.executor import Executor
from engine.execution.firing_log import EpisodeLog
from engine.execution.handlers import builtin_handler
from engine.execution.hooks import Hooks
from engine.execution.metrics import extract_metrics
from engine.execution.outcome import EpisodeContext, Outcome
from engine.graph.model import Node, PortResolver
from engine.graph.plan import Plan
from engine.models.call import Chat
from engine.scoring.context import Compute
from engine.scoring.scored import stage
from engine.store.disk import box_failure
from engine.store.keys import Keys
from engine.store.records import EpisodeRow, EvalRequest, WorkerProgress, WorkerState, now_iso

log = logging.getLogger(__name__)

Hold = Callable[[EpisodeRow, Compute], Awaitable[EpisodeRow]]
DEFAULT_STEP_BUDGET = 500
AGENT_CALL_SEC = 120.0
LET_GO_SEC = 10.0


@dataclass(frozen=True)
class Setting:
    """What every episode of a run shares. ``env``: the nodeset whose panel sets episodes up, or None.

    ``chat`` answers the ``llmCall`` nodes, whose calls of one step take ``longest_calls_sec`` at most.
    ``keys`` are in nothing that is written. ``guard`` raises where nothing may be written any more. ``gate``:
    of a run that is played by hand.
    """

    run_id: str
    request: EvalRequest
    plan: Plan
    env: NodesetManifest | None
    selectors: Mapping[str, object]
    env_step_budget: int | None
    chat: Chat
    longest_calls_sec: float
    hooks: Hooks
    child_ports: PortResolver
    keys: Keys
    guard: Callable[[], object]
    gate: PlayGate | None = None


class Episode:
    """One attempt at one episode, in the hosts of ``slots``. Use it once.

    ``refused``: what of the box would stop any other episode, too; None where nothing did. ``outgrew``: a
    host took more memory than there was, and would again.
    """

    def __init__(
        self,
        setting: Setting,
        planned: PlannedEpisode,
        folder: Path,
        slots: Mapping[str, HostSlot],
        worker: WorkerProgress,
        changed: Callable[[], None],
    ) -> None:
        self._setting = setting
        self._planned = planned
        self._slots = slots
        self._worker = worker
        self._changed = changed
        self._caller = f"{setting.run_id}/{worker.worker_id}"
        self._execution_id = f"{setting.run_id}/{folder.name}"
        self._connections: dict[str, Connection] = {}
        self._outcome = Outcome()
        self.refused: OSError | None = None
        self.outgrew = False
        self._log = EpisodeLog(folder, before=setting.guard, strike=setting.keys.strike)
        self._clock: asyncio.Timeout | None = None
        self._facts = EpisodeFacts()
        self._playing: asyncio.Task[None] | None = None

    async def play(self, hold: Hold | None = None) -> EpisodeRow:
        """The finished row. Cancellation gives a ``cancelled`` one; a host that failed is gone afterwards.

        ``hold``: what is done with the row while its environment is still there. What it raises is raised,
        once the environment is released.
        """
        started_at, began = now_iso(), time.monotonic()
        error: BaseException | None = None
        self._playing = asyncio.create_task(self._played())
        try:
            await self._playing
            error = self._outcome.failure
        except (Exception, asyncio.CancelledError) as raised:
            log.debug("episode %d", self._planned.index, exc_info=True)
            error = raised
        elapsed_sec = round(time.monotonic() - began, 3)
        self.refused = box_failure(error)
        metrics, _ = extract_metrics(self._outcome.outputs)
        verdict = self._verdict(metrics) if error is None else of_exception(error, self._outcome.steps)
        failure = error if isinstance(error, HostFailure) else None
        self.outgrew = failure is not None and failure.outgrew
        verdict = await self._close_log(verdict)
        row = EpisodeRow(
            episode_index=self._planned.index,
            episode_id=self._facts.episode_id,
            scene_id=self._facts.scene_id,
            instruction=self._facts.instruction,
            metrics=metrics,
            step_count=self._outcome.steps,
            elapsed_sec=elapsed_sec,
            status=verdict.status,
            termination=verdict.termination,
            error=self._setting.keys.strike_in(verdict.error),
            error_class=verdict.error_class,
            selectors=dict(self._planned.selectors),
            repeat=self._planned.repeat,
            worker_id=self._worker.worker_id,
            started_at=started_at,
            finished_at=now_iso(),
            seed=self._planned.seed,
            trajectory_digest=self._log.trajectory_digest,
        )
        try:
            if hold is not None and failure is None:
                row = await hold(row, self._compute())
        finally:
            unclean = verdict.termination in ("timeout", "cancelled")
            with stage(row, "release") as released:
                problems = await self._let_go(unclean=unclean)
            released.error = "; ".join(problems) or None
            if row.scoring == "none":
                row.stages = []
        if failure is not None:
            row.failure = self._setting.keys.strike_in(self._post_mortem(failure))
        return row

    def _compute(self) -> Compute:
        """Its environment, for those who grade the episode in it."""
        env = self._setting.env
        if env is None or env.parallelism == "shared" or env.name not in self._connections:
            return NoCompute()
        actions = {action["name"] for action in (env.panel or {}).get("actions", ())}
        return PanelCompute(self._connections[env.name].client, actions)

    def cancel(self) -> None:
        """End it as cancelled, unless its last step is done."""
        if self._playing is not None:
            self._playing.cancel()

    async def _played(self) -> None:
        for name, slot in self._slots.items():
            connection = Connection(slot, self._caller)
            await connection.open()
            if slot.manifest.parallelism == "replicated":
                slot.played.append(self._planned.position)
            self._connections[name] = connection
            if slot.borrowed_from:  # a try before this one may have ended without a word to it
                await connection.evict(self._execution_id)
        await self._set_up()
        await self._execute()

    def _verdict(self, metrics: Mapping[str, float | None]) -> Verdict:
        return of_outcome(
            self._outcome.termination,
            self._outcome.node_errors,
            metrics,
            needs_verdict=self._setting.plan.graph.eval_graph,
        )

    async def _set_up(self) -> None:
        env = self._setting.env
        if env is None or env.parallelism == "shared":
            return
        self._show("resetting")
        slot = self._connections[env.name].slot
        deadline = env.reset_deadline_sec if len(slot.played) > 1 else env.first_reset_deadline_sec
        selectors = {**self._setting.selectors, **self._planned.selectors}
        client = self._connections[env.name].client
        self._facts = await set_up(client, selectors, self._planned.seed, self._planned.index, deadline)

    async def _execute(self) -> None:
        budget = self._budget()
        self._worker.budget = budget
        self._show("running")
        plan = self._setting.plan
        executor = Executor(
            plan,
            self._handler,
            budget=budget,
            episode=EpisodeContext(
                self._execution_id, self._planned.seed, self._planned.index, self._planned.selectors
            ),
            log=self._log,
            containers=ContainerStore(plan.graph.containers),
            progress=self._progress,
            stop=lambda: None,
            hooks=self._setting.hooks,
            resolve=self._setting.child_ports,
            gate=self._wait_at_gate if self._setting.gate is not None else None,
        )
        self._outcome = executor.outcome
        limit = self._time_limit(budget)
        await self._set_live(True)
        try:
            async with asyncio.timeout(limit) as self._clock:
                await executor.run()
        except TimeoutError:
            raise InfraError(f"the episode was still running after {limit:g} s", "timeout") from None

    async def _wait_at_gate(self, step: int) -> None:
        """Wait to be told, with the episode's clock stopped."""
        gate, clock = self._setting.gate, self._clock
        ends = clock.when() if clock is not None else None
        if gate is None or clock is None or ends is None:
            return
        left = ends - asyncio.get_running_loop().time()
        clock.reschedule(None)
        self._turn("waiting")
        await gate.wait()
        clock.reschedule(asyncio.get_running_loop().time() + left)
        self._turn("running")

    def _budget(self) -> int:
        """The request's, else the environment's, else the graph's, else the default."""
        offers = (
            self._setting.request.step_budget,
            self._facts.step_budget,
            self._setting.env_step_budget,
            self._setting.plan.graph.step_budget,
        )
        return next((offer for offer in offers if offer is not None), DEFAULT_STEP_BUDGET)

    def _time_limit(self, budget: int) -> float:
        """Seconds for the whole execution: its steps at the slowest allowed, and its reset."""
        env = self._setting.env
        reset = env.first_reset_deadline_sec if env is not None else AGENT_CALL_SEC
        steps = (self._step_deadline(c.slot.manifest) for c in self._connections.values())
        hooks = self._setting.hooks.longest_sec * len(self._setting.plan.nodes)
        step = max(steps, default=AGENT_CALL_SEC) + self._setting.longest_calls_sec + hooks
        return reset + budget * step

    def _handler(self, node: Node) -> NodeHandler:
        connection = self._connections.get(nodeset_of(node.type))
        if connection is None:
            planned = self._setting.plan.nodes.get(node.id)  # None for a dynamic child
            handler = builtin_handler(node, self._setting.chat, planned.wired if planned else ())
            if handler is None:  # only of a dynamic child, whose type no check has seen
                raise ValueError(f"{nodeset_of(node.type)} does not run here: no node of the graph is of it")
            return handler
        return Hosted(connection, self._deadline(node, connection.slot.manifest))

    def _deadline(self, node: Node, manifest: NodesetManifest) -> float:
        """Seconds for one firing: a reset before the loop, a step inside it, or a shared model's call."""
        step = self._step_deadline(manifest)
        planned = self._setting.plan.nodes.get(node.id)  # None for a dynamic child
        before_loop = planned is not None and not planned.within
        if manifest.parallelism == "replicated" and before_loop:
            return max(step, manifest.reset_deadline_sec)
        return step

    def _step_deadline(self, manifest: NodesetManifest) -> float:
        if self._setting.request.per_step_budget_sec is not None:
            return self._setting.request.per_step_budget_sec
        step = manifest.default_per_step_budget_sec
        return step if manifest.parallelism == "replicated" else max(step, AGENT_CALL_SEC)

    def _progress(self, step: int, node_id: str) -> None:
        self._worker.step = step
        self._worker.node = node_id
        self._worker.since = now_iso()
        self._changed()

    def _show(self, state: WorkerState) -> None:
        self._worker.node = ""
        self._turn(state)

    def _turn(self, state: WorkerState) -> None:
        self._worker.state = state
        self._worker.since = now_iso()
        self._changed()

    async def _set_live(self, live: bool) -> None:
        """Tell the shared models whether their batches may wait for this worker."""
        for connection in self._connections.values():
            if connection.slot.manifest.parallelism == "shared" and connection.client.failure is None:
                await connection.set_live(live)

    async def _let_go(self, *, unclean: bool) -> list[str]:
        """End the episode in every host; kill those that failed, and what was still at work for it. Answers
        what went wrong with that: by now there is a row, and it stands."""
        problems = []
        for connection in self._connections.values():
            try:
                problem = await self._let_go_of(connection, unclean=unclean)
            except Exception as error:
                log.exception("%s is not let go of", connection.slot.manifest.name)
                problem = f"{type(error).__name__}: {error}"
            if problem:
                problems.append(f"{connection.slot.manifest.name}: {problem}")
        return problems

    async def _let_go_of(self, connection: Connection, *, unclean: bool) -> str:
        client, problem = connection.client, ""
        mine = connection.slot.manifest.parallelism == "replicated"
        if client.failure is None and not (unclean and mine):
            try:
                if not mine:
                    await client.set_live(False, LET_GO_SEC)
                await client.evict(self._execution_id, self._facts.episode_id, LET_GO_SEC)
            except Exception as error:
                log.warning("%s did not let go of an episode: %s", connection.slot.manifest.name, error)
                problem = str(error)
        if client.failure is not None or (unclean and mine):
            await connection.slot.discard(connection.host, client.failure)
        await client.close()
        return problem

    def _post_mortem(self, failure: HostFailure) -> dict[str, object]:
        connection = self._connections.get(failure.nodeset)
        return post_mortem(failure, connection.host if connection is not None else None)

    async def _close_log(self, verdict: Verdict) -> Verdict:
        try:
            await asyncio.to_thread(self._log.close)  # waits for the last images, and fsyncs
        except OSError as error:
            self.refused = self.refused or box_failure(error)
            if self.refused is not None or verdict.status != "error":
                return of_exception(error)
        return verdict
