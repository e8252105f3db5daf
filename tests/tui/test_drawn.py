"""What a pane that is drawn as a whole sends of itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.widgets.drawn import APART, changed_regions

STYLES = (Style(), Style(bold=True))
segments = st.lists(st.tuples(st.text("ab日 ", max_size=6), st.sampled_from(STYLES)), max_size=6)


def strip(parts: list[tuple[str, Style]], width: int = 80) -> Strip:
    return Strip([Segment(text, style) for text, style in parts]).adjust_cell_length(width, Style())


@given(segments, segments)
def test_the_old_line_with_the_changed_cells_is_the_new_line(
    old: list[tuple[str, Style]], new: list[tuple[str, Style]]
) -> None:
    before, after = strip(old), strip(new)
    patched = before
    for region in changed_regions(3, before, after):
        assert region.y == 3
        left, _, right = patched.divide([region.x, region.right, 80])
        patched = Strip([*left, *after.crop(region.x, region.right), *right])
    assert patched.text == after.text


def test_what_is_near_goes_together_and_what_is_far_does_not() -> None:
    before = strip([("x" * 80, Style())])
    near = strip([("ax" + "a" + "x" * 77, Style())])
    far = strip([("a" + "x" * (APART + 1) + "a" + "x" * 69, Style())])
    assert [(region.x, region.width) for region in changed_regions(0, before, near)] == [(0, 3)]
    assert [(region.x, region.width) for region in changed_regions(0, before, far)] == [
        (0, 1),
        (APART + 2, 1),
    ]
    assert changed_regions(0, before, before) == []


def test_another_style_alone_is_a_change() -> None:
    assert changed_regions(0, strip([("ab", Style())]), strip([("ab", Style(bold=True))]))[0].width == 2
