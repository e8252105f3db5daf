"""The control centre as a whole: ``evaltower`` on a real terminal, with real runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from tests.pty.centre import Centre, in_session
from tests.pty.terminal import Terminal, program, record_env, wait_until

EPISODES = 6
LATEST_TICK_SEC = 2.0
"""Between two ticks, which are due every second."""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def centre(tmp_path: Path, cache: Path) -> Iterator[Centre]:
    made = Centre(tmp_path, cache)
    yield made
    made.close()


def _undisturbed(centre: Centre, episodes: int = EPISODES) -> str:
    """The digest of the run that nobody interrupts, under the backend that is alive."""
    return centre.wait_done(centre.run("nap", episodes, "--label", "undisturbed"))


def _widest_gap(ticks: list[float]) -> float:
    return max(after - before for before, after in pairwise(ticks))


def test_the_first_screen_of_a_fresh_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    command = program("engine.main", "--root", str(tmp_path / "root"))
    with Terminal(command, record_env(tmp_path)) as terminal:
        terminal.wait_for("no runs yet: n starts one")
        terminal.resize(40, 10)
        terminal.be(40, 10)
        terminal.wait_for("no runs yet")
        terminal.resize(160, 45)
        terminal.be(160, 45)
        terminal.wait_for("embedded, pid")
        terminal.keys("q")
        assert terminal.wait_end() == 0
        wait_until(lambda: b"\x1b[?1049l" in terminal.output, "the normal screen")
        assert b"go on" not in terminal.output
    assert not in_session(terminal.process.pid)


def test_left_with_q_a_run_goes_on_and_is_told_of_at_the_return(centre: Centre) -> None:
    with centre.open() as terminal:
        before = centre.wait_for_backend()
        run_id = centre.run_held(EPISODES)
        terminal.wait_for(run_id[-6:])
        terminal.keys("q")
        assert terminal.wait_end() == 0
        wait_until(lambda: b"1 running and 0 waiting go on" in terminal.output, "a farewell")
    assert not in_session(terminal.process.pid)
    after = centre.wait_for_backend(but=before)
    assert psutil.Process(after).terminal() is None
    centre.let_go()
    centre.wait_done(run_id)
    with centre.open() as terminal:
        terminal.wait_for("while away")
        assert terminal.shows(f"pid {after}")
        terminal.wait_for("completed")
        terminal.keys("q")
        assert terminal.wait_end() == 0
    assert centre.backend_pid() == after


@pytest.mark.slow
@pytest.mark.parametrize(
    "hup", [signal.SIG_DFL, pytest.param(signal.SIG_IGN, marks=pytest.mark.slow)], ids=["default", "ignored"]
)
def test_a_terminal_that_is_closed_takes_no_run_with_it(centre: Centre, hup: signal.Handlers) -> None:
    with centre.open(hup=hup) as terminal:
        before = centre.wait_for_backend()
        run_id = centre.run_held(EPISODES)
        terminal.hang_up()
        assert terminal.wait_end() == 128 + signal.SIGHUP
    assert not in_session(terminal.process.pid)
    after = psutil.Process(centre.wait_for_backend(but=before))
    assert after.terminal() is None
    centre.let_go()
    assert centre.wait_done(run_id) == _undisturbed(centre)
    wait_until(lambda: after.cpu_percent(interval=0.5) < 20, "an idle successor")
    wait_until(lambda: not after.children(recursive=True), "an end of all that ran")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [5.0, pytest.param(12.0, marks=pytest.mark.slow)])
def test_a_stalled_terminal_holds_up_neither_ticks_nor_callers(centre: Centre, seconds: float) -> None:
    with centre.open() as terminal:
        centre.wait_for_backend()
        run_id = centre.run("nap", 200)
        centre.wait_for_episodes(run_id, 1)
        terminal.stall()
        terminal.keys("\x0c" * 40)  # more than what a terminal takes in without being read
        began = time.monotonic()
        slowest = 0.0
        with centre.client() as client:
            while time.monotonic() < began + seconds:
                asked = time.monotonic()
                assert client.get("/api/health").json()["pid"] == terminal.process.pid
                slowest = max(slowest, time.monotonic() - asked)
                time.sleep(0.05)
        ticks = [tick for tick in centre.ticks() if tick > began]
        assert slowest < 1.0
        assert len(ticks) >= seconds / LATEST_TICK_SEC
        assert _widest_gap([began, *ticks]) < LATEST_TICK_SEC
        terminal.go_on()
        terminal.keys("\x0c")
        terminal.wait_for(run_id[-6:])
        terminal.keys("q")
        assert terminal.wait_end() == 0


@pytest.mark.slow
def test_a_storm_of_sizes_ends_at_the_last(centre: Centre) -> None:
    with centre.open(size=(80, 24)) as terminal:
        centre.wait_for_backend()
        run_id = centre.run("nap", 200)
        centre.wait_for_episodes(run_id, 1)
        began = time.monotonic()
        for count in range(200):
            terminal.resize(1 + count % 170, 1 + count % 50)
            time.sleep(0.005)
        terminal.resize(40, 10)
        terminal.be(40, 10)
        terminal.keys("1")
        terminal.wait_for(run_id[-6:])
        wait_until(lambda: centre.ticks()[-1] > began + 2.0, "ticks")
        assert _widest_gap([tick for tick in centre.ticks() if tick > began - 1]) < LATEST_TICK_SEC
        terminal.resize(80, 24)
        terminal.be(80, 24)
        terminal.wait_for("Queue")
        terminal.keys("q")
        assert terminal.wait_end() == 0


def test_without_a_screen_it_says_so(tmp_path: Path) -> None:
    command = program("engine.main", "--root", str(tmp_path))
    env = record_env(tmp_path)
    with Terminal(command, env | {"TERM": "dumb"}) as terminal:
        assert terminal.wait_end() == 2
        wait_until(lambda: b"TERM is dumb" in terminal.output, "a sentence")
        assert b"\x1b" not in terminal.output
    done = subprocess.run(
        command, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"no terminal to show the screen on")
    assert not (tmp_path / "outputs").exists()


@pytest.mark.slow
def test_killed_it_is_followed_by_its_successor(centre: Centre) -> None:
    with centre.open() as terminal:
        before = centre.wait_for_backend()
        run_id = centre.run_held(EPISODES)
        log = centre.root / "outputs" / "system" / "backend.log"
        wait_until(log.exists, "a successor")
        os.kill(before, signal.SIGKILL)
        assert terminal.wait_end() == -signal.SIGKILL
    centre.wait_for_backend(but=before)
    centre.let_go()
    assert centre.wait_done(run_id) == _undisturbed(centre)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_detached_from_tmux_it_goes_on_and_is_there_at_the_return(centre: Centre, tmp_path: Path) -> None:
    tmux = ["tmux", "-f", "/dev/null", "-S", str(tmp_path / "tmux")]
    attach = [*tmux, "new-session", "-A", "-s", "work", *centre.command()]
    try:
        with Terminal(attach, centre.env, size=(120, 36)) as terminal:
            before = centre.wait_for_backend()
            run_id = centre.run("nap", EPISODES)
            terminal.wait_for(run_id[-6:])
            terminal.hang_up()
        digest = centre.wait_done(run_id)
        assert centre.backend_pid() == before
        assert _widest_gap(centre.ticks()[1:]) < LATEST_TICK_SEC
        with Terminal([*tmux, "attach"], centre.env, size=(120, 36)) as terminal:
            terminal.wait_for(f"{EPISODES}/{EPISODES}")
            assert digest == _undisturbed(centre)
            terminal.keys("q")
            wait_until(lambda: centre.backend_pid() == 0, "the end of a backend without work")
    finally:
        subprocess.run([*tmux, "kill-server"], capture_output=True, check=False)
