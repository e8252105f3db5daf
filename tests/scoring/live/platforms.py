"""The platforms under test: how each is installed and started, and what people see on it afterwards."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx

from tests.scoring.live.servers import Launch, free_port
from tests.scoring.live.venvs import Recipe

SEEN_SEC = 30.0

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Score:
    """One as the platform shows it."""

    name: str
    value: float
    by: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """``tells``: what it carries of the episode. ``spans``: names, in order of time."""

    id: str
    tells: str
    spans: list[str]
    scores: list[Score] = field(default_factory=list)

    def score(self, name: str) -> Score:
        """The one of that name, and there is one."""
        (found,) = (score for score in self.scores if score.name == name)
        return found


def until(seen: Callable[[], T | None], what: str) -> T:
    """What is seen, as soon as it is."""
    deadline = time.monotonic() + SEEN_SEC
    while not (found := seen()):
        assert time.monotonic() < deadline, f"{what} was not seen within {SEEN_SEC:g} s"
        time.sleep(0.1)
    return found


class LivePlatform(ABC):
    """A server that lets nobody in without ``secret``; ``by_judge`` and ``by_code`` are its words for who
    gave a score."""

    kind: ClassVar[str]
    recipe: ClassVar[Recipe]
    secret: ClassVar[str]
    wrong_secret: ClassVar[str]
    place_field: ClassVar[str]
    by_judge: ClassVar[str]
    by_code: ClassVar[str]
    agent: ClassVar[str]
    """Options of the agent, without which no tag finds its trace."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, headers={"Authorization": self.secret}, timeout=30)

    @classmethod
    @abstractmethod
    def launch(cls, venv: Path, folder: Path) -> Launch:
        """From its environment, with everything that it writes in ``folder``."""

    @abstractmethod
    def new_place(self) -> str:
        """A fresh experiment or project, by its name."""

    @abstractmethod
    def otel(self, place: str) -> dict[str, str]:
        """The OpenTelemetry SDK's environment variables that send to it."""

    @abstractmethod
    def traces(self, place: str) -> list[Trace]:
        """What is there now."""

    def asked(self, place: str, **more: Any) -> dict[str, Any]:
        """Of a trace's or a sink's spec what says where."""
        return {
            "kind": self.kind,
            "endpoint": self.url,
            self.place_field: place,
            "auth_secret": "live",
            **more,
        }

    def seen(self, place: str, what: str, *is_there: Callable[[list[Trace]], bool]) -> list[Trace]:
        """The traces, as soon as they are like that."""

        def look() -> list[Trace] | None:
            traces = self.traces(place)
            return traces if all(test(traces) for test in is_there) else None

        return until(look, what)

    def close(self) -> None:
        self._http.close()

    def _json(self, answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        return answer.json()


class Mlflow(LivePlatform):
    kind = "mlflow"
    # Without the half of MLflow that models and their training need.
    recipe = Recipe(
        "mlflow",
        (
            (
                *("mlflow-skinny==3.17.2", "flask<4", "flask-wtf<2", "sqlalchemy<3", "alembic", "graphene"),
                *("cryptography", "huey", "flask-cors", "aiohttp", "pandas"),
            ),
            ("mlflow==3.17.2", "mlflow-tracing==3.17.2", "--no-deps"),
        ),
    )
    _password = "a-Password-of-the-tests-1"
    secret = "Basic " + b64encode(f"admin:{_password}".encode()).decode()
    wrong_secret = "Basic " + b64encode(b"admin:another-password-9").decode()
    place_field = "experiment"
    by_judge, by_code = "LLM_JUDGE", "CODE"
    agent = ""

    @classmethod
    def launch(cls, venv: Path, folder: Path) -> Launch:
        settings = {
            "default_permission": "READ",
            "database_uri": f"sqlite:///{folder / 'auth.db'}",
            "admin_username": "admin",
            "admin_password": cls._password,
            "authorization_function": "mlflow.server.auth:authenticate_request_basic_auth",
            "auth_cache_ttl_seconds": "600",  # a password is hashed slowly, and every request has one
        }
        lines = ["[mlflow]", *(f"{name} = {value}" for name, value in settings.items())]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "auth.ini").write_text("\n".join(lines), "utf-8")
        port = free_port()
        stores = (
            f"--backend-store-uri=sqlite:///{folder / 'mlflow.db'}",
            f"--artifacts-destination={folder}/art",
        )
        return Launch(
            f"http://127.0.0.1:{port}",
            "/health",
            (
                *(str(venv / "bin" / "mlflow"), "server", "--app-name=basic-auth", *stores),
                *("--host=127.0.0.1", f"--port={port}", "--workers=1"),
            ),
            {
                "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
                "MLFLOW_AUTH_CONFIG_PATH": str(folder / "auth.ini"),
                "MLFLOW_FLASK_SERVER_SECRET_KEY": "of-the-tests",
            },
        )

    def new_place(self) -> str:
        name = f"live-{uuid4().hex[:12]}"
        self._json(self._http.post("/api/2.0/mlflow/experiments/create", json={"name": name}))
        return name

    def otel(self, place: str) -> dict[str, str]:
        headers = {"x-mlflow-experiment-id": self._id(place), "authorization": self.secret}
        return _sends_to(self.url, headers)

    def traces(self, place: str) -> list[Trace]:
        where = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": self._id(place)}}
        query = {"locations": [where], "max_results": 100}
        found = self._json(self._http.post("/api/3.0/mlflow/traces/search", json=query))
        return [self._trace(info) for info in found.get("traces", [])]

    def _trace(self, info: dict[str, Any]) -> Trace:
        got = self._http.get("/api/3.0/mlflow/traces/get", params={"trace_id": info["trace_id"]})
        spans = got.json()["trace"]["spans"] if got.is_success else []
        spans.sort(key=lambda span: int(span["start_time_unix_nano"]))
        tags = info.get("tags", {})
        return Trace(
            id=info["trace_id"],
            tells=tags.get("evaltower.run_id") or tags.get("evaltower.episode", ""),
            spans=[span["name"] for span in spans],
            scores=[_assessed(one) for one in info.get("assessments", [])],
        )

    def _id(self, place: str) -> str:
        query = {"experiment_name": place}
        found = self._json(self._http.get("/api/2.0/mlflow/experiments/get-by-name", params=query))
        return str(found["experiment"]["experiment_id"])


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
        return {**_sends_to(self.url, {"authorization": self.secret}), **known}

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


def _sends_to(url: str, headers: dict[str, str]) -> dict[str, str]:
    told = ",".join(f"{name}={quote(value, safe='')}" for name, value in headers.items())
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_HEADERS": told}


def _assessed(one: dict[str, Any]) -> Score:
    return Score(
        name=one["assessment_name"],
        value=one["feedback"]["value"],
        by=one["source"]["source_type"],
        reason=one.get("rationale", ""),
    )


def _annotated(one: dict[str, Any]) -> Score:
    result = one["result"]
    return Score(
        name=one["name"],
        value=result["score"],
        by=one["annotator_kind"],
        reason=result.get("explanation") or "",
    )
