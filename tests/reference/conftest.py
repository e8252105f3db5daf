from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command import DEADLINE_SEC, evaltower
from tests.reference.figures import Figure, Measured, Room
from tests.reference.table import record

Play = Callable[[Figure], dict[str, Any]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("reference"):
            item.add_marker(pytest.mark.timeout(DEADLINE_SEC))


@pytest.fixture
def play(tmp_path: Path, manifests: Path) -> Play:
    """Run a figure with one worker, since the tests themselves are many; its summary, without an error."""

    def run(figure: Figure) -> dict[str, Any]:
        root = tmp_path / figure.name.replace("/", " ")
        root.mkdir()
        code, _, summary = evaltower(root, *figure.run, "-n", str(figure.n), cache=manifests)
        assert (code, summary["completed_count"], summary["error_count"]) == (0, figure.n, 0)
        return summary

    return run


@pytest.fixture
def reproduce(play: Play, request: pytest.FixtureRequest) -> Callable[[Room, Figure], dict[str, Any]]:
    """Run a figure, put ours into the table, and assert its rule; the summary."""

    def check(room: Room, figure: Figure) -> dict[str, Any]:
        before = _cpu_sec()
        summary = play(figure)
        stats = summary["metric_stats"][figure.metric]
        took = round(_cpu_sec() - before, 1)
        ours = Measured(stats["mean"], stats["stderr"] or 0.0, stats["ci95"], stats["n"], took)
        record(request, room, figure, ours)
        said = f"{figure.name}: {ours.mean:.4f}, published {figure.published.mean:.4f}"
        assert figure.rule.holds(ours, figure.published), f"{said}, z {figure.published.z(ours):+.1f}"
        return summary

    return check


def _cpu_sec() -> float:
    """Of all processes that this one has waited for, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
