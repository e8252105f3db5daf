"""An OpenAI-compatible chat server in a thread of the test: answers by what it is asked, or as told."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["Handler", dict[str, Any]], None]
"""What is done with one request, given its JSON."""


@dataclass
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class ChatServer:
    """``acts`` are used up one a request; then ``answer(body)`` gives the text. ``probes``: likewise for
    questions of what models there are. ``most_at_once``: requests that waited for an answer together, but for
    those that their client had given up."""

    url: str = ""
    answer: Callable[[dict[str, Any]], str] = lambda body: "ok"
    models: tuple[str, ...] = ("tiny",)
    acts: deque[Act] = field(default_factory=deque)
    probes: deque[Act] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    most_at_once: int = 0
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: set[Handler] = field(default_factory=set)

    @property
    def inside(self) -> int:
        """Requests without an answer."""
        return len(self.waiting)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [asked.body for asked in self.asked]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    chat: ChatServer

    def do_GET(self) -> None:
        self.chat.asked.append(Asked(self.path, dict(self.headers), {}))
        if self.chat.probes:
            self.chat.probes.popleft()(self, {})
        else:
            self.reply(200, {"data": [{"id": name} for name in self.chat.models]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        chat = self.chat
        with chat.lock:
            chat.waiting.add(self)
            chat.most_at_once = max(chat.most_at_once, sum(not one.is_given_up() for one in chat.waiting))
            chat.asked.append(Asked(self.path, dict(self.headers), body))
            act = chat.acts.popleft() if chat.acts else says()
        try:
            act(self, body)
        finally:
            self.waits_no_more()

    def is_given_up(self) -> bool:
        """Whether the client has closed the connection."""
        try:
            return self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def waits_no_more(self) -> None:
        """Before the answer goes out: with it in hand, the client may ask again at once."""
        with self.chat.lock:
            self.chat.waiting.discard(self)

    def reply(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        self.waits_no_more()
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Keep the test's output clean."""


def completion(*texts: Any, usage: Any = None, **more: Any) -> dict[str, Any]:
    """The JSON of an answer."""
    choices = [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} for text in texts]
    usage = {"prompt_tokens": 10, "completion_tokens": 2} if usage is None else usage
    return {"model": "tiny-0", "choices": choices, "usage": usage, **more}


def says(*texts: Any, **more: Any) -> Act:
    """Answer so; without texts, what the server's ``answer`` says, ``n`` times."""

    def act(handler: Handler, body: dict[str, Any]) -> None:
        told = texts or [handler.chat.answer(body)] * body.get("n", 1)
        handler.reply(200, completion(*told, **more))

    return act


def fails(status: int, content: Any = None, **headers: str) -> Act:
    """Answer with this status. ``Retry_After="3"`` becomes the header ``Retry-After``."""

    def act(handler: Handler, body: dict[str, Any]) -> None:
        told = {"error": {"message": "no luck"}} if content is None else content
        handler.reply(status, told, {name.replace("_", "-"): value for name, value in headers.items()})

    return act


def sends(raw: bytes) -> Act:
    """Answer 200 with these bytes."""
    return lambda handler, body: handler.reply(200, raw)


def hangs(handler: Handler, body: dict[str, Any]) -> None:
    """Accept, and never answer."""
    handler.chat.closing.wait()


def drips(handler: Handler, body: dict[str, Any]) -> None:
    """Begin an answer, and go on for ever, a byte at a time."""
    handler.send_response_only(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.chat.closing.wait(0.01):
        try:
            handler.wfile.write(b" ")
        except OSError:
            return


def breaks_off(handler: Handler, body: dict[str, Any]) -> None:
    """Promise a whole answer, send the beginning, and drop the connection."""
    handler.send_response_only(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def choice_of(*words: str) -> Callable[[dict[str, Any]], str]:
    """An answer for :class:`ChatServer` that depends on all of the messages, and nothing else."""

    def answer(body: dict[str, Any]) -> str:
        digest = blake2b(json.dumps(body["messages"], sort_keys=True).encode(), digest_size=4).digest()
        return f"I weigh it up.\n{words[int.from_bytes(digest, 'big') % len(words)]}"

    return answer


@contextmanager
def chat_server(**options: Any) -> Iterator[ChatServer]:
    """A server on a port of its own, gone at the end."""
    chat = ChatServer(**options)
    bound = type("Bound", (Handler,), {"chat": chat})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    server.daemon_threads = True
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield chat
    finally:
        chat.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
