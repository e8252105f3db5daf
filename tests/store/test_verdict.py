"""The firing that says why an episode failed, from the end of its log alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.store import verdict
from engine.store.records import EpisodeRow
from engine.store.verdict import verdict_of
from tests.fakes.finished_runs import fake_row
from tests.tui.episode_folders import error_row
from tests.tui.log_lines import line, write_log

FAILED = fake_row(0, metrics={"success": 0.0})
MEASURED = [line(0, "policy"), line(1, "measure", outputs={"value": {"success": 0.0}}), line(1, "after")]


def test_without_words_the_measure_is_the_verdict(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", MEASURED)
    found = verdict_of(log, FAILED)
    assert found is not None
    assert found.text == "measure: success 0.000"
    assert log.read_bytes()[found.offset :].startswith(b'{"timestamp"')
    assert log.read_bytes()[: found.offset].count(b"\n") == 1


@pytest.mark.parametrize(
    "row",
    [
        error_row(0),
        fake_row(0, metrics={"success": 1.0}),
        fake_row(0, metrics={}),
        fake_row(0, metrics={"success": 0.25}),
    ],
)
def test_there_is_none_of_what_did_not_fail_so(tmp_path: Path, row: EpisodeRow) -> None:
    assert verdict_of(write_log(tmp_path / "log.jsonl", MEASURED), row) is None


def test_what_is_measured_in_every_step_counts_in_the_last(tmp_path: Path) -> None:
    lines = [line(step, "judge", outputs={"success": 0.0, "said": f"step {step}"}) for step in range(4)]
    found = verdict_of(write_log(tmp_path / "log.jsonl", lines), FAILED)
    assert found is not None
    assert found.text == "judge: step 3"


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*[line(step, "policy") for step in range(50)], *MEASURED]
    log = write_log(tmp_path / "log.jsonl", lines)
    monkeypatch.setattr(verdict, "TAIL_BYTES", 1500)
    found = verdict_of(log, FAILED)
    assert found is not None
    assert found.text == "measure: success 0.000"
    assert b'"node_id":"measure"' in log.read_bytes()[found.offset :].split(b"\n")[0]


def test_what_is_no_firing_says_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b'\x00\n[1]\n{"outputs": 3}\n{"outputs": {"success": 0.0')
    assert verdict_of(log, FAILED) is None
