"""Hooks run commands as the operator: a graph's are shown, and asked about, before its first run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from engine.cli.output import say
from engine.text import visible

if TYPE_CHECKING:
    from engine.control.reports import StartRequest

T = TypeVar("T")

trust_option = click.option(
    "--trust-hooks", is_flag=True, help="The graph's hooks may run their commands as you, now and later."
)


def with_trust(request: StartRequest, start: Callable[[], T]) -> T:
    """What ``start`` gives; where only the graph's hooks are in its way, a terminal is asked about them."""
    from engine.control.reports import UntrustedHooksError

    try:
        return start()
    except UntrustedHooksError as refused:
        if not sys.stdin.isatty():
            raise
        for problem in refused.problems:
            say(f"{problem.where} {problem.message}", "yellow")
        if not click.confirm(visible(f"Let {request.graph_name} run these, now and later?"), err=True):
            raise
    request.trust_hooks = True
    return start()
