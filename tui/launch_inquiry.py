"""What a launch form asks of the backend while it is filled in: graphs, their problems, environment, room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.control.outline import Outline, outline
from engine.control.protocol import Control
from engine.control.queue_reports import EstimateReport, GpuReport, GraphEntry, IntrospectReport, QueueReport
from engine.control.reports import CheckReport, ControlError, RefusedError, problem_text
from engine.control.scoring import beside
from engine.graph.model import GraphError
from tui.episode.inks import InkedLine, inked
from tui.launch_estimate import elsewhere_lines, estimate_lines
from tui.launch_form import LaunchForm, selectors_of
from tui.launch_scoring import CODES, Scored, read_scored
from tui.models import Snapshot

if TYPE_CHECKING:
    from tui.app import ControlCentre

PAUSE_SEC = 0.3
"""Of typing, before the machine is asked whether that would fit."""


class Inquiry:
    """``latest``: the form as it is by then. ``changed`` is called when an answer has come.

    entries: the saved graphs. offer: what the environment says of itself; asking: why it is not there (yet).
    outline: the graph, where it can be read. scored: what the line of the scoring means.
    """

    def __init__(
        self,
        centre: ControlCentre,
        latest: Callable[[], LaunchForm],
        changed: Callable[[], None],
        *,
        estimates: bool,
    ) -> None:
        self.entries: Sequence[GraphEntry] = ()
        self.offer: IntrospectReport | None = None
        self.asking = ""
        self.outline: Outline | None = None
        self.scored: Scored | None = None
        self._centre = centre
        self._latest = latest
        self._changed = changed
        self._estimates = estimates
        self._check: CheckReport | None = None
        self._estimate: EstimateReport | str = ""
        self._estimated_for: QueueReport | None = None
        self._looking: asyncio.Task[None] | None = None
        self._scoring: asyncio.Task[None] | None = None
        self._estimating: asyncio.Task[None] | None = None

    def close(self) -> None:
        for task in (self._looking, self._scoring, self._estimating):
            if task is not None:
                task.cancel()

    def list_graphs(self, form: LaunchForm) -> asyncio.Task[None]:
        return self._centre.spawn(self._list_graphs(form))

    def ask_about(self, form: LaunchForm) -> None:
        """Of its graph: what is wrong with it, what its environment offers, whether it fits."""
        self.close()
        self.offer, self.asking, self.scored, self._check, self._estimate = None, "", None, None, ""
        self.outline = None
        if form.graph:
            self.asking = "is asked what it offers…"
            self._looking = self._centre.spawn(self._look(form))
            self.estimate_soon(form)
        self._changed()

    def ask_scoring(self, form: LaunchForm) -> None:
        """What the line of the scoring means now."""
        if self._scoring is not None:
            self._scoring.cancel()
        self._scoring = self._centre.spawn(self._look_at_scoring(form))

    def known_scoring(self) -> list[str]:
        """The files that lie beside saved graphs. For a thread."""
        return [str(path) for entry in self.entries if (path := beside(entry.path)).is_file()]

    def estimate_soon(self, form: LaunchForm) -> None:
        """Once nothing more was typed for a while."""
        if self._estimating is not None:
            self._estimating.cancel()
        if form.graph and self._estimates:
            self._estimating = self._centre.spawn(self._ask_estimate(form))

    def is_old(self, snapshot: Snapshot) -> bool:
        """Whether the queue is another than the one that was estimated for."""
        return self._estimated_for is not None and snapshot.queue != self._estimated_for

    def about_machine(self, gpus: Sequence[GpuReport], cores: int | None) -> list[InkedLine]:
        if isinstance(self._estimate, str):
            return [inked(line, "dim") for line in self._estimate.split("\n") if line]
        if on := self._latest().values.get("on"):
            return elsewhere_lines(self._estimate, on)
        return estimate_lines(self._estimate, gpus, cores)

    def about_graph(self) -> list[InkedLine]:
        if self._check is None:
            return []
        notes: list[InkedLine] = [
            inked(problem_text(problem), "bad" if problem.severity == "error" else "warn")
            for problem in self._check.problems
            if problem.code not in CODES
        ]
        if not self._check.hooks_trusted:
            notes.append(inked("its hooks run commands: starting it shows them, and asks", "warn"))
        return notes

    async def _list_graphs(self, form: LaunchForm) -> None:
        try:
            self.entries = await asyncio.to_thread(self._centre.control.graphs, form.base.sources)
        except ControlError as error:
            self._centre.tell(f"the saved graphs cannot be listed: {error}", severity="error")
        self._changed()

    async def _look(self, form: LaunchForm) -> None:
        control = self._centre.control
        try:
            self._check = await asyncio.to_thread(_checked, control, form)
            self.ask_scoring(self._latest())
            self._changed()
            self.outline = await asyncio.to_thread(_outlined, control, form)
            self._changed()
            self.offer = await asyncio.to_thread(control.introspect, form.graph, form.base.sources)
            self.asking = ""
        except RefusedError:
            self.asking = "is not known: the graph cannot be read"  # its check says why
        except ControlError as error:
            self.asking = f"cannot be asked: {error}"
        self._changed()

    async def _look_at_scoring(self, form: LaunchForm) -> None:
        graph = self._check.path if self._check is not None else ""
        typed, of_run = form.values.get("scoring", ""), form.base.scoring
        self.scored = await asyncio.to_thread(
            read_scored, self._centre.control.root, typed, of_run, "" if form.base.graph else graph
        )
        self._changed()

    async def _ask_estimate(self, form: LaunchForm) -> None:
        await self._centre.clock.sleep(PAUSE_SEC)
        control, queue = self._centre.control, self._centre.snapshot.queue
        try:
            self._estimate = await asyncio.to_thread(
                control.estimate,
                form.base.graph or form.graph,
                form.workers,
                form.base.sources,
                selectors_of(form),
            )
        except ControlError as error:
            self._estimate = f"no estimate: {error}"
        self._estimated_for = queue
        self._changed()


def _checked(control: Control, form: LaunchForm) -> CheckReport:
    """Of the graph that the form means."""
    sources, given = form.base.sources, form.base.graph
    return control.validate(given, sources) if given else control.check(form.graph, sources)


def _outlined(control: Control, form: LaunchForm) -> Outline | None:
    """None for what its check has problems with, or what is no saved graph."""
    try:
        return outline(form.base.graph or control.graph(form.graph))
    except (GraphError, ControlError):
        return None
