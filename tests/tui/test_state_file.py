from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.state_file import (
    LogPosition,
    TableState,
    UiState,
    View,
    load_state,
    save_state,
    state_folder,
    state_path,
)

FULL = UiState(
    views=(
        View(name="episodes", target="20260518_120000"),
        View(name="log", target="20260518_120000/ep0003"),
    ),
    tables={"episodes": TableState(filter="outcome:fail", sort=("-steps", "id"))},
    panes={"left": 34},
    marks={"runs": ("a", "b")},
    compare=("a", "b"),
    logs={"a/ep0003": LogPosition(attempt=2, offset=123456)},
    forms={"demo": {"workers": 4, "split": "val"}},
    theme="okabe",
    left_at="2026-05-18T12:00:00+00:00",
)


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "ui.json"
    assert save_state(path, FULL)
    assert load_state(path) == FULL
    assert [entry.name for entry in path.parent.iterdir()] == ["ui.json"]


def test_no_file_is_a_fresh_start(tmp_path: Path) -> None:
    assert load_state(tmp_path / "none.json") == UiState()


@given(st.binary(max_size=200))
def test_whatever_the_file_holds_the_screen_starts(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("state") / "ui.json"
    path.write_bytes(data)
    assert isinstance(load_state(path), UiState)


def test_one_bad_field_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "ui.json"
    save_state(path, FULL)
    fields = json.loads(path.read_text())
    path.write_text(json.dumps(fields | {"panes": {"left": "wide"}, "of_a_later_version": 1}))
    state = load_state(path)
    assert (state.panes, state.views, state.theme) == ({}, FULL.views, "okabe")


def test_a_disk_that_will_not_have_it_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not save_state(tmp_path / "file" / "ui.json", FULL)


def test_two_roots_have_two_files(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    one, other = (state_path(tmp_path / name, environ) for name in ("one", "other"))
    assert one != other
    assert one.parent == state_folder(environ) == tmp_path / "evaltower"


def test_a_relative_state_home_is_ignored_as_its_standard_says() -> None:
    assert state_folder({"XDG_STATE_HOME": "state"}).is_absolute()
