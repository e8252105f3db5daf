"""When an image is drawn over its cells, and when it is taken away."""

from __future__ import annotations

import asyncio

from rich.style import Style
from textual.geometry import Region

from tui.changed_cells import Cell, Shown
from tui.images.graphic import Graphic
from tui.images.stage import MOST_WAITING_BYTES, Stage

WIDTH, HEIGHT = 20, 8
PAPER: Cell = (" ", Style(bgcolor="#101010"))


class Link:
    """A terminal that takes everything at once, unless ``room`` is False."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.room = True

    def send(self, data: str) -> None:
        self.sent.append(data)

    def waiting(self) -> int | None:
        return 0 if self.room else MOST_WAITING_BYTES

    def take(self) -> list[str]:
        sent, self.sent = self.sent, []
        return sent


class Screen:
    def __init__(self) -> None:
        self.shown, self.link = Shown(), Link()
        self.stage = Stage(self.shown, self.link)
        self.clear()

    def clear(self) -> None:
        self.shown.lines = {y: [PAPER] * WIDTH for y in range(HEIGHT)}

    async def draw(self, graphic: Graphic, x: int, y: int, *, covered: bool = False) -> list[str]:
        """Its cells there; what was sent then."""
        self.clear()
        for row, line in enumerate(graphic.lines()):
            self.shown.lines[y + row][x : x + graphic.columns] = [(" ", line[0].style)] * graphic.columns
        if covered:
            self.shown.lines[y][x] = PAPER
        return await self.wrote(Region(0, 0, WIDTH, HEIGHT))

    async def wrote(self, *regions: Region) -> list[str]:
        self.shown.written = list(regions)
        self.stage.update()
        return await self.rest()

    async def rest(self) -> list[str]:
        drawing = self.stage._drawing
        if drawing is not None and self.link.room:
            await asyncio.wait_for(drawing, 10)
        return self.link.take()


def graphic(number: int = 1, pieces: int = 2) -> Graphic:
    data = tuple(f"<data {number}.{piece}>" for piece in range(pieces))
    band = ((0, f"<put {number}>"),)
    more = {"erase": f"<erase {number}>", "free": f"<free {number}>", "abort": f"<abort {number}>"}
    return Graphic(number, 4, 3, band, data, **more)


def put(number: int, x: int, y: int) -> str:
    return f"\x1b7\x1b[{y + 1};{x + 1}H<put {number}>\x1b8"


async def test_it_is_sent_once_and_put_where_its_cells_stand() -> None:
    screen, one = Screen(), graphic()
    assert await screen.draw(one, 2, 1) == []
    screen.stage.add(one)
    assert await screen.draw(one, 2, 1) == ["<data 1.0>", "<data 1.1>", put(1, 2, 1)]
    assert await screen.wrote(Region(0, 7, WIDTH, 1)) == []
    assert await screen.draw(one, 3, 2) == ["<erase 1>", put(1, 3, 2)]


async def test_what_is_written_over_is_put_again() -> None:
    screen, one = Screen(), graphic()
    screen.stage.add(one)
    await screen.draw(one, 2, 1)
    assert await screen.wrote(Region(4, 2, 1, 1)) == [put(1, 2, 1)]


async def test_it_goes_when_a_cell_of_it_is_covered_and_comes_back() -> None:
    screen, one = Screen(), graphic()
    screen.stage.add(one)
    await screen.draw(one, 2, 1)
    assert await screen.draw(one, 2, 1, covered=True) == ["<erase 1>"]
    assert await screen.draw(one, 2, 1) == [put(1, 2, 1)]
    screen.clear()
    assert await screen.wrote(Region(0, 0, WIDTH, HEIGHT)) == ["<erase 1>"]


async def test_what_is_removed_is_freed_and_what_was_never_sent_is_not() -> None:
    screen, one, two = Screen(), graphic(1), graphic(2)
    for each in (one, two):
        screen.stage.add(each)
    await screen.draw(one, 2, 1)
    screen.stage.remove(two)
    assert screen.link.take() == []
    screen.stage.remove(one)
    screen.stage.remove(one)
    assert screen.link.take() == ["<free 1>"]
    assert await screen.draw(one, 2, 1) == []


async def test_after_lost_frames_everything_is_sent_anew() -> None:
    screen, one = Screen(), graphic()
    screen.stage.add(one)
    await screen.draw(one, 2, 1)
    screen.stage.forget()
    assert await screen.draw(one, 2, 1) == ["<free 1>", "<data 1.0>", "<data 1.1>", put(1, 2, 1)]


async def test_a_full_terminal_is_waited_for_and_what_became_stale_is_not_put() -> None:
    screen, one = Screen(), graphic()
    screen.stage.add(one)
    screen.link.room = False
    assert await screen.draw(one, 2, 1) == []
    screen.stage.remove(one)
    screen.link.room = True
    assert await screen.rest() == []


async def test_no_command_stands_between_the_pieces_of_another() -> None:
    screen, one, two = Screen(), graphic(1), graphic(2, pieces=1)
    screen.stage.add(two)
    await screen.draw(two, 9, 1)
    screen.stage.add(one)
    send = screen.link.send

    def close_after_first(data: str) -> None:
        send(data)
        screen.link.room = data != "<data 1.0>"

    screen.link.send = close_after_first  # type: ignore[method-assign]
    screen.shown.lines[1][2:6] = screen.shown.lines[2][2:6] = screen.shown.lines[3][2:6] = [
        (" ", one.lines()[0][0].style)
    ] * 4
    screen.shown.written = [Region(2, 1, 4, 3)]
    screen.stage.update()
    while not screen.link.sent:
        await asyncio.sleep(0)
    assert screen.link.take() == ["<data 1.0>"]
    screen.link.send = send  # type: ignore[method-assign]
    screen.shown.lines[1][9], screen.shown.written = PAPER, [Region(9, 1, 1, 1)]
    screen.stage.update()
    screen.link.room = True
    assert await screen.rest() == ["<abort 1>", "<erase 2>", "<data 1.0>", "<data 1.1>", put(1, 2, 1)]
