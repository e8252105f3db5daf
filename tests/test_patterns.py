from __future__ import annotations

import asyncio
import re

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.patterns import Found, PatternTimeout, search

ENDLESS = "(x+x+)+y"


@settings(max_examples=10, deadline=None)
@given(
    st.text(alphabet="ab1\n\ud800é", max_size=30),
    st.sampled_from([r"a(b)?", r"^(\d+)$", "", r"(?P<n>\ud800)"]),
)
def test_it_finds_what_re_finds(text: str, pattern: str) -> None:
    found = asyncio.run(search(pattern, text, re.MULTILINE))
    right = re.search(pattern, text, re.MULTILINE)
    assert found == (right and Found(right[0], right.groups(), *right.span()))


async def test_what_takes_too_long_ends_and_leaves_the_loop_free() -> None:
    searching = asyncio.create_task(search(ENDLESS, "x" * 5000, deadline_sec=0.2))
    turns = 0
    while not searching.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert turns > 1
    with pytest.raises(PatternTimeout, match=r"has found nothing within 0\.2 s, over 5000 characters"):
        searching.result()


async def test_one_that_is_cancelled_is_killed() -> None:
    before = set(psutil.Process().children())
    searching = asyncio.create_task(search(ENDLESS, "x" * 5000, deadline_sec=60))
    async with asyncio.timeout(30):
        while not set(psutil.Process().children()) - before:
            await asyncio.sleep(0.01)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    assert not set(psutil.Process().children()) - before


async def test_a_search_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"the search for '\(' failed: .*unterminated"):
        await search("(", "x")
