"""Calls to the backend of a root: over its Unix socket, else at its URL with the root's token."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import msgspec

from engine.control.reports import (
    AlreadyOverError,
    ConflictError,
    ControlError,
    NoBackendError,
    NotFoundError,
    RefusedError,
    StillAliveError,
    UntrustedHooksError,
)
from engine.graph.model import Problem
from engine.store.backend_lock import BackendRecord, read_backend
from engine.store.process_identity import may_live_elsewhere
from engine.store.strict_json import encode

_TIMES = httpx.Timeout(connect=5.0, write=60.0, pool=5.0, read=900.0)
"""An answer may have to wait for nodesets that are scanned, or for an environment that starts."""

_ERRORS: dict[str, type[ControlError]] = {
    "not_found": NotFoundError,
    "already_over": AlreadyOverError,
    "still_alive": StillAliveError,
    "conflict": ConflictError,
    "no_backend": NoBackendError,
}


class _Failure(msgspec.Struct):
    detail: str = ""
    code: str = ""
    problems: list[Problem] = []


class Caller:
    """Finds the backend anew where it has moved. Use as ``with``, from any thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: tuple[BackendRecord, httpx.Client] | None = None

    def __enter__(self) -> Caller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._known is not None:
            self._known[1].close()

    def call(self, method: str, path: str, body: Any = None) -> bytes:
        """The answer's body. Raises the ControlError that the verb raised there; NoBackendError where nobody
        answers."""
        content = None if body is None else encode(body)
        headers = {"Content-Type": "application/json"}
        try:
            answer = self._client().request(method, path, content=content, headers=headers)
        except httpx.ConnectError as error:
            raise NoBackendError(f"{self._nobody()}: {error}") from None
        except httpx.HTTPError as error:
            raise ControlError(f"the backend did not answer ({type(error).__name__}: {error})") from None
        if answer.is_success:
            return answer.content
        raise _error(answer)

    def _client(self) -> httpx.Client:
        record = read_backend(self._root)
        if record is None or not (record.is_alive or may_live_elsewhere(record.process)):
            raise NoBackendError(self._nobody())
        if self._known is None or self._known[0] != record:
            if self._known is not None:
                self._known[1].close()
            self._known = record, _connect(self._root, record)
        return self._known[1]

    def _nobody(self) -> str:
        return f"no backend answers for {self._root}; 'evaltower --serve' starts one"


def _connect(root: Path, record: BackendRecord) -> httpx.Client:
    # A connection each: one that is kept would outlive a hand-over, and proxies are for the world outside.
    limits = httpx.Limits(max_keepalive_connections=0)
    if record.socket and Path(record.socket).is_socket():
        transport = httpx.HTTPTransport(uds=record.socket, limits=limits)
        return httpx.Client(transport=transport, base_url="http://localhost", timeout=_TIMES)
    if not record.url:
        raise NoBackendError(f"the backend of {root}, process {record.process.pid}, does not listen (yet)")
    return httpx.Client(
        base_url=record.url,
        timeout=_TIMES,
        limits=limits,
        headers={"Authorization": f"Bearer {_token(root)}"},
        trust_env=False,
    )


def _token(root: Path) -> str:
    path = root / "outputs" / "token"
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        return ""  # a backend of --no-token
    except (OSError, UnicodeDecodeError) as error:
        raise ControlError(f"{path} cannot be read, so that the backend would not listen: {error}") from None


def _error(answer: httpx.Response) -> ControlError:
    try:
        failure = msgspec.json.decode(answer.content, type=_Failure)
    except msgspec.MsgspecError:
        failure = _Failure()
    detail = failure.detail or f"the backend answered {answer.status_code}"
    if failure.code == "untrusted_hooks":
        return UntrustedHooksError(failure.problems)
    if failure.code in ("refused", "bad_request"):
        return RefusedError(failure.problems or [Problem("bad-request", "request", detail)])
    return _ERRORS.get(failure.code, ControlError)(detail)
