from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.store.atomic import write_json
from engine.store.records import Progress, WorkerProgress
from tests.fakes.finished_runs import fake_row
from tests.tui.episode_folders import error_row, steps, write_episode, write_run
from tests.tui.log_lines import line, write_log
from tui.episode.headings import error_text, heading_lines
from tui.episode.inks import text_of
from tui.episode.places import Ending, PlaceError, failed_beside, place_at, place_in, read_ending


def _heading(folder: Path) -> list[str]:
    place = place_at(folder)
    return [text_of(line) for line in heading_lines(place, read_ending(place))]


def test_an_episode_is_found_by_its_folder_its_log_and_its_index(tmp_path: Path) -> None:
    run = write_run(tmp_path, [fake_row(0, metrics={"success": 1.0}), error_row(1)])
    folder = run.episodes / "ep0001"
    assert place_at(folder) == place_at(folder / "log.jsonl") == place_in(run, "1") == place_in(run, "ep0001")
    assert place_at(folder).target == f"{run.run_id}/ep0001"


def test_a_folder_that_was_sent_is_an_episode_without_a_run(tmp_path: Path) -> None:
    place = place_at(write_episode(tmp_path / "from Ana", fake_row(3), steps()))
    assert place.run is None
    assert place.name == "from Ana"
    with pytest.raises(PlaceError, match="lies alone"):
        failed_beside(place, read_ending(place), forward=True)


def test_a_log_of_any_name_can_be_looked_at(tmp_path: Path) -> None:
    place = place_at(write_log(tmp_path / "other.jsonl", [line(0, "env")]))
    assert place.name == "other.jsonl"
    assert read_ending(place) == Ending()


def test_what_is_no_episode_is_told(tmp_path: Path) -> None:
    run = write_run(tmp_path, [fake_row(0)])
    os.mkfifo(tmp_path / "pipe")
    for path, told in (
        (tmp_path / "nowhere", "is not there"),
        (tmp_path, "holds neither log.jsonl nor episode.json"),
        (run.path, "is a run: view one of its episodes: episodes/ep0000"),
        (tmp_path / "pipe", "is no file"),
    ):
        with pytest.raises(PlaceError, match=told):
            place_at(path)


def test_the_heading_tells_how_it_ended(tmp_path: Path) -> None:
    row = fake_row(3, metrics={"success": 0.0, "spl": None}, seed=7, instruction="go to the red door")
    assert _heading(write_episode(tmp_path / "ep0003", row, steps())) == [
        "ep0003   FAILED stopped   13 steps   0.5 s   seed 7   worker 0   toy_follow",
        "success 0.000   spl -   go to the red door",
    ]


def test_the_heading_tells_the_error(tmp_path: Path) -> None:
    lines = _heading(write_episode(tmp_path / "ep0004", error_row(4), None))
    assert lines[0].startswith("ep0004   ERROR node_error")
    assert lines[1:] == ["graph: env: ValueError: no such door", "no numbers   go to room 4"]


def test_an_error_is_copied_with_what_the_process_last_said(tmp_path: Path) -> None:
    row = error_row(1, "the host ended", failure={"cause": "signal SIGSEGV (11)", "stderr_tail": ["a", "b"]})
    place = place_at(write_episode(tmp_path / "ep0001", row, None))
    assert error_text(read_ending(place)) == "the host ended\nsignal SIGSEGV (11)\na\nb"


def test_a_broken_or_absent_end_is_told(tmp_path: Path) -> None:
    alone = write_episode(tmp_path / "ep0001", None, steps())
    assert "it never finished, or only its log was sent" in _heading(alone)[1]
    (alone / "episode.json").write_text("{")
    assert "episode.json cannot be read" in _heading(alone)[1]
    assert str(alone) not in _heading(alone)[1]


def test_an_episode_that_goes_on_tells_its_step(tmp_path: Path) -> None:
    run = write_run(tmp_path, [fake_row(0)])
    (run.episodes / "ep0001").mkdir()
    (run.episodes / "ep0001" / "log.jsonl").touch()
    assert "it never finished: its run is aborted" in _heading(run.episodes / "ep0001")[1]
    worker = WorkerProgress(worker_id=2, state="running", episode_index=1, step=12, budget=60, node="env")
    going = Ending(going=worker)
    told = [text_of(line) for line in heading_lines(place_in(run, "1"), going)]
    assert told[0] == "ep0001   RUNNING   step 12/60   worker 2   env"


def test_the_failed_ones_are_found_in_their_order(tmp_path: Path) -> None:
    good = {"metrics": {"success": 1.0}}
    rows = [fake_row(0, **good), error_row(1), fake_row(2, **good), error_row(3), fake_row(4, repeat=2)]
    run = write_run(tmp_path, rows)

    def beside(episode: str, forward: bool) -> str | None:
        place = place_in(run, episode)
        found = failed_beside(place, read_ending(place), forward=forward)
        return found.name if found else None

    assert beside("ep0000", True) == "ep0001"
    assert beside("ep0002", True) == "ep0003"
    assert beside("ep0003", True) == "ep0004_r2"
    assert beside("ep0004_r2", True) is None
    assert beside("ep0003", False) == "ep0001"
    assert beside("ep0001", False) is None


def test_the_run_of_an_unfinished_episode_is_asked_for_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path, [fake_row(0)])
    write_episode(run.episodes / "ep0001", None, [])
    worker = WorkerProgress(worker_id=0, state="running", episode_index=1, step=3)
    write_json(run.progress, Progress(run_id=run.run_id, updated_at="", workers=[worker]))

    class Running:
        status = "running"

    monkeypatch.setattr("tui.episode.places.view_run", lambda run: Running)
    assert read_ending(place_in(run, "1")).going == worker
