from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from engine.text import visible
from tests.tui.log_lines import line
from tui.episode.differences import difference_lines
from tui.episode.inks import inked, text_of, wrapped
from tui.episode.times import Shares, cells_of, duration_text, share_text, shares_of
from tui.episode.values import LONGEST_TEXT, brief, brief_ports, chip_of, in_short, value_lines
from tui.logfile.heads import Head

IMAGE = {"$asset": "assets/3_env_rgb.png", "shape": [64, 48, 3], "dtype": "uint8"}
ARRAY = {"$array": {"shape": [6, 27], "dtype": "float32", "min": 0.0, "max": 1.0, "mean": 0.25}}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=30,
)


def _told(name: str, value: Any, **more: Any) -> list[str]:
    return [text_of(line) for line in value_lines(name, value, **more)]


def test_images_and_arrays_are_told_by_what_they_are() -> None:
    assert chip_of(IMAGE) == "<image 48×64 uint8 assets/3_env_rgb.png>"
    assert chip_of(ARRAY) == "<array 6×27 float32 min 0 max 1 mean 0.25>"
    assert chip_of({"$asset": "assets/big.npz"}) == "<file assets/big.npz>"
    assert chip_of({"position": [1]}) == ""


def test_what_is_short_stands_in_one_line() -> None:
    assert _told("pose", {"position": [1, 2.5], "ok": True, "left": None}) == [
        "pose  {position: [1, 2.5], ok: true, left: null}"
    ]


def test_what_is_long_has_a_line_for_each_member() -> None:
    told = _told("info", {"first": "x" * 50, "second": ["y" * 50, 2]})
    assert told[0] == "info  2 keys"
    assert told[1].startswith('  first  "xxx')
    assert told[2] == f'  second  ["{"y" * 50}", 2]'


def test_a_text_of_several_lines_reads_as_it_is() -> None:
    assert _told("prompt", "one\r\ntwo\tx") == ["prompt  2 lines", "  one", "  two x"]


def test_a_long_text_is_cut_and_says_so_unless_all_is_wanted() -> None:
    text = "a b" * LONGEST_TEXT
    assert _told("t", text)[-1].strip() == f"… {2 * LONGEST_TEXT} more characters: enter shows all"
    assert len(_told("t", text, whole=True)) == 1


def test_encoded_text_is_told_by_its_size() -> None:
    assert _told("image", "data:image/png;base64," + "A" * 50_000) == [
        "image  <image/png in the text, 50 kB>"
    ]
    assert _told("blob", "QUJD" * 5000) == ["blob  <encoded, 20 kB: enter shows all>"]


def test_a_value_of_any_depth_is_shown() -> None:
    deep: Any = "bottom" * 20
    for _ in range(200):
        deep = [deep]
    assert len(_told("deep", deep)) < 40


@given(json_values)
def test_any_value_has_lines(value: Any) -> None:
    assert _told("v", value)
    assert len(brief(value, 30)) <= 60


@given(json_values, st.integers(0, 60))
def test_what_is_said_in_short_fits(value: Any, room: int) -> None:
    short = in_short(value, room)
    assert short is None or len(short) <= room or chip_of(value)


def test_rows_tell_texts_and_numbers_first() -> None:
    told = brief_ports({"rgb": IMAGE, "hidden": ARRAY, "action": "left", "reward": 0.5}, 80)
    assert told == 'action="left" reward=0.5 rgb=<image 48×64> hidden=<array 6×27>'


@given(st.text(max_size=200), st.integers(8, 40))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = list(wrapped([inked(text)], width))
    assert all(cell_len(text_of(line)) <= width for line in lines)
    shown = "".join(text_of(line) for line in lines)
    assert shown.replace(" ", "") == visible(text).replace(" ", "")


def test_words_are_kept_whole_and_what_goes_on_is_indented() -> None:
    lines = [text_of(line) for line in wrapped([inked("  walk to the red chair in the bedroom")], 20)]
    assert lines == ["  walk to the red ", "    chair in the ", "    bedroom"]


def test_a_bar_adds_up_and_leaves_nothing_noticeable_out() -> None:
    assert cells_of(Shares(3.0, 1.4, 8.5, 0.0), 10) == (2, 1, 7, 0)
    assert cells_of(Shares(0.0, 0.4, 99.0, 0.0), 10) == (0, 0, 10, 0)
    assert cells_of(Shares(0.0, 0.0, 0.0, 0.01), 10) == (0, 0, 0, 0)


@given(st.tuples(*[st.floats(0, 1e6)] * 4))
def test_every_bar_is_whole_or_absent(parts: tuple[float, float, float, float]) -> None:
    assert sum(cells_of(Shares(*parts), 10)) in (0, 10)


def test_times_are_told_in_words() -> None:
    head = Head(duration_ms=12.9, queue_wait_ms=3.0, compute_ms=1.4, transport_ms=8.5, transfer_bytes=32_497)
    assert share_text(head) == "12.9 ms: queue 3.0, compute 1.4, transport 8.5 (32 kB moved)"
    assert share_text(Head(duration_ms=float("nan"))) == "? ms"
    assert duration_text(1204.4) == "1,204"
    assert shares_of(Head(duration_ms=10.0, compute_ms=-5.0, queue_wait_ms=float("inf"))).other == 10.0


def _difference(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [text_of(line) for line in difference_lines(before, now)]


def test_a_difference_names_each_value_that_changed() -> None:
    before = line(
        1, "env", outputs={"pose": {"position": [0, 1.0]}, "left": 1, "done": False}, inputs={"a": "x"}
    )
    now = line(
        2, "env", outputs={"pose": {"position": [0, 1.5]}, "right": 2, "done": False}, inputs={"a": "x"}
    )
    assert _difference(before, now) == [
        "3 values changed, 3 the same",
        "",
        "~ outputs.pose.position[1]  1 → 1.5  (+0.5)",
        "+ outputs.right  2",
        "- outputs.left  1",
    ]


def test_one_digest_is_one_value_whatever_the_file_is_called() -> None:
    before = line(1, "env", outputs={"rgb": IMAGE}, output_digests={"rgb": "d"}, inputs={})
    now = line(
        2, "env", outputs={"rgb": {**IMAGE, "$asset": "assets/4.png"}}, output_digests={"rgb": "d"}, inputs={}
    )
    assert _difference(before, now)[0] == "0 values changed, 1 the same"


def test_long_texts_are_compared_by_their_lines() -> None:
    before = line(1, "env", outputs={"plan": "turn left\n" + "go\n" * 30 + "stop"}, inputs={})
    now = line(2, "env", outputs={"plan": "turn right\n" + "go\n" * 30 + "stop"}, inputs={})
    assert _difference(before, now)[2:6] == ["~ outputs.plan", "  …", "  - turn left", "  + turn right"]


def test_true_is_not_one() -> None:
    before, now = line(1, "e", outputs={"x": True}, inputs={}), line(2, "e", outputs={"x": 1}, inputs={})
    assert _difference(before, now)[2] == "~ outputs.x  true → 1"


@given(json_values, json_values)
def test_any_two_values_can_be_compared(a: Any, b: Any) -> None:
    same = json.loads(json.dumps(a))
    assert _difference({"outputs": {"v": a}}, {"outputs": {"v": same}})[0].startswith("0 values changed")
    assert _difference({"outputs": {"v": a}}, {"outputs": {"v": b}})
