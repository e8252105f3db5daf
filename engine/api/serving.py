"""``evaltower --serve``: a backend without a screen, in the main thread."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.api.auth import is_loopback, read_or_make_token, token_path
from engine.api.handover import READY, Descriptors, told_to_go
from engine.api.service import IDLE_SEC, Service
from engine.api.sockets import Sockets
from engine.control.backend import Backend
from engine.control.protocol import Control
from engine.control.reports import ConflictError, ControlError
from engine.store.backend_lock import BackendAliveError, BackendLock

log = logging.getLogger(__name__)

Compose = Callable[[Path, BackendLock], tuple[Backend, Control]]
"""Makes the backend of a root whose lock is held, and its verbs."""

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Options:
    """port: None is the usual one or the next free, 0 any. token: callers of the port need it. take_over:
    what a backend left that hands over to this process."""

    host: str = LOOPBACK
    port: int | None = None
    token: bool = True
    take_over: Descriptors | None = None


def serve(root: Path, options: Options, compose: Compose, put: Callable[[str], None]) -> int:
    """Serve until a signal or a caller ends it; the exit code. ``put`` is told the URL once it is served.

    Raises ControlError where it cannot begin.
    """
    if not options.token and not is_loopback(options.host):
        raise ControlError(
            f"--no-token would let everyone who reaches {options.host} run code as you: leave one of them out"
        )
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    inherited = options.take_over
    if inherited is None:
        lock, talk = acquire(root), None
        sockets = Sockets.open(root, options.host, options.port)
    else:
        talk = socket.socket(fileno=inherited.talk)
        os.set_inheritable(inherited.talk, False)
        told_to_go(talk)
        lock, sockets = BackendLock.adopt(root, inherited.lock), Sockets.adopt(inherited.tcp, inherited.unix)
    token = read_or_make_token(root) if options.token else None
    backend, control = compose(root, lock)
    idle = IDLE_SEC if inherited else None
    service = Service(backend, control, sockets, token, idle_sec=idle)

    def tell() -> None:
        put(sockets.url)
        _tell(root, sockets, options)

    code = asyncio.run(_serve(service, talk, tell))
    sockets.close(remove=True)
    return code


def acquire(root: Path) -> BackendLock:
    """The lock of a root. ConflictError where another has it, ControlError where it cannot be made."""
    try:
        return BackendLock.acquire(root)
    except BackendAliveError as error:
        where = f", at {error.report.url}" if error.report and error.report.url else ""
        raise ConflictError(f"{error}{where}; 'evaltower stop' ends it") from None
    except OSError as error:
        raise ControlError(f"{root / 'outputs'} cannot be used: {error}") from error


async def _serve(service: Service, talk: socket.socket | None, tell: Callable[[], None]) -> int:
    told = asyncio.Event()
    codes: list[int] = []
    loop = asyncio.get_running_loop()

    def end(code: int) -> None:
        if codes:
            os._exit(code)  # asked twice; everything that counts is on disk
        codes.append(code)
        told.set()

    loop.add_signal_handler(signal.SIGTERM, end, 0)
    loop.add_signal_handler(signal.SIGINT, end, 130)
    terminals = [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]
    loop.add_signal_handler(signal.SIGHUP, _leave, terminals)
    async with service:
        tell()
        if talk is not None:
            talk.sendall(READY)
            talk.close()
        await service.wait_until_over(told)
        log.info("ending; what runs has its orphan_grace to be taken up by another backend")
    return codes[0] if codes else 0


def _tell(root: Path, sockets: Sockets, options: Options) -> None:
    log.info("backend of %s, process %d; Unix socket %s", root, os.getpid(), sockets.path)
    if options.token:
        log.info("callers of the port need the token in %s", token_path(root))
    else:
        log.warning(
            "--no-token: every user and every program of this machine can start runs at %s, which execute"
            " code as %s",
            sockets.url,
            getpass.getuser(),
        )


def _leave(terminals: Sequence[int]) -> None:
    """The terminal is gone, and the backend goes on: nothing may be read from it or written to it again."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in terminals:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
