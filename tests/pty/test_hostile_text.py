"""What reaches the terminal's bytes when the data is an attack."""

from __future__ import annotations

import re
from pathlib import Path

from tests.pty.terminal import Terminal, program, record_env, wait_until

# All that the driver writes: modes, cursor, colours, and queries of its own.
OURS = re.compile(
    rb"\x1b\[\?\d+[hl]"  # modes
    rb"|\x1b\[\?\d+\$p"  # asks for a mode
    rb"|\x1b\[[<>]\d*u"  # kitty keyboard
    rb"|\x1b\[\d+;\d+H"  # cursor
    rb"|\x1b\]22;[a-z-]+\x07"  # shape of the mouse pointer
    rb"|\x1b\[(?:[0-47;]|38;[25]|48;[25]|\d+)*m"
)
ALLOWED_CONTROLS = {0x0A, 0x0D, 0x07}


def test_no_byte_of_the_data_steers_the_terminal(tmp_path: Path) -> None:
    with Terminal(program("tests.pty.hostile_app"), record_env(tmp_path), size=(160, 60)) as terminal:
        terminal.wait_for("all widgets are up")
        assert terminal.wait_end() == 1
        wait_until(lambda: b"the screen ended by an error of its own" in terminal.output, "a message")
        output = bytes(terminal.output)
    assert "␛]52;c;aGFja2Vk␇".encode() in output, "the attack is shown as text"
    rest = OURS.sub(b"", output)
    assert not {byte for byte in rest if byte < 0x20 or byte == 0x7F} - ALLOWED_CONTROLS
    assert rest.count(b"\x07") == 1, "the app's own, at the crash"
    assert not re.search("[\x80-\x9f\u061c\u202a-\u202e\u2066-\u2069]", rest.decode("utf-8"))
    assert b"\x1b[5;41m" not in output
    assert b"\x1b[2J" not in output


def test_a_crash_is_told_in_the_log_and_not_on_the_terminal(tmp_path: Path) -> None:
    with Terminal(program("tests.pty.hostile_app"), record_env(tmp_path)) as terminal:
        assert terminal.wait_end() == 1
        wait_until(lambda: b"the screen ended by an error of its own" in terminal.output, "a message")
        assert b"Traceback" not in terminal.output
    assert "RuntimeError" in (tmp_path / "state" / "evaltower" / "screen.log").read_text(errors="replace")
