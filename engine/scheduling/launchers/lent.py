"""Servers that other backends of this user run, as this one uses them: by a lease in their folder.

Who borrows takes the lease, and then looks whether the server is to be unloaded; who unloads says so, and
then looks for leases. So one of them at least sees the other, and gives way.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from engine.hosting.leases import give_back, is_taken, take
from engine.scheduling.launching import NotNowError, ServerState
from engine.scheduling.starts import Seated
from engine.store.atomic import write_json
from engine.store.attempts import Attempt
from engine.store.process_identity import is_alive
from engine.store.records import now_iso
from engine.store.rundir import RunDirError
from engine.store.server_folder import ServerFolder, ServerRecord

BACK_WITHIN_SEC = 15.0
"""Given to its owner to start a server again that was killed."""


class LentServers:
    """Those of a root whose server.json names another's folder as ``lender``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._gone_since: dict[str, float] = {}

    def begin(self, folder: ServerFolder, seated: Seated) -> None:
        """Use it from now on. NotNowError where it is not lent any more. Raises OSError."""
        assert seated.server is not None
        lender = ServerFolder(Path(seated.lender))
        try:
            take(lender, self._root)
            theirs = lender.read_record()
        except (OSError, RunDirError) as error:
            raise NotNowError(str(error)) from error
        if theirs is None or not lender.is_lendable():
            give_back(lender)
            raise NotNowError("the backend that runs it has unloaded it")
        record = ServerRecord(
            key=seated.owner, nodeset=seated.server, address=theirs.address, lender=seated.lender
        )
        write_json(folder.record, record)
        self._gone_since.pop(seated.owner, None)

    def end(self, folder: ServerFolder, record: ServerRecord) -> None:
        """Use it no more. Raises OSError."""
        write_json(folder.record, msgspec.structs.replace(record, stop_requested_at=now_iso()))
        give_back(ServerFolder(Path(record.lender)))

    def state(self, record: ServerRecord) -> ServerState:
        """How it stands with its owner. No process of it is ours."""
        if record.stop_requested_at is not None:
            return ServerState(0, ended="it was given back")
        lender = ServerFolder(Path(record.lender))
        try:
            if not is_taken(lender):
                take(lender, self._root)  # as the backend before us had
            theirs = lender.read_record()
            if theirs is None or theirs.stop_requested_at is not None:
                # Its owner says so before it looks for leases, and takes it back where it finds ours.
                return self._gone(record, "the backend that runs it has unloaded it")
            if end := lender.read_end(theirs.attempt):
                return ServerState(0, ended=end.why)
            if _lives(lender, theirs):
                self._gone_since.pop(record.key, None)
                ready = lender.read_ready(theirs.attempt)
                return ServerState(0, ready is not None, ready.url if ready else "")
        except (OSError, RunDirError) as error:
            return self._gone(record, str(error))
        return self._gone(record, "it was killed, and the backend that runs it has not started it again")

    def _gone(self, record: ServerRecord, why: str) -> ServerState:
        now = time.monotonic()
        since = self._gone_since.setdefault(record.key, now)
        return ServerState(0, ended=why if now - since > BACK_WITHIN_SEC else None)


def _lives(lender: ServerFolder, theirs: ServerRecord) -> bool:
    """Its shim runs, or is still to claim the attempt."""
    claim = Attempt(lender.attempt(theirs.attempt)).read_shim()
    return claim is None or (claim.process is not None and is_alive(claim.process))
