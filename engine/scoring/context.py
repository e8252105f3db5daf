"""What graders and judges are given: an episode's case, its evidence, and its environment while held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from engine.store.records import EpisodeRow
from engine.store.scores import UnmeasuredReason


@dataclass(frozen=True, slots=True)
class Case:
    """What was asked of the episode. expected: what its data set says of the right outcome, None where it
    says nothing. metrics: the graph's own."""

    episode_index: int
    instruction: str = ""
    expected: Any = None
    selectors: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    status: str = "completed"
    termination: str = "stopped"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is left of the episode. events: of its trace, in order (contract scoring.md). snapshot: of its
    environment at the end, where it gives one. folder: the episode's."""

    case: Case
    events: list[dict[str, Any]]
    snapshot: dict[str, Any] | None
    folder: Path


@dataclass(frozen=True, slots=True)
class Executed:
    """What became of a command. ``exit_code`` of one that timed out means nothing."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False


class Compute(Protocol):
    """The episode's environment, as long as it is held. Paths are relative to the case's folder.

    Every method raises ComputeError, and ComputeUnsupported where the environment has no such thing.
    """

    async def exec(
        self, command: str, *, cwd: str = "", timeout_sec: float, env: Mapping[str, str] | None = None
    ) -> Executed:
        """Run a shell command line; one that outlives ``timeout_sec`` is killed."""

    async def read_file(self, path: str) -> bytes:
        """The whole file; ComputeError where there is none."""

    async def write_file(self, path: str, data: bytes) -> None:
        """Replace the file, making folders as needed."""

    async def snapshot(self) -> dict[str, Any] | None:
        """What the environment looks like now."""


class NotMeasured(Exception):
    """Raised by a grader that cannot tell, which is no verdict on the episode."""

    def __init__(self, message: str, reason: UnmeasuredReason, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.retryable = retryable


class ComputeError(NotMeasured):
    """The environment failed: the box's doing."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "grader_error", retryable=True)


class ComputeUnsupported(NotMeasured):
    """The environment offers no such thing, or there is none."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "unsupported")


def missing(message: str) -> NotMeasured:
    """There is nothing to judge by."""
    return NotMeasured(message, "missing_evidence")


def case_of(row: EpisodeRow, snapshot: Mapping[str, Any] | None) -> Case:
    """The case of a finished episode; ``expected`` is the snapshot's, else that of its selectors."""
    expected = (snapshot or {}).get("expected")
    return Case(
        episode_index=row.episode_index,
        instruction=row.instruction,
        expected=row.selectors.get("expected") if expected is None else expected,
        selectors=row.selectors,
        metrics=row.metrics,
        status=row.status,
        termination=row.termination,
    )
