"""From a request's bytes to what an endpoint takes; whatever is wrong is told by the name of its field."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from aiohttp import web
from multidict import MultiMapping

from engine.api.errors import BadRequest

_WHERE = re.compile(r" - at `(?P<where>[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")


async def read_body(request: web.Request, kind: Any) -> Any:
    """The body as a ``kind``; an empty one is ``{}``. Raises BadRequest."""
    data = await request.read()
    try:
        return msgspec.json.decode(data or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise BadRequest(_told(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise BadRequest("the body is nested too deeply") from None


def read_query(query: MultiMapping[str], kind: Any) -> Any:
    """The query as a ``kind``; a name may be repeated where the field is a list. Raises BadRequest."""
    lists = {field.name for field in msgspec.structs.fields(kind) if _is_list(field.type)}
    found: dict[str, Any] = {
        name: query.getall(name) if name in lists else query.getall(name)[-1] for name in query
    }
    try:
        return msgspec.convert(found, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(_told(error)) from None


def _is_list(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) is list


def _told(error: msgspec.ValidationError) -> str:
    """``Expected `int`, got `str` - at `$.worker_count``` → ``worker_count: expected int, got str``."""
    text = str(error)
    found = _WHERE.search(text)
    where = found["where"].removeprefix("$").removeprefix(".") if found else ""
    text = text[: found.start()] if found else text
    if missing := _MISSING.fullmatch(text):
        name = missing["name"]
        return f"{where}.{name} is missing" if where else f"{name} is missing"
    text = text.replace("`", "")
    return f"{where}: {text[0].lower()}{text[1:]}" if where else f"the request: {text[0].lower()}{text[1:]}"
