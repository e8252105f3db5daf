"""A port in front of a server that can be closed while the server stays up for others."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Relay:
    """Passes on what comes, both ways, until it is closed."""

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self._target = target.hostname, target.port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listener]
        self._threads: list[threading.Thread] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._in_thread(self._accept)

    def close(self) -> None:
        """From now on the port is dead, and whoever is connected is cut off."""
        while self._open:
            with suppress(OSError), self._open.pop() as end:
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._open += [client, server]
                self._in_thread(_pump, client, server)
                self._in_thread(_pump, server, client)

    def _in_thread(self, what: object, *ends: socket.socket) -> None:
        thread = threading.Thread(target=what, args=ends)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()


@contextmanager
def relay(url: str) -> Iterator[Relay]:
    """What is in front of the server at ``url``, on a port of its own."""
    made = Relay(url)
    try:
        yield made
    finally:
        made.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
