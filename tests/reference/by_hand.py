"""Figures of simulators that pip alone does not bring; their tests, by hand, put them into the table."""

from __future__ import annotations

from tests.reference.figures import EQUALS, Figure, Published, Room

CLICK = Figure("miniwob.click-test-2", (), 5, "return", Published(1.0, "package"), EQUALS)
"""``run`` is empty: who clicks is the test."""
ROOM = Room(
    "By hand",
    "The button that MiniWoB asks for is clicked: `pytest -m byhand tests/byhand/test_browsergym.py`. Of"
    " ManiSkill we know no published figure.",
    [CLICK],
)
