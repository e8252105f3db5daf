from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.log_lines import encode, line, write_log
from tui.logfile import search as search_module
from tui.logfile.filters import FilterError, LogFilter, parse_filter, select
from tui.logfile.follow import follow
from tui.logfile.index import LogIndex
from tui.logfile.search import Query, SearchError, search
from tui.logfile.search_child import main as child_main


def _index(path: Path, *lines: dict) -> LogIndex:
    index = LogIndex(write_log(path, lines))
    index.extend()
    return index


async def _rows(index: LogIndex, text: str, first: int = 0, without: tuple[str, ...] = ()) -> list[int]:
    query = Query(text, without)
    return [row async for found in search(index, query, first) for row in found.rows]


TEXTS = ['a "quoted" door', "line\nbreak", "Häuser ÄRGER 家", "back\\slash", "DOOR", ""]


@pytest.fixture
def texts(tmp_path: Path) -> LogIndex:
    return _index(
        tmp_path / "log.jsonl", *(line(n, "a", inputs={"text": text}) for n, text in enumerate(TEXTS))
    )


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ('"quoted"', [0]),
        ("line\nbreak", [1]),
        ("häuser", [2]),
        ("ärger", []),  # bytes are searched, so only ASCII's case is ignored
        ("Häuser", [2]),
        ("家", [2]),
        ("back\\slash", [3]),
        ("door", [0, 4]),
        ("Door", []),
        ("DOOR", [4]),
        ('/"step":[1-3],/', [1, 2, 3]),
        ("/door$/", []),
        ("/^{.*}$/", [0, 1, 2, 3, 4, 5]),
        ("no such", []),
        (r"^{.*do+r", [0, 4]),
        ("h.+user|quoted", [0, 2]),
        ('"quoted" (', []),
        ("(unclosed", []),
    ],
)
async def test_what_is_found(texts: LogIndex, query: str, rows: list[int]) -> None:
    assert await _rows(texts, query) == rows


@pytest.mark.parametrize(
    ("query", "without", "rows"),
    [
        ("", ("door",), [1, 2, 3, 5]),
        ("", ("DOOR", "h..user"), [0, 1, 3, 5]),
        ("door", ("quoted",), [4]),
        ("", ('/"step":[0-4]/',), [5]),
    ],
)
async def test_what_does_not_hold_it(
    texts: LogIndex, query: str, without: tuple[str, ...], rows: list[int]
) -> None:
    assert await _rows(texts, query, without=without) == rows


async def test_a_regex_that_takes_too_long_ends_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "PART_SEC", 0.2)
    index = _index(tmp_path / "log.jsonl", line(0, "a" * 60))
    with pytest.raises(SearchError, match="takes too long"):
        await _rows(index, "(a+)+b")


async def test_a_search_goes_on_from_a_row_to_the_end_as_it_was(texts: LogIndex) -> None:
    with open(texts.path, "ab") as file:
        file.write(encode(line(9, "a", inputs={"text": "door"})))
    assert await _rows(texts, "door", first=1) == [4]
    texts.extend()
    assert await _rows(texts, "door", first=5) == [6]


@pytest.mark.parametrize("query", ["", "/(/", "/[z-a]/"])
async def test_a_query_that_cannot_be_is_a_sentence(texts: LogIndex, query: str) -> None:
    with pytest.raises(SearchError):
        await _rows(texts, query)


async def test_a_file_that_vanished_is_a_sentence(texts: LogIndex) -> None:
    texts.path.unlink()
    with pytest.raises(SearchError, match="No such file"):
        await _rows(texts, "door")


async def test_a_regex_that_never_ends_can_be_stopped(tmp_path: Path) -> None:
    index = _index(tmp_path / "log.jsonl", line(0, "a" * 60))
    waiting = asyncio.create_task(_rows(index, "/(a+)+b/"))
    await asyncio.sleep(0)
    deadline = time.monotonic() + 10
    while not (child := _children()):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not any(pid in _children() for pid in child)


def _children() -> list[int]:
    """Searches of ours that run now."""
    found = []
    for task in os.listdir("/proc/self/task"):
        for pid in Path(f"/proc/self/task/{task}/children").read_text().split():
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"search_child.py" in command:
                found.append(int(pid))
    return found


@given(st.lists(st.binary(max_size=30), max_size=20), st.binary(min_size=1, max_size=3))
def test_a_plain_search_finds_what_is_in_a_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], needle: bytes
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    lines = [text.replace(b"\n", b"") for text in lines]
    needle = needle.replace(b"\n", b"x").replace(b"\0", b"x")
    path.write_bytes(b"".join(text + b"\n" for text in lines))
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("sys.stdout.write", said.append)
        child_main(str(path), "0", "0", str(path.stat().st_size), "60", "+.." + os.fsdecode(needle))
    assert [int(word) for text in said for word in text.split()[1:]] == [
        number for number, text in enumerate(lines) if needle in text
    ]


