"""The command line's frame: global options, commands found by name and imported when called, exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import click

from engine.cli.ranges import Number
from engine.limits import Limit

if TYPE_CHECKING:
    from engine.control.protocol import Control

COMMANDS = {
    "demo": "Run the embedded example and show where to look next.",
    "run": "Run a graph over many episodes.",
    "check": "Show every problem of graphs, at once.",
    "estimate": "Tell what a run would need, and whether it would start now.",
    "verify": "Are the results the same at every worker count?",
    "experiment": "Run a graph, or a command that submits, under a profile of evaltower.toml.",
    "queue": "Show what waits, why, and what runs.",
    "watch": "Tell of the queue and the running runs, a line a change.",
    "pause": "Start nothing until unpause; what runs goes on.",
    "unpause": "Start queued runs again.",
    "hold": "Keep a queued run from starting, or let it start again.",
    "move": "Put a queued run at another position.",
    "priority": "Give a queued run another priority.",
    "cancel": "End runs, queued or running.",
    "resume": "Go on with a run: the episodes without a finished row, or whose scoring was cut short.",
    "rescore": "Score a run's finished episodes again, without playing them.",
    "delete": "Remove runs and all that they wrote.",
    "stop": "End the backend.",
    "runs": "List the runs, newest first.",
    "show": "Show how a run stands.",
    "episodes": "List a run's episodes.",
    "compare": "Compare runs, episode by episode.",
    "report": "Write a run as one page, with its failures first, for others.",
    "export": "Write a run, or one episode, to one file for others.",
    "log": "Show an episode, one row a node firing.",
    "view": "Browse the log of an episode's folder, from wherever it came.",
    "nodesets": "Show what is installed, what failed to load, and what is served.",
    "doctor": "Look at this machine: what would stop a run?",
}
TELL_OF_SETTINGS = ("demo", "run", "check", "verify", "experiment", "doctor")
"""Commands that tell in their own way what is wrong with evaltower.toml: they refuse, or list it."""
FAILED, USAGE, NO_BACKEND, INTERRUPTED = 1, 2, 3, 130

Need = Literal["read", "operate", "run"]
"""What a command wants: to look at runs; the live backend; the live backend, else one of its own that lives
as long as the command and then hands over what is queued or runs."""


class OpenControl(Protocol):
    """Gives the verbs for a root (None: by the rule for roots) while its context is open. NoBackendError
    where ``operate`` finds no backend."""

    def __call__(self, root: str | None, need: Need) -> AbstractContextManager[Control]: ...


class Serve(Protocol):
    """Runs the backend without a screen until it is ended, and gives the exit code. port: None is the usual
    one or the next that is free, 0 any. token: callers need it. simulate: a file with a machine that is only
    thought. take_over: what a backend that hands over passes on. ControlError where it cannot begin."""

    def __call__(
        self,
        root: str | None,
        *,
        host: str,
        port: int | None,
        token: bool,
        simulate: str | None,
        take_over: str | None,
    ) -> int: ...


class ShowScreen(Protocol):
    """Shows the control centre until it is left, and gives the exit code. read_only: it changes nothing, and
    begins no backend. simulate: as of :class:`Serve`. ControlError where it cannot begin."""

    def __call__(self, root: str | None, *, read_only: bool, simulate: str | None) -> int: ...


class ShowLog(Protocol):
    """Shows the log of an episode's folder, or a log alone, until it is left, and gives the exit code.
    ControlError where there is none."""

    def __call__(self, path: str) -> int: ...


class KeyProblems(Protocol):
    """What is wrong with ``[keys]`` of a root's evaltower.toml, whose actions the screen knows."""

    def __call__(self, root: Path) -> list[str]: ...


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
    """What a command gets as ``ctx.obj``. A control is opened when first asked for, and closed at its end."""

    def __init__(
        self,
        ctx: click.Context,
        open_control: OpenControl,
        show_log: ShowLog,
        key_problems: KeyProblems,
        root: str | None,
    ) -> None:
        self._ctx, self._open, self._root = ctx, open_control, root
        self.show_log, self.key_problems = show_log, key_problems
        self._opened: dict[Need, Control] = {}

    @property
    def control(self) -> Control:
        """For looking at what is on disk."""
        return self._control("read")

    @property
    def operating(self) -> Control:
        """The live backend. NoBackendError where there is none."""
        return self._control("operate")

    @property
    def running(self) -> Control:
        """The live backend, else one of this command's own; SIGTERM and SIGHUP close it, as its end does."""
        if "run" not in self._opened:
            _leave_on(signal.SIGTERM, signal.SIGHUP)
        return self._control("run")

    def _control(self, need: Need) -> Control:
        if need not in self._opened:
            opened = self._open(self._root, need)
            self._opened[need] = self._ctx.with_resource(opened)
            if need == "read" and self._ctx.invoked_subcommand not in TELL_OF_SETTINGS:
                _warn_of_settings(self._opened[need].root)
        return self._opened[need]


def _warn_of_settings(root: Path) -> None:
    """Whoever only looks needs no settings, and goes on."""
    from engine.store.settings import FILE, SettingsError, read_settings

    if not (root / FILE).exists():
        return
    try:
        read_settings(root)
    except SettingsError as error:
        from engine.cli.output import say

        for problem in error.problems:
            say(f"warning: {FILE}: {problem}", "yellow")


