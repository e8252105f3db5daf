"""``textParse``: a keyword, a pattern's capture or a JSON field out of a model's answer."""

from __future__ import annotations

import json
import re
from typing import Any

from engine import patterns
from engine.components.bases import BaseCanvasNode
from engine.components.builtin_configs import PARSERS, require_fields
from engine.components.context import NodeContext

DEFAULT_CHOICES = "STOP,FORWARD,LEFT,RIGHT"
_FLAGS = re.DOTALL | re.IGNORECASE


class TextParse(BaseCanvasNode):
    """Config: ``mode`` and, for each mode, what it looks for; ``default``: the value where nothing is found.

    ``choice``: the first of ``choices`` (comma-separated, any case) that the last line holds, else the whole
    text (``scan: full_text`` gives the last line no precedence). ``regex``: the first group of ``pattern``,
    or all that it matches; any case, ``.`` matches newlines. ``json_field``: the field at the dotted path
    ``json_key``, in the text or in the outermost braces within it.
    Outputs: ``value``; ``index``, the choice's place or -1; ``rest``, the text without what was found.
    """

    node_type = "textParse"

    async def initialize(self) -> None:
        require_fields(self.node_type, self.config)
        parsers = dict(zip(PARSERS, (self._choice, self._regex, self._json_field), strict=True))
        self._parse = parsers[self.config.get("mode") or PARSERS[0]]
        self._default = str(self.config.get("default") or "")
        listed = (self.config.get("choices") or DEFAULT_CHOICES).split(",")
        self._choices = [choice for item in listed if (choice := item.strip())]
        pattern = str(self.config.get("pattern") or "")
        re.compile(pattern)
        self._pattern = pattern

    async def forward(self, inputs: dict[str, Any], ctx: NodeContext) -> dict[str, Any]:
        given = inputs.get("text")
        value, index, rest = await self._parse("" if given is None else str(given))
        return {"value": value, "index": index, "rest": rest}

    async def _choice(self, text: str) -> tuple[str, int, str]:
        regions = [text]
        lines = text.strip().splitlines()
        if lines and self.config.get("scan") != "full_text":
            regions.insert(0, lines[-1])
        for region in regions:
            for index, choice in enumerate(self._choices):
                keyword = re.compile(re.escape(choice), re.IGNORECASE)
                if keyword.search(region):
                    return choice, index, keyword.sub("", text, count=1).strip()
        index = self._choices.index(self._default) if self._default in self._choices else -1
        return self._default, index, text

    async def _regex(self, text: str) -> tuple[str, int, str]:
        found = await patterns.search(self._pattern, text, _FLAGS) if self._pattern else None
        if found is None:
            return self._default, -1, text
        value = found.groups[0] if found.groups else found.whole
        return value or "", -1, (text[: found.start] + text[found.end :]).strip()

    async def _json_field(self, text: str) -> tuple[str, int, str]:
        found = _first_json(text)
        for key in str(self.config.get("json_key") or "").split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return (self._default if found is None else str(found)), -1, text


def _first_json(text: str) -> Any:
    block = re.search(r"\{.*\}", text, re.DOTALL)
    for candidate in (text, block.group(0) if block else ""):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return None
