"""Where a simulator is not installed, its nodeset says what to install, in one line."""

from __future__ import annotations

import sys

import pytest

from tests.simulators.player import Player


@pytest.mark.parametrize(
    ("nodeset", "library", "variable"),
    [
        ("env_metaworld", "metaworld", "EVALTOWER_METAWORLD_PYTHON"),
        ("env_textgame", "textworld", "EVALTOWER_TEXTGAME_PYTHON"),
    ],
)
async def test_what_is_missing_is_named(
    nodeset: str, library: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)  # type: ignore[arg-type]
    answer = await Player(nodeset).choose()
    assert not answer["ok"]
    for word in (library, "pip install 'evaltower[simulators]'", sys.executable, variable):
        assert word in answer["error"]
    assert "\n" not in answer["error"]
