from __future__ import annotations

import click
import pytest

from engine.cli.output import put_table
from engine.cli.progress import clock
from engine.figures import number


def test_columns_are_aligned_and_nothing_is_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(["n", "what"], [["1", "家" * 60 + "[bold]"], ["20", "\x1b[2J"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [" n  what", " 1  " + "家" * 60 + "[bold]", "20  ␛[2J"]


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_no_row_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    row = ["a graph's name " * 4, "yes", "nodeset " * 9, "2 errors", "node 'x' has no such input " * 4]
    put_table(["graph", "loads", "not installed", "wires", "problems"], [row, ["b", "no", "-", "-", "none"]])
    lines = capsys.readouterr().out.splitlines()
    assert max(len(click.unstyle(line)) for line in lines) <= columns
    assert "…" in lines[1]


def test_a_row_is_one_line_of_whatever_its_cells_hold(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(["run", "result"], [["a", "OSError: no scene\nTraceback (most recent call last):\n  File"]])
    assert capsys.readouterr().out == "run  result\na    OSError: no scene …\n"


def test_a_run_s_id_is_never_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    put_table(["run", "what"], [["20260518_143052_2", "word " * 30]])
    assert "20260518_143052_2  word" in capsys.readouterr().out


def test_an_empty_table_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(["run", "status"], [])
    assert capsys.readouterr().out == "run  status\n"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1:00"), (185, "3:05"), (7800, "2:10:00")]
)
def test_durations(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.75, "0.750"), (-3, "-3.000"), (12345.678, "1.235e+04")]
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text
