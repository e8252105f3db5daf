"""A screen under test: until it is told everything, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

from tests.fakes.clock import FakeClock
from tests.fakes.control import FakeControl, busy_control
from tui.app import ControlCentre

DEADLINE_SEC = 20.0


def centre(control: FakeControl | None = None, **options: Any) -> ControlCentre:
    """The app over ``control``, at a clock that stands still."""
    return ControlCentre(control or busy_control(), **({"clock": FakeClock()} | options))  # type: ignore[arg-type]


async def until(pilot: Pilot[Any], true: Callable[[], Any]) -> None:
    """Until ``true()``; fails after DEADLINE_SEC."""
    async with asyncio.timeout(DEADLINE_SEC):
        while not true():
            await pilot.pause()
            await asyncio.sleep(0.005)
    await pilot.pause()


async def settled(pilot: Pilot[Any]) -> None:
    """Until the first look is through, the selected run's numbers included."""
    app = pilot.app
    assert isinstance(app, ControlCentre)

    def told() -> bool:
        seen = app.snapshot
        detail = seen.run
        counted = detail is None or (detail.loaded and (detail.results is not None or not detail.rows))
        return (
            seen.listed and seen.resources is not None and counted and (detail is not None or not seen.runs)
        )

    await until(pilot, told)


def text_of(app: ControlCentre) -> list[str]:
    """The lines of the screen on top."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


async def until_seen(pilot: Pilot[Any], text: str) -> None:
    """Until it stands in a line of the screen on top."""
    app = pilot.app
    assert isinstance(app, ControlCentre)
    await until(pilot, lambda: any(text in line for line in text_of(app)))
