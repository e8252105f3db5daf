"""``evaltower experiment``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.commands.run import start_and_follow
from engine.cli.each import json_option
from engine.cli.experiments import build_submission, profile_fields
from engine.cli.trust import trust_option

COMMAND = "engine.cli.experiment"
"""Where the words after ``--`` wait in ``ctx.meta``."""


class AfterDashes(click.Command):
    """Keeps the words after the first ``--`` from being read as its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta[COMMAND] = args[place + 1 :]
            args = args[:place]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["PROFILE GRAPH [K=V]... | PROFILE -- CMD..."]


@click.command("experiment", cls=AfterDashes)
@click.argument("profile")
@click.argument("graph", required=False)
@click.argument("pairs", nargs=-1, metavar="[K=V]...")
@trust_option
@click.option("--no-follow", is_flag=True, help="Print the run's id and leave it to itself.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    profile: str,
    graph: str | None,
    pairs: tuple[str, ...],
    trust_hooks: bool,
    no_follow: bool,
    as_json: bool,
) -> None:
    """Submit GRAPH under PROFILE, of [experiments.PROFILE] in evaltower.toml, and follow it as ``run`` does.

    K=V is a field of a start request, as in episode_count=10 worker_count=4 selectors.env_id=X; it goes
    before the profile's. An unknown profile is given a whole GPU, alone.

    With -- CMD... that command is run, with BACKEND_URL and EVALTOWER_TOKEN set. What it submits there gets
    the profile's fields where it gives none, and is cancelled when the command is interrupted.
    """
    app: App = ctx.obj
    words = ctx.meta.get(COMMAND)
    if (graph is None) == (words is None):
        raise click.UsageError("give a GRAPH, or -- and a command")
    if graph is not None:
        request = build_submission(graph, profile_fields(app.control.root, profile), pairs)
        request.trust_hooks = trust_hooks
        start_and_follow(app.running, request, no_follow=no_follow, as_json=as_json)
        return
    if not words:
        raise click.UsageError("there is no command after --")
    from engine.cli.submitting import run_submitter

    ctx.exit(run_submitter(app.running, words, profile_fields(app.control.root, profile)))