def _leave_on(*numbers: signal.Signals) -> None:
    """Let these end the command by way of its contexts; again, they are ignored. One that whoever started
    us ignores (nohup) stays ignored."""

    def leave(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in numbers:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, leave)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--root",
    metavar="DIR",
    envvar="EVALTOWER_ROOT",
    type=click.Path(exists=True, file_okay=False),
    help="Folder that holds outputs/ and workspace/. Default: EVALTOWER_ROOT, else the nearest parent with "
    "evaltower.toml or outputs/, else that of your one live backend, else the current folder.",
)
@click.option(
    "--serve",
    "serves",
    is_flag=True,
    help="Be the backend, without a screen: queue, runs, REST. Prints its URL.",
)
@click.option("--host", metavar="H", help="With --serve: listen there (default 127.0.0.1).")
@click.option(
    "--port",
    type=Number(Limit(0, 65535)),
    metavar="P",
    help="With --serve: 0 is any (default 8765, or the next that is free).",
)
@click.option(
    "--no-token",
    is_flag=True,
    help="With --serve: let every user of this machine in. For a box of one's own.",
)
@click.option(
    "--simulate",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Schedule on a machine that is only thought. FILE is TOML: ram_mb, [[gpus]] total_mb, [[loads]]"
    " match vram_mb ram_mb, [[foreign]], [[faults]]; the README has all of it.",
)
@click.option("--read-only", is_flag=True, help="The screen changes nothing; nor does it begin a backend.")
@click.option("--take-over", hidden=True)
@click.version_option(package_name="evaltower", message="%(prog)s %(version)s")
@click.pass_context
def evaltower(
    ctx: click.Context,
    root: str | None,
    serves: bool,
    host: str | None,
    port: int | None,
    no_token: bool,
    simulate: str | None,
    take_over: str | None,
    read_only: bool,
) -> None:
    """The control tower for agent evaluations: a saved graph, many episodes, numbers that can be trusted.

    Without a command: the screen, from which everything is started, watched and looked into.
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    open_control, serve, show_screen, show_log, key_problems = ctx.obj
    ctx.obj = App(ctx, open_control, show_log, key_problems, root)
    if not serves:
        if host or port is not None or no_token or take_over:
            raise click.UsageError("--host, --port and --no-token belong to --serve")
        if ctx.invoked_subcommand is None:
            raise click.exceptions.Exit(show_screen(root, read_only=read_only, simulate=simulate))
        if simulate or read_only:
            raise click.UsageError("--simulate belongs to the screen or --serve, --read-only to the screen")
        return
    if ctx.invoked_subcommand is not None:
        raise click.UsageError(f"--serve is a command of its own: leave {ctx.invoked_subcommand!r} out")
    if read_only:
        raise click.UsageError("--read-only belongs to the screen")
    code = serve(
        root,
        host=host or "127.0.0.1",
        port=port,
        token=not no_token,
        simulate=simulate,
        take_over=take_over,
    )
    raise click.exceptions.Exit(code)


def _no_server(root: str | None, **options: Any) -> int:
    raise click.UsageError("this command line serves nothing")


def _no_screen(root: str | None, **options: Any) -> int:
    raise click.UsageError("which command? See 'evaltower --help'")


def _no_log(path: str) -> int:
    raise click.UsageError("this command line has no screen: see 'evaltower log --help'")


def _no_keys(root: Path) -> list[str]:
    return []


def run_command_line(
    open_control: OpenControl,
    arguments: Sequence[str] | None = None,
    serve: Serve = _no_server,
    show_screen: ShowScreen = _no_screen,
    show_log: ShowLog = _no_log,
    key_problems: KeyProblems = _no_keys,
) -> int:
    """Run one command line and give its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    as_json = "--json" in words[: words.index("--") if "--" in words else None]
    try:
        composed = (open_control, serve, show_screen, show_log, key_problems)
        code: Any = evaltower.main(args=words, prog_name="evaltower", standalone_mode=False, obj=composed)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        if as_json:
            _put_error(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        from engine.cli.output import forsake

        forsake(sys.stdout)
        return FAILED
    except Exception as error:
        code = _explain(error, as_json)
        if code is None:
            raise
        return int(code)


def _explain(error: Exception, as_json: bool) -> int | None:
    """Tell the operator of an error that is theirs to mend; None for a fault of ours."""
    from engine.cli.output import say_error
    from engine.control.reports import ControlError, RefusedError, problem_text
    from engine.store.rundir import RunDirError

    if isinstance(error, RefusedError):
        for problem in error.problems:
            say_error(problem_text(problem))
        if as_json:
            _put_error(str(error), problems=error.problems)
        usage = ("bad-request", "no-such-graph", "scoring")
        return USAGE if all(problem.code in usage for problem in error.problems) else FAILED
    if isinstance(error, ControlError | RunDirError | OSError):
        say_error(str(error))
        if as_json:
            _put_error(str(error))
        return exit_code(error)
    return None


def exit_code(error: Exception) -> int:
    """What a command ends with on an error that is told in its one message."""
    from engine.control.reports import NoBackendError, NotFoundError

    if isinstance(error, NoBackendError):
        return NO_BACKEND
    return USAGE if isinstance(error, NotFoundError) else FAILED


def _put_error(message: str, **more: Any) -> None:
    from engine.cli.output import put_json

    put_json({"error": message, **more})


def absolute(path: str | None) -> Path | None:
    """A path option as an absolute path."""
    return Path(path).expanduser().absolute() if path else None
