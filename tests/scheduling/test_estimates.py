"""Where a figure comes from, and what past runs teach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.scheduling.calibration import KEPT_ENTRIES, KEPT_PEAKS, Calibration, Peak
from engine.scheduling.estimates import (
    ASSUMED_RUN_MB,
    ASSUMED_WORKER_MB,
    FIRST_MARGIN_SHARE,
    MARGIN_MB,
    MARGIN_SHARE,
    Figure,
    estimate,
    server_estimate,
)
from engine.scheduling.need import Need, selection_of, server_key
from engine.store.records import EvalRequest, Needs, Spec
from tests.scheduling.making import need, nodeset, shared


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    return Calibration(tmp_path / "system" / "resource_calibration.json")


def vram(calibration: Calibration, asked: Need, **more: Any) -> tuple[float, str] | None:
    figure = estimate(asked, calibration, **more).run.vram
    return figure and (figure.mb, figure.basis)


def ram(calibration: Calibration, asked: Need) -> tuple[float, str]:
    figure = estimate(asked, calibration).run.ram
    return figure.mb, figure.basis


def peak(vram_mb: float | None = 8000, ram_mb: float | None = 4000, after_sec: float = 20) -> Peak:
    return Peak(vram_mb=vram_mb, ram_mb=ram_mb, after_sec=after_sec)


STATED = nodeset(expected_vram_mb=3000, expected_ram_mb=2000)


def test_what_is_known_of_nothing(calibration: Calibration) -> None:
    assert vram(calibration, need(workers=3)) is None
    assert ram(calibration, need(workers=3)) == (ASSUMED_RUN_MB + 3 * ASSUMED_WORKER_MB, "assumed")


def test_each_source_before_the_next(calibration: Calibration) -> None:
    """Measured, declared, one that runs, other worker counts, the authors."""
    stated = need(workers=2, nodesets=[STATED])
    assert vram(calibration, stated) == (6000, "stated")
    assert ram(calibration, stated) == (4000, "stated")
    calibration.record_run(need(workers=1, nodesets=[STATED]), peak(4500))
    assert vram(calibration, stated) == (9000, "scaled")
    running = {(stated.run_key, 2): Peak(vram_mb=7000.0)}
    assert vram(calibration, stated, running=running) == (7000, "running")
    declared = need(workers=2, nodesets=[STATED], marginal_vram_mb=5000.0)
    assert vram(calibration, declared, running=running) == (5000, "declared")
    calibration.record_run(stated, peak(8000))
    assert vram(calibration, declared, running=running) == (8000, "measured")


def played(**selectors: Any) -> Need:
    return need(workers=2, nodesets=[STATED], selection=selection_of(selectors))


def test_what_another_selection_took_counts_where_it_is_more_than_the_authors_say(
    calibration: Calibration,
) -> None:
    """A cheap task of a graph tells little of a dear one."""
    calibration.record_run(played(task_id="cheap"), peak(100, 150))
    assert ram(calibration, played(task_id="cheap")) == (150, "measured")
    assert ram(calibration, played(task_id="dear")) == (4000, "stated")
    assert vram(calibration, played(task_id="dear")) == (6000, "stated")
    calibration.record_run(played(task_id="cheap", frames="render"), peak(9000, 7000))
    assert ram(calibration, played(task_id="dear")) == (7000, "related")
    assert vram(calibration, played(task_id="dear")) == (9000, "related")
    assert ram(calibration, played(task_id="cheap")) == (150, "measured")
    assert ram(calibration, played()) == (7000, "measured"), "nothing chosen is what the file had before"


def test_a_selection_is_known_by_what_it_says() -> None:
    assert selection_of({}) == selection_of({}, [{}, {}]) == ""
    assert selection_of({"slip": 0.2, "task": "a"}) == selection_of({"task": "a", "slip": "0.2"})
    assert selection_of({"slip": 0.2}, [{"task": "a"}, {"task": "b"}, {"task": "a"}]) == selection_of(
        {}, [{"task": "b", "slip": 0.2}, {"task": "a", "slip": 0.2}]
    )
    assert selection_of({"task": "a"}) != selection_of({"task": "b"})
    assert selection_of({"a": "b, c"}) != selection_of({"a": "b", "c": ""})


@pytest.mark.parametrize(
    ("asked", "workers"),
    [
        ({}, 8),
        ({"episode_count": 3}, 3),
        ({"episode_count": 3, "repeats": 2}, 6),
        ({"episode_count": 100}, 8),
        ({"episode_indices": [5, 9]}, 2),
    ],
)
def test_workers_without_an_episode_take_nothing(asked: dict[str, Any], workers: int) -> None:
    spec = Spec(
        run_id="r",
        created_at="",
        eval=EvalRequest(graph_name="g", worker_count=8, **asked),
        needs=Needs(graph_hash="g"),
        graph={},
    )
    assert Need.of(spec).worker_count == workers


def test_no_gpu_that_was_declared_stays_none(calibration: Calibration) -> None:
    calibration.record_run(need(), peak())
    assert vram(calibration, need(marginal_vram_mb=0.0)) == (0, "declared")


def test_a_graph_without_environments_takes_nothing_of_a_card(calibration: Calibration) -> None:
    assert vram(calibration, need(nodesets=[shared("m")])) == (0, "assumed")


@pytest.mark.parametrize(
    ("known", "workers", "expected"),
    [
        ({4: 8000}, 4, (8000, "measured")),
        ({4: 8000, 8: 9000}, 4, (8000, "measured")),
        ({4: 8000}, 2, (8000, "scaled")),  # what more workers took is enough
        ({4: 8000, 8: 14000}, 5, (14000, "scaled")),
        ({4: 8000}, 6, (12000, "scaled")),
        ({2: 5000, 4: 8000}, 6, (11000, "scaled")),  # on the line through both
        ({2: 8000, 4: 5000}, 6, (5000, "scaled")),  # more workers never take less
    ],
)
def test_other_worker_counts(
    calibration: Calibration, known: dict[int, float], workers: int, expected: tuple[float, str]
) -> None:
    for count, mb in known.items():
        calibration.record_run(need(workers=count), peak(mb))
    assert vram(calibration, need(workers=workers)) == expected


def test_a_server_at_more_workers_grows_less_than_they_do(calibration: Calibration) -> None:
    asked = need(workers=4, nodesets=[shared("m")])
    calibration.record_server(shared("m"), 4, peak(10000))
    parts = estimate(asked, calibration).parts
    assert parts[1].vram == Figure(10000, MARGIN_MB + FIRST_MARGIN_SHARE * 10000, "measured")
    parts = estimate(asked, calibration, served=lambda key: 8).parts
    assert parts[1].vram is not None
    assert (parts[1].vram.mb, parts[1].vram.basis) == (12500, "scaled")
    alone = Figure(10000, MARGIN_MB + FIRST_MARGIN_SHARE * 10000, "scaled")
    assert server_estimate(shared("m"), calibration).run.vram == alone


def test_what_was_declared_covers_a_server_of_which_nothing_is_known(calibration: Calibration) -> None:
    asked = need(nodesets=[nodeset(), shared("m")], marginal_vram_mb=5000.0)
    run, server = estimate(asked, calibration).parts
    assert (run.vram, server.vram) == (Figure(5000, 0, "declared"), Figure(0, 0, "declared"))
    unknown = need(nodesets=[nodeset(expected_vram_mb=1), shared("m")])
    assert [part.vram is None for part in estimate(unknown, calibration).parts] == [False, True]


def test_margins_shrink_with_what_is_known(calibration: Calibration) -> None:
    for share in (FIRST_MARGIN_SHARE, FIRST_MARGIN_SHARE, MARGIN_SHARE):
        calibration.record_run(need(), peak(8000))
        figure = estimate(need(), calibration).run.vram
        assert figure is not None
        assert figure.margin_mb == MARGIN_MB + share * 8000
    assert estimate(need(), calibration).uncalibrated == []
    calibration.record_run(need("cpu"), peak(0))
    assert estimate(need("cpu"), calibration).run.vram == Figure(0, 0, "measured")


@pytest.mark.parametrize(
    "other",
    [
        need("another graph", 2),
        need("g", 3),
        need("g", 2, [nodeset(source="bb")]),
        need("g", 2, [nodeset(), nodeset("more")]),
    ],
    ids=["graph", "workers", "source", "nodesets"],
)
def test_only_the_same_run_is_measured(calibration: Calibration, other: Need) -> None:
    calibration.record_run(need("g", 2), peak(8000))
    assert vram(calibration, need("g", 2)) == (8000, "measured")
    found = vram(calibration, other)
    assert found is None or found[1] == "scaled"


def test_a_servers_new_source_is_another_server(calibration: Calibration) -> None:
    calibration.record_server(shared("m"), 1, peak(10000))
    assert server_estimate(shared("m", source="bb"), calibration).run.vram is None
    assert server_key(shared("m")) != server_key(shared("m", source="bb"))


def test_the_highest_of_the_last_runs_counts(calibration: Calibration) -> None:
    for mb in (9000, *[8000] * (KEPT_PEAKS - 1)):
        calibration.record_run(need(), peak(mb))
    assert vram(calibration, need()) == (9000, "measured")
    calibration.record_run(need(), peak(7000))
    assert vram(calibration, need()) == (8000, "measured")  # the one of 9000 is long ago


def test_what_was_not_seen_leaves_what_is_known(calibration: Calibration) -> None:
    calibration.record_run(need(), peak(8000, None))
    calibration.record_run(need(), peak(None, 4000))
    assert vram(calibration, need()) == (8000, "measured")
    assert ram(calibration, need()) == (4000, "measured")


def test_it_is_kept_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "system" / "c.json"
    Calibration(path).record_run(need(), peak(8000))
    again = Calibration(path)
    assert vram(again, need()) == (8000, "measured")
    assert estimate(need(), again).run.after_sec == 20


def test_an_unreadable_file_is_kept_aside_and_teaches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("{")
    calibration = Calibration(path)
    assert calibration.set_aside == tmp_path / "c.json.unreadable-1"
    assert vram(calibration, need()) is None
    calibration.record_run(need(), peak(8000))
    assert (tmp_path / "c.json.unreadable-1").read_text() == "{"
    assert vram(Calibration(path), need()) == (8000, "measured")


def test_what_cannot_be_written_is_remembered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    calibration = Calibration(tmp_path / "s" / "c.json")
    (tmp_path / "s").write_text("in the way")
    calibration.record_run(need(), peak(8000))
    assert vram(calibration, need()) == (8000, "measured")
    assert "was not written" in caplog.text


def test_the_file_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.scheduling.calibration.KEPT_ENTRIES", 3)
    assert KEPT_ENTRIES > 100
    calibration = Calibration(tmp_path / "c.json")
    for graph in "abc":
        calibration.record_run(need(graph), peak())
    calibration.record_run(need("a"), peak())
    calibration.record_run(need("d"), peak())
    assert [bool(calibration.of_run(need(graph))) for graph in "abcd"] == [True, False, True, True]
