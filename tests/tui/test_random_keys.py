"""Keys at random, in bursts: whatever is typed, the screen stays one that takes keys."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fakes.control import busy_control
from tests.tui.screen import centre, settled, text_of, until
from tests.tui.test_typing import burst
from tui.actions import ACTIONS
from tui.keymap import textual_key

LEAVES = {"q", "ctrl+c", "o"}
"""They end the screen, or give the terminal away."""

KEYS = sorted({textual_key(key) for action in ACTIONS for key in action.keys if key not in LEAVES})
LIKELY = ["enter", "escape", "y", "n", "x", "i", "s", "colon", "question_mark", "slash", "space"]
BURSTS = 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_no_keys_leave_a_screen_that_takes_none(seed: int, tmp_path: Path) -> None:
    app = centre(busy_control(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        chance = random.Random(seed)
        for _ in range(BURSTS):
            keys = chance.choices([*KEYS, *LIKELY * 4], k=chance.randint(1, 8))
            await burst(app, keys, chance.randint(0, 8))
            await pilot.pause()
            assert (app.depth >= 1, app.is_running) == (True, True), keys
        await until(pilot, lambda: app.is_running and "evaltower" in text_of(app)[0])
        for _ in range(9):
            await pilot.press("escape")
        await pilot.press("1", "escape", "g", "j")
        assert app.screen is app.home
        assert app.home.runs.model.at == 1
