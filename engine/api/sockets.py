"""Where a backend listens: a TCP port, and a Unix socket that only its user can reach."""

from __future__ import annotations

import errno
import os
import socket
import stat
import tempfile
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from engine.control.reports import ControlError

PORT = 8765
NEXT_PORTS = 100
_BACKLOG = 1024
_LONGEST_PATH = 100
"""Bytes; Linux takes 107."""


@dataclass(frozen=True)
class Sockets:
    """Two listening sockets. They do not pass to child processes, unless they are handed over."""

    tcp: socket.socket
    unix: socket.socket

    @property
    def url(self) -> str:
        host, port = self.tcp.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def path(self) -> str:
        """The Unix socket's."""
        return str(self.unix.getsockname())

    @classmethod
    def open(cls, root: Path, host: str, port: int | None) -> Sockets:
        """Listen for the backend of ``root``. port: None is 8765 or the next free one, 0 any.

        ControlError where the port that was asked for is taken, or the host is none of this machine's.
        """
        tcp = _listen_at_port(host, port)
        try:
            return cls(tcp, _listen_at_path(_socket_path(root)))
        except OSError as error:
            tcp.close()
            raise ControlError(f"the Unix socket cannot be made: {error}") from error

    @classmethod
    def adopt(cls, tcp: int, unix: int) -> Sockets:
        """Those that the backend before us handed over as open files."""
        return cls(_adopted(tcp), _adopted(unix))

    def close(self, *, remove: bool = False) -> None:
        """Stop listening; ``remove``: nobody goes on, so that the path has no more use."""
        if remove:
            Path(self.path).unlink(missing_ok=True)
        self.tcp.close()
        self.unix.close()


def _adopted(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)
    return socket.socket(fileno=descriptor)


def _listen_at_port(host: str, port: int | None) -> socket.socket:
    asked = [port] if port is not None else [*range(PORT, PORT + NEXT_PORTS), 0]
    try:
        family, *_, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise ControlError(f"--host {host}: {error.strerror}") from None
    for number in asked:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address[0], number))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise ControlError(f"{host}:{number} cannot be listened at: {error.strerror}") from None
            continue
        return listener
    raise ControlError(f"port {port} of {host} is taken: give another --port, 0 for any, or leave it out")


def _listen_at_path(path: Path) -> socket.socket:
    # Whoever listened here before is gone, as the root's lock is ours.
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _socket_path(root: Path) -> Path:
    name = blake2b(os.fsencode(root.resolve()), digest_size=8).hexdigest() + ".sock"
    return _private_folder() / name


def _private_folder() -> Path:
    """A short one, which is the user's alone. A name that somebody else has taken is left to them."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > _LONGEST_PATH - 50:
        base = "/tmp"
    usual = Path(base) / f"evaltower-{os.geteuid()}"
    try:
        usual.mkdir(mode=0o700, exist_ok=True)
        status = usual.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            usual.chmod(0o700)
            return usual
    except OSError:  # a file of that name, or a folder that cannot be written
        pass
    return Path(tempfile.mkdtemp(prefix="evaltower-", dir=base))
