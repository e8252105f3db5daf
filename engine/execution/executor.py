"""Fires one graph once: the rules of contract graph-json.md, "Firing", "Loops" and "Errors".

Two choices where the contract leaves room. A loop opens when nothing around it can fire any more, so that it
opens once, with every init value that can arrive; and an ``iterOut`` waits for the loops inside its own, so
that loops begin and end properly nested.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from engine.components.builtin_ports import resolve_builtin
from engine.components.containers import ContainerStore
from engine.components.firing import NodeHandler
from engine.execution.firer import Firer
from engine.execution.hooks import Hooks
from engine.execution.live import LiveGraph, LiveLoop, LiveNode
from engine.execution.outcome import EpisodeContext, NodeError, Outcome, Termination
from engine.execution.record import FiringSink
from engine.graph.model import Node, PortResolver
from engine.graph.plan import Plan, firing_cap

__all__ = ["EpisodeContext", "Executor", "NodeError", "Outcome", "Termination"]

MAX_SETTLE = 64
"""Firings that may follow an ``iterOut`` within its iteration."""

log = logging.getLogger(__name__)


class Executor:
    """One episode of one graph. ``outcome`` may be read while it runs, and after a cancellation.

    ``handlers``: what fires a node; asked once for each node that fires and is none of the executor's own
    (ends of loops, boundaries, sinks). ``budget``: the episode's steps, from 1 on. ``progress`` gets the step
    and the node about to fire. ``stop`` is asked before each firing, and answers why the episode has to end
    or None; the verdict is still attempted then. ``resolve``: the ports of dynamic children, by their type.
    ``gate`` is waited for before each step of a root loop, which it gets; where there is none, before all.
    """

    def __init__(
        self,
        plan: Plan,
        handlers: Callable[[Node], NodeHandler],
        *,
        budget: int,
        episode: EpisodeContext,
        log: FiringSink,
        containers: ContainerStore,
        progress: Callable[[int, str], None],
        stop: Callable[[], str | None],
        hooks: Hooks | None = None,
        resolve: PortResolver = resolve_builtin,
        gate: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        self.outcome = Outcome()
        self._hooks = hooks or Hooks()
        self._graph = LiveGraph(plan, budget)
        self._containers = containers
        self._checkpoints = bool(plan.graph.containers)
        self._log = log
        self._progress = progress
        self._stop = stop
        self._gate = gate
        self._episode = episode
        self._firer = Firer(handlers, episode, containers, log, self.outcome, self._hooks, resolve)
        self._queue: deque[LiveNode] = deque()
        self._step = 0
        self._fired = 0
        self._cap = firing_cap(plan, budget)
        self._share = 3 * sum(not planned.within for planned in plan.nodes.values())
        self._outside_since = 0
        self._verdict_time = not self._graph.roots
        self._halted: Termination | None = None

    async def run(self) -> Outcome:
        """Run to the end, whatever the nodes do. Raises what the log's disk raises, and on cancellation."""
        if not self._graph.roots:
            await self._pass_gate()
        await self._tell_start()
        self._containers.signal("run_start")
        for node in self._graph.entries:
            self._enqueue(node)
        for loop in self._graph.roots:
            await self._drain()
            if loop.armed and not self._halted:
                self._open(loop)
                await self._drain()
            if not loop.ended:
                self._end(loop, self._halted or "drained")
        await self._drain()
        if self._queue:
            self._withdraw(self._all_but_the_verdict())
            self._outside_since = self._fired
            await self._drain()
        if not self._graph.roots:
            self.outcome.steps = 1
            self.outcome.termination = self._halted or "stopped"
        self._containers.signal("run_end")
        self._log.boundary()
        await self._tell_end()
        return self.outcome

    async def _tell_start(self) -> None:
        graph = self._graph.plan.graph
        await self._tell("GraphStart", graph_name=graph.name, node_count=len(self._graph.nodes))

    async def _tell_end(self) -> None:
        outcome = self.outcome
        facts = {"step": outcome.steps, "outputs": outcome.outputs}
        if outcome.failure is not None or outcome.node_errors:
            errors = [f"{error.node_id}: {error.message}" for error in outcome.node_errors]
            await self._tell("GraphError", **facts, error=str(outcome.failure or "; ".join(errors)))
        else:
            stopped = outcome.termination == "stopped"
            await self._tell("GraphComplete", **facts, terminated=stopped, termination=outcome.termination)

    async def _tell(self, event: str, **facts: Any) -> None:
        await self._hooks.ask(event, {"execution_id": self._episode.execution_id, **facts})

    async def _drain(self) -> None:
        """Fire what is ready, in order of arrival, until nothing can fire but by opening a root loop.

        What goes round in a circle outside all loops does not hold up the loops and the verdict for ever.
        """
        while True:
            while self._queue:
                if self._in_a_circle():
                    return
                await self._fire(self._queue.popleft())
            if not self._unblock():
                return

    def _in_a_circle(self) -> bool:
        """Outside all loops, more has fired than the share of the nodes there in the firing cap."""
        used_up = self._fired - self._outside_since > self._share
        return used_up and not any(root.is_open for root in self._graph.roots)

    def _unblock(self) -> bool:
        """Nothing is ready: open the next inner loop that waits for that, or end one that stands still.

        In dataflow order, so that a loop opens when those that feed it have ended.
        """
        if self._halted:
            return False
        for loop in self._graph.inner:
            if loop.is_open and not loop.busy:
                self._end(loop, "drained")
                return True
            if loop.armed and loop.parent is not None and loop.parent.is_open:
                self._open(loop)
                return True
        return False

    async def _fire(self, node: LiveNode) -> None:
        node.queued = False
        if node.type == "iterOut" and node.loop is not None and node.loop.busy:
            return  # offered again when the inner loop ends
        if not self._allowed():
            return
        self._fired += 1
        self._progress(self._step, node.id)
        if node.loop is not None and node is node.loop.iter_in:
            await self._iterate(node.loop)
        elif node.loop is not None and node is node.loop.iter_out:
            await self._boundary(node.loop)
        else:
            self._pass_on(node, await self._firer.fire(node, self._step))
            if self.outcome.failure is not None or self.outcome.node_stop is not None:
                self._halt("stopped")

    def _allowed(self) -> bool:
        """Whether one more firing may be; where not, the execution is halted."""
        if self._fired >= self._cap - self._reserve():
            log.warning("the firing cap of %d was reached at step %d", self._cap, self._step)
            self._halt("budget")
            return False
        if self._halted is None and not (self._verdict_time and self._graph.roots):
            self.outcome.stop_reason = self._stop()
            if self.outcome.stop_reason is not None:
                self._halt("stopped")
                return False
        return True

    def _reserve(self) -> int:
        """Firings kept back so that a verdict can be reached."""
        return 0 if self._verdict_time else 3 * len(self._graph.verdict)

    def _halt(self, termination: Termination) -> None:
        """Let nothing fire any more but, when the loops have ended, the verdict."""
        if self._halted is None:
            self._halted = termination
            self._withdraw(self._all_but_the_verdict())

    def _all_but_the_verdict(self) -> list[LiveNode]:
        verdict = set(self._graph.verdict)
        return [node for node in self._graph.nodes.values() if node not in verdict and not node.gate]

    def _withdraw(self, nodes: Iterable[LiveNode]) -> None:
        for node in nodes:
            node.open = node.queued = False
        self._queue = deque(node for node in self._queue if node.queued)

    def _enqueue(self, node: LiveNode) -> None:
        node.queued = True
        self._queue.append(node)

    def _offer(self, node: LiveNode) -> None:
        if node.ready and not node.queued:
            self._enqueue(node)

    def _pass_on(self, node: LiveNode, outputs: Mapping[str, Any]) -> None:
        if node.gate and node.loop is not None:
            if not node.loop.ended:
                node.loop.held[node] = outputs
                return
        elif (
            node.type == "graphOut"
            and "value" in outputs
            and (name := node.planned.node.config.get("portName"))
        ):
            self.outcome.outputs[str(name)] = outputs["value"]
        self._deliver(node, outputs)

    def _deliver(self, node: LiveNode, outputs: Mapping[str, Any]) -> None:
        for handle, target, receiver in node.routes:
            if handle in outputs:
                value = outputs[handle]
            elif handle == "default":
                value = dict(outputs)
            else:
                continue
            if receiver.type == "iterIn" and receiver.loop is not None:
                receiver.loop.receive(target, value)
            else:
                receiver.put(target, value)
                self._offer(receiver)

    def _open(self, loop: LiveLoop) -> None:
        loop.is_open, loop.armed = True, False
        self._enqueue(loop.iter_in)
        for node in loop.body:
            node.open = True
            self._offer(node)

    async def _pass_gate(self) -> None:
        if self._gate is not None:
            await self._gate(self.outcome.steps)

    async def _iterate(self, loop: LiveLoop) -> None:
        if loop.parent is None:
            await self._pass_gate()
        self._containers.signal("step_start")
        slots, notes = await self._firer.through_hooks(loop.iter_in, self._step, dict(loop.slots))
        outputs = {"step": loop.count, **slots}
        loop.empty()
        self._deliver(loop.iter_in, self._firer.note(loop.iter_in, self._step, slots, outputs, notes))

    async def _boundary(self, loop: LiveLoop) -> None:
        """An iteration is over: record, settle, decide, hand over."""
        self._record(loop)
        loop.iter_out.open = False
        await self._settle(loop)
        inputs, notes = await self._firer.through_hooks(loop.iter_out, self._step, loop.iter_out.take())
        values = {name: value for name, value in inputs.items() if name != "stop"}
        loop.carried.update(values)
        if self._halted or self._truthy(loop, inputs.get("stop")):
            self._end(loop, self._halted or "stopped", inputs, notes)
        elif loop.count >= loop.budget:
            self._end(loop, "budget", inputs, notes)
        else:
            self._firer.note(loop.iter_out, self._step, inputs, values, notes)
            loop.hand_over(values)
            for child in loop.children:
                child.renew()
            loop.iter_out.open = True
            self._step = self.outcome.steps
            self._enqueue(loop.iter_in)
        self._log.boundary()

    def _record(self, loop: LiveLoop) -> None:
        loop.count += 1
        self._containers.signal("step_end")
        if loop.parent is None:
            self.outcome.steps += 1
            if self._checkpoints:
                self._log.checkpoint(self.outcome.steps, self._containers.snapshot())

    async def _settle(self, loop: LiveLoop) -> None:
        """Fire what is still queued in this loop, and at a root loop what hangs off the loops."""
        for _ in range(MAX_SETTLE):
            wanted = (loop, None) if loop.parent is None else (loop,)
            node = next((node for node in self._queue if node.loop in wanted), None)
            if node is None:
                return
            self._queue.remove(node)
            await self._fire(node)

    def _truthy(self, loop: LiveLoop, stop: Any) -> bool:
        try:
            return bool(stop)
        except ValueError:  # an array of several elements
            message = f"stop got {type(stop).__name__} of several elements, which is neither true nor false"
            self._firer.error(loop.iter_out.planned, self._step, message)
            return False

    def _end(
        self,
        loop: LiveLoop,
        termination: Termination,
        inputs: Mapping[str, Any] | None = None,
        notes: list[dict[str, Any]] | None = None,
    ) -> None:
        """Close a loop and emit its final side. ``inputs``: of its ``iterOut``, where a boundary ends it."""
        for child in loop.children:
            if child.is_open:
                self._end(child, termination)
            child.armed = False
            child.renew()
        loop.is_open = loop.armed = False
        loop.ended = True
        self._withdraw(loop.body)
        for node in loop.body:
            node.forget()
        final = self._firer.note(loop.iter_out, self._step, inputs or {}, loop.final(), notes)
        held = loop.held
        loop.reset()
        if loop.parent is None:
            self._end_root(loop, termination)
        self._deliver(loop.iter_out, final)
        self._let_go(loop, held)
        if loop.parent is not None:
            self._offer(loop.parent.iter_out)
        for node in loop.band:
            self._offer(node)

    def _let_go(self, loop: LiveLoop, held: dict[LiveNode, Mapping[str, Any]]) -> None:
        """Pass on what a loop's gates hold; what is still on its way into one comes after that."""
        for gate in loop.gates:
            if gate.pending:
                inputs = gate.take()
                held[gate] = self._firer.note(gate, self._step, inputs, inputs)
                if gate.queued:
                    gate.queued = False
                    self._queue.remove(gate)
            if gate in held:
                self._deliver(gate, held[gate])

    def _end_root(self, loop: LiveLoop, termination: Termination) -> None:
        self.outcome.termination = termination
        self._outside_since = self._fired
        self._step = self.outcome.steps
        self._verdict_time = loop is self._graph.roots[-1]
        if self._verdict_time or not self._halted:
            for node in loop.band:
                node.open = True
