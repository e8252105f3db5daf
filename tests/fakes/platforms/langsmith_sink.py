"""LangSmith as it is written to: runs in parts or one by one, feedback, projects (its sessions)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.fakes.platforms.sink_server import Seen, SinkServer

SESSION = "11111111-1111-4111-8111-111111111111"
TENANT = "22222222-2222-4222-8222-222222222222"


@dataclass
class LangSmithSink(SinkServer):
    """``multipart``: it knows that route. ``needs_session``: refuses feedback without one. ``late``: so many
    tries of feedback find its run not inserted yet. ``refuses``: keys of feedback that it does not take."""

    multipart: bool = True
    needs_session: bool = False
    late: int = 0
    refuses: set[str] = field(default_factory=set)
    sessions: bool = True
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    feedback: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, seen: Seen) -> tuple[int, Any]:
        if seen.path == "/info":
            return 200, {"version": "0.12.0", "batch_ingest_config": {"use_multipart_endpoint": True}}
        if seen.path == "/runs/multipart":
            return self._parts(seen.parts) if self.multipart else (404, {"detail": "Not Found"})
        if seen.path == "/runs" and seen.method == "POST":
            return self._run(seen.body)
        if seen.path == "/feedback":
            return self._feedback(seen.body)
        if seen.method == "PATCH" and seen.path.startswith("/feedback/"):
            self.feedback[seen.path.rpartition("/")[2]] |= seen.body
            return 200, {}
        if seen.path == "/sessions":
            session = {"id": SESSION, "tenant_id": TENANT, "name": seen.query["name"]}
            session |= {"reference_dataset_id": None, "start_time": "2026-01-01T00:00:00+00:00"}
            return 200, [session] if self.sessions else []
        if seen.path.startswith("/runs/"):
            return 200, {"app_path": f"/o/old/projects/p/x{seen.path}"}
        return 404, {"detail": "Not Found"}

    def _parts(self, parts: dict[str, Any]) -> tuple[int, Any]:
        for name, part in parts.items():
            operation, run_id, *rest = name.split(".")
            if operation != "post":
                return 422, {"detail": f"unknown operation {operation}"}
            if not rest:
                if not {"trace_id", "dotted_order"} <= part.keys():
                    return 422, {"detail": "trace_id and dotted_order are required"}
                self.runs[run_id] = part
            else:
                self.runs[run_id][rest[0]] = part
        return 202, {"message": "Runs batch ingested"}

    def _run(self, run: dict[str, Any]) -> tuple[int, Any]:
        if run["id"] in self.runs:
            return 409, {"detail": "run already exists"}
        self.runs[run["id"]] = run
        return 202, {}

    def _feedback(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self.late:
            self.late -= 1
            return 404, {"detail": "Run not found"}
        if body["key"] in self.refuses:
            return 422, {"detail": "invalid feedback"}
        if self.needs_session and not body.get("session_id"):
            return 400, {"detail": "session_id is required"}
        if body["score"] != round(body["score"], 4):
            return 422, {"detail": "score has too many decimals"}
        if body["id"] in self.feedback:
            return 409, {"detail": "feedback already exists"}
        self.feedback[body["id"]] = body
        return 200, {**body, "created_at": body["created_at"]}
