"""A log.jsonl of 300 MB: how soon it is seen, indexed and searched, beside other programs on the same file.

toolong (``tl``) and lnav are measured where they are on PATH; ``wc`` and ``grep`` are the floor.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from tests.tui.log_lines import line
from tui.logfile.filters import parse_filter, select
from tui.logfile.index import LogIndex
from tui.logfile.rows import RowReader
from tui.logfile.search import Query, search

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

MEGABYTES = 300
PLACE = 45
TOOLONG = """
import sys, threading
from toolong.log_file import LogFile
file = LogFile(sys.argv[1])
file.open(threading.Event())
print(sum(len(batch) for _, batch in file.scan_line_breaks()))
"""
INDEX = """
import sys
from pathlib import Path
from tui.logfile.index import LogIndex
if sys.argv[1] != "-":
    LogIndex(Path(sys.argv[1])).extend()
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0])
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    encoder = msgspec.json.Encoder()
    image = {"$asset": "assets/1_env_rgb.png", "shape": [256, 256, 3], "dtype": "uint8"}
    step = 0
    with open(path, "wb") as file:
        while file.tell() < MEGABYTES * 1_000_000:
            for node in ("policy", "env", "actions", "rewards"):
                error = "ValueError: no such door" if step % 1000 == 500 and node == "env" else None
                inputs = {"instruction": "go to the red door, then stop. " * 4, "rgb": image}
                fields = line(
                    step, node, inputs=inputs, output_digests={"action": f"{step:032x}"}, error=error
                )
                file.write(encoder.encode(fields) + b"\n")
            step += 1
    yield path
    path.unlink()


class Table:
    """Figures as they come: seconds of wall time and of CPU, and what was found."""

    def __init__(self, title: str) -> None:
        self.lines = [title, f"  {'':44} {'wall s':>8} {'CPU s':>8}"]

    def measure(self, name: str, what: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), _cpu()
        found = what()
        self.lines.append(f"  {name:44} {time.perf_counter() - wall:8.3f} {_cpu() - cpu:8.3f}  {found}")


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _run(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    return done.stdout.strip()[:40]


def _peak_mb(*arguments: str) -> float:
    """The most memory that a Python process running INDEX ever had."""
    words = [sys.executable, "-c", INDEX, *arguments]
    peak = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout
    return int(peak) / 1024


def test_a_large_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(f"log.jsonl of {log.stat().st_size / 1e6:.0f} MB")
    index = LogIndex(log)
    reader = RowReader(index)
    screen = range(PLACE)
    table.measure("first screen of rows", lambda: index.advance() and len([reader.row(n) for n in screen]))
    table.measure("the rest of the index", lambda: f"{index.extend() and index.rows} rows")
    last = range(index.rows - PLACE, index.rows)
    table.measure("a screen of rows at its end", lambda: len([reader.row(n) for n in last]))
    table.measure(
        "filter: node, steps", lambda: len(select(index, parse_filter("node:policy step:100-2000")))
    )
    queries = ("no such door", "Red Door", r'/"step":12\d4,/', "nothing like it")
    for text in queries:
        table.measure(f"search {text}", lambda text=text: f"{_search(index, text)} rows")
    index.close()
    for name, words in _others(log).items():
        table.measure(name, lambda words=words: _run(*words))
    memory = _peak_mb(str(log)) - _peak_mb("-")
    with capsys.disabled():
        print("\n" + "\n".join(table.lines))
        print(f"  memory of the index over an idle process: {memory:.0f} MB")
    assert memory < 60


def _search(index: LogIndex, text: str) -> int:
    async def count() -> int:
        return sum([len(found.rows) async for found in search(index, Query(text))])

    return asyncio.run(count())


def _others(log: Path) -> dict[str, list[str | Path]]:
    words: dict[str, list[str | Path]] = {
        "wc -l": ["wc", "-l", log],
        "grep -c 'no such door'": ["grep", "-c", "no such door", log],
        "grep -ciE (regex, any case)": ["grep", "-ciE", r'"step":12[0-9]4,', log],
    }
    if lnav := shutil.which("lnav"):
        words["lnav: index, and filter 'no such door'"] = [
            lnav,
            "-n",
            "-q",
            "-c",
            ":filter-in no such door",
            log,
        ]
    if toolong := shutil.which("tl"):
        python = Path(toolong).read_text().splitlines()[0].removeprefix("#!")
        words["toolong: index (line breaks only)"] = [python, "-c", TOOLONG, log]
    return words


def test_the_loop_answers_while_a_log_is_indexed_and_searched(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The widest gap between ticks of 5 ms on the loop that a key press would wait for."""

    async def widest_gap() -> float:
        index = LogIndex(log)
        ticks = [time.perf_counter()]
        work = asyncio.create_task(_index_and_search(index))
        while not work.done():
            await asyncio.sleep(0.005)
            ticks.append(time.perf_counter())
        index.close()
        return max(after - before for before, after in pairwise(ticks))

    gap = asyncio.run(widest_gap())
    with capsys.disabled():
        print(f"\nwidest gap of a 5 ms tick while a log is indexed and searched: {gap * 1e3:.0f} ms")


async def _index_and_search(index: LogIndex) -> None:
    await asyncio.to_thread(index.extend)
    async for _ in search(index, Query("red door")):
        pass
