"""Questions as the tests ask them."""

from __future__ import annotations

import itertools
from typing import Any

from engine.models.call import ChatCall, Reply
from engine.models.client import ChatClient

_draws = itertools.count()


def question(text: str = "where to?", draw: int | None = None, n: int = 1, **parameters: Any) -> ChatCall:
    """A question of its own draw, unless one is given."""
    number = next(_draws) if draw is None else draw
    return ChatCall([{"role": "user", "content": text}], number, parameters, n)


async def ask(client: ChatClient, text: str = "where to?", **options: Any) -> Reply:
    return await client.ask("", "", question(text, **options))
