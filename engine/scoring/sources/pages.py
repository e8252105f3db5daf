"""What a platform answers a page at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from engine.scoring.errors import CollectError

MOST_PAGES = 1000

T = TypeVar("T")


async def every_page(
    page: Callable[[str | None], Awaitable[tuple[list[T], str | None]]],
) -> list[T]:
    """What all pages hold. ``page``: given a cursor, what is there and the next cursor.

    CollectError for a platform whose pages do not end.
    """
    items: list[T] = []
    cursor: str | None = None
    seen: set[str] = set()
    while len(seen) < MOST_PAGES:
        found, cursor = await page(cursor)
        items += found
        if not cursor:
            return items
        if cursor in seen:
            break
        seen.add(cursor)
    raise CollectError(f"the platform's pages do not end: {len(items)} entries so far")
