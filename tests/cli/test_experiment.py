"""Profiles: what they add to a request, and a command whose submissions get it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.cli import submitting
from engine.cli.submission_proxy import SubmissionProxy, Upstream
from engine.control.reports import ConflictError
from tests.cli.conftest import Operate
from tests.fakes.fake_control import FakeControl, make_waiting

TOML = """
[experiments.cma]
vram_mb = 8000
[experiments.cma.defaults]
worker_count = 4
split = "val"
selectors = { house = 3 }
[experiments.slam]
exclusive_gpu = true
[experiments.typo]
defaults = { worker_cuont = 1 }
"""

SUBMIT = """
import json, os, sys, urllib.request
base, token = os.environ["BACKEND_URL"], os.environ["EVALTOWER_TOKEN"]
assert base == os.environ["AGENTCANVAS_BACKEND_URL"] and token in base
body = json.dumps({"graph_name": "toy", "worker_count": 2}).encode()
request = urllib.request.Request(base + "/api/eval/v2/start", body, method="POST")
with urllib.request.urlopen(request) as answer:
    print(json.loads(answer.read())["run_id"], flush=True)
"""


class Backend(ThreadingHTTPServer):
    """Takes down what it is asked; answers starts with ``run``, ``/stream`` in two pieces, else what came."""

    def __init__(self, run: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.run, self.bodies, self.seen = run, list[Any](), list[tuple[str, str, str | None]]()
        self.go_on = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Backend

    def do_GET(self) -> None:
        self.server.seen.append((self.command, self.path, self.headers.get("Authorization")))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.bodies.append(body)
        if self.path.endswith("/stream"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"one\n")
            self.wfile.flush()
            self.server.go_on.wait(30)
            self.wfile.write(b"two\n")
            return
        refused = b"refuse" in body
        answer = json.dumps({"detail": "no"} if refused else {"run_id": self.server.run}).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def backend(root: Path, control: FakeControl) -> Iterator[Backend]:
    """What the commands' submissions reach; its runs are one that waits."""
    (root / "evaltower.toml").write_text(TOML)
    server = Backend(make_waiting(root).run_id)
    control.address.url = server.url
    (root / "outputs" / "token").write_text("s3cret\n")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.go_on.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("cma", "toy"),
         {"marginal_vram_mb": 8000.0, "worker_count": 4, "exclusive_gpu": False, "split": "val"}),
        (("cma", "toy", "worker_count=2", "label=3", "selectors.door=x"),
         {"worker_count": 2, "label": "3", "selectors": {"house": 3, "door": "x"}}),
        (("slam", "toy", "episode_indices=[1,2]", "marginal_vram_mb=0"),
         {"exclusive_gpu": True, "marginal_vram_mb": 0.0, "episode_indices": [1, 2]}),
        (("cmaa", "toy"), {"exclusive_gpu": True, "marginal_vram_mb": None}),
    ],
)  # fmt: skip
def test_a_graph_under_a_profile(
    backend: Backend, control: FakeControl, operate: Operate, words: tuple[str, ...], expected: dict[str, Any]
) -> None:
    said = operate("experiment", *words, "--no-follow")
    assert said.code == 0, said.err
    asked = control.started[0]
    assert {name: getattr(asked, name) for name in expected} == expected
    assert asked.graph_name == "toy"
    unknown = "there is no [experiments.cmaa] in evaltower.toml; near: cma: it gets a whole GPU, alone"
    assert (unknown in said.err) == (words[0] == "cmaa")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("cma",), "give a GRAPH"),
        (("cma", "toy", "--", "ls"), "give a GRAPH"),
        (("cma", "--"), "no command after --"),
        (("cma", "toy", "worker_count"), "is not K=V"),
        (("cma", "toy", "worker_cuont=3"), "did you mean 'worker_count'?"),
        (("cma", "toy", "worker_count=many"), "worker_count=many: Expected `int`"),
        (("cma", "toy", "trust_hooks=true"), "there is no field 'trust_hooks'"),
        (("typo", "toy"), "[experiments.typo] defaults: there is no field 'worker_cuont'"),
        (("cma", "--", "/nothing/there"), "cannot be run: No such file"),
    ],
)
def test_what_cannot_be_is_a_usage_error(
    backend: Backend, operate: Operate, words: tuple[str, ...], what: str
) -> None:
    said = operate("experiment", *words)
    assert (said.code, what in said.err) == (2, True), said.err


