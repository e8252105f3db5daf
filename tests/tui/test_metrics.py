"""A run's numbers: with their intervals, and with a reason where they are withheld."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.control.results import Results
from engine.statistics.aggregate import aggregate
from engine.statistics.budget import headline
from engine.statistics.intervals import Estimate
from engine.statistics.repeats import repeats
from engine.statistics.tables import task_table
from engine.store.records import EpisodeRow
from tests.fakes.control import fake_report, mixed_rows, results_from
from tests.fakes.finished_runs import fake_row
from tests.tui.screen import centre, settled, text_of, until
from tui.drawing import Drawing
from tui.panes.metric_lines import LEAST_PLOT, plot, result_lines
from tui.theme import THEMES


def repeated(count: int = 20) -> list[EpisodeRow]:
    """Three tries each, of two tasks; the ninth episode always ran out of time."""
    rows = []
    for index in range(count):
        for repeat in (1, 2, 3):
            more: dict[str, Any] = {
                "repeat": repeat,
                "selectors": {"task_id": f"kitchen {index % 2}"},
                "metrics": {"spl": 0.25, "success": float((index + repeat) % 4 != 0)},
            }
            if index == 9:
                more |= {"status": "error", "termination": "timeout", "error_class": "infra", "metrics": {}}
            rows.append(fake_row(index, **more))
    return rows


def results(rows: list[EpisodeRow], planned: int = 70) -> Results:
    return Results(
        headline=headline(rows, "success", planned),
        metrics=aggregate(rows).stats,
        tasks=task_table(rows, "success"),
        repeats=repeats(rows, "success"),
    )


def drawn(found: Results, width: int = 80, drawing: Drawing | None = None, *, over: bool = True) -> list[str]:
    lines = result_lines(drawing or Drawing(), found, width, over=over)
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def test_the_headline_has_its_interval_and_says_what_is_missing() -> None:
    lines = drawn(results(repeated()))
    assert lines[0].startswith("success 0.754  [")
    assert "57 of 70 episodes" in lines[0]
    assert lines[1].startswith("13 without it: 3 errored (3 infra), 10 not run; were they all the worst")
    assert "10 to come" in drawn(results(repeated()), over=False)[1]


def test_metrics_the_headlines_first_each_with_n_and_interval() -> None:
    lines = drawn(results(repeated()))
    rows = [line for line in lines if line.startswith(("spl", "success "))]
    assert [row.split()[0] for row in rows[1:3]] == ["success", "spl"]
    assert all(" 57" in row for row in rows[1:3])


def test_tasks_have_their_own_counts_and_two_means_below() -> None:
    lines = drawn(results(repeated()))
    assert any(line.startswith("kitchen 1 ") and line.split()[-2:] == ["27", "3"] for line in lines)
    assert any(line.startswith("every episode alike") for line in lines)
    assert any(line.startswith("every task alike") for line in lines)


def test_a_table_by_scene_is_titled_so() -> None:
    rows = [fake_row(at, scene_id=f"task-v{at % 2}", metrics={"success": 1.0}) for at in range(4)]
    found = Results(
        headline=headline(rows, "success", 4),
        metrics=aggregate(rows).stats,
        tasks=task_table(rows, "success", by="scene"),
    )
    starts = [line.split("  ")[0].strip() for line in drawn(found)]
    assert {"task-v0", "task-v1", "every scene alike"} <= {" ".join(one.split()[:3]) for one in starts} | {
        one.split()[0] for one in starts if one
    }
    assert any(line.startswith("success by scene") for line in drawn(found))


def test_repeats_have_their_pass_rates() -> None:
    lines = drawn(results(repeated()))
    at = next(place for place, line in enumerate(lines) if line.startswith("19 episodes, 3 tries each"))
    rates = [line.split() for line in lines[at + 3 :]]
    assert [rate[0] for rate in rates] == ["1", "2", "3"]
    assert [float(rate[1]) for rate in rates] == sorted(float(rate[1]) for rate in rates)


def test_what_is_withheld_gives_the_reason_and_no_mean_anywhere() -> None:
    rows = repeated()
    found = Results(
        headline=headline(rows, "success", 60, budget=0.01),
        metrics=aggregate(rows).stats,
        tasks=task_table(rows, "success"),
        repeats=repeats(rows, "success"),
    )
    lines = drawn(found)
    assert lines[0] == "success is withheld"
    assert "above the error budget of 1 %" in " ".join(lines[1:4])
    assert not any("0.754" in line or "pass@k" in line or "every" in line for line in lines)
    assert any(line.startswith("kitchen 1 ") and line.split()[-2:] == ["27", "3"] for line in lines)


def test_what_can_be_told_instead_is_named() -> None:
    found = msgspec.structs.replace(results(repeated()), instead=["return", "length"])
    assert "Of return and length enough was measured: evaltower show RUN --metric return" in drawn(found, 100)


estimates = st.tuples(st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5)).map(
    lambda found: Estimate(
        found[0], 9, 0.1, 8, (max(0.0, found[0] - found[1]), min(1.0, found[0] + found[2])), "t"
    )
)


@given(estimates, st.integers(1, 90), st.booleans())
def test_an_intervals_picture_has_its_mean_inside_and_never_leaves_the_line(
    estimate: Estimate, cells: int, ascii_only: bool
) -> None:
    drawing = Drawing(ascii=ascii_only)
    picture = plot(drawing, estimate, cells)
    assert len(picture) == cells
    assert (picture.count(drawing.glyphs.mark) == 1) == (cells >= LEAST_PLOT)
    assert picture.isascii() or not ascii_only


def test_what_lies_outside_the_scale_has_no_picture() -> None:
    assert plot(Drawing(), Estimate(5.9, 9, 0.1, 8, (5.0, 6.0), "t"), 30).strip() == ""
    assert plot(Drawing(), None, 30).strip() == ""


@pytest.mark.parametrize("width", [50, 80, 104])
@pytest.mark.parametrize("theme", THEMES)
def test_all_of_it_has_room(width: int, theme: str) -> None:
    lines = drawn(results(repeated()), width, Drawing(theme))
    assert all(len(line) <= width for line in lines[2:] if "pass" not in line and line[:1] != " ")


async def test_the_pane_is_reached_by_5_scrolls_and_copies() -> None:
    from tests.fakes.control import busy_control

    control = busy_control()
    rows = repeated()
    control.rows["20260518_120000"] = rows
    control.reports[3] = fake_report("20260518_120000", rows=rows, label="[baseline]")
    control.answers["results"] = results(rows)
    app = centre(control)
    async with app.run_test(size=(80, 15)) as pilot:
        await settled(pilot)
        await pilot.press("j", "j", "j", "5")
        await until(pilot, lambda: any("success 0.754" in line for line in text_of(app)))
        assert any("5 Metrics [baseline]" in line for line in text_of(app))
        await pilot.press("G")
        await until(pilot, lambda: any("pass@k" in line for line in text_of(app)))
        assert not any("success 0.754" in line for line in text_of(app))
        assert "success 0.754" in app.home.pane.copies()["copy.row"]()
        assert '"flaky"' in app.home.pane.copies()["copy.json"]()


async def test_a_run_that_lost_too_much_says_why_it_has_no_number() -> None:
    rows = mixed_rows()
    assert results_from(rows).headline.withheld
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("j", "j", "5")
        await until(pilot, lambda: any("success is withheld" in line for line in text_of(app)))
        assert any("7 of 40 episodes gave no success" in line for line in text_of(app))
