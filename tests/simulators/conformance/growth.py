"""The table of what environments keep in memory, printed after the conformance suite."""

from __future__ import annotations

from typing import Any

import pytest

PROPERTY = "memory of an environment"
_HEAD = ("environment", "episodes", "first MB", "last MB", "MB each", "declared", "restart at")


def record(request: pytest.FixtureRequest, *cells: Any) -> None:
    """(environment, episodes, MB after the first, MB after the last, MB each, expected_ram_mb,
    recycle_above_mb), whatever becomes of the test."""
    request.node.user_properties.append((PROPERTY, cells))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    properties = [found for report in reports for found in getattr(report, "user_properties", ())]
    rows = {tuple(cells) for name, cells in properties if name == PROPERTY}  # a test has several reports
    if rows:
        terminalreporter.section("memory of environments")
        terminalreporter.line(f"{_HEAD[0]:38} " + " ".join(f"{title:>10}" for title in _HEAD[1:]))
        for name, episodes, first, last, each, declared, restart in sorted(rows, key=str):
            memory = f"{first:10.0f} {last:10.0f} {each:10.2f} {declared or '-':>10} {restart or '-':>10}"
            terminalreporter.line(f"{name:38} {episodes:10} {memory}")
