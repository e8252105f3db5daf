"""``python -m engine.hosting.shared_server --dir DIR --attempt N``: keeps one shared nodeset's host up.

Runs under a shim. The host answers at the address of ``server.json``, before a crash and after; on a cluster,
where ``ready.json`` says. Exit code 0: it was told to stop, or nobody used it; 1: it gave up, and
``end.json`` says why.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from engine.hosting.keeping import GaveUpError, Keeper, UnusedError
from engine.store.atomic import write_json
from engine.store.keys import Keys, withhold
from engine.store.records import now_iso
from engine.store.rundir import RunDirError
from engine.store.server_folder import GaveUp, ServerFolder, ServerRecord
from engine.store.settings import SettingsError, read_settings

log = logging.getLogger("engine.hosting.shared_server")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.hosting.shared_server", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="a server's folder, which holds server.json")
    parser.add_argument("--attempt", type=int, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    folder, attempt = ServerFolder(arguments.dir.absolute()), arguments.attempt
    try:
        record = _record(folder, attempt)
        keys = withhold(read_settings(folder.root).profiles)
        asyncio.run(_keep(folder, record, keys))
    except UnusedError as error:
        log.info("%s", error)
        return 0
    except (GaveUpError, RunDirError, SettingsError, OSError) as error:
        log.error("%s", error)
        _leave_word(folder, attempt, str(error))
        return 1
    return 0


def _record(folder: ServerFolder, attempt: int) -> ServerRecord:
    record = folder.read_record()
    if record is None or record.attempt != attempt:
        raise GaveUpError("another start of this server has taken its place")
    return record


async def _keep(folder: ServerFolder, record: ServerRecord, keys: Keys) -> None:
    keeping = asyncio.current_task()
    assert keeping is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, keeping.cancel)
    try:
        await Keeper(folder, record, keys).keep()
    except asyncio.CancelledError:
        log.info("told to stop")
    except UnusedError:
        raise
    except GaveUpError as error:
        raise GaveUpError(keys.strike_in(str(error))) from None


def _leave_word(folder: ServerFolder, attempt: int, why: str) -> None:
    try:
        write_json(folder.end(attempt), GaveUp(why=why, at=now_iso()))
    except OSError as error:
        log.error("why is not written: %s", error)


if __name__ == "__main__":
    sys.exit(main())
