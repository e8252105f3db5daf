"""The control centre on a terminal, on a root of its own whose runs take their time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psutil

from engine.control.reports import NoBackendError
from engine.main import open_control
from engine.store.backend_lock import BackendAliveError, BackendLock, live_backend
from engine.store.process_identity import is_alive
from tests.fakes.workspace import NODESET, make_root, toy_graph
from tests.pty.terminal import Terminal, program, record_env, wait_until

DONE_SEC = 60.0

_NAP = NODESET.replace("env_toy", "env_nap")
for _toy, _nap in {
    "from engine": "import asyncio\nfrom pathlib import Path\n\nfrom engine",
    'return {"metrics"': 'await nap()\n        return {"metrics"',
    "1.0": "float(Panel.seed % 3 == 0)",
    'name = "env_nap"\n\n': 'name = "env_nap"\n    seed = 0\n\n',
    "return {}\n\n    async def on_action": "Panel.seed = value if name == 'seed' else Panel.seed\n"
    "        return {}\n\n    async def on_action",
}.items():
    assert _toy in _NAP, _toy
    _NAP = _NAP.replace(_toy, _nap, 1)
_NAP += """

async def nap():
    await asyncio.sleep(0.1)
    Path(FOLDER, "napping").touch()
    while Path(FOLDER, "held").exists():
        await asyncio.sleep(0.02)
"""


class Centre:
    """A root with the graph ``nap``, whose episodes take 0.1 s, or as long as they are held, and what is done
    in it."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.root = make_root(folder / "root", nap=_nap_graph())
        (self.root / "workspace" / "nodesets" / "env_nap.py").write_text(
            f"{_NAP}\n\nFOLDER = {str(folder)!r}\n"
        )
        (self.root / "evaltower.toml").write_text(
            "[admission]\norphan_grace = 20.0\ngrace = 5.0\ndisk_low = 1.0\n"
        )
        self._folder = folder
        self.ticks_file = folder / "ticks"
        self.env = record_env(folder) | {"XDG_CACHE_HOME": str(cache)}

    def open(self, **options: Any) -> Terminal:
        """``evaltower`` on a terminal; its backend, where it has one, writes down its ticks."""
        return Terminal(self.command(), self.env, **{"size": (120, 36)} | options)

    def command(self, module: str = "tests.pty.ticking") -> list[str]:
        return program(module, "--root", str(self.root))

    def run(self, graph: str, episodes: int, *words: str) -> str:
        """Start a run by the command line, in the backend that is alive; its id."""
        asked = ["run", graph, "-n", str(episodes), "-w", "2", "--seed", "3", *words]
        done = subprocess.run(
            [*self.command("engine.main"), *asked, "--no-follow"],
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def run_held(self, episodes: int) -> str:
        """A run of ``nap`` whose episodes do not end before :meth:`let_go`, when some have begun."""
        (self._folder / "held").touch()
        run_id = self.run("nap", episodes)
        wait_until((self._folder / "napping").exists, "an episode", DONE_SEC)
        return run_id

    def let_go(self) -> None:
        (self._folder / "held").unlink(missing_ok=True)

    def folder(self, run_id: str) -> Path:
        return self.root / "outputs" / "eval_runs" / run_id

    def wait_for_episodes(self, run_id: str, count: int) -> None:
        rows = self.folder(run_id) / "episodes.jsonl"
        wait_until(
            lambda: rows.exists() and rows.read_text().count("\n") >= count, f"{count} episodes", DONE_SEC
        )

    def is_done(self, run_id: str) -> bool:
        return (self.folder(run_id) / "_DONE").exists()

    def wait_done(self, run_id: str) -> str:
        """Its digest, when it has completed."""
        wait_until(lambda: self.is_done(run_id), "the end of the run", DONE_SEC)
        summary = msgspec.json.decode((self.folder(run_id) / "summary.json").read_bytes())
        assert summary["status"] == "completed"
        return str(summary["result_digest"])

    def backend_pid(self) -> int:
        found = live_backend(self.root)
        return found.process.pid if found else 0

    def wait_for_backend(self, but: int = 0) -> int:
        """The process of the backend that serves, once it is another than ``but``."""

        def serves() -> bool:
            found = live_backend(self.root)
            return found is not None and bool(found.url) and found.process.pid != but and not found.successor

        wait_until(serves, "a backend")
        return self.backend_pid()

    def client(self) -> httpx.Client:
        found = live_backend(self.root)
        assert found is not None
        token = (self.root / "outputs" / "token").read_text().strip()
        return httpx.Client(base_url=found.url, headers={"Authorization": f"Bearer {token}"}, timeout=10)

    def ticks(self) -> list[float]:
        return [float(line) for line in self.ticks_file.read_text().splitlines()]

    def close(self) -> None:
        """Let go, and end its backend, also one that begins just now because the one before it was killed."""

        self.let_go()

        def is_free() -> bool:
            if found := live_backend(self.root):
                with suppress(NoBackendError), open_control(str(self.root), "operate") as control:
                    control.stop_backend(cancel=True)
                last = found.successor or found.process
                wait_until(lambda: not is_alive(last), "the end of the backend", DONE_SEC)
            try:
                BackendLock.acquire(self.root).close()
            except BackendAliveError:
                return False
            return True

        wait_until(is_free, "a root without a backend", DONE_SEC)


def in_session(leader: int) -> Sequence[int]:
    """The processes that are left of a terminal's session."""
    found = []
    for process in psutil.process_iter():
        with suppress(OSError, psutil.NoSuchProcess):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def _nap_graph() -> dict[str, Any]:
    text = msgspec.json.encode(toy_graph(name="A nap")).replace(b"env_toy", b"env_nap")
    graph: dict[str, Any] = msgspec.json.decode(text)
    return graph
