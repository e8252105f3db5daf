"""Images in pixels on a real terminal: one that says that it draws them, and one that does not."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.terminal_images import QUESTION
from tests.pty.terminal import Terminal, program, record_env, wait_until
from tests.pty.test_hostile_text import OURS
from tests.tui.episode_folders import error_row, hostile_lines, steps, write_episode

ASKED = QUESTION.encode()
KITTY = {ASKED: b"\x1b_Gi=4207;OK\x1b\\\x1b[6;20;10t\x1b[?62;22c"}
SIXEL = {ASKED: b"\x1b[6;20;10t\x1b[?62;4;22c"}
PLAIN = {ASKED: b"\x1b[?62;22c"}
SENT, PLACED, ERASED, FREED = b"\x1b_Ga=t,", b"\x1b_Ga=p,", b"\x1b_Ga=d,d=i,", b"\x1b_Ga=d,d=I,"
BLOCK = "▀"
GRAPHICS = re.compile(rb"\x1b[78]|\x1b_G[a-zA-Z0-9=,]+(?:;[A-Za-z0-9+/=]+)?\x1b\\|\x1b\[16t|\x1b\[c")


@pytest.fixture
def episode(tmp_path: Path) -> Path:
    """With an error in its third step, where the agent saw what the second made."""
    return write_episode(tmp_path / "ep0007", error_row(7), steps(4, error_at=2), frames=4)


def _root(folder: Path, images: str) -> Path:
    root = folder / "root"
    (root / "outputs").mkdir(parents=True, exist_ok=True)
    (root / "evaltower.toml").write_text(f'[ui]\nimages = "{images}"\n')
    return root


def _terminal(folder: Path, episode: Path, images: str, answers: dict[bytes, bytes]) -> Terminal:
    env = record_env(folder) | {"EVALTOWER_ROOT": str(_root(folder, images))}
    return Terminal(program("engine.main", "view", str(episode)), env, size=(160, 45), answers=answers)


def _seen(terminal: Terminal, what: bytes, times: int = 1) -> None:
    wait_until(lambda: terminal.output.count(what) >= times, f"{what!r}, {times} times")
    assert terminal.output.count(what) == times


@pytest.fixture
def kitty(tmp_path: Path, episode: Path) -> Iterator[Terminal]:
    with _terminal(tmp_path, episode, "auto", KITTY) as terminal:
        _seen(terminal, PLACED)
        yield terminal


def _leave(terminal: Terminal) -> None:
    terminal.keys("q")
    assert terminal.wait_end() == 0
    wait_until(lambda: b"\x1b[?1049l" in terminal.output, "the normal screen")


def test_an_image_is_sent_once_and_nothing_of_it_is_left(kitty: Terminal) -> None:
    assert not kitty.shows(BLOCK)
    assert not kitty.shows("half-blocks")
    kitty.keys("j")
    kitty.wait_for("row 10 ")
    _leave(kitty)
    output = bytes(kitty.output)
    assert output.count(ASKED) == 1
    assert output.count(SENT) == output.count(FREED) == 1
    assert output.index(FREED) < output.index(b"\x1b[?1049l")


def test_another_step_has_its_own_image(kitty: Terminal) -> None:
    kitty.keys("{")
    _seen(kitty, PLACED, 2)
    _seen(kitty, FREED)
    assert kitty.output.index(FREED) < kitty.output.rindex(SENT)


def test_it_is_taken_away_under_a_dialog_and_comes_back_without_being_sent_again(kitty: Terminal) -> None:
    kitty.keys("?")
    _seen(kitty, ERASED)
    kitty.keys("\x1b")
    _seen(kitty, PLACED, 2)
    _seen(kitty, SENT)


def test_it_is_taken_away_where_another_part_has_the_screen(kitty: Terminal) -> None:
    kitty.keys("+")
    _seen(kitty, ERASED)
    kitty.keys("_")
    _seen(kitty, PLACED, 2)


def test_a_terminal_of_another_size_gets_it_anew(kitty: Terminal) -> None:
    kitty.resize(150, 40)
    wait_until(lambda: kitty.output.count(FREED) >= 1, "the old one freed")
    wait_until(lambda: kitty.output.rindex(PLACED) > kitty.output.rindex(FREED), "placed again")


def test_an_editor_gets_a_terminal_without_images(tmp_path: Path, episode: Path) -> None:
    editor = tmp_path / "edit"
    editor.write_text("#!/bin/sh\necho in the editor\nread line\n")
    editor.chmod(0o755)
    root = _root(tmp_path, "kitty")
    env = record_env(tmp_path) | {"EDITOR": str(editor), "VISUAL": "", "EVALTOWER_ROOT": str(root)}
    command = program("engine.main", "view", str(episode))
    with Terminal(command, env, size=(160, 45), answers=KITTY) as terminal:
        _seen(terminal, PLACED)
        terminal.keys("o")
        wait_until(lambda: b"in the editor" in terminal.output, "the editor")
        assert terminal.output.count(FREED) == 1
        terminal.keys("\n")
        _seen(terminal, PLACED, 2)
        _seen(terminal, SENT, 2)


def test_a_stalled_terminal_gets_it_when_it_goes_on(tmp_path: Path, episode: Path) -> None:
    with _terminal(tmp_path, episode, "auto", KITTY) as terminal:
        _seen(terminal, PLACED)
        terminal.stall()
        terminal.keys("{}" * 40 + "gjj")
        terminal.go_on()
        terminal.wait_for("Firing row 3 ")
        wait_until(
            lambda: (
                terminal.output.rindex(PLACED) > max(terminal.output.rindex(what) for what in (FREED, SENT))
            ),
            "the last one placed",
        )
        _leave(terminal)
        assert terminal.output.count(SENT) <= terminal.output.count(FREED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("images", "answers", "why"),
    [
        ("auto", PLAIN, "knows neither kitty's image protocol nor sixel"),
        ("auto", {}, "did not say within 1 s"),
        ("kitty", SIXEL, "does not know kitty's image protocol"),
        ("sixel", KITTY, "does not know sixel"),
    ],
)
def test_one_that_cannot_gets_half_blocks_and_the_reason(
    tmp_path: Path, episode: Path, images: str, answers: dict[bytes, bytes], why: str
) -> None:
    with _terminal(tmp_path, episode, images, answers) as terminal:
        terminal.wait_for("half-blocks: ")
        terminal.wait_for(BLOCK)
        assert why in " ".join(line.replace("│", "").strip() for line in terminal.lines())
        assert SENT not in terminal.output
        assert b"\x1bP" not in terminal.output


def test_nobody_is_asked_unless_the_operator_wants_it(tmp_path: Path, episode: Path) -> None:
    with _terminal(tmp_path, episode, "blocks", KITTY) as terminal:
        terminal.wait_for(BLOCK)
        _leave(terminal)
        assert ASKED not in terminal.output
        assert b"\x1b_G" not in terminal.output


def test_sixel_is_sent_once_and_again_when_it_was_written_over(tmp_path: Path, episode: Path) -> None:
    with _terminal(tmp_path, episode, "auto", SIXEL) as terminal:
        wait_until(lambda: b"\x1bP0;1;0q" in terminal.output, "the image")
        terminal.keys("j")
        terminal.wait_for("row 10 ")
        sent = terminal.output.count(b"\x1bP0;1;0q")
        terminal.keys("?")
        terminal.wait_for("what can be done here")
        terminal.keys("\x1b")
        wait_until(lambda: terminal.output.count(b"\x1bP0;1;0q") == 2 * sent, "the image again")
        _leave(terminal)


def test_a_key_that_is_typed_while_the_terminal_answers_is_taken(tmp_path: Path, episode: Path) -> None:
    begun, ended = KITTY[ASKED][:20], KITTY[ASKED][20:]
    with _terminal(tmp_path, episode, "auto", {ASKED: begun}) as terminal:
        terminal.wait_for("half-blocks: the terminal did not say")
        terminal.keys(ended.decode() + "j")
        terminal.wait_for("Firing row 10 ")
        _seen(terminal, PLACED)


def test_no_byte_of_an_episode_steers_a_terminal_that_draws_images(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0007", error_row(7), [*hostile_lines(), *steps(1)], frames=1)
    with _terminal(tmp_path, folder, "kitty", KITTY) as terminal:
        terminal.wait_for("6 rows")
        terminal.keys("G")
        _seen(terminal, PLACED)
        _leave(terminal)
        rest = GRAPHICS.sub(b"", OURS.sub(b"", terminal.output))
    assert b"\x1b" not in rest.replace(b"\x1b[<u", b"").replace(b"\x1b[?1049l", b"")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_inside_tmux_it_says_why_not(tmp_path: Path, episode: Path) -> None:
    tmux = ["tmux", "-f", "/dev/null", "-S", str(tmp_path / "tmux")]
    env = record_env(tmp_path) | {"EVALTOWER_ROOT": str(_root(tmp_path, "auto"))}
    command = [*tmux, "new-session", *program("engine.main", "view", str(episode))]
    try:
        with Terminal(command, env, size=(160, 45), answers=KITTY) as terminal:
            terminal.wait_for("half-blocks: inside tmux")
            terminal.wait_for(BLOCK)
    finally:
        subprocess.run([*tmux, "kill-server"], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (KITTY, "half-blocks; kitty's protocol: yes, sixel: no; a cell has 10×20 pixels"),
        (SIXEL, "half-blocks; kitty's protocol: no, sixel: yes; a cell has 10×20 pixels"),
        (PLAIN, "half-blocks; kitty's protocol: no, sixel: no"),
        ({}, "half-blocks; the terminal did not say within 1 s whether it draws images"),
    ],
)
def test_doctor_says_what_the_terminal_draws(tmp_path: Path, answers: dict[bytes, bytes], told: str) -> None:
    env = record_env(tmp_path) | {"EVALTOWER_ROOT": str(_root(tmp_path, "blocks"))}
    with Terminal(program("engine.main", "doctor"), env, size=(300, 60), answers=answers) as terminal:
        terminal.wait_for(told)
        assert terminal.wait_end() == 0
