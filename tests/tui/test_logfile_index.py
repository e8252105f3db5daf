from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.log_lines import encode, line, write_log
from tui.logfile.heads import EDGE_BYTES, LONG_BYTES
from tui.logfile.index import LogIndex
from tui.logfile.rows import RowReader

NODES = ["reset", "policy", "env", "nö de\n"]


@contextmanager
def opened(path: Path) -> Iterator[LogIndex]:
    index = LogIndex(path)
    try:
        yield index
    finally:
        index.close()


def indexed(path: Path, lines: list[dict[str, Any]]) -> LogIndex:
    index = LogIndex(write_log(path, lines))
    assert index.extend()
    return index


@st.composite
def drawn_lines(draw: st.DrawFn) -> bytes:
    """A line of ours, of another writer's, or none at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=40)).replace(b"\n", b" ") + b"\n"
    fields = line(
        draw(st.integers(0, 5)),
        draw(st.sampled_from(NODES)),
        error=draw(st.sampled_from([None, None, "ValueError: \x1b[31m bad", ""])),
        outputs={"text": draw(st.text(max_size=30)) * draw(st.integers(0, 30))},
        inner_log=draw(
            st.sampled_from([[], [{"key": "note", "value": "warn"}], [{"key": "warning", "value": 1}]])
        ),
    )
    if draw(st.booleans()):
        fields = dict(draw(st.permutations(list(fields.items()))))
    return encode(fields, spaced=draw(st.booleans()))


def _expected(data: bytes) -> list[tuple[int, str, bool, bool]]:
    """Step, node, error, warning of each line, read the slow way."""
    rows = []
    for text in data.split(b"\n")[:-1]:
        try:
            fields = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            fields = None
        if not isinstance(fields, dict):
            rows.append((-1, "", True, False))
            continue
        warns = any(entry["key"].startswith("warn") for entry in fields.get("inner_log", []))
        rows.append((fields.get("step", -1), fields.get("node_id", ""), bool(fields.get("error")), warns))
    return rows


@settings(max_examples=150, deadline=None)
@given(st.lists(drawn_lines(), max_size=12), st.lists(st.integers(0, 4000), max_size=4))
def test_it_says_what_reading_every_line_says_however_the_file_grew(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    data = b"".join(lines)
    path.write_bytes(b"")
    with opened(path) as index:
        for cut in [*sorted(cuts), len(data)]:
            path.write_bytes(data[:cut])
            assert index.extend()
            assert index.size == data[:cut].rfind(b"\n") + 1
        found = [
            (index.steps[row], index.node_id(row), index.is_error(row), index.is_warning(row))
            for row in range(index.rows)
        ]
        assert found == _expected(data)
        assert (
            b"".join(index.read(start, end - start) for start, end in map(index.span, range(index.rows)))
            == data
        )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=8), st.sampled_from([None, "it broke", "e" * 3000])
)
def test_a_line_longer_than_the_buffer_is_known_by_its_edges(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], error: str | None
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    write_log(
        path, [line(n, "env", outputs={"text": "x" * size}, error=error) for n, size in enumerate(sizes)]
    )
    with (
        mock.patch("tui.logfile.index.LONG_BYTES", 1000),
        mock.patch("tui.logfile.rows.LONG_BYTES", 1000),
        mock.patch("tui.logfile.index.EDGE_BYTES", 500),
        mock.patch("tui.logfile.rows.EDGE_BYTES", 500),
        opened(path) as index,
    ):
        assert index.extend()
        assert list(index.steps) == list(range(len(sizes)))
        assert list(index.errors) == ([] if error is None else list(range(len(sizes))))
        for number in range(index.rows):
            row = RowReader(index).row(number)
            assert (row.head.step, row.head.node_id, row.head.duration_ms) == (number, "env", 1.5)
            assert bool(row.error) == bool(error)


def test_fifty_megabytes_in_one_line_are_not_decoded(tmp_path: Path) -> None:
    path = write_log(
        tmp_path / "log.jsonl",
        [line(0, "a"), line(1, "env", outputs={"text": "x" * 50_000_000}), line(2, "b")],
    )
    with opened(path) as index:
        assert index.extend()
        assert list(index.steps) == [0, 1, 2]
        reader = RowReader(index)
        assert reader.row(1).head.node_type == "env_x__env"
        record = reader.record(1)
        assert record.problem == f"{record.size} bytes are too many to show: open it in the editor"
        assert len(record.text) == EDGE_BYTES


def test_a_torn_line_is_no_row_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = encode(line(0, "env", outputs={"text": "x" * (2 * LONG_BYTES)}))
    path.write_bytes(whole[:-1])
    with opened(path) as index:
        assert index.extend()
        assert index.rows == 0
        path.write_bytes(whole + encode(line(1, "env")))
        assert index.extend()
        assert list(index.steps) == [0, 1]


def test_jumps(tmp_path: Path) -> None:
    steps = [0, 0, 1, 1, 1, 3]
    lines = [line(step, "ab"[n % 2], error="bad" if n in (1, 4) else None) for n, step in enumerate(steps)]
    index = indexed(tmp_path / "log.jsonl", lines)
    assert index.first_error() == 1
    assert [index.next_error(row) for row in range(6)] == [1, 4, 4, 4, None, None]
    assert [index.previous_error(row) for row in range(6)] == [None, None, 1, 1, 1, 4]
    assert [index.next_step(row) for row in range(6)] == [2, 2, 5, 5, 5, None]
    assert [index.previous_step(row) for row in range(6)] == [None, None, 0, 0, 0, 2]
    assert [index.same_before(row) for row in range(6)] == [None, None, 0, 1, 0, 3]
    assert [index.row_at(index.span(row)[0] + 3) for row in range(6)] == list(range(6))
    assert index.row_at(10**9) == 5
    index.close()


def test_an_empty_log_has_no_rows(tmp_path: Path) -> None:
    index = indexed(tmp_path / "log.jsonl", [])
    assert (index.rows, index.first_error(), index.row_at(0)) == (0, None, 0)
    index.close()


def test_another_file_at_the_path_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    index = indexed(path, [line(0, "a")])
    assert not index.is_replaced()
    write_log(tmp_path / "new", [line(0, "a"), line(1, "b")])
    os.replace(tmp_path / "new", path)
    assert index.is_replaced()
    index.close()


def test_a_file_that_was_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    index = indexed(path, [line(0, "a")])
    os.truncate(path, 3)
    assert index.is_replaced()
    index.close()


def test_it_can_be_stopped_and_closed_while_it_works(tmp_path: Path) -> None:
    index = LogIndex(write_log(tmp_path / "log.jsonl", [line(n, "a" * 500) for n in range(3000)]))
    assert not index.extend(stop=lambda: index.rows > 0)
    assert 0 < index.rows < 3000
    worker = threading.Thread(target=index.extend)
    worker.start()
    index.close()
    worker.join(10)
    assert not worker.is_alive()
