"""Keys that reach a real terminal in one piece."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pty.terminal import Terminal, program, record_env

ERASE = "\x7f"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        ("/abcdef" + ERASE * 4 + "\r", "Runs 0 of 6 / ab "),
        (":themes" + ERASE + "\r", "mono-light"),
        (":activity\r", "nothing was asked yet"),
        ("n\rfollow\r", "Graph        gridhouse_follow"),
        ("yi", "15 characters sent"),
    ],
)
def test_it_does_what_it_would_do_key_by_key(typed: str, seen: str, tmp_path: Path) -> None:
    with Terminal(program("tests.pty.typed_app"), record_env(tmp_path), size=(100, 30)) as terminal:
        terminal.wait_for("navA")
        terminal.keys(typed)
        terminal.wait_for(seen)
