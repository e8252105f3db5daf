from __future__ import annotations

import pytest

from engine.components.errors import HostCrashed, HostStartFailed, HostTimeout, WrongChoice
from engine.evaluation.verdict import InfraError, SetupRefused, of_exception, of_outcome

ERRORS = [
    ("parse", 2, "KeyError: 'x'"),
    ("act", 3, "no action"),
    ("act", 4, "no action"),
    ("act", 5, "no action"),
]


@pytest.mark.parametrize(
    ("error", "termination", "error_class"),
    [
        (HostTimeout("late"), "timeout", "infra"),
        (HostCrashed("gone"), "env_crash", "infra"),
        (HostStartFailed("no interpreter"), "env_crash", "infra"),
        (InfraError("time limit", "timeout"), "timeout", "infra"),
        (OSError(2, "No such file or directory"), "exception", "infra"),
        (SetupRefused("no such split"), "exception", "config"),
        (WrongChoice("env_id is 'x'"), "exception", "config"),
        (KeyError("x"), "exception", "graph"),
    ],
)
def test_who_is_to_blame(error: Exception, termination: str, error_class: str) -> None:
    verdict = of_exception(error)
    assert (verdict.status, verdict.termination, verdict.error_class) == ("error", termination, error_class)
    assert verdict.error


def test_what_the_box_refuses_is_played_again_by_a_resume() -> None:
    full = OSError(28, "No space left on device", "/data/log.jsonl")
    host = HostStartFailed("env_x did not start")
    host.__cause__ = full
    for error in (full, host):
        verdict = of_exception(error)
        assert (verdict.status, verdict.termination, verdict.error_class) == ("cancelled", "cancelled", None)
        assert "/data/log.jsonl: No space left on device: make room on that disk" in str(verdict.error)


def test_the_first_three_node_errors_are_named() -> None:
    verdict = of_outcome("budget", ERRORS, {"success": 1.0}, needs_verdict=True)
    assert (verdict.termination, verdict.error_class) == ("node_error", "graph")
    assert verdict.error == (
        "parse at step 2: KeyError: 'x'; act at step 3: no action; act at step 4: no action; and 1 more"
    )


@pytest.mark.parametrize(
    ("metrics", "needs_verdict", "status", "termination"),
    [
        ({"success": 0.0}, True, "completed", "stopped"),
        ({}, True, "error", "no_verdict"),
        ({}, False, "completed", "stopped"),
        ({"spl": None}, True, "completed", "stopped"),
    ],
)
def test_an_evaluation_without_a_metric_is_no_verdict(
    metrics: dict[str, float | None], needs_verdict: bool, status: str, termination: str
) -> None:
    verdict = of_outcome("stopped", [], metrics, needs_verdict=needs_verdict)
    assert (verdict.status, verdict.termination) == (status, termination)
