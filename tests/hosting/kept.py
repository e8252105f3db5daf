"""The process that keeps a shared server up, on a folder of the test's."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.hosting.client import HostClient
from engine.hosting.process import make_socket_dir
from engine.store.atomic import write_json
from engine.store.server_folder import Ready, ServerFolder, ServerRecord, remove_address
from tests.fakes.shared_servers import ModelFiles, model_need, until

ROOT = Path(__file__).parents[2]


class Kept:
    """``python -m engine.hosting.shared_server`` on a folder."""

    def __init__(
        self, folder: Path, model: ModelFiles, on: str = "", idle_sec: float = 0.0, **need: Any
    ) -> None:
        self.model = model
        self.folder = ServerFolder(folder)
        self.record = ServerRecord(
            key="server:model_line@x",
            nodeset=model_need(**need),
            address="" if on else str(make_socket_dir()),
            attempt=1,
            on=on,
            idle_sec=idle_sec,
        )
        self.folder.attempt(1).mkdir(parents=True)
        write_json(self.folder.record, self.record)
        self.process = self._spawn()

    def _spawn(self) -> subprocess.Popen[bytes]:
        words = ["--dir", str(self.folder.path), "--attempt", str(self.record.attempt)]
        with (self.folder.path / "stderr.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "engine.hosting.shared_server", *words], cwd=ROOT, stderr=log
            )

    def ready(self, after: int = 0) -> Ready:
        """Once it was started more than ``after`` times."""

        def found() -> Ready | None:
            assert self.process.poll() is None, (self.folder.path / "stderr.log").read_text()
            ready = self.folder.read_ready(self.record.attempt)
            return ready if ready and ready.starts > after else None

        ready = until(found, "it to be ready")
        assert ready is not None
        return ready

    def why(self) -> str:
        """It gave up."""
        assert self.process.wait(60) == 1
        end = self.folder.read_end(self.record.attempt)
        assert end is not None
        assert not self.folder.ready.exists()
        return end.why

    def ask(self, what: Callable[[HostClient], Any]) -> Any:
        async def asked() -> Any:
            ready = self.ready()
            client = HostClient(ready.url, "run/0", token=ready.token)
            try:
                return await what(client)
            finally:
                await client.close()

        return asyncio.run(asked())

    def act(self, config: dict[str, Any] | None = None, timeout: float = 30.0) -> Any:
        execution = {"execution_id": "run/ep0000", "node_id": "act", "key": 7}
        inputs = {"observation": "You are at 3."}
        return self.ask(lambda c: c.call("model_line__act", inputs, config or {}, execution, timeout)).outputs

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        remove_address(self.record)
