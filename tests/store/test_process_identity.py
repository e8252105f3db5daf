from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from engine.store.process_identity import identity, is_alive, send_signal


@contextmanager
def child(code: str = "input()") -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def test_this_process_is_alive() -> None:
    assert is_alive(identity())


def test_a_dead_process_a_zombie_and_another_start_are_not_alive() -> None:
    with child() as process:
        who = identity(process.pid)
        assert is_alive(who)
        assert not is_alive(msgspec.structs.replace(who, start_ticks=who.start_ticks + 1))
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, not reaped: a zombie
        assert not is_alive(who)
        with pytest.raises(ProcessLookupError):
            identity(process.pid)
    assert not is_alive(who)


@pytest.mark.parametrize("field", ["boot_id", "pid_ns"])
def test_what_cannot_be_seen_from_here_is_not_called_alive(field: str) -> None:
    elsewhere = msgspec.structs.replace(identity(), **{field: "another"})
    assert not is_alive(elsewhere)
    assert not send_signal(elsewhere, signal.SIGKILL)  # this very process would end


def test_a_signal_reaches_that_process_and_no_stranger_of_its_pid() -> None:
    with child() as process:
        who = identity(process.pid)
        assert not send_signal(msgspec.structs.replace(who, start_ticks=who.start_ticks - 1), signal.SIGKILL)
        assert process.poll() is None
        assert send_signal(who, signal.SIGTERM)
        assert process.wait(timeout=30) == -signal.SIGTERM
        assert not send_signal(who, signal.SIGTERM)


def test_a_command_name_with_parentheses_is_read_right() -> None:
    code = "open('/proc/self/comm', 'w').write('a) R 1 (b'); print('named', flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "named\n"
        assert is_alive(identity(process.pid))
    finally:
        process.communicate("\n", timeout=30)
