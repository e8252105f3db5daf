from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.store.jsonl import LineAppender, read_lines, read_records


def write(path: Path, *values: Any) -> None:
    appender = LineAppender(path)
    for value in values:
        appender.append(value)
    appender.close()


def test_no_file_has_no_lines(tmp_path: Path) -> None:
    assert list(read_lines(tmp_path / "none.jsonl")) == []


@given(texts=st.lists(st.text()))
def test_every_text_is_one_line(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("lines") / "log.jsonl"
    write(path, *texts)
    assert list(read_records(path, str)) == texts


def test_unicode_line_ends_are_part_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\rg\nh"
    write(path, text)
    assert list(read_records(path, str)) == [text]


@given(cut=st.integers(0, 40))
def test_a_torn_tail_costs_only_itself(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("torn") / "episodes.jsonl"
    write(path, {"n": 1}, {"n": 2}, {"n": 3})
    whole = path.read_bytes()
    path.write_bytes(whole[: min(cut, len(whole))])
    complete = path.read_bytes().count(b"\n")
    assert [r["n"] for r in read_records(path, dict[str, int])] == list(range(1, complete + 1))

    write(path, {"n": 99})
    read = [r["n"] for r in read_records(path, dict[str, int])]
    assert read[:complete] == list(range(1, complete + 1))
    assert read[-1] == 99


def test_a_line_that_is_no_record_is_passed_over_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(b'{"n":1}\n{"n":\n{"n":2}\n')
    assert [r["n"] for r in read_records(path, dict[str, int])] == [1, 2]
    assert "line 2" in caplog.text


def test_a_full_disk_tears_one_line_and_the_next_begins_afresh(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    code = (
        "import resource, sys; from pathlib import Path; from engine.store.jsonl import LineAppender\n"
        "appender = LineAppender(Path(sys.argv[1]))\n"
        "appender.append({'n': 1})\n"
        "try: appender.append({'n': 2, 'text': 'x' * 9000})\n"
        "except OSError: pass\n"
        "else: sys.exit(3)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "appender.append({'n': 3})\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], preexec_fn=_small_files, timeout=60, check=True)
    assert path.stat().st_size > 4096
    assert [r["n"] for r in read_records(path, dict[str, Any])] == [1, 3]


def _small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
