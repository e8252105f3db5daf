"""Scores go to the trace that an episode has on the platform where its trace was collected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.scoring.opening import make_means
from engine.scoring.pipeline import Pipeline
from engine.scoring.reading import read_scoring
from engine.scoring.secrets import Secrets
from engine.store.scores import Measured
from tests.fakes.platforms.mlflow_sink import API, MlflowSink
from tests.fakes.platforms.sink_server import Seen, running
from tests.scoring.pipelines import RUN, Chat, Files, an_episode
from tests.scoring.sources.otlp_spans import AGENT_RUN, snake

THERE = "tr-0af7651916cd43dd8448eb211c80319c"


class Mlflow(MlflowSink):
    """One to which a harness has sent the trace of episode 0."""

    def answer(self, seen: Seen) -> tuple[int, Any]:
        self.traces.setdefault(THERE, {"trace_id": THERE, "assessments": []})
        if seen.path == f"{API}/search":
            found = f"{RUN}/ep0000" in seen.body["filter"]
            return 200, {"traces": [{"trace_id": THERE}]} if found else {}
        if seen.path == f"{API}/get":
            return 200, {"trace": {"spans": snake(AGENT_RUN)}}
        return super().answer(seen)


@pytest.mark.case(30)
@pytest.mark.parametrize("same", [True, False], ids=["the same platform", "another one"])
async def test_a_sink_of_the_same_platform_adds_to_the_trace_that_is_there(
    tmp_path: Path, same: bool
) -> None:
    async with running(Mlflow()) as mlflow, running(MlflowSink()) as other:
        spec = read_scoring(
            {
                "graders": [{"id": "steps"}],
                "trace": {"kind": "mlflow", "endpoint": mlflow.url, "experiment": "7", "correlate": "tag"},
                "sinks": [
                    {
                        "name": "m",
                        "kind": "mlflow",
                        "endpoint": (mlflow if same else other).url,
                        "experiment": "7",
                    }
                ],
            }
        )
        files = Files()
        means = make_means(spec, RUN, "graph", Chat(), {}, Secrets(tmp_path, {}))
        pipeline = Pipeline(means, files, lambda: None)
        folder = tmp_path / "ep0000"
        folder.mkdir()
        pipeline.push(0, an_episode(scoring="pending"), folder)
        await pipeline.settle()
        await means.close()
        row = files.rows[-1]
        assert [score.metric for score in row.scores if isinstance(score, Measured)] == ["tool_calls"]
        (outcome,) = row.exports
        assert outcome.error is None
        assert (outcome.external_id == THERE) is same
        made = (mlflow if same else other).sent(API)
        assert len(made) == (0 if same else 1)
        names = [
            one["assessment_name"] for one in (mlflow if same else other).assessments(outcome.external_id)
        ]
        assert names == ["tool_calls"]
