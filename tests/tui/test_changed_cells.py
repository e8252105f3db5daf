"""What is sent of an update: less than all, and the terminal shows the same as if it had been all."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from tui.changed_cells import APART, Shown, cells_of

WIDTH, HEIGHT, CUT = 40, 3, 17
STYLES = (Style(), Style(bold=True), Style(color="#4fae6a", bgcolor="#11161d"), Style(reverse=True, dim=True))
pieces = st.lists(st.tuples(st.text("ab█日 ", max_size=7), st.sampled_from(STYLES)), max_size=7)
lines = st.lists(pieces, min_size=HEIGHT, max_size=HEIGHT)


def console() -> Console:
    return Console(file=StringIO(), force_terminal=True, color_system="truecolor")


def strip(parts: list[tuple[str, Style]], width: int) -> Strip:
    return Strip([Segment(text, style) for text, style in parts]).adjust_cell_length(width, Style())


def screen_of(parts: list[list[tuple[str, Style]]]) -> list[tuple[Strip, Strip]]:
    """Each line as the left and the right widget draw it."""
    return [(strip(line, CUT), strip(list(reversed(line)), WIDTH - CUT)) for line in parts]


def whole(screen: list[tuple[Strip, Strip]]) -> LayoutUpdate:
    return LayoutUpdate([list(line) for line in screen], Region(0, 0, WIDTH, HEIGHT))


def part(screen: list[tuple[Strip, Strip]], spans: list[tuple[int, int, int]]) -> ChopsUpdate:
    chops = [{0: left, CUT: right} for left, right in screen]
    return ChopsUpdate(chops, spans, [[CUT, WIDTH]] * HEIGHT)


class Terminal:
    def __init__(self) -> None:
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.Stream(self.screen)

    def take(self, text: str) -> None:
        self._stream.feed(text)

    @property
    def cells(self) -> Any:
        return [[self.screen.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]


@given(lines, st.lists(lines, max_size=4))
def test_the_terminal_shows_the_newest_screen(first: Any, others: list[Any]) -> None:
    shown, sent, direct = Shown(), Terminal(), Terminal()
    sent.take(shown.render(whole(screen_of(first)), console()))
    for each in others:
        spans = [(y, 0, WIDTH) for y in range(HEIGHT)]
        sent.take(shown.render(part(screen_of(each), spans), console()))
    direct.take(whole(screen_of([first, *others][-1])).render_segments(console()))
    assert sent.cells == direct.cells


@given(lines, lines, st.integers(0, WIDTH - 1), st.integers(1, WIDTH))
def test_only_what_is_in_a_span_is_taken_over(before: Any, after: Any, left: int, width: int) -> None:
    shown, sent = Shown(), Terminal()
    sent.take(shown.render(whole(screen_of(before)), console()))
    old = sent.cells
    sent.take(shown.render(part(screen_of(after), [(1, left, min(WIDTH, left + width))]), console()))
    assert sent.cells[0] == old[0]
    assert sent.cells[2] == old[2]
    sent.take(shown.render(part(screen_of(after), [(y, 0, WIDTH) for y in range(HEIGHT)]), console()))
    direct = Terminal()
    direct.take(whole(screen_of(after)).render_segments(console()))
    assert sent.cells == direct.cells


def line(text: str) -> list[list[tuple[str, Style]]]:
    return [[(text, STYLES[2])], [], []]


def update(shown: Shown, text: str) -> str:
    return shown.render(part(screen_of(line(text)), [(0, 0, CUT)]), console())


def test_what_stands_there_is_not_sent_again() -> None:
    shown = Shown()
    shown.render(whole(screen_of(line("abc"))), console())
    assert update(shown, "abc") == ""
    changed = update(shown, "abd")
    assert changed.startswith("\x1b[1;3H")
    assert "d" in changed
    assert "a" not in changed


def test_cells_that_are_near_go_together_and_others_do_not() -> None:
    for between, moves in ((APART - 1, 1), (APART, 2)):
        shown = Shown()
        shown.render(whole(screen_of(line("x" * CUT))), console())
        changed = "a" + "x" * between + "a"
        assert update(shown, changed + "x" * (CUT - len(changed))).count("H") == moves


def test_a_style_is_told_once_where_it_stays() -> None:
    shown = Shown()
    shown.render(whole(screen_of([[], [], []])), console())
    sent = update(shown, "abcdef")
    assert sent.count("\x1b[38;2;79;174;106") == 1
    assert sent.endswith("\x1b[0m")


def test_what_is_forgotten_is_sent_again() -> None:
    shown = Shown()
    shown.render(whole(screen_of(line("abc"))), console())
    shown.forget()
    assert "abc" in update(shown, "abc")


def test_marks_lie_on_their_letter_and_a_wide_one_has_two_cells() -> None:
    assert cells_of([Segment("e\u0301日")]) == [("e\u0301", None), ("日", None), ("", None)]
