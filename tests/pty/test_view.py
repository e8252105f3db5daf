"""``evaltower view`` on a real terminal: an episode that somebody sent, with text that is an attack."""

from __future__ import annotations

import re
from pathlib import Path

from tests.pty.terminal import Terminal, program, record_env, wait_until
from tests.pty.test_hostile_text import OURS
from tests.tui.episode_folders import error_row, hostile_lines, steps, write_episode

FULL_SCREEN = b"\x1b[?1049h"
ATTACK = "\x1b]52;c;aGFja2Vk\x07\x9b31m \u202e [/x] [b"


def _view(path: Path) -> list[str]:
    return program("engine.main", "view", str(path))


def test_no_byte_of_an_episode_steers_the_terminal(tmp_path: Path) -> None:
    row = error_row(7, ATTACK, instruction=ATTACK, metrics={ATTACK: 0.5})
    folder = write_episode(tmp_path / "ep0007", row, hostile_lines(), frames=1)
    with Terminal(_view(folder), record_env(tmp_path), size=(100, 40)) as terminal:
        terminal.wait_for("3 rows, 1 with errors")
        for keys, shown in (("d", "changes"), ("d\r\t", "Firing"), ("/zzz", "0 matches")):
            terminal.keys(keys)
            terminal.wait_for(shown)
        terminal.keys("\r")
        wait_until(lambda: not any(line.startswith(" / ") for line in terminal.lines()), "the prompt closed")
        terminal.keys("q")
        assert terminal.wait_end() == 0
        output = bytes(terminal.output)
    assert "␛]52;c;".encode() in output, "the attack is shown as text"
    rest = OURS.sub(b"", output)
    assert not re.search("[\x80-\x9f\u061c\u202a-\u202e\u2066-\u2069]", rest.decode("utf-8"))
    assert b"\x1b]52" not in output
    assert b"\x07" not in rest


def test_a_row_is_opened_in_the_editor_and_the_screen_comes_back(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0007", error_row(7), steps(4, error_at=2), frames=4)
    editor, asked = tmp_path / "vim", tmp_path / "asked"
    editor.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n[ -n "$2" ] && head -c 100 "$2" >> {asked}\n')
    editor.chmod(0o755)
    env = record_env(tmp_path) | {"EDITOR": str(editor), "VISUAL": ""}
    with Terminal(_view(folder), env, size=(100, 40)) as terminal:
        terminal.wait_for("no such door")
        terminal.keys("o")
        wait_until(
            lambda: asked.exists() and "ep0007/log.jsonl" in asked.read_text(), "the log in the editor"
        )
        assert asked.read_text().startswith("+9 ")
        wait_until(lambda: terminal.output.count(FULL_SCREEN) == 2, "the screen back")
        terminal.keys("\ro")
        wait_until(lambda: '"timestamp": ' in asked.read_text(), "the firing, indented")
        wait_until(lambda: terminal.output.count(FULL_SCREEN) == 3, "the screen back")
        terminal.keys("\tg")
        terminal.wait_for("row 1 ")
        terminal.keys("q")
        assert terminal.wait_end() == 0


def test_a_line_of_fifty_megabytes_is_told_and_does_not_hold_up_a_key(tmp_path: Path) -> None:
    lines = steps(2)
    lines[4]["outputs"] = {"text": "x" * 50_000_000}
    folder = write_episode(tmp_path / "ep0007", error_row(7), lines)
    with Terminal(_view(folder), record_env(tmp_path), size=(100, 30)) as terminal:
        terminal.wait_for("6 rows")
        terminal.keys("gjjjj")
        terminal.wait_for("50.0 MB in one line, too many to show")
        terminal.keys("\r\r\tj")
        terminal.wait_for("row 6 ")
        terminal.keys("q")
        assert terminal.wait_end() == 0
