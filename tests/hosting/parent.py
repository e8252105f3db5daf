"""Starts a zoo's host, calls it, and waits to be killed: ``parent.py SOCKET_DIR LOG WHAT MARK``."""

import asyncio
import sys
from pathlib import Path

from engine.hosting.client import HostClient
from engine.hosting.process import HostProcess, HostSpec
from tests.hosting.helpers import ZOO


async def main() -> None:
    socket_dir, log, what, mark = sys.argv[1:]
    host = await HostProcess.start(HostSpec("zoo", ZOO, Path(log), Path(socket_dir)), 60)
    client = HostClient(host.url, "run/0")
    print(host.pid, flush=True)
    await client.call("zoo__do", {"what": what, "value": mark}, {}, {}, 600)


asyncio.run(main())
