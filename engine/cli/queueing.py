"""How a run stands in the queue, in words, and the options that say what it asks of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from engine.cli.output import say
from engine.cli.progress import clock
from engine.cli.ranges import given, limited
from engine.figures import count

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.queue_reports import QueueReport
    from engine.control.reports import RunReport, StartRequest

F = TypeVar("F", bound=Callable[..., Any])

PRIORITIES = ["high", "normal", "low"]
ASK_EVERY_SEC = 1.0


def scheduling_options(function: F) -> F:
    """What ``run`` may say about the machine and the queue."""
    options = [
        click.option(
            "-w",
            "workers",
            default="1",
            metavar="W|auto",
            help="Episodes that run at once (default 1); auto: the most that would start now.",
        ),
        click.option(
            "--vram",
            type=limited("marginal_vram_mb"),
            metavar="MB",
            help="GPU memory that the run takes; 0 is no GPU.",
        ),
        click.option("--exclusive", is_flag=True, help="Alone on its card."),
        click.option(
            "--priority", type=click.Choice(PRIORITIES), default="normal", help="Its class in the queue."
        ),
        click.option("--gpus", metavar="LIST", help="These cards, all of them, by UUID or label, as in 0,1."),
        click.option(
            "--depends-on",
            multiple=True,
            metavar="RUN",
            help="Start once RUN has completed. May be repeated.",
        ),
        click.option(
            "--on",
            callback=given,
            metavar="slurm[:PARTITION]",
            help="On a Slurm cluster that sees this root (default: this machine).",
        ),
        click.option(
            "--nodes",
            type=limited("nodes"),
            default=1,
            metavar="N",
            help="Split over N nodes of the cluster, with -w workers on each.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def apply_scheduling(control: Control, request: StartRequest, options: dict[str, Any]) -> None:
    """Put the options of :func:`scheduling_options` into ``request``."""
    request.marginal_vram_mb = options["vram"]
    request.exclusive_gpu = options["exclusive"]
    request.priority = options["priority"]
    request.gpus = parse_gpus(options["gpus"])
    request.depends_on = [control.show(run).run_id for run in options["depends_on"]]
    request.on, request.nodes = options["on"], options["nodes"]
    workers = parse_workers(options["workers"])
    if workers is None and request.on:
        raise click.BadParameter(
            "is what fits on this machine: give a number with --on", param_hint="-w auto"
        )
    request.worker_count = workers if workers is not None else most_workers(control, request)


def parse_workers(text: str) -> int | None:
    """A number of workers; None for ``auto``."""
    if text == "auto":
        return None
    try:
        found: int = limited("worker_count").convert(text, None, None)
    except click.BadParameter as error:
        raise click.BadParameter(f"{error.message.rstrip('.')}, or auto.", param_hint="-w") from None
    return found


def parse_gpus(text: str | None) -> list[str]:
    """``0,1`` as names of cards."""
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise click.BadParameter(
            f"{text!r} is not a list of different cards, such as 0,1", param_hint="--gpus"
        )
    return names


def most_workers(control: Control, request: StartRequest) -> int:
    """The most workers that would start now, no more than there are episodes, or CPU cores, since more would
    take turns; 1 where none would."""
    found = control.estimate(request.graph_name, 1, request.sources, request.selectors)
    room = min(found.max_workers, request.asked_episodes or found.max_workers)
    cores = control.resources().host.cpu_count
    workers = max(1, min(room, cores))
    why = f": {found.refused or found.waits}" if found.max_workers == 0 else ""
    if room > workers:
        why = f", one for each CPU core (there is memory for {found.max_workers}; -w N takes more)"
    say(f"-w auto: {count(workers, 'worker')}{why}")
    return workers


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``11th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def gigabytes(mb: float | None) -> str:
    """Memory as people read it, in GB of 2**30 bytes; ``?`` where it is not known."""
    return "?" if mb is None else f"{mb / 1024:.1f} GB"


def ago(moment: str | None) -> str:
    """How long ago an ISO time was; ``-`` where there is none."""
    if not moment:
        return "-"
    return clock(max(0.0, time.time() - datetime.fromisoformat(moment).timestamp()))


def place_in(queue: QueueReport, run: str) -> str:
    """How a run stands that has not begun: ``queued, 2nd: needs 9.5 GB; …``; empty where it is not there."""
    for waiting in queue.queued:
        if waiting.run_id == run:
            return f"queued, {ordinal(waiting.position)}: {waiting.reason}"
    for admitted in queue.running:
        if admitted.run_id == run:
            servers = f", with {', '.join(admitted.servers)}" if admitted.servers else ""
            return f"let in{servers}: starting"
    return ""


class Waiting:
    """Asks now and then why a run has not begun."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._text = ""
        self._due = 0.0

    def look(self, report: RunReport) -> str:
        """Why it waits; empty for one that runs."""
        from engine.control.reports import NoBackendError

        if report.status != "pending":
            return ""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + ASK_EVERY_SEC
            try:
                self._text = place_in(self._control.queue(), report.run_id)
            except NoBackendError:
                self._text = "queued; the backend does not answer now"
        return self._text