FILTERS = {
    "": LogFilter(),
    "error": LogFilter(errors=True),
    "warnings node:pol": LogFilter(warnings=True, nodes=("pol",)),
    "!node:env step:3": LogFilter(without_nodes=("env",), steps=(3, 3)),
    "step:3-9 ms>100 ms<2e3": LogFilter(steps=(3, 9), above_ms=100, below_ms=2000),
    "step:3-": LogFilter(steps=(3, 2**31 - 1)),
    'red "a  b" door': LogFilter(text="red a  b door"),
    r"/\d+ can't/": LogFilter(text=r"/\d+ can't/"),
    "node: error:": LogFilter(text="node: error:"),
    "ValueError: no http://x a=b": LogFilter(text="ValueError: no http://x a=b"),
    '!door !"a  b" red !error': LogFilter(text="red", without=("door", "a  b"), no_errors=True),
    "!warnings ! x": LogFilter(text="! x", no_warnings=True),
}


@pytest.mark.parametrize("typed", FILTERS)
def test_filters_are_understood(typed: str) -> None:
    assert parse_filter(typed) == FILTERS[typed]


@pytest.mark.parametrize("typed", ["step:x", "ms>fast", 'an "open quote'])
def test_a_filter_that_is_not_says_what_can_be(typed: str) -> None:
    with pytest.raises(FilterError):
        parse_filter(typed)


@given(st.text(max_size=30))
def test_whatever_is_typed_is_a_filter_or_a_sentence(typed: str) -> None:
    with suppress(FilterError):
        assert isinstance(parse_filter(typed), LogFilter)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.booleans(), st.integers(0, 9)), max_size=30
    ),
    st.builds(
        LogFilter,
        nodes=st.sampled_from([(), ("a",)]),
        without_nodes=st.sampled_from([(), ("b",)]),
        errors=st.booleans(),
        steps=st.sampled_from([None, (1, 3)]),
        above_ms=st.sampled_from([None, 3.0]),
        below_ms=st.sampled_from([None, 7.0]),
    ),
    st.integers(0, 3),
)
def test_a_filter_keeps_the_rows_of_which_all_of_it_holds(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, str, bool, int]],
    wanted: LogFilter,
    first: int,
) -> None:
    first = min(first, len(rows))
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    index = _index(path, *(line(s, n, error="e" if bad else None, duration_ms=ms) for s, n, bad, ms in rows))
    expected = [
        number
        for number, (step, node, bad, ms) in enumerate(rows)
        if number >= first
        and (bad or not wanted.errors)
        and (not wanted.nodes or node == "a")
        and (not wanted.without_nodes or node != "b")
        and (wanted.steps is None or 1 <= step <= 3)
        and (wanted.above_ms is None or ms > 3)
        and (wanted.below_ms is None or ms < 7)
    ]
    assert select(index, wanted, first).tolist() == expected
    index.close()


@pytest.mark.parametrize("typed", ["outcome:fail", "reward>1", "!task:x"])
def test_a_field_that_there_is_not_is_refused_with_those_that_there_are(typed: str) -> None:
    with pytest.raises(FilterError, match=rf"there are node, step, ms; /{typed}/ searches"):
        parse_filter(typed)


@pytest.mark.parametrize("typed", ["step>3", "!step:3", "ms:4", "node>x", "!ms>3"])
def test_a_field_in_a_form_that_it_does_not_have_is_refused_with_its_forms(typed: str) -> None:
    with pytest.raises(FilterError, match=f"{typed} is none of {typed.strip('!').rstrip(':>34x')}"):
        parse_filter(typed)


def test_rows_without_errors(tmp_path: Path) -> None:
    index = _index(tmp_path / "l", line(0, "a"), line(0, "b", error="x"), line(1, "a"))
    assert select(index, LogFilter(no_errors=True)).tolist() == [0, 2]
    index.close()


async def test_following_tells_of_new_rows_and_of_another_file(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.jsonl", [line(0, "a")])
    index = LogIndex(path)
    changes = follow(index, every=0.01)
    assert await anext(changes) == "grown"
    assert index.rows == 1
    with open(path, "ab") as file:
        file.write(encode(line(1, "a")) + b'{"torn')
    assert await anext(changes) == "grown"
    assert index.rows == 2
    write_log(tmp_path / "new", [])
    os.replace(tmp_path / "new", path)
    assert [change async for change in changes] == ["replaced"]
    index.close()
