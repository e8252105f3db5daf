"""The composition root: hands the command line, the service and the screen what they start."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from engine.cli.app import USAGE, Need, run_command_line

if TYPE_CHECKING:
    from engine.api.serving import Compose
    from engine.control.backend import Backend
    from engine.control.protocol import Control
    from engine.store.backend_lock import BackendLock

SERVED_SEC = 10.0
"""Given to a backend that has just begun, to listen."""


@contextmanager
def open_control(root: str | None, need: Need) -> Iterator[Control]:
    """The verbs for a root, as a command needs them; see :class:`engine.cli.app.OpenControl`."""
    from engine.cli.output import say
    from engine.control.root import find_root, note_of_root
    from engine.store.backend_lock import live_backend

    found = find_root(root)
    if note := note_of_root(found, root):
        say(note)
    if need == "read":
        from engine.control.reader import Reader

        yield cast("Control", Reader(found))  # commands that only look call nothing else
    elif need == "run" and live_backend(found) is None:
        with embedded(found) as control:
            yield control
    else:
        from engine.control.remote import open_remote

        with open_remote(found) as control:
            yield control


def key_problems(root: Path) -> list[str]:
    """What is wrong with the actions and keys of ``[keys]``; see :class:`engine.cli.app.KeyProblems`."""
    from engine.store.settings import SettingsError, read_settings

    try:
        keys = read_settings(root).keys
    except SettingsError:
        return []
    if not keys:
        return []
    from tui.keymap import KeymapError, make_keymap

    try:
        make_keymap(keys)
    except KeymapError as error:
        return [f"[keys] {problem}" for problem in error.problems]
    return []


@contextmanager
def embedded(root: Path, simulate: str | None = None, *, quick: bool = False) -> Iterator[Control]:
    """A backend of this process; where another command was faster, its backend, as soon as it listens. quick:
    see :class:`engine.api.embedded.EmbeddedService`."""
    from engine.api.embedded import EmbeddedService
    from engine.control.remote import open_remote
    from engine.control.reports import ConflictError

    options = ["--simulate", str(Path(simulate).absolute())] if simulate else []
    service = EmbeddedService(root, _compose(simulate), options, quick=quick)
    try:
        control = service.start()
    except ConflictError:
        if not _is_served_soon(root):
            raise
        with open_remote(root) as remote:
            yield remote
        return
    try:
        yield control
    finally:
        service.close()


def _is_served_soon(root: Path) -> bool:
    from engine.store.backend_lock import live_backend

    ends = time.monotonic() + SERVED_SEC
    while time.monotonic() < ends:
        found = live_backend(root)
        if found is not None and found.url:
            return True
        time.sleep(0.05)
    return False


def show_screen(root: str | None, *, read_only: bool, simulate: str | None) -> int:
    """The control centre; see :class:`engine.cli.app.ShowScreen`."""
    from engine.cli.output import say
    from engine.control.late import LateControl
    from engine.control.root import find_root
    from tui.terminal_app import terminal_problem

    if problem := terminal_problem():
        say(problem)
        return USAGE
    from tui.opening import open_centre

    found = find_root(root)
    with ExitStack() as stack:
        backing = _for_screen(found, read_only, simulate)
        control = cast("Control", LateControl(found, lambda: stack.enter_context(backing)))
        return open_centre(control, read_only=read_only, hand_over=stack.close)


def show_log(path: str) -> int:
    """The log browser alone; see :class:`engine.cli.app.ShowLog`."""
    from engine.cli.output import say
    from engine.control.reader import Reader
    from tui.episode.places import PlaceError, place_at
    from tui.terminal_app import terminal_problem

    try:
        place = place_at(Path(path))
    except PlaceError as error:
        say(f"error: {error}", "red")
        return USAGE
    if problem := terminal_problem():
        say(problem)
        return USAGE
    from tui.viewer import open_viewer

    return open_viewer(place, cast("Control", Reader(place.folder)))


def _for_screen(root: Path, read_only: bool, simulate: str | None) -> AbstractContextManager[Control]:
    """Whoever only looks begins no backend: its queue would start what waits."""
    from engine.control.remote import open_remote
    from engine.control.reports import ConflictError
    from engine.store.backend_lock import live_backend

    alive = live_backend(root) is not None
    if simulate and (alive or read_only):
        raise ConflictError(
            "--simulate is for a backend that begins: 'evaltower stop' ends the one that lives"
        )
    return open_remote(root) if alive or read_only else embedded(root, simulate, quick=True)


def serve(
    root: str | None,
    *,
    host: str,
    port: int | None,
    token: bool,
    simulate: str | None,
    take_over: str | None,
) -> int:
    """A backend without a screen; see :class:`engine.cli.app.Serve`."""
    from engine.api.handover import Descriptors
    from engine.api.serving import Options, serve
    from engine.cli.output import put
    from engine.control.root import find_root

    inherited = Descriptors.parse(take_over) if take_over else None
    if inherited is not None:
        _warm_up()
    return serve(find_root(root), Options(host, port, token, inherited), _compose(simulate), put)


def _warm_up() -> None:
    """Load what a backend needs before it is waited for."""
    import engine.control.local
    import engine.scheduling.launchers.local
    import engine.scheduling.launchers.servers
    import engine.scheduling.simulation_file  # noqa: F401


def _compose(simulate: str | None) -> Compose:
    """What makes a root's backend and its verbs; ``simulate``: on the machine of that file."""

    def compose(root: Path, lock: BackendLock) -> tuple[Backend, Control]:
        from engine.control.backend import Backend
        from engine.control.local import LocalControl
        from engine.control.reports import ControlError
        from engine.scheduling.simulated import SimulatedMachine
        from engine.scheduling.simulation_file import SimulationError, read_simulation
        from engine.store.settings import SettingsError, read_settings

        try:
            machine = SimulatedMachine(read_simulation(Path(simulate))) if simulate else None
            backend = Backend(root, lock, read_settings(root), machine)
        except (SettingsError, SimulationError) as error:
            raise ControlError(str(error)) from None
        return backend, LocalControl(root, backend)

    return compose


def main() -> None:
    """The console script ``evaltower``."""
    code = run_command_line(
        open_control, serve=serve, show_screen=show_screen, show_log=show_log, key_problems=key_problems
    )
    if "textual" in sys.modules:
        _end(code)
    sys.exit(code)


def _end(code: int) -> NoReturn:
    """End after a screen: to take apart all that it has loaded would keep the prompt for most of a second."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
