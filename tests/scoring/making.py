"""Evidence, graders and scores for the tests of this room."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from engine.scoring.context import Case, Compute, Evidence
from engine.scoring.graders import AnyGrader, make_grader
from engine.scoring.graders.base import Config, Grader
from engine.scoring.spec import GraderSpec
from engine.store.scores import Invalid, Measured, Score, Unmeasured


def evidence(
    events: list[dict[str, Any]] | None = None, snapshot: dict[str, Any] | None = None, expected: Any = None
) -> Evidence:
    return Evidence(Case(episode_index=0, expected=expected), events or [], snapshot, Path("episode"))


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"kind": "message", "role": "assistant", "text": text} for text in texts]


def grader(kind: str, /, **config: Any) -> AnyGrader:
    return make_grader(GraderSpec(id=kind, config=config))


def measured(metric: str, value: float, passed: bool | None = None, grader_id: str = "g") -> Measured:
    return Measured(grader_id=grader_id, metric=metric, value=value, passed=passed)


def passes(metric: str) -> Measured:
    return measured(metric, 1.0, True)


def fails(metric: str) -> Measured:
    return measured(metric, 0.0, False)


def unmeasured(metric: str) -> Unmeasured:
    return Unmeasured(grader_id="g", metric=metric, reason="missing_evidence")


class Made(Grader[Config]):
    """A grader that does what a test says."""

    kind = "made"
    Config = Config
    metrics: tuple[str, ...] = ("m",)

    def __init__(
        self,
        does: Callable[[Evidence, Compute | None], Awaitable[Any]],
        name: str = "made",
        needs_compute: bool = False,
        metrics: tuple[str, ...] = ("m",),
    ) -> None:
        super().__init__({"id": name})
        self._does = does
        self.needs_compute = needs_compute  # type: ignore[misc]
        self.metrics = metrics

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        found: list[Score] = await self._does(evidence, compute)
        return found


def gives(*scores: Any, name: str = "made", **fields: Any) -> Made:
    async def give(evidence: Evidence, compute: Compute | None) -> Any:
        return list(scores)

    return Made(give, name, **fields)


METRICS = [
    *("state", "tests_pass", "resolved", "answer_match", "url_matches", "dom_contains", "command", "score"),
    *("judge", "judge:a", "judge:b", "judge:a:tone", "tool_calls", "usd", "span", "own", "other"),
]

any_scores: st.SearchStrategy[Score] = st.one_of(
    st.builds(
        measured,
        st.sampled_from(METRICS),
        st.floats(-1e6, 1e6),
        st.sampled_from([None, True, False]),
    ),
    st.builds(unmeasured, st.sampled_from(METRICS)),
    st.builds(
        lambda metric: Invalid(grader_id="g", metric=metric, reason="contract_violation"),
        st.sampled_from(METRICS),
    ),
)
