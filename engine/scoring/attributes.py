"""The names under which spans carry what we look for, across conventions, and how to read them. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

Kind = Literal["llm", "tool", "agent", ""]

NAMES: dict[str, tuple[str, ...]] = {
    "model": (
        "gen_ai.request.model",
        "gen_ai.response.model",
        "mlflow.llm.model",
        "llm.model_name",
    ),
    "input_tokens": (
        "gen_ai.usage.input_tokens",
        "mlflow.chat.tokenUsage.input_tokens",
        "llm.token_count.prompt",
        "gen_ai.usage.prompt_tokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "mlflow.chat.tokenUsage.output_tokens",
        "llm.token_count.completion",
        "gen_ai.usage.completion_tokens",
    ),
    "cached_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "usd": (
        "evaltower.cost.usd",
        "gen_ai.usage.cost",
        "mlflow.llm.cost.total_cost",
    ),
    "tool": ("tool.name", "gen_ai.tool.name"),
    "tool_call_id": ("tool.call_id", "gen_ai.tool.call.id", "tool_call.id"),
    "args": (
        "tool.args",
        "gen_ai.tool.call.arguments",
        "tool.parameters",
        "input.value",
        "mlflow.spanInputs",
    ),
    "output": (
        "tool.output",
        "gen_ai.tool.call.result",
        "tool.result",
        "output.value",
        "mlflow.spanOutputs",
    ),
    "error": ("tool.error", "error", "error.type"),
    "message": ("message.content", "output.value"),
    "kind": (
        "openinference.span.kind",
        "gen_ai.operation.name",
        "mlflow.spanType",
        "traceloop.span.kind",
    ),
}
"""What we look for → attributes that hold it, the first one present wins. A trace's ``mapping`` names others
that are asked before these."""

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        ("llm", "chat_model", "chat", "text_completion", "generate_content", "generation"), "llm"
    ),
    **dict.fromkeys(("tool", "function", "execute_tool"), "tool"),
    **dict.fromkeys(
        ("agent", "invoke_agent", "create_agent", "chain", "workflow", "invoke_workflow"), "agent"
    ),
}


class Names:
    """:data:`NAMES`, with those of a mapping before them: ``{"model": "acme.model"}``, or a list of names."""

    def __init__(self, mapping: Mapping[str, str | Sequence[str]] | None = None) -> None:
        """Raises ValueError for a mapping of what is not in :data:`NAMES`."""
        self._names = dict(NAMES)
        for what, named in (mapping or {}).items():
            if what not in NAMES:
                raise ValueError(f"{what!r} is none of {', '.join(NAMES)}")
            first = (named,) if isinstance(named, str) else tuple(named)
            self._names[what] = (*first, *NAMES[what])

    def all(self, what: str, attributes: Mapping[str, Any]) -> Iterator[Any]:
        """What the attributes hold of it, best first."""
        for name in self._names[what]:
            value = find(attributes, name)
            if value is not None and value != "":
                yield value

    def first(self, what: str, attributes: Mapping[str, Any]) -> Any:
        """The best of them, or None."""
        return next(self.all(what, attributes), None)

    def number(self, what: str, attributes: Mapping[str, Any]) -> float | None:
        """The best that is a number, or None."""
        numbers = (number(value) for value in self.all(what, attributes))
        return next((found for found in numbers if found is not None), None)

    def kind(self, attributes: Mapping[str, Any]) -> Kind:
        """What the span declares itself to be."""
        declared = (str(value).strip('"').lower() for value in self.all("kind", attributes))
        return next((_KINDS[name] for name in declared if name in _KINDS), "")


def find(attributes: Mapping[str, Any], name: str) -> Any:
    """A value by its dotted name: flat (``{"a.b": 1}``) first, then nested, also inside JSON text."""
    if name in attributes:
        return attributes[name]
    for place, character in enumerate(name):
        if character != ".":
            continue
        inner = loaded(attributes.get(name[:place]))
        if isinstance(inner, Mapping) and (value := find(inner, name[place + 1 :])) is not None:
            return value
    return None


def loaded(value: Any) -> Any:
    """What JSON text holds where it is an object or a list; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return load_json(value)
    except ValueError:
        return value


def load_json(data: str | bytes) -> Any:
    """JSON as platforms write it: lone surrogates and NaN pass. Raises ValueError where it is none."""
    try:
        return json.loads(data, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def number(value: Any) -> float | None:
    """A finite number that is not negative, also from text (LangSmith's costs); else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(found) or found < 0:
        return None
    return value if isinstance(value, int) else found


def truth(value: Any) -> bool:
    """Of an attribute that says whether something failed: ``"false"`` is none."""
    return bool(value) and str(value).strip().lower() not in ("false", "0", "none", "")


def text(value: Any) -> str:
    """A value as one would read it; of ``{"output": "yes"}`` the text alone."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        only = next(iter(value.values()))
        if isinstance(only, str):
            return only
    return json.dumps(value, ensure_ascii=False, default=str)


def _whole(digits: str) -> int | float:
    """What cannot be written again as JSON by everyone becomes a float."""
    if len(digits) > 20 or not -(2**63) <= (value := int(digits)) < 2**64:
        return float(digits)
    return value
