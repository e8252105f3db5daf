"""A program under test: the control centre of a backend that is busy, for who types on it."""

from __future__ import annotations

import sys

from tests.tui.offers import offering
from tui.app import ControlCentre
from tui.state_file import state_folder
from tui.terminal_app import run_screen

if __name__ == "__main__":
    sys.exit(run_screen(lambda guard: ControlCentre(offering(), guard=guard), state_folder() / "screen.log"))
