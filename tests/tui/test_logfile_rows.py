from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.store.assets import assets_of
from tests.tui.log_lines import encode, line, write_log
from tui.logfile.heads import head_of_edges, read_head
from tui.logfile.index import LogIndex
from tui.logfile.rows import MAX_ERROR_CHARACTERS, RowReader


def _reader(path: Path, *lines: dict) -> RowReader:
    index = LogIndex(write_log(path, lines))
    index.extend()
    return RowReader(index, rows=2, records=2)


def test_a_row_has_what_the_list_shows(tmp_path: Path) -> None:
    row = _reader(tmp_path / "log.jsonl", line(3, "env", parent_node_id="fan", dynamic_index=2)).row(0)
    head = row.head
    assert (head.step, head.node_id, head.node_label, head.node_type) == (3, "env", "Env", "env_x__env")
    assert (head.duration_ms, head.queue_wait_ms, head.compute_ms, head.transport_ms) == (
        1.5,
        0.25,
        1.0,
        0.25,
    )
    assert (head.parent_node_id, head.dynamic_index, row.error) == ("fan", 2, "")


def test_the_error_of_a_row_is_one_harmless_line(tmp_path: Path) -> None:
    trace = (
        'Traceback (most recent call last):\n  File "x"\n' + "  more\n" * 1000 + "ValueError: \x1b[31mbad\n"
    )
    reader = _reader(tmp_path / "l", line(0, "a", error=trace), line(1, "a", error="e" * 10_000 + "\n"))
    assert reader.row(0).error == "ValueError: ␛[31mbad"
    assert reader.row(1).error == "e" * MAX_ERROR_CHARACTERS


def test_a_record_is_the_whole_line(tmp_path: Path) -> None:
    reader = _reader(tmp_path / "log.jsonl", *(line(n, "a") for n in range(5)))
    assert [reader.record(n).fields for n in (4, 0, 4, 2)] == [line(n, "a") for n in (4, 0, 4, 2)]
    assert reader.raw(1) + b"\n" == encode(line(1, "a"))


def test_a_line_that_is_not_json_is_shown_as_text(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"step": 1, "oops\xff\n[1]\n\n')
    index = LogIndex(path)
    index.extend()
    reader = RowReader(index)
    assert [reader.row(n).error for n in range(3)] == [reader.record(n).problem for n in range(3)]
    assert reader.record(0).text == '{"step": 1, "oops\ufffd'
    assert reader.record(1).problem == "not a JSON object"
    assert list(index.errors) == [0, 1, 2]


def test_another_writer_s_types_are_taken_as_far_as_they_go() -> None:
    head = read_head(
        b'{"step": "7", "node_id": 3, "duration_ms": 4, "error": {"type": "X"}, "timestamp": null}'
    )
    assert (head.step, head.duration_ms, head.error, head.timestamp) == (7, 4.0, '{"type":"X"}', "")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_break_the_reading_of_a_head(start: bytes, end: bytes) -> None:
    head_of_edges(start, end)
    read_head(start)


def test_values_inside_the_payload_are_not_taken_for_the_line_s_own() -> None:
    text = encode(
        line(5, "env", inputs={"node_id": "fake", "step": 99}, outputs={"error": "no", "x": "y" * 99})
    )
    head = head_of_edges(text[:400], text[-80:])
    assert (head.step, head.node_id, head.error) == (5, "env", None)


def test_assets_are_found_at_any_depth_and_only_inside_the_folder(tmp_path: Path) -> None:
    image = {"$asset": "assets/3_env_rgb.png", "shape": [4, 5, 3], "dtype": "uint8"}
    outside = [{"$asset": name} for name in ("../secret.png", "/etc/passwd", "assets/../../x", "a\0b", 7)]
    found = assets_of({"inputs": {"views": [image, *outside]}, "outputs": {"deep": {"rgb": image}}}, tmp_path)
    assert [asset.port for asset in found] == ["outputs.deep.rgb", "inputs.views.0"]
    assert found[0].path == tmp_path.resolve() / "assets/3_env_rgb.png"
    assert found[0].is_image
    assert (found[0].shape, found[0].dtype) == ((4, 5, 3), "uint8")


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "episode" / "assets").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(b"x")
    (tmp_path / "episode" / "assets" / "a.png").symlink_to(tmp_path / "secret.png")
    assert assets_of({"outputs": {"x": {"$asset": "assets/a.png"}}}, tmp_path / "episode") == []
