"""MLflow with its basic auth, over sqlite, without what models and their training need."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.scoring.live.platforms import LivePlatform, Score, Trace, sends_to
from tests.scoring.live.servers import Launch, free_port
from tests.scoring.live.venvs import Recipe


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
        return sends_to(self.url, headers)

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


def _assessed(one: dict[str, Any]) -> Score:
    return Score(
        name=one["assessment_name"],
        value=one["feedback"]["value"],
        by=one["source"]["source_type"],
        reason=one.get("rationale", ""),
    )
