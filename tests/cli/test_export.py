from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from engine.store.scores import ExportOutcome, Measured
from engine.text import visible
from tests.cli.conftest import Shell
from tests.fakes.finished_runs import fake_line, fake_row, make_run

EVIL = "<script>alert(1)</script>\x1b[31m\u202e\ud800\0"
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\u00a0=1", "＝1"]


class Page(HTMLParser):
    """Every tag, and the text outside them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def run(root: Path) -> str:
    rows = [
        fake_row(0, instruction=EVIL, selectors={"task_id": "<b>a"}),
        fake_row(1, metrics={"success": None, "spl": -0.25}),
        fake_row(2, status="error", error_class="graph", error="=boom", metrics={}),
    ]
    lines = [fake_line(0, "reset", outputs={"text": EVIL}), fake_line(1, "step", error="@bad")]
    return make_run(root, rows=rows, logs={1: lines}).run_id


def test_a_run_as_json_and_as_lines(shell: Shell, run: str) -> None:
    whole = shell("export", run, "--format", "json").json
    assert whole["run"]["run_id"] == run
    assert [row["episode_index"] for row in whole["episodes"]] == [0, 1, 2]
    assert whole["results"]["headline"]["missing"]["errored"] == 1
    lines = [json.loads(line) for line in shell("export", run, "--format", "jsonl").out.splitlines()]
    assert lines == whole["episodes"]


def test_a_run_as_csv_leaves_empty_what_was_not_measured(shell: Shell, run: str) -> None:
    rows = list(csv.DictReader(io.StringIO(shell("export", run, "--format", "csv").out, newline="")))
    assert [row["metric.success"] for row in rows] == ["0.0", "", ""]
    assert [row["metric.spl"] for row in rows] == ["", "-0.25", ""]
    assert rows[0]["selectors"] == '{"task_id":"<b>a"}'
    assert rows[2]["error"] == "'=boom"


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_text_in_a_csv_is_a_formula(shell: Shell, root: Path, formula: str) -> None:
    make_run(root, rows=[fake_row(0, instruction=formula)])
    rows = list(csv.DictReader(io.StringIO(shell("export", "last", "--format", "csv").out, newline="")))
    assert rows[0]["instruction"] == f"'{formula}"


def test_nothing_in_a_csv_steers_a_terminal_or_a_spreadsheet(shell: Shell, root: Path) -> None:
    score = Measured(grader_id="g", metric=f"={EVIL}", value=1.0, detail=f"\r=1{EVIL}")
    sent = ExportOutcome(sink="otlp", name=f"@{EVIL}", error=f"\t=1{EVIL}\x9b2J")
    row = fake_row(0, instruction=f"\n=1{EVIL}", scoring="final", scores=[score], exports=[sent])
    line = fake_line(0, EVIL, outputs={"text": EVIL, "\u202e": 1}, error=f"\t=1{EVIL}")
    run = make_run(root, rows=[row], logs={0: [line]}).run_id
    for words in ((), ("--episode", "0")):
        text = shell("export", run, *words, "--format", "csv").out
        assert "‹U+202E›" in text
        cells = [cell for line in csv.reader(io.StringIO(text, newline="")) for cell in line]
        assert all(cell == visible(cell) for cell in cells)
        texts = [cell for cell in cells if not re.fullmatch(r"-?[\d.e+-]+", cell)]
        assert not [cell for cell in texts if cell.lstrip().startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("words", [(), ("--episode", "0"), ("--episode", "1")])
def test_a_page_has_no_script_and_shows_every_text_as_it_is(
    shell: Shell, run: str, words: tuple[str, ...]
) -> None:
    text = shell("export", run, *words, "--format", "html").out
    page = Page(text)
    assert not page.tags & {"script", "iframe", "object", "link", "form"}
    assert "<script>alert(1)</script>" in page.text
    assert ("␛[31m‹U+202E›" in page.text) == (words != ("--episode", "1")), "a log's values are JSON here"
    assert not {"\x1b", "\u202e", "\0"} & set(text)
    assert "http:" not in text.replace("http-equiv", "")


def test_an_episode_with_its_log(shell: Shell, run: str) -> None:
    whole = shell("export", run, "--episode", "1", "--format", "json").json
    assert whole["episode"]["episode"]["episode_index"] == 1
    assert [line["node_id"] for line in whole["log"]] == ["reset", "step"]
    assert len(shell("export", run, "--episode", "1", "--format", "jsonl").out.splitlines()) == 2
    rows = list(csv.DictReader(io.StringIO(shell("export", run, "--episode", "1", "--format", "csv").out)))
    assert [row["error"] for row in rows] == ["", "'@bad"]
    assert shell("export", run, "--episode", "7", "--format", "json").code == 2


def test_a_file_is_replaced_whole_and_only_by_force(shell: Shell, run: str, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")
    said = shell("export", run, "--format", "csv", "-o", str(target))
    assert said.code == 2
    assert "--force replaces it" in said.err
    assert target.read_text() == "before"
    said = shell("export", run, "--format", "csv", "-o", str(target), "--force")
    assert (said.code, said.out) == (0, "")
    assert target.read_bytes().startswith(b"episode_index,")
    assert shell("export", run, "--format", "csv", "-o", str(tmp_path)).code == 2
    for command in (("export", run, "--format", "csv"), ("report", run)):
        said = shell(*command, "-o", str(tmp_path / "no" / "x"))
        assert said.code == 2
        assert f"there is no folder {tmp_path / 'no'}: make it first" in said.err
    assert shell("export", run, "--format", "mp4").code == 2


def test_a_page_has_the_tables_that_show_has(shell: Shell, root: Path) -> None:
    rows = [
        fake_row(index, repeat=repeat, metrics={"success": float(index % 2)}, selectors={"task_id": task})
        for index, task in ((0, "open"), (1, "close"))
        for repeat in (1, 2)
    ]
    text = Page(shell("export", make_run(root, rows=rows).run_id, "--format", "html").out).text
    for told in (
        "4 of 4 episodes measured, 0 errored",
        "By task",
        "every task alike",
        "pass@k (success)",
        "pass^k",
    ):
        assert told in text
