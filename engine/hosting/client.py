"""Calls to a host, or to a model server elsewhere, over a Unix socket or TCP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from engine.components.errors import (
    HostBadReply,
    HostCrashed,
    HostFailure,
    HostTimeout,
    HostUnreached,
    NodeRaised,
    OutsideFailure,
    SimulatorFailed,
    StopExecution,
    WrongChoice,
)
from engine.components.firelist import FireList, FireSpec
from engine.hosting import codec
from engine.hosting.host_token import HEADER, bearer

T = TypeVar("T")

_CONTROL_SEC = 30.0
_READ_BUFFER = 1 << 20
_CONNECT_SEC = 10.0
"""A machine that is gone does not refuse a connection: it says nothing."""


class Timing(msgspec.Struct):
    """Milliseconds in the host: waiting for a batch, and computing."""

    compute_ms: float = 0.0
    queue_wait_ms: float = 0.0


class RemoteError(msgspec.Struct):
    """An exception of the nodeset's code. ``kind``: ``raised``, ``stop``, ``infra``, ``unfit`` (as
    ``infra``, and the process is not to be used again), ``config`` or ``bad_output``."""

    type: str
    message: str
    trace: str = ""
    kind: str = "raised"
    cause: str = ""

    def exception(
        self, inner_log: list[dict[str, Any]] | None = None, nodeset: str = "", call: str = ""
    ) -> StopExecution | OutsideFailure | WrongChoice | NodeRaised:
        """The same, to be raised here."""
        if self.kind == "stop":
            return StopExecution(self.message)
        if self.kind in ("infra", "unfit"):
            return OutsideFailure(self.message, nodeset, call, cause=self.cause)
        if self.kind == "config":
            return WrongChoice(self.message)
        return NodeRaised(f"{self.type}: {self.message}", self.trace, inner_log)


class Child(msgspec.Struct):
    """A FireSpec."""

    node_type: str
    inputs: dict[str, Any] = {}
    config: dict[str, Any] = {}
    label: str = ""
    capture_outputs: list[str] | None = None


class Children(msgspec.Struct):
    """A FireList."""

    specs: list[Child]
    spawner_outputs: dict[str, Any] = {}
    aggregator: dict[str, Any] | str = {}

    def as_list(self) -> FireList:
        """The same, as the executor takes it."""
        specs = [FireSpec(**msgspec.structs.asdict(child)) for child in self.specs]
        return FireList(specs, self.spawner_outputs, self.aggregator)


class CallReply(msgspec.Struct):
    """What a firing gave: ``outputs``, ``error``, or ``children`` to fire before there are outputs.

    What it logged, wrote and emitted is there in any case.
    """

    outputs: dict[str, Any] | None = None
    error: RemoteError | None = None
    children: Children | None = msgspec.field(name="__firelist__", default=None)
    inner_log: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    writes: list[dict[str, Any]] = []
    signals: list[dict[str, Any]] = []
    timing: Timing = msgspec.field(default_factory=Timing)
    transfer_bytes: int = 0


_TOO_DEEP = RemoteError(
    type="BadOutput", message="what the node returned is nested too deeply", kind="bad_output"
)


class _Failure(msgspec.Struct):
    error: RemoteError


_call_reply = msgspec.msgpack.Decoder(CallReply, ext_hook=codec.ext_hook)
_failure = msgspec.msgpack.Decoder(_Failure)
_anything: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(ext_hook=codec.ext_hook)


class End(NamedTuple):
    """How a process ended: ``ended by signal SIGSEGV (11)``; empty where it did not. why: that it took more
    memory than there was, in figures; empty for all else."""

    how: str = ""
    why: str = ""


_GOES_ON = End()


class HostClient:
    """One caller's connection to a host. ``caller`` (``run/worker``) tells a batching server who sends.
    ``signals_told``: how many of the episode's signals the host has been told. ``within``: whose episodes
    these are, where others of other roots may use the host that are named alike. ``token``: of a host that
    wants one; one that does not take it is not the one that was meant, and has done nothing. ``end``: how the
    process ended that does not answer any more.

    Every method raises HostTimeout, HostCrashed (HostUnreached, where there is none) or HostBadReply where
    the host fails; from then on the client is dead and raises HostCrashed at once. What the nodeset's code
    raises is NodeRaised or StopExecution.
    """

    _idle_sec = 60.0  # far less than the server's: it is always us who close an idle connection

    def __init__(
        self,
        url: str,
        caller: str,
        name: str = "",
        within: str = "",
        token: str = "",
        end: Callable[[], Awaitable[End]] | None = None,
    ) -> None:
        self.name = name or url
        self._within = within
        self._end = end
        caller = self._mine(caller)
        self.failure: HostFailure | None = None
        self.signals_told = 0
        self._address = url
        self._caller = caller
        self._has_token = bool(token)
        connector: aiohttp.BaseConnector
        if url.startswith("unix:"):
            connector = aiohttp.UnixConnector(url[len("unix:") :], limit=0, keepalive_timeout=self._idle_sec)
            self._base = "http://host"
        else:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=self._idle_sec)
            self._base = url.rstrip("/")
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={
                "Content-Type": "application/msgpack",
                "X-Evaltower-Caller": caller,
                **({HEADER: bearer(token)} if token else {}),
            },
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SEC),
            read_bufsize=_READ_BUFFER,
        )
        self._urls: dict[str, URL] = {}

    async def call(
        self,
        fn: str,
        inputs: Mapping[str, Any],
        config: Mapping[str, Any],
        execution: Mapping[str, Any],
        timeout: float,
    ) -> CallReply:
        """Fire a tool once. What the node itself raised is ``error`` of the reply.

        TypeError where the inputs cannot be sent.
        """
        if self._within:
            execution = {**execution, "execution_id": self._mine(execution["execution_id"])}
        body = codec.encode({"inputs": inputs, "config": config, "_exec": execution})
        _, data = await self._exchange("POST", f"/call/{fn}", body, timeout)
        return self._reply(data, fn, len(body))

    async def panel_state(self, timeout: float = _CONTROL_SEC) -> Any:
        """The panel's ``on_load``."""
        return await self._ask("GET", "/env-panel/state", None, timeout)

    async def panel_info(self, timeout: float = _CONTROL_SEC) -> Any:
        """The panel's schema."""
        return await self._ask("GET", "/env-panel/info", None, timeout)

    async def panel_options(self, field: str, timeout: float = _CONTROL_SEC) -> Any:
        """What a select field offers."""
        return await self._ask("GET", f"/env-panel/options/{field}", None, timeout)

    async def panel_field(self, name: str, value: Any, timeout: float = _CONTROL_SEC) -> Any:
        """The panel's ``on_field_change``."""
        return await self._ask("POST", f"/env-panel/field/{name}", {"value": value}, timeout)

    async def panel_action(self, name: str, params: Mapping[str, Any], timeout: float = _CONTROL_SEC) -> Any:
        """The panel's ``on_action``."""
        return await self._ask("POST", f"/env-panel/action/{name}", {"params": params}, timeout)

    async def metadata(self, timeout: float = _CONTROL_SEC) -> Any:
        """The nodeset's ``get_eval_metadata``."""
        return await self._ask("GET", "/eval-metadata", None, timeout)

    async def health(self, timeout: float = _CONTROL_SEC) -> Any:
        """Whether it answers; ``oldest_call_sec``: how long the longest call has been under way."""
        return await self._ask("GET", "/health", None, timeout)

    async def manifest(self, timeout: float = _CONTROL_SEC) -> Any:
        """What runs there: versions, tools, and how each batched tool was found to run."""
        return await self._ask("GET", "/manifest", None, timeout)

    async def evict(self, execution_id: str, episode_id: str = "", timeout: float = _CONTROL_SEC) -> None:
        """An episode is over: the host drops what it kept for it.

        ``episode_id``: the environment's name for it, by which nodes of AgentCanvas's servers keep apart.
        """
        await self._ask("POST", "/containers/evict", {"key": self._mine(execution_id)}, timeout)

    async def set_live(self, live: bool, timeout: float = _CONTROL_SEC) -> None:
        """Whether batches wait for this caller: not while it resets, scores, or has ended."""
        await self._ask("POST", "/callers", {"id": self._caller, "live": live}, timeout)

    async def end_all_within(self, name: str) -> None:
        """Whose episodes were within ``name`` is gone: the host drops its callers and its episodes."""
        await self._ask("POST", "/runs/end", {"run": name}, _CONTROL_SEC)

    async def load(self, fn: str, config: Mapping[str, Any], timeout: float) -> Any:
        """Have a batched tool loaded and checked with this config; how it runs then."""
        return await self._ask("POST", f"/load/{fn}", {"config": config}, timeout)

    async def shut_down(self, timeout: float = _CONTROL_SEC) -> None:
        """Ask the nodeset to shut down, and its process to end."""
        await self._ask("POST", "/shutdown", None, timeout)

    async def close(self) -> None:
        await self._session.close()

    def _mine(self, name: str) -> str:
        return f"{self._within}/{name}" if self._within else name

    def _reply(self, data: bytes, fn: str, sent: int) -> CallReply:
        try:
            reply = self._decoded(_call_reply, data, fn)
        except RecursionError:
            return CallReply(error=_TOO_DEEP, transfer_bytes=sent + len(data))
        if sum(part is not None for part in (reply.outputs, reply.error, reply.children)) != 1:
            raise self._failed(HostBadReply, "the answer holds neither outputs nor an error, or both", fn)
        reply.transfer_bytes = sent + len(data)
        return reply

    async def _ask(self, method: str, path: str, body: Any, timeout: float) -> Any:
        status, data = await self._exchange(method, path, codec.encode(body) if body else None, timeout)
        if status == 200:
            return self._decoded(_anything, data, path)
        error = self._decoded(_failure, data, path).error
        raise (
            self._failed(SimulatorFailed, error.message, path)
            if error.kind == "unfit"
            else error.exception(None, self.name, path)
        )

    async def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        timeout: float,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        if self.failure is not None:
            crashed = HostCrashed(f"{self.name} failed before: {self.failure}", self.name, path)
            crashed.outgrew = self.failure.outgrew
            raise crashed
        try:
            async with (
                asyncio.timeout(timeout),
                self._session.request(method, self._url(path), data=body, headers=headers) as response,
            ):
                data = await response.read()
        except aiohttp.ConnectionTimeoutError as error:
            told = f"nothing answers at {self._address} within {_CONNECT_SEC:g} s"
            raise self._failed(HostUnreached, told, path) from error
        except TimeoutError:
            raise self._failed(HostTimeout, f"no answer within {timeout:g} s", path) from None
        except aiohttp.ClientResponseError as error:
            raise self._failed(HostBadReply, f"the answer is no HTTP: {error}", path) from error
        except aiohttp.ClientConnectorError as error:
            told = f"nothing answers at {self._address}: {error.os_error.strerror or error.os_error}"
            raise self._failed(HostUnreached, told, path, await self._ended()) from error
        except (aiohttp.ClientError, OSError) as error:
            told = getattr(error, "strerror", None) or str(error) or type(error).__name__
            why = f"the connection broke: {told}"
            raise self._failed(HostCrashed, why, path, await self._ended()) from error
        if response.status == 401 and self._has_token:
            told = f"what answers at {self._address} does not take the token: it is another host"
            raise self._failed(HostUnreached, told, path)
        if response.status not in (200, 500):
            text = data[:200].decode("utf-8", "replace")
            raise self._failed(HostBadReply, f"status {response.status}: {text}", path)
        return response.status, data

    def _decoded(self, decoder: msgspec.msgpack.Decoder[T], data: bytes, path: str) -> T:
        try:
            return decoder.decode(data)
        except RecursionError:
            raise
        except codec.NOT_A_MESSAGE as error:
            raise self._failed(HostBadReply, f"the answer cannot be understood: {error}", path) from error

    async def _ended(self) -> End:
        return await self._end() if self._end is not None else _GOES_ON

    def _failed(self, kind: type[HostFailure], why: str, path: str, end: End = _GOES_ON) -> HostFailure:
        call = path.rpartition("/call/")[2]
        told = f"{self.name}, {call}: {why}"
        if end.how:
            when = "before" if kind is HostUnreached else "during"
            told = ": ".join(filter(None, [f"{self.name} {end.how} {when} {call}", end.why]))
        self.failure = kind(told, self.name, call)
        self.failure.outgrew = bool(end.why)
        return self.failure

    def _url(self, path: str) -> URL:
        if path not in self._urls:
            self._urls[path] = URL(self._base + quote(path))
        return self._urls[path]
