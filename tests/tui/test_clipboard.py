from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from tui.clipboard import MAX_ENCODED_BYTES, Clipboard


class Wire:
    def __init__(self) -> None:
        self.sent: list[str] = []

    def decoded(self) -> str:
        (sequence,) = self.sent
        assert sequence.startswith("\x1b]52;c;")
        assert sequence.endswith("\x07")
        return base64.b64decode(sequence[7:-1]).decode()


@pytest.fixture
def wire() -> Wire:
    return Wire()


async def test_osc_52_carries_the_text(wire: Wire, tmp_path: Path) -> None:
    copied = await Clipboard(wire.sent.append, tmp_path, environ={}).copy("häuser\nfire 家")
    assert (copied.how, wire.decoded()) == ("osc52", "häuser\nfire 家")


async def test_control_characters_are_copied_as_glyphs(wire: Wire, tmp_path: Path) -> None:
    clipboard = Clipboard(wire.sent.append, tmp_path, environ={})
    await clipboard.copy("rm\x1b[201~\n\x03\ud800")
    assert wire.decoded() == clipboard.last == "rm␛[201~\n␃\ufffd"


@pytest.mark.parametrize(
    ("length", "how"), [(MAX_ENCODED_BYTES * 3 // 4 - 3, "osc52"), (MAX_ENCODED_BYTES, "file")]
)
async def test_what_no_terminal_takes_goes_into_a_private_file(
    wire: Wire, tmp_path: Path, length: int, how: str
) -> None:
    copied = await Clipboard(wire.sent.append, tmp_path / "copied", environ={}).copy("x" * length)
    assert copied.how == how
    if copied.path is not None:
        assert copied.path.read_text() == "x" * length
        assert copied.path.stat().st_mode & 0o777 == 0o600
        assert str(copied.path) in str(copied)


async def test_two_files_of_one_second_are_two(wire: Wire, tmp_path: Path) -> None:
    clipboard = Clipboard(wire.sent.append, tmp_path, mode="off", environ={})
    paths = {(await clipboard.copy(text)).path for text in ("a", "b", "c")}
    assert {path.read_text() for path in paths if path} == {"a", "b", "c"}
    assert not wire.sent


async def test_a_folder_that_cannot_be_written_is_a_sentence(wire: Wire, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    copied = await Clipboard(wire.sent.append, tmp_path / "file", mode="off", environ={}).copy("a")
    assert copied.how == "none"
    assert str(copied).startswith("not copied: ")


async def test_without_a_tmux_program_the_sequence_is_handed_through(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    await Clipboard(wire.sent.append, tmp_path, environ={"TMUX": "/tmp/x,1,0"}).copy("a")
    assert wire.sent == ["\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"]


async def test_inside_tmux_its_buffer_is_loaded(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\nexec cat > {tmp_path}/loaded\n')
    tmux.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    copied = await Clipboard(wire.sent.append, tmp_path, environ={"TMUX": "/tmp/x,1,0"}).copy("a text")
    assert (copied.how, (tmp_path / "loaded").read_text()) == ("tmux", "a text")
    assert (tmp_path / "arguments").read_text().split() == ["load-buffer", "-w", "-"]
    assert not wire.sent
