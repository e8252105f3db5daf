"""Shared servers as processes of this machine, each under a shim of its own. What there is to know of them is
on disk, so that the next backend goes on with them."""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import Collection
from pathlib import Path

import msgspec

from engine.hosting.leases import living
from engine.hosting.process import make_socket_dir
from engine.scheduling.launchers.lent import LentServers
from engine.scheduling.launchers.processes import Processes
from engine.scheduling.launchers.server_attempts import (
    attempt_of,
    how_it_ended,
    mark_of,
    next_attempt,
    prune,
    read_end,
    read_record,
)
from engine.scheduling.launchers.spawning import Graces, cards_environment, spawn_shim
from engine.scheduling.launchers.tree import Tree
from engine.scheduling.launching import LaunchError, ServerState
from engine.scheduling.starts import Seated
from engine.store.atomic import write_json
from engine.store.records import now_iso
from engine.store.server_folder import (
    ServerFolder,
    ServerRecord,
    make_address,
    remove_address,
    server_folder,
    url_of,
)

log = logging.getLogger(__name__)

_COMMAND = (sys.executable, "-m", "engine.hosting.shared_server")


class ServerLauncher:
    """Servers by their key, in the root's ``outputs/servers``. Use it in one thread at a time."""

    def __init__(self, root: Path, graces: Graces) -> None:
        self._root = root
        self._graces = graces
        self._trees: dict[str, Tree] = {}
        self._lent = LentServers(root)

    def start(self, seated: Seated) -> None:
        """Start a server on its cards, at the address that it had before; or use its lender's.

        Raises LaunchError and OSError.
        """
        assert seated.server is not None
        folder = server_folder(self._root, seated.owner)
        folder.path.mkdir(parents=True, exist_ok=True)
        if seated.lender:
            self._lent.begin(folder, seated)
            return
        before = read_record(folder)
        if before and before.lender:
            before = None
        left = self._state(folder, before, Processes.read()) if before else None
        if left and left.ended is None:
            raise LaunchError("an earlier process of it has not ended yet")
        if not (left and left.killed):
            folder.regimes.unlink(missing_ok=True)  # nobody goes on with it: it may run otherwise than then
        record = ServerRecord(
            key=seated.owner,
            nodeset=seated.server,
            address=before.address if before else str(make_socket_dir()),
            attempt=next_attempt(folder),
            token=secrets.token_hex(16),
            gpus=seated.visible,
        )
        make_address(folder, Path(record.address))
        write_json(folder.record, record)
        attempt = attempt_of(folder, record)
        spawned = spawn_shim(
            attempt,
            [*_COMMAND, "--dir", str(folder.path), "--attempt", str(record.attempt)],
            graces=self._graces,
            mark=mark_of(record),
            cwd=self._root,
            environment=cards_environment(seated.visible),
        )
        self._trees[seated.owner] = Tree(attempt, mark_of(record), self._graces, spawned)
        prune(folder, record.attempt)

    def stop(self, key: str) -> None:
        """Let a server end, unless those of other roots use it: politely, and by force after the grace.

        Again is no error. Raises OSError where what is to happen to it cannot be written.
        """
        folder = server_folder(self._root, key)
        record = read_record(folder)
        if record is None:
            return
        if record.lender:
            self._lent.end(folder, record)
            return
        if record.stop_requested_at is None:
            try:
                write_json(folder.record, msgspec.structs.replace(record, stop_requested_at=now_iso()))
            except OSError as error:  # it is asked all the same
                log.error("that %s is to end is not written: %s", key, error)
            if self._is_leased(folder):
                write_json(folder.record, record)
                return
        tree = self._tree(folder, record)
        if tree.shim or tree.look(Processes.read()) == "alive":
            tree.ask_to_end()

    def poll(self, keys: Collection[str]) -> dict[str, ServerState]:
        """How these stand, whichever backend started them; those that nobody did are left out. Raises OSError
        where nothing can be seen."""
        if not keys:
            return {}
        processes = Processes.read()
        states: dict[str, ServerState] = {}
        for key in keys:
            folder = server_folder(self._root, key)
            if record := read_record(folder):
                states[key] = self._state(folder, record, processes)
        return states

    def url(self, key: str) -> str:
        """Where a server answers that was started. LaunchError for another."""
        folder = server_folder(self._root, key)
        record = read_record(folder)
        if record is None:
            raise LaunchError(f"{folder.record} is not there, or cannot be read")
        return url_of(record)

    def _state(self, folder: ServerFolder, record: ServerRecord, processes: Processes) -> ServerState:
        if record.lender:
            return self._lent.state(record)
        tree = self._tree(folder, record)
        standing = tree.look(processes)
        if standing == "alive":
            if record.stop_requested_at is not None:
                tree.ask_to_end()
            ready = folder.read_ready(record.attempt)
            return ServerState(
                tree.pid,
                ready=ready is not None,
                url=ready.url if ready else "",
                leased=record.stop_requested_at is None and self._is_leased(folder),
            )
        if record.stop_requested_at is not None:
            remove_address(record)
            return ServerState(0, ended="it was unloaded")
        if end := read_end(folder, record):
            return ServerState(0, ended=end.why)
        if standing == "never":
            return ServerState(0, ended="it never began", killed=True)
        return _as_ended(tree)

    def _is_leased(self, folder: ServerFolder) -> bool:
        own = str(self._root.resolve())
        return any(lease.root != own for lease in living(folder).values())

    def _tree(self, folder: ServerFolder, record: ServerRecord) -> Tree:
        """Its processes, those of the current attempt."""
        tree = self._trees.get(record.key)
        if tree is None or tree.attempt.number != record.attempt:
            tree = Tree(attempt_of(folder, record), mark_of(record), self._graces)
            self._trees[record.key] = tree
        return tree


def _as_ended(tree: Tree) -> ServerState:
    """Of one that has not said why."""
    how = tree.attempt.read_exit()
    if how is not None and how.stopped_by == "orphaned":
        return ServerState(0, ended="no backend lived to look after it")
    if how is not None and how.stopped_by:
        return ServerState(0, ended="it was told to end")
    return ServerState(0, ended=how_it_ended(tree.attempt), killed=True)
