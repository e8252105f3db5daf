"""A client of the REST API, written from its contract alone: it imports nothing of the project."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

EVAL = "/api/eval/v2"
OVER = {"completed", "error", "cancelled", "aborted"}
DEADLINE_SEC = 60.0


class Client:
    """``socket``: of backend.json, in place of the URL."""

    def __init__(self, url: str = "", token: str = "", socket: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport = httpx.HTTPTransport(uds=socket) if socket else None
        self.http = httpx.Client(
            base_url=url or "http://localhost", headers=headers, transport=transport, timeout=30.0
        )

    def get(self, path: str, **query: Any) -> Any:
        return self._good(self.http.get(path, params=query))

    def post(self, path: str, **body: Any) -> Any:
        return self._good(self.http.post(path, json=body))

    def delete(self, path: str) -> Any:
        return self._good(self.http.delete(path))

    def start(self, graph_name: str, **more: Any) -> str:
        answer = self.post(f"{EVAL}/start", graph_name=graph_name, **more)
        assert answer["status"] == "queued"
        assert answer["via_subprocess"] is True
        run_id: str = answer["run_id"]
        return run_id

    def run(self, run_id: str) -> Any:
        return self.get(f"{EVAL}/runs/{run_id}")

    def cancel(self, run_id: str) -> Any:
        return self.post(f"{EVAL}/runs/{run_id}/cancel")

    def queue(self) -> Any:
        return self.get(f"{EVAL}/queue")

    def wait_until(self, run_id: str, *, episodes: int = 0) -> Any:
        """The run once it is over, or has finished so many episodes."""
        ends = time.monotonic() + DEADLINE_SEC
        while True:
            found = self.run(run_id)
            if found["status"] in OVER or (episodes and len(found["episodes"]) >= episodes):
                return found
            assert time.monotonic() < ends, f"waited in vain for {run_id}: {found['status']}"
            time.sleep(0.05)

    def wait_until_idle(self) -> None:
        """Until nothing is queued, and no process of a run is left."""
        ends = time.monotonic() + DEADLINE_SEC
        while (queue := self.queue())["queued"] or queue["running"]:
            assert time.monotonic() < ends, f"waited in vain for an empty queue: {queue}"
            time.sleep(0.05)

    def events(self, run_id: str) -> Iterator[tuple[int, str, str]]:
        """(Number, kind, data) of each server-sent event."""
        with self.http.stream("GET", f"{EVAL}/runs/{run_id}/events") as response:
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            fields: dict[str, str] = {}
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif "event" in fields:
                    yield int(fields["id"]), fields["event"], fields["data"]
                    fields = {}

    @staticmethod
    def _good(response: httpx.Response) -> Any:
        assert response.status_code == 200, f"{response.request.url}: {response.status_code} {response.text}"
        return response.json()


def find_backend(root: Path) -> dict[str, Any]:
    """What backend.json says."""
    import json

    found: dict[str, Any] = json.loads((root / "outputs" / "backend.json").read_text())
    return found
