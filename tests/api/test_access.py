"""Who may call: the operator, and nobody else of the box or in a browser."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.client import EVAL, Client, find_backend
from tests.api.conftest import Serve, Server, new_root, serving

QUEUE = f"{EVAL}/queue"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Iterator[Server]:
    """One server with a token for the whole file."""
    with serving(new_root(tmp_path_factory.mktemp("guarded")), cache_home) as start:
        yield start("--port", "0")


def token_of(root: Path) -> str:
    return (root / "outputs" / "token").read_text().strip()


def test_the_port_wants_the_token(guarded: Server) -> None:
    root = guarded.root
    stranger = guarded.client().http
    for path in (QUEUE, "/openapi.json", "/docs", "/api/graphs", "/nowhere", f"{EVAL}/runs/last/events"):
        refused = stranger.get(path)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer")
        assert refused.json()["detail"]
    assert stranger.post(f"{EVAL}/start", json={"graph_name": "toy"}).status_code == 401
    for wrong in (
        "",
        "Bearer",
        "Bearer x",
        f"Basic {token_of(root)}",
        f"Bearer {token_of(root)}x",
        "Bearer \xff",
    ):
        assert stranger.get(QUEUE, headers={"Authorization": wrong.encode("latin-1")}).status_code == 401
    assert stranger.get("/api/health").json()["root"] == str(root)
    assert Client(guarded.url, token_of(root)).queue()["queued"] == []


def test_the_secrets_are_the_operators_alone(guarded: Server) -> None:
    root = guarded.root
    socket = Path(find_backend(root)["socket"])
    for path in (root / "outputs" / "token", root / "outputs" / "backend.json", socket):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    assert len(os.fsencode(socket)) < 100
    assert guarded.local_client().queue()["running"] == []


def test_a_token_that_others_could_read_is_replaced(serve: Serve, root: Path) -> None:
    path = root / "outputs" / "token"
    path.parent.mkdir(exist_ok=True)
    path.write_text("known\n")
    path.chmod(0o644)
    server = serve("--port", "0")
    assert token_of(root) != "known"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = token_of(root)
    server.close()
    serve("--port", "0")
    assert token_of(root) == kept


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_refused(guarded: Server) -> None:
    root = guarded.root
    port = guarded.url.rpartition(":")[2]
    stranger = f"""
import encodings.idna, os, socket
os.setgroups([]); os.setgid(65534); os.setuid(65534)
caller = socket.create_connection(("127.0.0.1", {port}))
caller.sendall(b"GET {QUEUE} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n")
print(caller.recv(12).split()[1].decode())
for attempt in (
    lambda: os.open("{root}/outputs/token", os.O_RDONLY),
    lambda: socket.socket(socket.AF_UNIX).connect("{find_backend(root)["socket"]}"),
):
    try:
        attempt()
    except PermissionError:
        print("denied")
"""
    for folder in (root, *root.parents):
        if folder.stat().st_uid == os.geteuid() and folder.name:
            folder.chmod(folder.stat().st_mode | 0o055)  # the folders are not what keeps them out
    said = subprocess.run([sys.executable, "-c", stranger], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["401", "denied", "denied"], said.stderr


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},
        {"Host": "evil.example:8765"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost@evil.example"},
        {"Host": ""},
    ],
)
def test_a_web_page_is_refused(client: Client, headers: dict[str, str]) -> None:
    for method, path in (("GET", QUEUE), ("GET", "/api/health"), ("POST", f"{EVAL}/stop")):
        refused = client.http.request(method, path, headers=headers)
        assert refused.status_code == 403
        assert refused.json()["detail"]
        assert "access-control-allow-origin" not in refused.headers


def test_its_own_page_and_a_tunnel_are_not(client: Client, shared: Server) -> None:
    host = shared.url.removeprefix("http://")
    own = {"Origin": shared.url, "Sec-Fetch-Site": "same-origin"}
    for headers in (own, {"Host": "localhost:9000"}, {"Host": "[::1]:1"}, {"Host": host}):
        assert client.http.get(QUEUE, headers=headers).status_code == 200
    assert shared.local_client().http.get(QUEUE, headers={"Host": "any"}).status_code == 200


def test_without_a_token_only_at_home(shared: Server, root: Path) -> None:
    words = ["--root", str(root), "--serve", "--no-token", "--host", "0.0.0.0", "--port", "0"]
    said = subprocess.run(
        [sys.executable, "-m", "engine.main", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert said.returncode != 0
    assert "--no-token would let everyone" in said.stderr
    assert said.stdout == ""
    assert "every user and every program of this machine" in shared.errors.read_text()


@pytest.mark.slow
def test_all_addresses_with_a_token(serve: Serve, root: Path) -> None:
    server = serve("--host", "0.0.0.0", "--port", "0")
    url = server.url.replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(f"{url}{QUEUE}").status_code == 401
    assert Client(url, token_of(root)).queue()["queued"] == []
