from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.arrangement import ZOOMS, Wish, arrange

PANES = [
    Wish("runs", "left", 5),
    Wish("queue", "left", 2),
    Wish("workers", "right", 3, lines=4),
    Wish("episodes", "right", 5),
    Wish("metrics", "right", 3),
    Wish("gpus", "left", 3, lines=5),
]


def test_a_small_terminal_shows_one_pane_below_its_tabs() -> None:
    found = arrange(80, 22, PANES, "queue", "normal")
    assert set(found.boxes) == {"queue"}
    assert found.tabs
    assert not found.framed
    assert found.boxes["queue"].y == 1


def test_a_tiny_one_shows_a_single_list() -> None:
    found = arrange(50, 10, PANES, "runs", "normal")
    assert not found.tabs
    assert found.boxes["runs"].height == 10


def test_a_large_one_shows_all_and_gives_no_more_than_is_wanted() -> None:
    found = arrange(160, 43, PANES, "runs", "normal")
    assert set(found.boxes) == {wish.name for wish in PANES}
    assert found.boxes["workers"].height == 6
    assert found.boxes["episodes"].height > found.boxes["metrics"].height


def test_half_gives_a_pane_its_column_and_full_the_screen() -> None:
    half = arrange(160, 43, PANES, "episodes", "half")
    assert set(half.boxes) == {"runs", "queue", "gpus", "episodes"}
    assert half.boxes["episodes"].height == 43
    full = arrange(160, 43, PANES, "episodes", "full")
    assert (full.boxes["episodes"].width, full.boxes["episodes"].height) == (160, 43)


@given(
    st.integers(10, 300),
    st.integers(1, 120),
    st.lists(st.sampled_from(PANES), min_size=1, unique_by=lambda wish: wish.name),
    st.sampled_from(ZOOMS),
)
def test_no_two_panes_overlap_and_none_leaves_the_screen(
    width: int, height: int, panes: list[Wish], zoom: str
) -> None:
    active = panes[0].name
    found = arrange(width, height, panes, active, zoom)  # type: ignore[arg-type]
    assert active in found.boxes
    taken: set[tuple[int, int]] = set()
    for box in found.boxes.values():
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= width
        assert box.y + box.height <= max(height, 1)
        cells = {(x, y) for x in (box.x, box.x + box.width - 1) for y in range(box.y, box.y + box.height)}
        assert not cells & taken
        taken |= cells
