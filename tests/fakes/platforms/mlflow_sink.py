"""MLflow 3 as it is written to: StartTrace, OTLP/JSON spans, assessments and changes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.platforms.sink_server import Seen, SinkServer

API = "/api/3.0/mlflow/traces"


@dataclass
class MlflowSink(SinkServer):
    """``experiments``: name → id. ``traces``: by id, with what was assessed; an assessment is never told
    from one that is there already. ``refuses``: names of assessments that it does not take."""

    experiments: dict[str, str] = field(default_factory=lambda: {"evals": "7"})
    traces: dict[str, dict[str, Any]] = field(default_factory=dict)
    refuses: set[str] = field(default_factory=set)

    def answer(self, seen: Seen) -> tuple[int, Any]:
        if seen.path == "/api/2.0/mlflow/experiments/get-by-name":
            found = self.experiments.get(seen.query["experiment_name"])
            missing = {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Could not find experiment"}
            return (200, {"experiment": {"experiment_id": found}}) if found else (404, missing)
        if seen.path == API and seen.method == "POST":
            info = seen.body["trace"]["trace_info"]
            self.traces.setdefault(info["trace_id"], {**info, "assessments": []})
            return 200, {"trace": {"trace_info": info}}
        if seen.path == "/v1/traces":
            return (200, {}) if seen.headers.get("x-mlflow-experiment-id") else (422, "experiment id missing")
        if not (match := re.fullmatch(rf"{API}/([^/]+)(/assessments(?:/([^/]+))?)?", seen.path)):
            return 404, "no such route"
        trace = self.traces.get(match[1])
        if trace is None:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Trace not found"}
        if not match[2]:
            return 200, {"trace": {"trace_info": trace}}
        assessment = seen.body["assessment"]
        if seen.method == "PATCH":
            (there,) = (one for one in trace["assessments"] if one["assessment_id"] == match[3])
            there |= {name: assessment.get(name, "") for name in seen.body["update_mask"].split(",")}
            return 200, {"assessment": there}
        if assessment["assessment_name"] in self.refuses:
            return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "no such assessment"}
        taken = {**assessment, "assessment_id": f"a-{len(trace['assessments'])}"}
        trace["assessments"].append(taken)
        return 200, {"assessment": taken}

    def assessments(self, trace_id: str) -> list[dict[str, Any]]:
        return list(self.traces[trace_id]["assessments"])
