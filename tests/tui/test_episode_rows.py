from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.episode_folders import ERROR, hostile_lines, steps, write_episode, write_frames
from tests.tui.log_lines import encode, line, write_log
from tui.episode.details import AT_ONCE_BYTES, Detail, DetailReader, Wanted
from tui.episode.inks import text_of
from tui.episode.rows import LogRows, parse
from tui.filtering import FilterError
from tui.logfile.index import LogIndex
from tui.logfile.rows import MAX_RECORD_BYTES


def _rows(path: Path, lines: list[dict[str, object]]) -> LogRows:
    index = LogIndex(write_log(path / "log.jsonl", lines))
    index.extend()
    return LogRows(index)


def _numbers(rows: LogRows) -> list[int]:
    return [rows.number(place) for place in range(len(rows))]


def test_a_filter_hides_rows_and_the_cursor_goes_to_the_nearest(tmp_path: Path) -> None:
    rows = _rows(tmp_path, steps(4, error_at=2))
    rows.go_to(3)
    rows.set_filter(parse("node:env"))
    assert _numbers(rows) == [2, 5, 8, 11]
    assert (rows.at, rows.place) == (5, 1)
    rows.set_errors_only(True)
    assert _numbers(rows) == [8]
    rows.set_filter(None)
    rows.set_errors_only(False)
    assert len(rows) == 12
    assert rows.at == 8


def test_jumps_pass_over_what_is_hidden(tmp_path: Path) -> None:
    lines = [line(step, node, error="x" if step % 2 else None) for step in range(6) for node in ("a", "b")]
    rows = _rows(tmp_path, lines)
    rows.set_filter(parse("node:b"))
    assert rows.jump(rows.index.next_error)
    assert rows.at == 3
    assert rows.jump(rows.index.next_error)
    assert rows.at == 7
    assert rows.jump(rows.index.previous_error)
    assert rows.at == 3
    assert not rows.jump(rows.index.previous_error)


def test_steps_are_gone_through_from_wherever_the_cursor_is(tmp_path: Path) -> None:
    rows = _rows(tmp_path, steps(3))
    rows.go_to(4)
    assert rows.jump_step(forward=False)
    assert rows.at == 3
    assert rows.jump_step(forward=False)
    assert rows.at == 0
    assert not rows.jump_step(forward=False)
    assert rows.jump_step(forward=True)
    assert rows.at == 3


def test_matches_are_counted_among_what_is_shown_and_go_round(tmp_path: Path) -> None:
    rows = _rows(tmp_path, steps(4))
    rows.found((1, 2, 4, 7))
    rows.found((10,))
    assert rows.jump_to_match(forward=True)
    assert rows.at == 1
    assert rows.jump_to_match(forward=False)
    assert (rows.at, rows.match_place()) == (10, 5)
    rows.set_filter(parse("node:agent"))
    assert list(rows.hits) == [1, 4, 7, 10]
    assert rows.jump_to_match(forward=True)
    assert rows.at == 1
    rows.set_filter(None)
    rows.set_only_matches(True)
    assert _numbers(rows) == [1, 2, 4, 7, 10]
    rows.forget_matches(keep=False)
    assert len(rows) == 12
    assert not rows.jump_to_match(forward=True)


def test_new_rows_are_filtered_too(tmp_path: Path) -> None:
    rows = _rows(tmp_path, steps(2))
    rows.set_filter(parse("node:env"))
    with open(tmp_path / "log.jsonl", "ab") as file:
        file.write(encode(line(2, "env")) + encode(line(2, "agent")))
    rows.index.extend()
    rows.grown()
    assert _numbers(rows) == [2, 5, 6]


@given(st.integers(0, 40), st.sets(st.integers(0, 23)), st.booleans())
def test_the_cursor_is_always_on_a_row_that_is_shown(
    tmp_path_factory: pytest.TempPathFactory, at: int, found: set[int], filtered: bool
) -> None:
    rows = _rows(tmp_path_factory.mktemp("log"), steps(8))
    rows.move_to(at)
    rows.found(sorted(found))
    rows.set_filter(parse("node:env") if filtered else None)
    rows.set_only_matches(bool(found))
    if len(rows):
        assert rows.number(rows.place) == rows.at
    rows.index.close()


