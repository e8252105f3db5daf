"""Copying, also over SSH and inside tmux: a program cannot know what arrives, so it says what it sent."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from engine.figures import count
from engine.store.preferences import ClipboardMode
from tui.sanitize import visible_lines

MODES: tuple[ClipboardMode, ...] = get_args(ClipboardMode)

MAX_ENCODED_BYTES = 74_994  # what terminals are known to take in one OSC 52
_TMUX_SEC = 2.0


@dataclass(frozen=True)
class Copied:
    """How a text went: by OSC 52, by tmux, or into the file at ``path``; ``none`` if it could not."""

    how: Literal["osc52", "tmux", "file", "none"]
    characters: int
    path: Path | None = None
    problem: str = ""

    def __str__(self) -> str:
        if self.how == "none":
            return f"not copied: {self.problem}"
        where = {"osc52": "sent to the terminal's clipboard", "tmux": "sent to tmux and the clipboard"}
        return f"{count(self.characters, 'character')} {where.get(self.how, f'written to {self.path}')}"


class Clipboard:
    """``write`` sends a sequence to the terminal as it is; ``folder`` takes what no clipboard would.

    Control characters other than newlines are copied as visible glyphs: what is copied is often untrusted,
    and is often pasted into a shell.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        folder: Path,
        *,
        mode: ClipboardMode = "auto",
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._write = write
        self._folder = folder
        self._mode = mode
        self._in_tmux = bool(environ.get("TMUX"))
        self.last = ""

    async def copy(self, text: str) -> Copied:
        """To the clipboard by the best way there is; what is too long for that goes into a file."""
        self.last = clean = "\n".join(visible_lines(text))
        if self._mode == "tmux" or (self._mode == "auto" and self._in_tmux):
            if await _tmux_load_buffer(clean.encode()):
                return Copied("tmux", len(clean))
            if self._mode == "tmux":
                return self.save(clean)
        encoded = base64.b64encode(clean.encode()).decode("ascii")
        if self._mode == "off" or len(encoded) > MAX_ENCODED_BYTES:
            return self.save(clean)
        sequence = f"\x1b]52;c;{encoded}\x07"
        self._write(_through_tmux(sequence) if self._in_tmux else sequence)
        return Copied("osc52", len(clean))

    def save(self, text: str, suffix: str = ".txt") -> Copied:
        """Into a file of its own (mode 0600)."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path, fd = self._new_file(suffix)
            with open(fd, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError as error:
            return Copied("none", len(text), problem=str(error))
        return Copied("file", len(text), path)

    def _new_file(self, suffix: str) -> tuple[Path, int]:
        stem = f"{datetime.now():%Y%m%d_%H%M%S}"
        count = 1
        while True:
            path = self._folder / f"{stem}{f'_{count}' if count > 1 else ''}{suffix}"
            try:
                return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                count += 1


async def _tmux_load_buffer(data: bytes) -> bool:
    """``tmux load-buffer -w -``: into tmux's buffer, and by it to the clipboard of the terminal around it."""
    try:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "load-buffer", "-w", "-"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(_TMUX_SEC):
            await process.communicate(data)
    except TimeoutError:
        process.kill()
        await process.wait()
    return process.returncode == 0


def _through_tmux(sequence: str) -> str:
    """Wrapped so that tmux hands it on (``allow-passthrough on``)."""
    return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
