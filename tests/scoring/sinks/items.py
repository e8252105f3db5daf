"""Episodes to export."""

from __future__ import annotations

from typing import Any

from engine.scoring.sinks import ExportItem
from engine.store.records import EpisodeRow
from engine.store.scores import Invalid, Measured, Score, Unmeasured

PASSED = Measured(grader_id="tests-pass", metric="tests_pass", value=1.0, passed=True, detail="2 passed")
JUDGED = Measured(
    grader_id="tone", metric="judge:tone", value=0.123456, passed=False, detail={"reason": "too curt"}
)
CRITERION = Measured(grader_id="tone", metric="judge:tone:warmth", value=0.5)
NOT_MEASURED = Unmeasured(grader_id="cost", metric="usd", reason="missing_evidence", retryable=True)
REJUDGED = Measured(
    grader_id="tone", metric="judge:tone", value=0.5, passed=True, detail={"reason": "on reflection, fine"}
)
BROKEN = Invalid(grader_id="odd", metric="odd", reason="contract_violation", detail="nan")

SCORES: list[Score] = [PASSED, NOT_MEASURED, JUDGED, CRITERION, BROKEN]
SCORED_AGAIN: list[Score] = [NOT_MEASURED, REJUDGED, PASSED, CRITERION]
"""As they are after another grader, and other words of the judge."""

NAMES = ["tests_pass", "judge:tone", "judge:tone:warmth"]

EVENTS: list[dict[str, Any]] = [
    {"kind": "message", "role": "user", "text": "fix the bug", "t": 0},
    {
        "kind": "llm_call",
        "model": "gpt-tiny",
        "cost": {"inputTokens": 10, "outputTokens": 5, "usd": 0.25},
        "latencyMs": 300,
        "t": 10,
    },
    {"kind": "tool_call", "id": "c1", "name": "bash", "args": {"cmd": "ls"}, "t": 400},
    {"kind": "tool_result", "id": "c1", "ok": False, "output": "no such file", "t": 900},
    {"kind": "message", "role": "assistant", "text": "it is fixed", "t": 1000},
]


def item(
    index: int = 3,
    scores: list[Score] | None = None,
    *,
    events: list[dict[str, Any]] | None = None,
    existing_id: str = "",
    key: str = "",
    judge_models: dict[str, str] | None = None,
) -> ExportItem:
    row = EpisodeRow(
        episode_index=index,
        status="completed",
        termination="stopped",
        instruction="fix the bug",
        started_at="2026-08-01T10:00:00.000+00:00",
        finished_at="2026-08-01T10:00:02.500+00:00",
        elapsed_sec=2.5,
        metrics={"success": 1.0},
        verdict=True,
        scores=SCORES if scores is None else scores,
    )
    return ExportItem(
        run_id="20260801_100000",
        graph_name="fixer",
        correlation_id=f"20260801_100000/ep{index:04d}",
        row=row,
        events=EVENTS if events is None else events,
        existing_id=existing_id,
        idempotency_key=key,
        judge_models={"tone": "gpt-judge"} if judge_models is None else judge_models,
    )
