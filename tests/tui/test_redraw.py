"""A pane that has changed is drawn once, and stands there as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.fakes.control import FakeControl, fake_report, mixed_rows
from tests.tui.screen import centre, settled, text_of
from tui.drawing import Piece
from tui.panes.episodes import EpisodesPane


async def test_a_page_further_down_each_line_is_drawn_once() -> None:
    rows = mixed_rows(100)
    control = FakeControl(reports=[fake_report("20260518_120000", rows=rows)])
    control.rows = {"20260518_120000": rows}
    app = centre(control)
    drawn: Counter[int] = Counter()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("4", "pagedown")
        pane = app.home.pane
        assert isinstance(pane, EpisodesPane)
        line = pane.line

        def counted(y: int, width: int) -> Iterable[Piece]:
            drawn[y] += 1
            return line(y, width)

        pane.line = counted  # type: ignore[method-assign]
        await pilot.press("pagedown")
        await pilot.pause()
        assert set(drawn) == set(range(pane.content_size.height))
        assert max(drawn.values()) == 1
        assert f"go to room {pane.model.at}" in text_of(app)[-2]
        app.repaint()
        await pilot.pause()
        assert min(drawn.values()) == 2
        await pilot.press("M")
        await pilot.pause()
        colours = {
            segment.style.bgcolor for y in range(3) for segment in pane.render_line(y) if segment.style
        }
        assert [colour.name for colour in colours if colour] == ["#101010"]
