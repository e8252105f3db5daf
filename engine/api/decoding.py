"""From a request's bytes to what an endpoint takes; all that is wrong is told, by the names of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import msgspec
from aiohttp import web
from multidict import MultiMapping

from engine.api.errors import BadRequest, problem
from engine.graph.model import Problem
from engine.graph.names import near_or_all

_UNKNOWN = "is nothing that this route's query takes"
_WHERE = re.compile(r" - at `\$(?P<where>[^`]*)`$")


async def read_body(request: web.Request, kind: Any) -> Any:
    """The body as a ``kind``; an empty one is ``{}``. Raises BadRequest."""
    data = await request.read()
    try:
        found = msgspec.json.decode(data or b"{}")
        return _converted(found, kind, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise BadRequest("the body is nested too deeply") from None


def read_query(query: MultiMapping[str], kind: Any) -> Any:
    """The query as a ``kind``, None for none; a name may be repeated where the field is a list. Raises
    BadRequest, also for a name that ``kind`` does not have."""
    fields = msgspec.structs.fields(kind) if kind is not None else ()
    known = [field.name for field in fields]
    if unknown := [name for name in dict.fromkeys(query) if name not in known]:
        raise BadRequest([problem(name, _UNKNOWN, _remedy(name, known)) for name in unknown])
    if kind is None:
        return None
    lists = {field.name for field in fields if get_origin(field.type) is list}
    found: dict[str, Any] = {
        name: query.getall(name) if name in lists else query.getall(name)[-1] for name in query
    }
    return _converted(found, kind, strict=False)


def _remedy(name: str, known: list[str]) -> str:
    return near_or_all(name, known, "it takes") if known else "it takes none"


def _converted(found: Any, kind: Any, *, strict: bool) -> Any:
    try:
        return msgspec.convert(found, kind, strict=strict)
    except msgspec.ValidationError as error:
        if isinstance(found, dict):
            raise BadRequest(_problems(found, kind, strict)) from None
        raise BadRequest([_problem("the request", error)]) from None


def _problems(found: dict[str, Any], kind: Any, strict: bool) -> list[Problem]:
    """What is wrong with each field; and of a kind that judges itself, what it says of the others."""
    good: dict[str, Any] = {}
    problems: dict[str, Problem] = {}
    known = kind.__struct_fields__
    unknown = [
        problem(name, "is no field of this request", near_or_all(name, known, "its fields"))
        for name in found
        if kind.__struct_config__.forbid_unknown_fields and name not in known
    ]
    for field in msgspec.structs.fields(kind):
        if field.name in found:
            try:
                good[field.name] = msgspec.convert(found[field.name], field.type, strict=strict)
            except msgspec.ValidationError as error:
                problems[field.name] = _problem(field.name, error, found[field.name], field.type)
        elif field.required:
            problems[field.name] = problem(field.name, "is missing")
    if not hasattr(kind, "problems"):
        return [*unknown, *problems.values()]
    others = [
        other
        for other in kind(**good).problems()
        if not any(
            name in other.message for name in problems
        )  # a field that could not be read, taken as absent
    ]
    return [*unknown, *problems.values(), *others]


def _problem(field: str, error: msgspec.ValidationError, value: Any = None, kind: Any = None) -> Problem:
    """``Expected `int`, got `str` - at `$[0]``` → ``episode_indices[0]: expected int, got str``."""
    text = str(error)
    found = _WHERE.search(text)
    where = field + (found["where"] if found else "")
    text = (text[: found.start()] if found else text).replace("`", "")
    if text.startswith("Invalid enum value"):
        return problem(where, f"is {value!r}", f"it must be one of {', '.join(_choices(kind))}")
    return problem(where, text[0].lower() + text[1:])


def _choices(kind: Any) -> Iterator[str]:
    """The values that a Literal allows, alone or among others."""
    for part in get_args(kind):
        if get_origin(kind) is Literal:
            yield str(part)
        else:
            yield from _choices(part)
