"""The machine's gauges: whose memory it is, the last ten minutes, and what is told where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.control.queue_reports import ForeignProcess, QueueReport, ResourcesReport
from tests.fakes.clock import START, FakeClock
from tests.fakes.control import HOST, busy_control, fake_gpus, fake_report
from tests.tui.screen import centre, settled, text_of, until
from tui.drawing import Drawing
from tui.models import HISTORY_SEC, GpuHistory, GpuSample, Snapshot
from tui.models_gpus import (
    UNHEARD_SEC,
    Kind,
    Memory,
    Part,
    bar_cells,
    machine_of,
    spark,
    spark_levels,
)
from tui.panes.gpu_lines import FULL, MIDDLE, SHORT, level_that_fits, machine_lines
from tui.theme import THEMES

RUN = "20260518_141000"


def seen(report: ResourcesReport | None = None, **more: Any) -> Snapshot:
    report = report or ResourcesReport(driver="present", gpus=fake_gpus(), host=HOST)
    history = GpuHistory().with_report(report, 500.0)
    runs = (fake_report(RUN, "running", label="navA"),)
    return replace(Snapshot(seq=1, at=500.0, now=START, runs=runs, resources=report, history=history), **more)


def drawn(
    snapshot: Snapshot, width: int = 80, level: int = MIDDLE, drawing: Drawing | None = None
) -> list[str]:
    machine = machine_of(snapshot)
    assert machine is not None
    lines = machine_lines(drawing or Drawing(), machine, width, level)
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def sample(at: float, utilization: float | None = 50.0) -> GpuSample:
    return GpuSample(at, 1024.0, utilization, 100.0, 40.0)


def test_a_cards_memory_is_told_by_whose_it_is() -> None:
    machine = machine_of(seen())
    assert machine is not None
    memory = machine.cards[0].memory
    assert [(part.kind, part.name, part.mb) for part in memory.parts] == [
        ("run", "navA", 9728.0),
        ("server", "toy_policy", 4096.0),
        ("foreign", "processes without a name", 48640.0),
        ("reserved", "navA", 2048.0),
    ]
    assert machine.cards[1].memory.parts == (Part("other", "other", 3072.0),)


def test_what_is_reserved_for_a_server_is_told_by_its_nodeset() -> None:
    gpus = fake_gpus()
    gpus[1].reserved_mb = {"server:policy_gridhouse@26956e14": 400.0}
    machine = machine_of(seen(ResourcesReport(driver="present", gpus=gpus, host=HOST)))
    assert machine is not None
    assert machine.cards[1].memory.parts[-1] == Part("reserved", "policy_gridhouse", 400.0)


def test_where_the_use_is_not_known_the_memorys_history_stands_for_it() -> None:
    gpu = msgspec.structs.replace(fake_gpus()[0], utilization=None)
    line = drawn(seen(ResourcesReport(driver="present", gpus=[gpu], host=HOST)))[0]
    assert "▄" in line


def test_foreign_processes_are_named_the_largest_first() -> None:
    gpus = fake_gpus()
    gpus[0].foreign = [
        ForeignProcess(pid=7, name="small", mb=640.0),
        ForeignProcess(pid=8, name="[/evil]\x1b[31m", mb=40000.0),
        ForeignProcess(pid=9, name="silent"),
    ]
    lines = drawn(seen(ResourcesReport(driver="present", gpus=gpus, host=HOST)), 100, FULL)
    foreign = [line.strip() for line in lines if "foreign" in line]
    assert foreign[0].startswith("▒   39.1G foreign [/evil]")
    assert foreign[1:] == ["▒    7.8G foreign processes without a name", "▒    0.6G foreign small, pid 7"]


parts = st.lists(
    st.tuples(st.sampled_from(get_args(Kind)), st.floats(0.1, 30000)),
    max_size=8,
)


@given(parts, st.integers(1, 120))
def test_a_bar_is_as_wide_as_asked_and_shows_all_that_hold_something(
    held: list[tuple[Any, float]], width: int
) -> None:
    total = max(100000.0, sum(mb for _, mb in held))
    memory = Memory(total, total, tuple(Part(kind, "x", mb) for kind, mb in held))
    cells = bar_cells(memory, width)
    assert len(cells) == width
    if width >= 20:
        assert {kind for kind, _ in held} <= set(cells)


def test_a_bar_of_more_than_there_is_stays_within_its_width() -> None:
    memory = Memory(100.0, 90.0, (Part("run", "a", 90.0), Part("reserved", "b", 50.0)))
    assert len(bar_cells(memory, 10)) == 10


def test_ten_minutes_are_drawn_with_gaps_where_nobody_looked() -> None:
    history = [sample(at) for at in (5.0, 15.0, 25.0)] + [sample(595.0, 90.0)]
    levels = spark_levels(history, 599.9, 60, lambda found: found.utilization)
    assert levels[:3] == [50.0] * 3
    assert levels[3] == 50.0  # as long as a sample holds
    assert levels[10] is None
    assert levels[59] == 90.0
    assert spark([None, 0.0, 50.0, 100.0], 100.0, "▁▂▃▄▅▆▇█") == " ▁▅█"


def test_the_history_moves_only_once_in_a_cells_time() -> None:
    history = [sample(float(at), float(at % 97)) for at in range(0, 900, 2)]
    cells = 60
    length = HISTORY_SEC / cells

    def moved(now: float) -> list[float | None]:
        told = [each for each in history if now - HISTORY_SEC < each.at <= now]
        return spark_levels(told, now, cells, lambda found: found.utilization)

    assert moved(800.0)[:-1] == moved(800.0 + length - 2.1)[:-1]
    assert moved(800.0 + length)[:-2] == moved(800.0)[1:-1]


@given(st.lists(st.floats(0, 2000), max_size=40), st.floats(0, 2000), st.integers(1, 100))
def test_no_time_breaks_the_history(times: list[float], now: float, cells: int) -> None:
    levels = spark_levels([sample(at) for at in sorted(times)], now, cells, lambda found: found.utilization)
    assert len(levels) == cells


def test_a_stale_sample_says_how_old_it_is() -> None:
    gpus = fake_gpus()
    gpus[1].age_sec = 42.0
    assert drawn(seen(ResourcesReport(driver="present", gpus=gpus, host=HOST)))[3].endswith("sample 42s old")
    unheard = seen(at=500.0 + UNHEARD_SEC + 1, problem="no answer")
    assert drawn(unheard)[0].endswith("sample 16s old")


def test_without_a_driver_it_says_so_and_what_to_do() -> None:
    lines = drawn(seen(ResourcesReport(driver="absent", gpus=[], host=HOST)))
    assert lines[0] == "No NVIDIA driver on this machine: no card is measured."
    assert "usable_vram_mb" in " ".join(lines[1:3])
    assert any("RAM 111/512G" in line for line in lines)
    declared = QueueReport(usable_vram_mb=12288.0, reserved_vram_mb=4096.0)
    lines = drawn(seen(ResourcesReport(driver="absent", gpus=[], host=HOST), queue=declared))
    assert lines[1] == "Declared (usable_vram_mb): 12.0G, 4.0G of it reserved."


def test_a_failing_driver_tells_its_problem() -> None:
    report = ResourcesReport(driver="failing", gpus=[], host=HOST, problems=["GPU 0: lost"])
    lines = drawn(seen(report))
    assert lines[0].startswith("The NVIDIA driver does not answer")
    assert lines[1] == "GPU 0: lost"


def test_figures_that_are_not_known_are_question_marks() -> None:
    gpu = msgspec.structs.replace(fake_gpus()[0], utilization=None, power_w=None, temperature_c=None)
    host = msgspec.structs.replace(HOST, cpu_percent=None, ram_available_mb=None, disk_free_mb=None)
    lines = drawn(seen(ResourcesReport(driver="present", gpus=[gpu], host=host)))
    assert "?%   61/140G    ?W   ?C" in lines[0]
    assert "CPUs ?  disk ? free  RAM not read" in lines[-1]


@pytest.mark.parametrize(("height", "level"), [(60, FULL), (16, MIDDLE), (5, SHORT)])
def test_as_much_is_told_as_there_is_room_for(height: int, level: int) -> None:
    machine = machine_of(seen())
    assert machine is not None
    found, lines = level_that_fits(Drawing(), machine, 80, height)
    assert found == level
    assert len(lines) <= height


@pytest.mark.parametrize("theme", THEMES)
def test_whose_memory_it_is_can_be_read_without_colour(theme: str) -> None:
    drawing = Drawing(theme, ascii=True)
    line = drawn(seen(), 100, MIDDLE, drawing)[1]
    assert line.isascii()
    assert set("#=x.-") <= set(line)


@pytest.mark.parametrize("level", [SHORT, MIDDLE, FULL])
@pytest.mark.parametrize("width", [40, 52, 80, 158])
def test_what_is_most_telling_has_room_at_every_width(level: int, width: int) -> None:
    lines = drawn(seen(), width, level)
    assert "87%" in lines[0]
    assert "61/140G" in lines[0]
    if level == MIDDLE:
        assert all(len(line) <= width for line in lines)


async def test_the_pane_is_reached_by_6_and_copies_what_it_shows() -> None:
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("6")
        await until(pilot, lambda: any("61/140G" in line for line in text_of(app)))
        assert any("▒ foreign 47.5G" in line for line in text_of(app))
        assert "61/140G" in app.home.pane.copies()["copy.row"]()
        assert '"uuid": "GPU-0000"' in app.home.pane.copies()["copy.json"]()


async def test_eight_cards_have_room_at_80x24_and_more_can_be_scrolled() -> None:
    control = busy_control()
    gpus = [
        msgspec.structs.replace(fake_gpus()[0], uuid=f"G{place}", label=str(place)) for place in range(32)
    ]
    control.resources_report = ResourcesReport(driver="present", gpus=gpus[:8], host=HOST)
    clock = FakeClock()
    app = centre(control, clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("6")
        assert sum("H200" in line for line in text_of(app)) == 8
        assert any("gpu-07" in line for line in text_of(app))
        control.resources_report = ResourcesReport(driver="present", gpus=gpus, host=HOST)
        app.store.refetch()
        await until(pilot, lambda: sum("H200" in line for line in text_of(app)) == 21)
        await pilot.press("G")
        await pilot.pause()
        assert any("gpu-07" in line for line in text_of(app))


@pytest.mark.parametrize("theme", ["mono-dark", "tower-dark"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_two_runs_on_a_card_are_told_apart_by_their_glyphs(theme: str, ascii_only: bool) -> None:
    snapshot = seen()
    assert snapshot.resources is not None
    gpu = msgspec.structs.replace(fake_gpus()[0], runs_mb={"a": 9000.0, "b": 9000.0})
    resources = msgspec.structs.replace(snapshot.resources, gpus=[gpu])
    drawing = Drawing(theme, ascii=ascii_only)
    lines = drawn(replace(snapshot, resources=resources), level=FULL, drawing=drawing)
    glyphs = {line.strip()[0] for line in lines if line.endswith((" run a", " run b"))}
    assert len(glyphs) == 2
    bar = next(line for line in lines if glyphs <= set(line) and not line.endswith(" run a"))
    assert bar.count(min(glyphs)) == bar.count(max(glyphs)) > 1
