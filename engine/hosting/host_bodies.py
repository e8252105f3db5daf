"""What a request's body must hold; 400 for what it does not, with the reason. Python 3.8+."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, cast

from aiohttp import web

from engine.hosting import codec

MSGPACK = "application/msgpack"
JSON = "application/json"

_EXECUTION: dict[str, tuple[type[Any], ...]] = {
    "execution_id": (str,),
    "node_id": (str,),
    "node_type": (str,),
    "parent_node_id": (str, type(None)),
    "step": (int,),
    "key": (int,),
    "episode": (dict, type(None)),
    "containers": (dict,),
    "signals": (list,),
    "results": (list, type(None)),
    "grants": (list, dict, type(None)),
}


def read_body(data: bytes, content_type: str) -> dict[str, Any]:
    """The dict in a body; an empty body is an empty one."""
    if not data:
        return {}
    packed = content_type == MSGPACK
    try:
        body = codec.decode_writable(data) if packed else json.loads(data)
    except codec.NOT_A_MESSAGE as error:
        raise web.HTTPBadRequest(text=f"the body is not {MSGPACK if packed else JSON}: {error}") from None
    if not isinstance(body, dict):
        raise web.HTTPBadRequest(text=f"the body must be a dict, not {type(body).__name__}")
    return body


def value_of(body: Mapping[str, Any], name: str) -> Any:
    """A field that must be there."""
    if name not in body:
        raise web.HTTPBadRequest(text=f"the body has no {name!r}")
    return body[name]


def text_of(body: Mapping[str, Any], name: str) -> str:
    """The same, which must be text."""
    value = value_of(body, name)
    if not isinstance(value, str):
        raise web.HTTPBadRequest(text=f"{name!r} must be text, not {type(value).__name__}")
    return value


def dict_of(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A dict with names as its keys, empty where there is none."""
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise web.HTTPBadRequest(text=f"{name!r} must be a dict, not {type(value).__name__}")
    for key in value:
        if not isinstance(key, str):
            raise web.HTTPBadRequest(text=f"{name!r} has the key {key!r}, which is no name")
    return cast(Dict[str, Any], value)


def execution_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """``_exec``, each of its fields of the type that it has."""
    execution = dict_of(body, "_exec")
    for name, kinds in _EXECUTION.items():
        if name in execution and not isinstance(execution[name], kinds):
            told = f"'_exec' has a {type(execution[name]).__name__} as {name!r}, not a {kinds[0].__name__}"
            raise web.HTTPBadRequest(text=told)
    return execution
