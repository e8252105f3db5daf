"""Hooks: commands that are told of an execution's events, and may block a node or change its values.

Contract graph-json.md, "Hooks". Whatever goes wrong with one means "continue", and is logged.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy
import psutil

from engine.execution.canonical import UNENCODABLE, plain
from engine.graph.model import Hook

LONGEST_ANSWER = 16 << 20
"""Bytes of an answer that are read at most."""

_EFFECTS = {"PreNodeExecute": ("block", "modify"), "PostNodeExecute": ("modify",)}
"""What an answer may do, by event; elsewhere there is nothing to block or to modify."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Verdict:
    """What all hooks of one event come to. ``notes``: what they did, or failed to do, for the log."""

    blocked: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _Answer(msgspec.Struct):
    action: Literal["continue", "block", "modify"] = "continue"
    modified_data: dict[str, Any] | None = None


class _HookFailed(Exception):
    """A hook that does not answer as it should."""


class Hooks:
    """The hooks of a run, in the order in which they are asked. False where there are none."""

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self._hooks = [hook for hook in hooks if hook.enabled]
        self._told: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        return bool(self._hooks)

    @property
    def longest_sec(self) -> float:
        """Seconds that all of them can take at one firing, before it and after it."""
        return sum(hook.timeout_ms for hook in self._hooks) / 1000

    async def ask(
        self, event: str, facts: Mapping[str, Any], node_type: str = "", node_id: str = ""
    ) -> Verdict:
        """Tell every hook that matches; the first that blocks is the last that is asked.

        All are told the same; where several modify, the later one has the last word on a key. ``node_type``
        and ``node_id`` are empty for the events of a graph.
        """
        verdict = Verdict()
        asked = [hook for hook in self._hooks if hook.event == event and _matches(hook, node_type, node_id)]
        message = _encoded({"event": event, "node_type": node_type or None, **facts}) if asked else b""
        for hook in asked:
            try:
                answer = await _answer(hook, message)
            except _HookFailed as failure:
                self._warn(hook, str(failure))
                verdict.notes.append(f"{event} hook {hook.command!r} {failure}")
                continue
            if answer.action == "continue":
                continue
            verdict.notes.append(f"{event} hook {hook.command!r}: {answer.action}")
            if answer.action == "block":
                verdict.blocked = True
                break
            verdict.changes |= answer.modified_data or {}
        return verdict

    def _warn(self, hook: Hook, failure: str) -> None:
        """Once for each way in which a hook fails, and not at each of thousands of firings."""
        if (hook.command, failure) not in self._told:
            self._told.add((hook.command, failure))
            log.warning("%s hook %r %s; it goes on without", hook.event, hook.command, failure)


def _matches(hook: Hook, node_type: str, node_id: str) -> bool:
    if hook.match_node_id is not None:
        return hook.match_node_id == node_id
    pattern = hook.match_node_type
    return pattern == node_type or (pattern.endswith("*") and node_type.startswith(pattern[:-1]))


async def _answer(hook: Hook, message: bytes) -> _Answer:
    """Run the command with the event on stdin, and read its answer; an empty one is "continue"."""
    said = await _said(hook, message)
    try:
        answer = msgspec.json.decode(said, type=_Answer) if said.strip() else _Answer()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _HookFailed(f"gave no answer that can be understood: {error}") from None
    if answer.action != "continue" and answer.action not in _EFFECTS.get(hook.event, ()):
        raise _HookFailed(f"answered {answer.action!r}, for which there is nothing there")
    return answer


async def _said(hook: Hook, message: bytes) -> bytes:
    """What the command prints, in a session of its own. Waits for nobody who holds on to its pipes."""
    listener = _Listener()
    try:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: listener, "/bin/sh", "-c", hook.command, stderr=None, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise _HookFailed(f"cannot be started: {error}") from None
    try:
        async with asyncio.timeout(hook.timeout_ms / 1000):
            _tell(transport, message)
            await listener.ended
    except BaseException as error:
        _kill(transport)
        if isinstance(error, TimeoutError):
            raise _HookFailed(f"did not answer within {hook.timeout_ms} ms") from None
        raise
    finally:
        transport.close()
    code = transport.get_returncode() or 0
    if code:
        raise _HookFailed(f"failed with exit code {code}" if code > 0 else f"ended by signal {-code}")
    return bytes(listener.said)


def _kill(transport: asyncio.SubprocessTransport) -> None:
    """A hook and all that it started, in sessions of their own too. What is a daemon by then ends with the
    run, as does what a hook that answered leaves behind."""
    below: list[psutil.Process] = []
    if transport.get_returncode() is None:  # its pid is still its own
        with suppress(psutil.Error):
            below = psutil.Process(transport.get_pid()).children(recursive=True)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), signal.SIGKILL)
    for process in below:
        with suppress(psutil.Error):
            process.kill()


def _tell(transport: asyncio.SubprocessTransport, message: bytes) -> None:
    stdin = transport.get_pipe_transport(0)
    assert isinstance(stdin, asyncio.WriteTransport)
    stdin.write(message)
    stdin.close()


class _Listener(asyncio.SubprocessProtocol):
    """Gathers stdout. ``ended``: when that is closed and the process has exited."""

    def __init__(self) -> None:
        self.said = bytearray()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open = {"stdout", "process"}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.said += data
        if len(self.said) > LONGEST_ANSWER and not self.ended.done():
            self.ended.set_exception(_HookFailed(f"answered more than {LONGEST_ANSWER} bytes"))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._close("stdout")

    def process_exited(self) -> None:
        self._close("process")

    def _close(self, what: str) -> None:
        self._open.discard(what)
        if not self._open and not self.ended.done():
            self.ended.set_result(None)


def _encoded(event: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(event, enc_hook=_described)
    except UNENCODABLE:
        return msgspec.json.encode(plain(event), enc_hook=_described)


def _described(value: Any) -> Any:
    """Arrays and objects by what they are, as AgentCanvas tells its hooks."""
    if isinstance(value, numpy.ndarray):
        return {"__type": "ndarray", "shape": list(value.shape), "dtype": value.dtype.name}
    if isinstance(value, numpy.generic):
        return value.item()
    return str(value)[:200]