def test_a_command_submits_with_the_profiles_fields(
    backend: Backend, control: FakeControl, operate: Operate
) -> None:
    said = operate("experiment", "cma", "--", sys.executable, "-c", SUBMIT, "--json")
    assert (said.code, said.out.strip()) == (0, backend.run), said.err
    assert backend.seen == [("POST", "/api/eval/v2/start", "Bearer s3cret")]
    asked = json.loads(backend.bodies[0])
    assert asked == {
        "graph_name": "toy", "worker_count": 2, "marginal_vram_mb": 8000.0, "exclusive_gpu": False,
        "split": "val", "selectors": {"house": 3},
    }  # fmt: skip
    assert control.calls == [], "it has ended by itself: what it submitted goes on"


@pytest.mark.parametrize(("ending", "code"), [("sys.exit(7)", 7), ("os.kill(os.getpid(), 9)", 137)])
def test_a_commands_end_is_ours(backend: Backend, operate: Operate, ending: str, code: int) -> None:
    assert operate("experiment", "cma", "--", sys.executable, "-c", f"import os, sys; {ending}").code == code


@pytest.mark.parametrize(("child", "presses"), [("", 1), ("signal.signal(2, signal.SIG_IGN)", 2)])
def test_what_an_interrupted_command_submitted_is_cancelled(
    backend: Backend,
    control: FakeControl,
    operate: Operate,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    child: str,
    presses: int,
) -> None:
    wait = submitting._wait
    submitted = tmp_path / "submitted"

    def press_then_wait(process: Any, interrupts: list[int]) -> int:
        def press() -> None:
            wait_until(submitted.exists)
            os.kill(os.getpid(), signal.SIGINT)
            if presses == 2:
                wait_until(lambda: bool(interrupts))
                os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press).start()
        return wait(process, interrupts)

    monkeypatch.setattr(submitting, "_wait", press_then_wait)
    if presses == 2:
        control.refuses["cancel"] = ConflictError("it is slow")
    then = f"import time; open({str(submitted)!r}, 'w').close(); time.sleep(60)"
    script = f"import signal; {child}\n{SUBMIT}\n{then}"
    said = operate("experiment", "cma", "--", sys.executable, "-c", script)
    assert said.code == 130
    assert set(control.calls) == {("cancel", backend.run, grace) for grace in (None, 0.0)[:presses]}
    assert control.show(backend.run).status == ("cancelled" if presses == 1 else "pending")


def test_the_address_is_of_use_only_with_its_secret(backend: Backend) -> None:
    with SubmissionProxy(Upstream(url=backend.url, token="t"), {"split": "val"}) as proxy:
        bare = proxy.url.removesuffix(proxy.secret)
        assert httpx.get(f"{bare}api/eval/v2/queue").status_code == 401
        assert httpx.get(f"{bare}{'x' * 32}/api/eval/v2/queue").status_code == 401
        assert backend.seen == []
        token = {"Authorization": f"Bearer {proxy.secret}"}
        assert httpx.get(f"{bare}api/eval/v2/queue?limit=2", headers=token).status_code == 200
        assert httpx.delete(f"{proxy.url}/api/eval/v2/runs/a%2Fb").status_code == 200
        assert [path for _, path, _ in backend.seen] == [
            "/api/eval/v2/queue?limit=2",
            "/api/eval/v2/runs/a%2Fb",
        ]


def test_what_is_no_request_or_is_refused_passes_as_it_is(backend: Backend) -> None:
    with SubmissionProxy(Upstream(url=backend.url), {"split": "val", "step_budget": 9}) as proxy:
        start = f"{proxy.url}/api/eval/v2/start"
        for body in (b"{", b"[1]", b"refuse"):
            httpx.post(start, content=body)
        assert backend.bodies == [b"{", b"[1]", b"refuse"]
        assert httpx.post(start, json={"graph_name": "refuse"}).json() == {"detail": "no"}
        httpx.post(start, json={"split": None, "max_steps": 3})
        assert json.loads(backend.bodies[-1]) == {"split": "val", "max_steps": 3}
        httpx.post(f"{proxy.url}/api/eval/v2/runs/x/resume", content=b"")
        assert backend.bodies[-1] == b""
        assert proxy.runs == [backend.run] * 4
    with SubmissionProxy(Upstream(socket="/nothing/there"), {}) as proxy:
        gone = httpx.get(f"{proxy.url}/api/health")
        assert (gone.status_code, "does not answer" in gone.json()["detail"]) == (503, True)


def test_a_stream_is_passed_on_as_it_comes(backend: Backend) -> None:
    with (
        SubmissionProxy(Upstream(url=backend.url), {}) as proxy,
        httpx.stream("GET", f"{proxy.url}/stream", timeout=30) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == "one"
        backend.go_on.set()
        assert next(lines) == "two"
