"""An episode's environment as a folder of this machine, in which commands really run."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.scoring.context import ComputeError, Executed


class FolderCompute:
    """``commands``: those that were run, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands: list[str] = []

    async def exec(
        self, command: str, *, cwd: str = "", timeout_sec: float, env: Mapping[str, str] | None = None
    ) -> Executed:
        self.commands.append(command)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_shell(
            command,
            cwd=self.folder / cwd,
            env={**os.environ, **(env or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
        timed_out = False
        try:
            async with asyncio.timeout(timeout_sec):
                stdout, stderr = await process.communicate()
        except TimeoutError:
            timed_out, stdout, stderr = True, b"", b""
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return Executed(process.returncode or 0, stdout.decode(), stderr.decode(), timed_out)

    async def read_file(self, path: str) -> bytes:
        try:
            return (self.folder / path).read_bytes()
        except OSError as error:
            raise ComputeError(str(error)) from None

    async def write_file(self, path: str, data: bytes) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    async def snapshot(self) -> dict[str, Any] | None:
        return None
