"""A host's process, seen from the run that starts it: start, stop, kill, why it ended, what it weighs."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

from engine.components.errors import HostFailure, HostStartFailed, how_it_ended
from engine.hosting.client import End, HostClient
from engine.hosting.host_token import TOKEN_VARIABLE
from engine.hosting.main_memory import Room
from engine.hosting.numerics import PINNED_ENV
from engine.hosting.process_tree import ProcessTree

_HOST = Path(__file__).with_name("host.py")
_SOCKET_PATH_LIMIT = 107
_READY_LINE_LIMIT = 1 << 22
_TAIL_BYTES = 1 << 16
_TAIL_LINES = 20
_CRASH_SETTLES_SEC = 2.0
SEEN_BEFORE_SEC = 5.0
"""A process's memory is free again before its end can be seen: seconds, where that was much."""


@dataclass(frozen=True, slots=True)
class HostSpec:
    """What to start: a nodeset's name and file or folder, under which interpreter, with which environment.

    ``env`` is set before the interpreter starts. ``log_path`` is appended to. ``run`` is shown to whoever
    lists processes. ``workspaces``: where else the nodeset's ``workspace.…`` imports may lie. It answers at a
    Unix socket in ``socket_dir``; without one, on a free port at ``address``, which is what other machines
    call this one, to whoever has the ``token``. ``ram_mb``: what it is said to take, 0 where nobody said;
    None: it is not to be ended for what it takes.
    """

    name: str
    path: Path
    log_path: Path
    socket_dir: Path | None
    python: str = sys.executable
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    run: str = ""
    workspaces: Sequence[str] = ()
    address: str = ""
    token: str = field(default="", repr=False)
    ram_mb: int | None = None


class LastSeen(NamedTuple):
    """What a host held, and what was left of main memory, when that was found to be short."""

    mb: float
    room: Room
    at: float


def make_socket_dir() -> Path:
    """A new private folder whose path is short enough for sockets; whoever asks for it removes it."""
    folder = Path(tempfile.mkdtemp(prefix="evt-"))
    if len(os.fsencode(_socket_in(folder))) <= _SOCKET_PATH_LIMIT:
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="evt-", dir="/tmp"))


