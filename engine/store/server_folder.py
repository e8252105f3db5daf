"""The folder of a shared server, ``outputs/servers/<name>@<hash>/``, and the place where it answers.

    server.json      scheduler, before the spawn: what to start, where it answers, the attempt that counts
    regimes.json     server: how its batched tools run, until it may come back otherwise
    ready.json       server: there while it answers; for its user's eyes alone where it holds a token
    attempts/1/      shim and server: stdout.log, stderr.log, host.log, end.json (why it gave up), exit.json
    leases/          its users: a file each, of a process

A socket's path must be short, so that it lies elsewhere; beside it a link ``server`` leads back here. A
server on a cluster answers now here, now there: its users are told ``server:<this folder>``, and find it by
``ready.json``.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from engine.store.records import NodesetNeed
from engine.store.rundir import RunDirError

T = TypeVar("T")

UNIX, CLUSTER = "unix:", "server:"
_SOCKET, _LINK = "host.sock", "server"


class ServerRecord(msgspec.Struct, kw_only=True):
    """server.json. address: the folder of its socket, the same for ever. attempt counts from 1; what an
    earlier one left says nothing about this one. stop_requested_at: from then on it is being unloaded.
    lender: the folder of another backend's, which is used in place of one of its own; empty for its own.
    on: the cluster where it runs, as ``slurm`` or ``slurm:PARTITION``, and has no address of its own; empty
    for this machine. idle_sec: after so long without a user it ends by itself; 0 is never. mem_mb, cards:
    what was asked of the cluster.
    """

    key: str
    nodeset: NodesetNeed
    address: str = ""
    attempt: int = 0
    token: str = ""
    gpus: tuple[str, ...] | None = None
    stop_requested_at: str | None = None
    lender: str = ""
    on: str = ""
    idle_sec: float = 0.0
    mem_mb: float = 0.0
    cards: int = 0


class Ready(msgspec.Struct, kw_only=True):
    """ready.json. pid: the host's. starts: how often this attempt has started it. manifest_digest: of all
    that decides bits there. private: it was given keys of this root's, so that other roots do not use it.
    token: what it wants to be told by its callers; empty where only this user can reach it."""

    attempt: int
    url: str
    pid: int
    starts: int
    manifest_digest: str
    since: str
    private: bool = False
    token: str = ""


class Regimes(msgspec.Struct, kw_only=True):
    """regimes.json. tools: batched tool (and config, where it is not the default) → what decides its bits.
    boot_id: after the next boot it counts no more; on a cluster, where each start is elsewhere, it does."""

    boot_id: str
    tools: dict[str, dict[str, Any]]


class GaveUp(msgspec.Struct, kw_only=True):
    """end.json. why: for people, with the last lines of the log where they say something. unused: only since
    nobody used it."""

    why: str
    at: str
    unused: bool = False


@dataclass(frozen=True)
class ServerFolder:
    """One server's folder: its paths, and ``read_*``, which give None for what is not there.

    They raise RunDirError for a file that cannot be read.
    """

    path: Path

    @property
    def root(self) -> Path:
        return self.path.parents[2]

    @property
    def stderr(self) -> Path:
        """What its keeper says; a link to the last attempt's."""
        return self.path / "stderr.log"

    @property
    def record(self) -> Path:
        return self.path / "server.json"

    @property
    def ready(self) -> Path:
        return self.path / "ready.json"

    @property
    def regimes(self) -> Path:
        return self.path / "regimes.json"

    @property
    def leases(self) -> Path:
        return self.path / "leases"

    def attempt(self, number: int) -> Path:
        return self.path / "attempts" / str(number)

    def end(self, attempt: int) -> Path:
        return self.attempt(attempt) / "end.json"

    def log(self, attempt: int) -> Path:
        """What the nodeset's own process writes."""
        return self.attempt(attempt) / "host.log"

    def read_record(self) -> ServerRecord | None:
        return _read(self.record, ServerRecord)

    def read_ready(self, attempt: int) -> Ready | None:
        """Where that attempt answers now."""
        ready = _read(self.ready, Ready)
        return ready if ready and ready.attempt == attempt else None

    def is_lendable(self) -> bool:
        """Whether other roots may use it, as far as its files tell: it answers, and is not being unloaded."""
        try:
            record = self.read_record()
            if record is None or record.stop_requested_at is not None:
                return False
            ready = self.read_ready(record.attempt)
            return ready is not None and not ready.private
        except (OSError, RunDirError):
            return False

    def read_regimes(self) -> Regimes | None:
        return _read(self.regimes, Regimes)

    def read_end(self, attempt: int) -> GaveUp | None:
        return _read(self.end(attempt), GaveUp)


def server_folder(root: Path, key: str) -> ServerFolder:
    """Where the server with this key lies."""
    return ServerFolder(root / "outputs" / "servers" / key.removeprefix("server:"))


def socket_of(record: ServerRecord) -> Path:
    return Path(record.address, _SOCKET)


def cluster_url(folder: ServerFolder) -> str:
    """By which the users of a server on a cluster find it, wherever it runs."""
    return f"{CLUSTER}{folder.path}"


def url_of(record: ServerRecord) -> str:
    """Where it answers, whenever it does."""
    return f"{UNIX}{socket_of(record)}"


def make_address(folder: ServerFolder, address: Path) -> None:
    """Have the socket's folder, private to this user, and its link back to the server's folder.

    OSError where it is somebody else's.
    """
    with suppress(FileExistsError):
        address.mkdir(mode=0o700)
    found = address.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{address} must be a folder of this user's alone: remove it, or wait for that")
    link = address / _LINK
    link.unlink(missing_ok=True)
    link.symlink_to(folder.path)


def remove_address(record: ServerRecord) -> None:
    """What is left of the socket's folder goes."""
    if record.address:
        shutil.rmtree(record.address, ignore_errors=True)


def server_at(url: str) -> ServerFolder | None:
    """The folder of the shared server that answers at ``url``; None where it is none of ours.

    Of this user's alone: it is read and written to.
    """
    if url.startswith(CLUSTER):
        path = Path(url.removeprefix(CLUSTER))
        try:
            return ServerFolder(path) if path.is_absolute() and path.stat().st_uid == os.getuid() else None
        except OSError:
            return None
    if not url.startswith(UNIX):
        return None
    link = Path(url.removeprefix(UNIX)).with_name(_LINK)
    try:
        if link.lstat().st_uid != os.getuid():
            return None
        return ServerFolder(Path(os.readlink(link)))
    except OSError:
        return None


def _read(path: Path, record: type[T]) -> T | None:
    if not path.exists() and not _is_listed(path):
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RunDirError(f"{path} cannot be read: {error}") from None


def _is_listed(path: Path) -> bool:
    """A shared file system remembers for a while that a file was not there, until its folder is listed."""
    try:
        return path.name in os.listdir(path.parent)
    except FileNotFoundError:
        return False
