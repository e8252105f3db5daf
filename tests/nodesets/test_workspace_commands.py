"""Commands in the folder of an episode of env_workspace: what they get, and that nothing of them is left."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from tests.nodesets.workspace_player import Desk, desk

FOREVER = "import time, sys; open(sys.argv[1], 'w').close(); time.sleep(1e6)"


@pytest.fixture
async def player(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk() as opened:
        await opened.play(tmp_path, {"files": {"a.txt": "1\n", "sub/b.txt": "2\n", "forever.py": FOREVER}})
        yield opened


def still_there(mark: str) -> list[int]:
    """Processes that have this word on their command line."""
    others = (p for p in psutil.process_iter(["cmdline", "status"]) if p.pid != os.getpid())
    living = (p for p in others if p.info["status"] != psutil.STATUS_ZOMBIE)
    return [p.pid for p in living if any(mark in word for word in p.info["cmdline"] or [])]


LASTING = [
    "{program} & {wait}",
    "setsid {program} & {wait}",
    "(setsid {program} >/dev/null 2>&1 &) ; {wait}",
    "trap '' TERM; {program} & {wait}",
    "nohup setsid env FOO=1 {program} & {wait}",
]


@pytest.mark.slow
@pytest.mark.parametrize("line", LASTING)
@pytest.mark.parametrize("lasts", [True, False])
async def test_nothing_that_a_command_started_outlives_it(
    player: Desk, tmp_path: Path, line: str, lasts: bool
) -> None:
    mark = f"forever-{os.getpid()}-{time.monotonic_ns()}"
    program = f"{sys.executable} forever.py {tmp_path / mark}"
    until = f"while [ ! -e {tmp_path / mark} ]; do sleep 0.01; done"
    wait = f"{until}; sleep 1000" if lasts else until
    answer = await player.act(
        "exec", command=line.format(program=program, wait=wait), timeout_sec=8 if not lasts else 2
    )
    assert (tmp_path / mark).exists()
    assert answer["timed_out"] is lasts
    assert still_there(mark) == []


async def test_a_command_is_asked_before_it_is_killed(player: Desk) -> None:
    command = "trap 'echo bye; exit 5' TERM; echo hello; while :; do sleep 0.01; done"
    answer = await player.act("exec", command=command, timeout_sec=0.5)
    assert (answer["timed_out"], answer["stdout"], answer["exit_code"]) == (True, "hello\nbye\n", 5)


async def test_what_it_is_asked_and_answers(player: Desk) -> None:
    answer = await player.act(
        "exec", command="cat b.txt; echo $A $HOME >&2; exit 3", cwd="sub", env={"A": "x y"}
    )
    assert answer == {
        "ok": True,
        "exit_code": 3,
        "stdout": "2\n",
        "stderr": f"x y {os.environ['HOME']}\n",
        "timed_out": False,
    }
    assert (await player.act("exec", command="kill -9 $$"))["exit_code"] == 137


async def test_of_output_without_end_the_end_is_kept(player: Desk) -> None:
    answer = await player.act("exec", command="yes | head -c 5000000; echo; echo 'the ünd'")
    assert len(answer["stdout"].encode()) == 1 << 20
    assert answer["stdout"].endswith("y\n\nthe ünd\n")


async def test_it_has_no_terminal_no_input_and_a_session_of_its_own(player: Desk) -> None:
    command = "cat; [ -t 0 ] || echo none; ps -o sid= -p $$ | tr -d ' '; echo $$"
    none, session, pid = (await player.act("exec", command=command))["stdout"].split()
    assert (none, session) == ("none", pid)


async def test_it_gets_neither_our_secrets_nor_our_modules(
    player: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = str(Path(__file__).parents[2])
    monkeypatch.setenv("EVALTOWER_SECRET_PLATFORM", "sesame")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([home, str(tmp_path)]))
    monkeypatch.setenv("OPENAI_API_KEY", "its own")
    command = 'env | grep -c sesame; echo "$PYTHONPATH"; echo "$OPENAI_API_KEY"; echo "$EVALTOWER_WORKSPACE"'
    told = (await player.act("exec", command=command))["stdout"].split("\n")
    assert told[:4] == ["0", str(tmp_path), "its own", str(player.folder)]


async def test_a_file_that_changes_within_a_second_runs_as_it_is(player: Desk) -> None:
    for number in (1, 2, 3):
        await player.act("write_file", path="m.py", data=f"x = {number}\n".encode())
        answer = await player.act("exec", command=f"{sys.executable} -c 'import m; print(m.x)'")
        assert answer["stdout"] == f"{number}\n"


async def test_files_are_read_and_written(player: Desk) -> None:
    assert await player.act("read_file", path="sub/b.txt") == {"ok": True, "data": b"2\n"}
    assert await player.act("write_file", path="new/deep/c.bin", data=b"\x00\xff") == {"ok": True}
    assert await player.act("read_file", path="new/deep/c.bin") == {"ok": True, "data": b"\x00\xff"}
    assert (await player.act("read_file", path=str(player.folder / "a.txt")))["data"] == b"1\n"


@pytest.mark.parametrize("path", ["../baseline/HEAD", "/etc/passwd", "out/passwd", "sub/../../tmp/x"])
async def test_paths_stay_in_the_folder(player: Desk, path: str) -> None:
    (player.folder / "out").symlink_to("/etc")
    told = f"path {path!r} leads out of the episode's folder; give one below it"
    assert await player.act("read_file", path=path) == {"ok": False, "error": told}
    assert await player.act("write_file", path=path, data=b"") == {"ok": False, "error": told}
    refused = await player.act("exec", command="true", cwd=path)
    assert refused == {"ok": False, "error": told.replace("path", "cwd", 1)}


@pytest.mark.parametrize(
    ("action", "params", "error"),
    [
        ("exec", {"command": "true", "cwd": "gone"}, "cwd 'gone' is no folder of the episode's"),
        ("exec", {"command": "true", "timeout_sec": 0}, "timeout_sec is 0; it takes seconds above 0"),
        ("exec", {}, "exec: missing a required argument: 'command'"),
        ("exec", {"command": "true", "shell": 1}, "exec: got an unexpected keyword argument 'shell'"),
        ("exec", {"command": 3}, "exec: command is 3, not text"),
        ("read_file", {"path": "gone"}, "path 'gone' is no file of the episode's folder"),
        ("read_file", {"path": "a\0b"}, "has a NUL in it"),
        ("write_file", {"path": "sub", "data": b""}, "path 'sub' is a folder; give one of a file"),
        ("write_file", {"path": "x", "data": 3}, "write_file: data is 3, not bytes or text"),
        ("rewind", {}, "no action 'rewind'; it has play, exec, read_file, write_file, snapshot"),
    ],
)
async def test_what_is_refused_says_why(
    player: Desk, action: str, params: dict[str, object], error: str
) -> None:
    answer = await player.act(action, **params)
    assert answer["ok"] is False
    assert error in answer["error"]


async def test_a_step_agent_has_a_shell_until_it_submits(player: Desk) -> None:
    out = await player.fire("shell", command="echo $EVALTOWER_WORKSPACE; pwd; echo bad >&2; exit 2")
    assert out["output"] == f"{player.folder}\n{player.folder}\nbad\n".replace(
        str(player.folder), "$EVALTOWER_WORKSPACE"
    )
    assert (out["exit_code"], out["done"]) == (2, False)
    (call,), (result,) = player.told("tool_call"), player.told("tool_result")
    assert (call["id"], call["name"], call["args"]["command"][:4]) == (result["id"], "shell", "echo")
    assert result["ok"] is False
    out = await player.fire("shell", {"timeout_sec": 0.2}, command="sleep 100")
    assert "(killed: it was still running after 0.2 s)" in out["output"]
    assert (await player.fire("shell", command=" submit\n"))["done"] is True
    assert player.events == []
