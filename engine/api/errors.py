"""What goes wrong, as an answer: ``{"detail": …}`` with its status, and never a traceback."""

from __future__ import annotations

import errno
import logging
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web

from engine.api.answers import Failure
from engine.control.reports import (
    AlreadyOverError,
    ConflictError,
    ControlError,
    NoBackendError,
    NotFoundError,
    RefusedError,
    StillAliveError,
    UntrustedHooksError,
    problem_text,
)
from engine.graph.model import Problem
from engine.store.rundir import RunDirError
from engine.store.strict_json import encode

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_CONTROL: tuple[tuple[type[Exception], int, str], ...] = (
    (UntrustedHooksError, 400, "untrusted_hooks"),
    (RefusedError, 400, "refused"),
    (NotFoundError, 404, "not_found"),
    (AlreadyOverError, 409, "already_over"),
    (StillAliveError, 409, "still_alive"),
    (ConflictError, 409, "conflict"),
    (NoBackendError, 503, "no_backend"),
    (ControlError, 400, "error"),
    (RunDirError, 409, "unreadable"),
    (OSError, 503, "system"),
)
_HTTP = {401: "unauthorized", 403: "forbidden", 404: "not_found", 503: "busy"}


class BadRequest(Exception):
    """The request itself is wrong: in its form, or in ``problems``, which name their fields."""

    def __init__(self, told: str | Sequence[Problem]) -> None:
        self.problems = [] if isinstance(told, str) else list(told)
        super().__init__(told if isinstance(told, str) else "\n".join(map(problem_text, told)))


def problem(field: str, message: str, remedy: str = "") -> Problem:
    """One of a field of the request."""
    return Problem("bad-request", field, message, remedy)


@web.middleware
async def errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The outermost layer of the application."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        headers = {
            name: error.headers[name] for name in ("Allow", "WWW-Authenticate") if name in error.headers
        }
        failure = Failure(detail=_text(error), code=_HTTP.get(error.status, "bad_request"))
        return answer(failure, error.status, headers)
    except BadRequest as error:
        return answer(Failure(detail=str(error), code="bad_request", problems=error.problems), 400)
    except Exception as error:
        return _of(error, request)


def _of(error: Exception, request: web.Request) -> web.Response:
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return answer(Failure(detail="a name is too long for a file", code="bad_request"), 400)
    for kind, status, code in _CONTROL:
        if isinstance(error, kind):
            problems = error.problems if isinstance(error, RefusedError) else []
            return answer(Failure(detail=str(error), code=code, problems=problems), status)
    log.exception("%s %s failed", request.method, request.path)
    return answer(Failure(detail="a fault of the backend; its log says more", code="internal"), 500)


def _text(error: web.HTTPException) -> str:
    if error.status == 413:
        return "the body is too large"
    if error.status == 405:
        return "this route has no such method"
    default = f"{error.status}: {error.reason}"
    return "there is no such route" if error.status == 404 else error.text or default


def answer(body: object, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """JSON, which no browser takes for anything else."""
    safe = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return web.Response(
        body=encode(body), status=status, content_type="application/json", headers=safe | (headers or {})
    )
