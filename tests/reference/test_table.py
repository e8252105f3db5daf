"""The rules of the table of published figures, and the README's copy of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.reference import table
from tests.reference.figures import AGREES, AT_LEAST, EQUALS, Figure, Measured, Published, Rule, rooms, shown


def measured(mean: float, stderr: float = 0.3) -> Measured:
    return Measured(mean, stderr, (mean - 2 * stderr, mean + 2 * stderr), n=20, cpu_sec=4.4)


def test_z_is_in_standard_errors_of_the_difference() -> None:
    published = Published(10.0, "here", sd=4.0, episodes=100)
    assert published.z(measured(11.0)) == pytest.approx(1 / math.hypot(0.3, 0.4))
    assert Published(10.0, "here").z(measured(11.0, stderr=0)) == math.inf
    alike = Measured(11.0, 0.0, (11.0, 11.0), n=25, cpu_sec=1)
    assert published.z(alike) == pytest.approx(1 / math.hypot(4 / 5, 4 / 10))


@pytest.mark.parametrize(
    ("rule", "mean", "holds"),
    [
        (AGREES, 10.89, True),
        (AGREES, 9.09, False),
        (EQUALS, 10.0, True),
        (EQUALS, 10.01, False),
        (AT_LEAST, 10.01, True),
        (AT_LEAST, 9.99, False),
        (shown("another version"), 99.0, True),
    ],
)
def test_what_is_asserted(rule: Rule, mean: float, holds: bool) -> None:
    assert rule.holds(measured(mean), Published(10.0, "here")) is holds


def test_a_row_says_what_was_measured() -> None:
    figure = Figure("task", ("graph",), 20, "return", Published(0.5, "here"), shown("as it is"))
    ours = Measured(0.51, 0.01, (0.49, 0.53), n=20, cpu_sec=4.4)
    assert table.line(figure, ours) == (
        "| task | 0.5000 | here | 0.5100 | [0.4900, 0.5300] | 20 | +1.0 | no: as it is | 4 |\n"
    )


def test_very_few_episodes_have_no_interval() -> None:
    figure = Figure("game", ("graph",), 1, "score", Published(100.0, "package"), EQUALS)
    row = table.line(figure, Measured(100.0, 0.0, None, n=1, cpu_sec=9.6))
    assert row == "| game | 100.00 | package | 100.00 |  | 1 |  | equals | 10 |\n"
    by_hand = table.line(figure, Measured(100.0, 0.0, None, n=1, cpu_sec=None))
    assert by_hand == "| game | 100.00 | package | 100.00 |  | 1 |  | equals |  |\n"


@pytest.mark.parametrize(
    ("interval", "said"),
    [((7.6, 12.5), "agrees"), ((7.4, 12.5), "too few to tell"), (None, "too few to tell")],
)
def test_a_wide_interval_agrees_with_nothing(interval: tuple[float, float] | None, said: str) -> None:
    figure = Figure("task", ("graph",), 3, "return", Published(-10.0, "here"), AGREES)
    row = table.line(figure, Measured(-9.0, 1.0, interval, n=3, cpu_sec=1))
    assert row.split(" | ")[-2] == said


def test_figures_have_names_of_their_own() -> None:
    names = [(room.title, figure.name) for room in rooms() for figure in room.figures]
    assert len(names) == len(set(names)) > 0
    assert not [name for pair in names for name in pair if "|" in name or "**" in name]


def test_the_readme_has_each_figure_as_published() -> None:
    """Where this fails: ``pytest -m reference --update-readme``."""
    published = {
        (room.title, figure.name): table.line(figure, measured(0.0)).split(" | ")[:3]
        for room in rooms()
        for figure in room.figures
    }
    assert {key: row.split(" | ")[:3] for key, row in table.in_readme().items()} == published


def test_rows_that_were_not_measured_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = rooms()[0]
    first, second = room.figures[:2]
    file = tmp_path / "README.md"
    file.write_text(f"before\n{table._BEGIN}{table._END}after\n", "utf-8")
    monkeypatch.setattr(table, "README", file)
    one = {(room.title, first.name): table.line(first, measured(1.0))}
    two = {(room.title, second.name): table.line(second, measured(2.0))}
    table.write_readme(two)
    table.write_readme(one)
    assert table.in_readme() == one | two
    assert list(table.in_readme()) == [*one, *two]
    table.write_readme({})
    assert table.in_readme() == one | two
    assert file.read_text("utf-8").startswith("before\n")
    assert file.read_text("utf-8").endswith(f"{table._END}after\n")
