"""A terminal that stalls, vanishes or changes size under a screen that repaints all the time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.pty.terminal import Terminal, program, record_env, wait_until

APP = program("tests.pty.busy_app")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(APP, record_env(tmp_path)) as made:
        made.wait_for("frame 0")
        yield made


def _ticks(folder: Path) -> list[float]:
    return [float(line) for line in (folder / "ticks").read_text().splitlines()]


def _tick_for(folder: Path, seconds: float) -> list[float]:
    """The ticks of the engine from now on, for so long."""
    began = time.monotonic()
    wait_until(lambda: _ticks(folder)[-1] > began + seconds, "ticks", seconds + 10)
    return [tick for tick in _ticks(folder) if tick > began]


def _widest_gap(ticks: list[float]) -> float:
    return max(after - before for before, after in pairwise(ticks))


def _left(folder: Path) -> int:
    return int((folder / "ticks.left").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [2.0, pytest.param(12.0, marks=pytest.mark.slow)])
def test_a_stalled_terminal_stops_nothing_and_is_repainted(
    terminal: Terminal, tmp_path: Path, seconds: float
) -> None:
    terminal.stall()
    assert _widest_gap(_tick_for(tmp_path, seconds)) < 1.0
    terminal.keys("t")
    _tick_for(tmp_path, 0.5)
    before = terminal.lines()[0]
    terminal.go_on()
    wait_until(lambda: terminal.lines()[0] > before, "a new frame")
    terminal.wait_for("somebody typed")  # painted while nobody read, and never dirty since


def test_a_terminal_that_hangs_up_ends_the_screen(terminal: Terminal, tmp_path: Path) -> None:
    terminal.hang_up()
    assert terminal.wait_end(5) == 128 + signal.SIGHUP
    assert _left(tmp_path) == 128 + signal.SIGHUP


def test_it_ends_where_sighup_was_ignored(tmp_path: Path) -> None:
    with Terminal(APP, record_env(tmp_path), hup=signal.SIG_IGN) as terminal:
        terminal.wait_for("frame 0")
        terminal.hang_up()
        assert terminal.wait_end(5) == 128 + signal.SIGHUP


@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_ends_it_with_the_terminal_as_it_was(
    terminal: Terminal, tmp_path: Path, sent: signal.Signals
) -> None:
    os.kill(terminal.process.pid, sent)
    assert terminal.wait_end(5) == _left(tmp_path) == 128 + sent
    wait_until(lambda: b"\x1b[?1049l" in terminal.output, "the normal screen")


def test_a_signal_ends_it_while_the_terminal_is_stalled(terminal: Terminal, tmp_path: Path) -> None:
    terminal.stall()
    _tick_for(tmp_path, 1.0)
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.wait_end(5) == 128 + signal.SIGTERM
    terminal.go_on()
    wait_until(lambda: b"\x1b[?1049l" in terminal.output, "the normal screen, in spite of what waited")


def test_a_storm_of_sizes_ends_at_the_last(terminal: Terminal, tmp_path: Path) -> None:
    for count in range(200):
        terminal.resize(10 + count % 150, 3 + count % 40)
    terminal.resize(100, 30)
    terminal.wait_for("of 100x29")
    assert _widest_gap(_ticks(tmp_path)) < 2.0


def test_what_libraries_and_children_print_is_kept_off_the_screen(terminal: Terminal, tmp_path: Path) -> None:
    terminal.keys("p")
    log = tmp_path / "state" / "evaltower" / "screen.log"
    wait_until(lambda: "a child prints this" in log.read_text(), "the log")
    assert "a library prints this" in log.read_text()
    assert b"prints this" not in terminal.output


def test_a_program_gets_the_terminal_and_gives_it_back(terminal: Terminal, tmp_path: Path) -> None:
    terminal.keys("e")
    terminal.wait_for("in the editor")
    assert _widest_gap(_tick_for(tmp_path, 0.5)) < 1.0
    terminal.keys("\n")
    terminal.wait_for("frame 0")


def test_copying_sends_one_clean_osc_52(terminal: Terminal) -> None:
    terminal.keys("c")
    terminal.wait_for("sent to the terminal")
    assert terminal.output.count(b"\x1b]52;c;Y29waWVkIOKQm1szMW0gdGV4dA==\x07") == 1


def test_an_app_that_does_not_end_is_ended_with_the_terminal_as_it_was(terminal: Terminal) -> None:
    terminal.keys("g")
    assert terminal.wait_end(6) == 3
    wait_until(lambda: b"\x1b[?1049l" in terminal.output, "the normal screen")


def test_a_dumb_terminal_gets_a_sentence(tmp_path: Path) -> None:
    with Terminal(APP, {**record_env(tmp_path), "TERM": "dumb"}) as terminal:
        assert terminal.wait_end() == 2
        wait_until(lambda: b"TERM is dumb" in terminal.output, "a sentence")
        assert b"\x1b" not in terminal.output


def test_no_terminal_gets_a_sentence(tmp_path: Path) -> None:
    env = {**os.environ, **record_env(tmp_path)}
    done = subprocess.run(APP, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"no terminal to show the screen on")


def test_leaving_gives_the_prompt_back(terminal: Terminal) -> None:
    terminal.keys("q")
    assert terminal.wait_end(5) == 0
    wait_until(lambda: b"\x1b[?1049l" in terminal.output, "the normal screen")


def test_stopped_and_continued_it_paints_again(terminal: Terminal) -> None:
    os.kill(terminal.process.pid, signal.SIGTSTP)
    wait_until(lambda: b"\x1b[?1049l" in terminal.output, "the normal screen")
    os.kill(terminal.process.pid, signal.SIGCONT)
    frame = terminal.lines()[0]
    wait_until(lambda: terminal.lines()[0] > frame, "a new frame")


def test_the_mouse_can_be_given_back(terminal: Terminal) -> None:
    assert b"\x1b[?1000l" not in terminal.output
    terminal.keys("m")
    wait_until(lambda: b"\x1b[?1000l" in terminal.output, "no mouse")


def test_without_colour_it_is_drawn_all_the_same(tmp_path: Path) -> None:
    with Terminal(APP, {**record_env(tmp_path), "NO_COLOR": "1"}) as terminal:
        terminal.wait_for("frame 00000")
        wait_until(lambda: terminal.lines()[0] > "frame 000003", "frames")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_detached_from_tmux_it_goes_on_and_is_there_at_the_return(tmp_path: Path) -> None:
    tmux = ["tmux", "-f", "/dev/null", "-S", str(tmp_path / "tmux")]
    attach = [*tmux, "new-session", "-A", "-s", "work", *APP]
    try:
        with Terminal(attach, record_env(tmp_path)) as terminal:
            terminal.wait_for("frame 0")
            terminal.hang_up()
        assert _widest_gap(_tick_for(tmp_path, 1.0)) < 1.0
        with Terminal([*tmux, "attach"], record_env(tmp_path)) as terminal:
            terminal.wait_for("nobody typed")
            terminal.keys("t")
            terminal.wait_for("somebody typed")
            terminal.keys("q")
            wait_until(lambda: (tmp_path / "ticks.left").exists(), "the end")
    finally:
        subprocess.run([*tmux, "kill-server"], capture_output=True, check=False)
