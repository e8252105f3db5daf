"""The options that say what to run, and the start request that they make."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from engine.cli.ranges import given, limited
from engine.cli.sources import read_sources, server_option, workspace_option
from engine.cli.trust import trust_option

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.reports import StartRequest

F = TypeVar("F", bound=Callable[..., Any])


def scoring_option(default: str = "<graph>.scoring.json beside a saved graph") -> Callable[[F], F]:
    """``--scoring FILE``. ``default``: what counts without it, for the help."""
    return click.option(
        "--scoring",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help=f"Graders, judges, traces and exports, as JSON (default: {default}).",
    )


select_option = click.option(
    "--select",
    "selectors",
    multiple=True,
    metavar="K=V",
    help="Set a field of the environment, for every episode. V is read as JSON where it is JSON.",
)


LONGEST_LIST = 1_000_000
"""Episodes that one ``--episodes`` may name."""


def request_options(default_count: int | None) -> Callable[[F], F]:
    """Options shared by ``run`` and ``verify``. ``default_count`` None: without one, all episodes."""
    count_help = "Episodes to run" + (f" (default {default_count})." if default_count else ".")
    options = [
        click.option("-n", "count", type=limited("episode_count"), metavar="N", help=count_help),
        click.option("--all", "every", is_flag=True, help="All episodes that the environment has."),
        click.option("--episodes", metavar="LIST", help="Exactly these, as in 0,3,7-9."),
        click.option(
            "--start",
            type=limited("start_episode_index"),
            default=0,
            metavar="I",
            help="First episode of -n or --all.",
        ),
        select_option,
        click.option("--split", callback=given, metavar="S", help="The environment's split."),
        click.option("--dataset", callback=given, metavar="D", help="The environment's data set."),
        click.option(
            "--step-budget", type=limited("step_budget"), metavar="N", help="Steps that an episode may take."
        ),
        click.option(
            "--seed",
            type=limited("seed"),
            default=0,
            metavar="S",
            help="Every source of chance comes from it.",
        ),
        click.option(
            "--timeout", type=limited("timeout_sec"), metavar="SEC", help="Wall time that the run may take."
        ),
        click.option(
            "--step-timeout",
            type=limited("per_step_budget_sec"),
            metavar="SEC",
            help="Wall time that one call of a node may take.",
        ),
        click.option("--label", default="", metavar="L", help="A name by which the run is found again."),
        workspace_option,
        server_option,
        trust_option,
    ]

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def build_request(graph: str, options: dict[str, Any], default_count: int | None = None) -> StartRequest:
    """The request that the options ask for. UsageError for options that contradict one another."""
    from engine.control.reports import StartRequest

    named = [name for name in ("count", "every", "episodes") if options[name] not in (None, False)]
    if len(named) > 1:
        raise click.UsageError("give only one of -n N, --all and --episodes LIST")
    if options["episodes"] is not None and options["start"]:
        raise click.UsageError("--start belongs to -n and --all, not to --episodes")
    sources = read_sources(options["workspaces"], options["servers"], options["overlay"])
    return StartRequest(
        graph_name=graph,
        dataset=options["dataset"],
        split=options["split"],
        selectors=parse_selectors(options["selectors"]),
        episode_count=options["count"] or (-1 if options["every"] or not default_count else default_count),
        start_episode_index=options["start"],
        episode_indices=None if options["episodes"] is None else parse_indices(options["episodes"]),
        step_budget=options["step_budget"],
        per_step_budget_sec=options["step_timeout"],
        seed=options["seed"],
        timeout_sec=options["timeout"],
        label=options["label"],
        workspaces=sources.workspaces,
        active_workspace_dir=sources.active_workspace_dir,
        servers=sources.servers,
        trust_hooks=options["trust_hooks"],
    )


def read_scoring_option(control: Control, path: str | None) -> dict[str, Any] | None:
    """What the file of ``--scoring`` asks for; None without one. RefusedError with all that is wrong."""
    if path is None:
        return None
    from engine.control.scoring import checked_file

    return checked_file(control.root, Path(path))


def parse_selectors(pairs: tuple[str, ...]) -> dict[str, Any]:
    """``K=V`` pairs; V is a JSON scalar where it reads as one, else text."""
    selectors: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not K=V", param_hint="--select")
        if name in selectors:
            raise click.BadParameter(f"{name} is given twice", param_hint="--select")
        try:
            value = json.loads(text, parse_constant=str)
        except ValueError:
            value = text
        selectors[name] = value
    return selectors


def parse_indices(text: str) -> list[int]:
    """``0,3,7-9`` as numbers, in the order given."""
    indices: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isascii() and first.isdigit()) or (dash and not (last.isascii() and last.isdigit())):
            raise click.BadParameter(f"{part.strip()!r} is neither I nor I-J", param_hint="--episodes")
        low, high = int(first), int(last or first)
        if high < low or high - low >= LONGEST_LIST:
            raise click.BadParameter(f"{part.strip()!r} is not a range", param_hint="--episodes")
        indices.extend(range(low, high + 1))
    return indices


def parse_worker_counts(text: str) -> list[int]:
    """``1,3,8`` as different numbers of at least 1."""
    try:
        counts: list[int] = [limited("worker_count").convert(part, None, None) for part in text.split(",")]
    except click.BadParameter as error:
        told = f"{error.message} It takes a list such as 1,3,8."
        raise click.BadParameter(told, param_hint="--workers") from None
    if len(counts) < 2 or len(set(counts)) < len(counts):
        raise click.BadParameter("give at least two different counts", param_hint="--workers")
    return counts
