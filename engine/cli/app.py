"""The command line's frame: global options, commands found by name and imported when called, exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from engine.control.protocol import Control

COMMANDS = {
    "demo": "Run the embedded example and show where to look next.",
    "run": "Run a graph over many episodes.",
    "check": "Show every problem of graphs, at once.",
    "verify": "Are the results the same at every worker count?",
    "runs": "List the runs, newest first.",
    "show": "Show how a run stands.",
    "episodes": "List a run's episodes.",
    "compare": "Compare runs, episode by episode.",
    "export": "Write a run, or one episode, to one file for others.",
    "log": "Show an episode, one row a node firing.",
    "nodesets": "Show what is installed, and what failed to load.",
    "doctor": "Look at this machine: what would stop a run?",
}
FAILED, USAGE, INTERRUPTED = 1, 2, 130


class LazyGroup(click.Group):
    """Knows the commands' names and one-line helps; imports a command only to run it or to explain it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"engine.cli.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


class App:
    """What a command gets as ``ctx.obj``. The control is opened when first asked for."""

    def __init__(self, open_control: Callable[[str | None], Control], root: str | None) -> None:
        self._open = open_control
        self._root = root
        self._control: Control | None = None

    @property
    def control(self) -> Control:
        if self._control is None:
            self._control = self._open(self._root)
        return self._control


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--root",
    metavar="DIR",
    help="Folder that holds outputs/ and workspace/. Default: EVALTOWER_ROOT, else the nearest parent with "
    "evaltower.toml or outputs/, else the current folder.",
)
@click.version_option(package_name="evaltower", message="%(prog)s %(version)s")
@click.pass_context
def evaltower(ctx: click.Context, root: str | None) -> None:
    """The control tower for agent evaluations: a saved graph, many episodes, numbers that can be trusted."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    ctx.obj = App(ctx.obj, root)


def run_command_line(
    open_control: Callable[[str | None], Control], arguments: Sequence[str] | None = None
) -> int:
    """Run one command line and give its exit code."""
    try:
        code: Any = evaltower.main(
            args=arguments, prog_name="evaltower", standalone_mode=False, obj=open_control
        )
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our stdout has left; the interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        code = _explain(error)
        if code is None:
            raise
        return int(code)


def _explain(error: Exception) -> int | None:
    """Tell the operator of an error that is theirs to mend; None for a fault of ours."""
    from engine.cli.output import say
    from engine.control.reports import ControlError, NotFoundError, RefusedError, problem_text
    from engine.store.rundir import RunDirError

    if isinstance(error, RefusedError):
        for problem in error.problems:
            say(f"error: {problem_text(problem)}", "red")
        return USAGE if all(p.code in ("bad-request", "no-such-graph") for p in error.problems) else FAILED
    if isinstance(error, ControlError | RunDirError | OSError):
        say(f"error: {error}", "red")
        return USAGE if isinstance(error, NotFoundError) else FAILED
    return None


def absolute(path: str | None) -> Path | None:
    """A path option as an absolute path."""
    return Path(path).expanduser().absolute() if path else None