def test_what_cannot_be_understood_is_said() -> None:
    with pytest.raises(FilterError, match="step:x"):
        parse("step:x")
    with pytest.raises(FilterError, match="not a regex"):
        parse("/(/")


def _detail(folder: Path, wanted: Wanted) -> tuple[Detail, list[str]]:
    index = LogIndex(folder / "log.jsonl")
    index.extend()
    detail = DetailReader(index, folder).detail(wanted)
    index.close()
    return detail, [text_of(line) for line in detail.lines]


def test_a_firing_is_told_error_first(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0000", None, steps(4, error_at=2))
    detail, lines = _detail(folder, Wanted(8, 80))
    assert detail.title == "row 9  step 2  env"
    assert lines[0] == "env  Env  env_x__env"
    assert lines[3] == "ValueError: no such door"
    assert lines[5:8] == ERROR.split("\n")
    assert lines[9:11] == ["outputs", "  none"]


def test_inputs_outputs_and_the_inner_log_are_shown(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0000", None, steps(4), frames=4)
    detail, lines = _detail(folder, Wanted(5, 80))
    assert "  rgb  <image 8×8 uint8 assets/1_env_rgb.png>" in lines
    assert "  pose  {position: [1, 0, 1.5]}" in lines
    assert lines[lines.index("inner log") + 1] == '  warning  "stuck"'
    assert [asset.path.name for asset in detail.images] == ["1_env_rgb.png"]
    assert detail.borrowed == ""


def test_a_firing_without_an_image_has_its_steps(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0000", None, steps(4), frames=4)
    detail, _ = _detail(folder, Wanted(6, 80))
    assert [asset.path.name for asset in detail.images] == ["1_env_rgb.png"]
    assert detail.borrowed == "step 1, env"
    first, _ = _detail(folder, Wanted(0, 80))
    assert first.borrowed == "step 0, agent"


def test_what_changed_is_told_against_the_step_before(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0000", None, steps(4))
    _, lines = _detail(folder, Wanted(4, 80, changes=True))
    assert "against step 0, row 2" in lines
    assert '~ outputs.action  "left" → "forward"' in lines
    assert "~ outputs.confidence  0 → 0.125  (+0.125)" in lines
    _, lines = _detail(folder, Wanted(1, 80, changes=True))
    assert "nothing to compare with" in lines[-1]


def test_a_long_line_is_cut_and_shown_whole_when_asked(tmp_path: Path) -> None:
    big = line(0, "env", outputs={"text": "word " * 100_000})
    folder = write_episode(tmp_path / "ep0000", None, [big])
    detail, lines = _detail(folder, Wanted(0, 80))
    assert detail.cut
    assert "500 kB in one line: enter shows all" in lines
    detail, lines = _detail(folder, Wanted(0, 80, whole=True))
    assert not detail.cut
    assert len(lines) > 6000


def test_a_line_that_nobody_can_read_is_told_by_its_edges(tmp_path: Path) -> None:
    huge = line(0, "env", outputs={"text": "x" * (MAX_RECORD_BYTES + AT_ONCE_BYTES)}, error="too much")
    folder = write_episode(tmp_path / "ep0000", None, [huge])
    detail, lines = _detail(folder, Wanted(0, 80, whole=True))
    assert lines[0].startswith("env")
    assert "too much" in lines
    assert any("too many to show: o opens the log in the editor" in line for line in lines)
    assert len(detail.lines) < 100


def test_a_line_that_is_no_json_is_shown_as_it_is(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0000", None, [], torn=b"{oops\n")
    _, lines = _detail(folder, Wanted(0, 80))
    assert any(line.startswith("not JSON") for line in lines)
    assert lines[-1] == "{oops"


def test_nothing_in_a_firing_steers_a_terminal(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0000", None, hostile_lines())
    write_frames(folder, 1)
    for changes in (False, True):
        for number in range(3):
            _, lines = _detail(folder, Wanted(number, 30, whole=True, changes=changes))
            assert not set("".join(lines)) & set("\x1b\x07\x9b\u202e\n\r\t")