class HostProcess:
    """A running host. Everything that it started ends with it, and it ends with this process.

    ``last_seen``: by whoever watches over memory; None where there was enough.
    """

    _running: ClassVar[set[HostProcess]] = set()

    def __init__(
        self,
        spec: HostSpec,
        process: asyncio.subprocess.Process,
        tree: ProcessTree,
        socket: Path | None,
        log_start: int,
    ):
        self.spec = spec
        self.url = ""
        self._process = process
        self._tree = tree
        self._socket = socket
        self._log_start = log_start
        self._killed_because: str | None = None
        self._outgrew = False
        self.last_seen: LastSeen | None = None
        self._running.add(self)
        self._ended = asyncio.create_task(self._take_down())

    @classmethod
    def running(cls) -> set[HostProcess]:
        """Those of this process, also while they start."""
        return set(cls._running)

    @classmethod
    async def start(cls, spec: HostSpec, deadline: float) -> HostProcess:
        """Start a host; it answers at ``url`` when this returns. Only from the main thread.

        HostStartFailed where it is not up within ``deadline`` seconds, with its traceback or its last lines.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("hosts end with the thread that started them: start them from the main thread")
        socket = _socket_in(spec.socket_dir) if spec.socket_dir else None
        if socket is not None and len(os.fsencode(socket)) > _SOCKET_PATH_LIMIT:
            raise ValueError(f"{socket}: longer than {_SOCKET_PATH_LIMIT} bytes; use make_socket_dir()")
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb", 0) as ready:
            try:
                host = await cls._spawn(spec, socket, write_end)
            finally:
                os.close(write_end)
            try:
                async with asyncio.timeout(deadline):
                    host.url = await host._until_ready(ready)
            except TimeoutError:
                await host.kill(late := f"it was not up within {deadline:g} s")
                raise host._failed_to_start(late) from None
            except BaseException:
                await host.kill("its start failed")
                raise
        return host

    @classmethod
    async def _spawn(cls, spec: HostSpec, socket: Path | None, ready: int) -> HostProcess:
        tree = ProcessTree()
        spec.log_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with spec.log_path.open("ab") as log:
                log_start = log.tell()
                process = await asyncio.create_subprocess_exec(
                    *(spec.python, str(_HOST), "--nodeset", str(spec.path), "--name", spec.name),
                    *(("--socket", str(socket)) if socket else ("--address", spec.address)),
                    *("--ready-fd", str(ready), "--lifeline-fd", str(tree.lifeline), "--run", spec.run),
                    *(word for folder in spec.workspaces for word in ("--workspace", folder)),
                    *(() if spec.ram_mb is None else ("--ram-mb", str(spec.ram_mb))),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **PINNED_ENV, **spec.env, **_secret(spec), **tree.environment},
                    cwd=spec.cwd,
                    start_new_session=True,
                    pass_fds=(ready, tree.lifeline),
                )
        except BaseException as error:
            await tree.end()
            if isinstance(error, OSError):
                raise HostStartFailed(f"{spec.name} did not start: {error}", spec.name, "start") from error
            raise
        tree.root(process.pid)
        return cls(spec, process, tree, socket, log_start)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """As of a subprocess: None while it runs, negative for a signal."""
        return self._process.returncode

    def connect(self, caller: str) -> HostClient:
        """A caller's connection to it."""
        return HostClient(self.url, caller, self.spec.name, token=self.spec.token, end=self._end_of_crash)

    def move_to(self, socket: Path) -> None:
        """Answer there from now on, in place of whatever did; on the same file system. Raises OSError."""
        assert self._socket is not None
        self._socket = self._socket.replace(socket)
        self.url = f"unix:{socket}"

    async def stop(self, grace: float) -> None:
        """Ask the nodeset to shut down, and kill what has not ended within ``grace`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._ask_to_shut_down(grace)
                await self._process.wait()
        await self.kill(f"it was still running {grace:g} s after it was asked to shut down")

    async def ended(self) -> None:
        """Wait until it has ended, and nothing of it remains."""
        await asyncio.shield(self._ended)

    async def ended_within(self, seconds: float) -> bool:
        """Whether it ended by itself: a connection breaks before the end of its process can be seen."""
        await asyncio.wait([self._ended], timeout=seconds)
        return self._ended.done()

    async def _end_of_crash(self) -> End:
        await self.ended_within(_CRASH_SETTLES_SEC)
        return self._end()

    def _end(self) -> End:
        if self._outgrew:
            return End("was ended", self._killed_because or "")
        cause = self._exit_cause()
        how = {"signal": "ended by ", "exit": "ended with ", "killed:": "was "}.get(cause.split(" ")[0], "")
        return End(how + cause, self._out_of_memory())

    def end_for_memory(self, why: str) -> None:
        """Kill it, as it takes too much: its callers are told ``why``. It goes in its own time."""
        if self._tree.running():
            self._killed_because, self._outgrew = why, True
            self._tree.kill()

    async def kill(self, reason: str = "its run had no more use for it") -> None:
        """Kill it and everything that it started; returns when they are gone. ``reason``: for exit_cause."""
        if self._tree.running() and not self._outgrew:
            self._killed_because = reason
            self._tree.kill()
        await self.ended()

    def exit_cause(self) -> str:
        """``exit code 1``, ``signal SIGSEGV (11)``, or why we killed it; empty while it runs."""
        return "; ".join(filter(None, [self._exit_cause(), self._out_of_memory()]))

    def _out_of_memory(self) -> str:
        """Where a SIGKILL that is not ours met it while memory was short."""
        seen = self.last_seen
        if seen is None or self._killed_because is not None or self.returncode != -signal.SIGKILL:
            return ""
        return (
            f"it held {seen.mb / 1024:.1f} GB when last seen, {seen.room.free_mb / 1024:.1f} GB of"
            f" {seen.room.total_mb / 1024:.1f} GB were free: the kernel ends what takes too much"
        )

    def _exit_cause(self) -> str:
        code = self.returncode
        if self._killed_because is not None and code in (None, -signal.SIGKILL):
            return f"killed: {self._killed_because}"
        return "" if code is None else how_it_ended(code)

    def tail(self, lines: int) -> list[str]:
        """The last lines that it wrote to stdout or stderr, since this start."""
        with self.spec.log_path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - _TAIL_BYTES))
            text = log.read(_TAIL_BYTES).decode("utf-8", "replace")
        return text.rstrip("\n").split("\n")[-lines:] if text else []

    def tree_memory_mb(self) -> float:
        """Memory in MB of the host and of everything that it started: PSS where readable, else RSS.

        Takes milliseconds a process: for a thread, or between episodes.
        """
        return self._tree.memory_mb()

    async def _until_ready(self, ready: BinaryIO) -> str:
        """The url that the host reports; HostStartFailed for anything else."""
        reader = asyncio.StreamReader(limit=_READY_LINE_LIMIT)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), ready
        )
        try:
            line = await reader.readline()
        finally:
            transport.close()
        with suppress(ValueError):
            said: dict[str, Any] = json.loads(line)
            if "url" in said:
                return str(said["url"])
            raise self._failed_to_start(said["error"], said["trace"])
        await asyncio.shield(self._ended)
        end = self._end()
        why = (
            f"it {end.how} before it was up: {end.why}"
            if end.why
            else f"{self.exit_cause()} before it was up"
        )
        failure = self._failed_to_start(why)
        failure.outgrew = bool(end.why)
        raise failure

    def _failed_to_start(self, why: str, trace: str = "") -> HostStartFailed:
        detail = "\n".join([trace, *self.tail(_TAIL_LINES)]).strip()
        first, *more = why.strip().splitlines() or [""]
        told = f"{self.spec.name} did not start: {first}{' …' if more else ''}"
        return HostStartFailed(told, self.spec.name, "start", detail)

    async def _ask_to_shut_down(self, within: float) -> None:
        client = self.connect("")
        try:
            with suppress(HostFailure):
                await client.shut_down(within)
        finally:
            await client.close()

    async def _take_down(self) -> None:
        """When the host ends, however it ends: nothing of it remains."""
        await self._process.wait()
        self._running.discard(self)
        if self.last_seen is not None and time.monotonic() - self.last_seen.at > SEEN_BEFORE_SEC:
            self.last_seen = None
        await self._tree.end()
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)


def _socket_in(folder: Path) -> Path:
    return folder / f"{secrets.token_hex(4)}.sock"


def _secret(spec: HostSpec) -> dict[str, str]:
    return {TOKEN_VARIABLE: spec.token} if spec.token else {}
