"""Arize Phoenix with its auth, over sqlite."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.scoring.live.platforms import LivePlatform, Score, Trace, sends_to
from tests.scoring.live.servers import Launch, free_port
from tests.scoring.live.venvs import Recipe


class Phoenix(LivePlatform):
    kind = "phoenix"
    recipe = Recipe("phoenix", (("arize-phoenix==20.26.1",),))
    secret = "Bearer a-secret-of-the-admin-of-the-tests-1"
    wrong_secret = "Bearer a-secret-of-nobody-of-the-tests-at-all-2"
    place_field = "project"
    by_judge, by_code = "LLM", "CODE"
    agent = "--marks-spans"

    @classmethod
    def launch(cls, venv: Path, folder: Path) -> Launch:
        port = free_port()
        return Launch(
            f"http://127.0.0.1:{port}",
            "/healthz",
            (str(venv / "bin" / "phoenix"), "serve"),
            {
                "PHOENIX_WORKING_DIR": str(folder),
                "PHOENIX_HOST": "127.0.0.1",
                "PHOENIX_PORT": str(port),
                "PHOENIX_GRPC_PORT": str(free_port()),
                "PHOENIX_TELEMETRY_ENABLED": "false",
                "PHOENIX_ENABLE_AUTH": "true",
                "PHOENIX_SECRET": "a-key-that-signs-the-tokens-of-the-tests-3",
                "PHOENIX_ADMIN_SECRET": cls.secret.removeprefix("Bearer "),
            },
        )

    def new_place(self) -> str:
        return f"live-{uuid4().hex[:12]}"

    def otel(self, place: str) -> dict[str, str]:
        known = {"OTEL_RESOURCE_ATTRIBUTES": f"openinference.project.name={place}"}
        return {**sends_to(self.url, {"authorization": self.secret}), **known}

    def traces(self, place: str) -> list[Trace]:
        answer = self._http.get(f"/v1/projects/{place}/spans", params={"limit": 1000})
        if answer.status_code == 404:  # until its first span comes
            return []
        of_trace: dict[str, list[dict[str, Any]]] = {}
        for span in self._json(answer)["data"]:
            of_trace.setdefault(span["context"]["trace_id"], []).append(span)
        return [self._trace(place, trace, spans) for trace, spans in of_trace.items()]

    def _trace(self, place: str, trace: str, spans: list[dict[str, Any]]) -> Trace:
        spans.sort(key=lambda span: str(span["start_time"]))
        told = [
            span["attributes"].get(name)
            for span in spans
            for name in ("evaltower.run_id", "evaltower.episode")
        ]
        query: dict[str, str | int] = {"trace_ids": trace, "limit": 1000}
        scored = self._http.get(f"/v1/projects/{place}/trace_annotations", params=query)
        return Trace(
            id=trace,
            tells=next(filter(None, told), ""),
            spans=[span["name"] for span in spans],
            scores=[_annotated(one) for one in self._json(scored)["data"]],
        )


def _annotated(one: dict[str, Any]) -> Score:
    result = one["result"]
    return Score(
        name=one["name"],
        value=result["score"],
        by=one["annotator_kind"],
        reason=result.get("explanation") or "",
    )
