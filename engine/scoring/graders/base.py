"""What every grader is."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from engine import patterns
from engine.scoring.context import Case, Compute, Evidence, NotMeasured
from engine.scoring.metric_names import NAME_RULE, is_name, metric_problem
from engine.store.scores import Measured, Score
from engine.store.wording import told


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """``config`` of a grader. Each kind adds its own fields. metric: what its score is called; "" is the
    kind's own name for it."""

    id: str = ""
    metric: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError for what the fields' types do not tell."""
        if self.id and not is_name(self.id):
            raise ValueError(f"id: a grader is called by {NAME_RULE}")
        if self.metric:
            check_metric(self.metric)


C = TypeVar("C", bound=Config)


class Grader(ABC, Generic[C]):
    """Scores one episode at a time; holds nothing of one.

    ``id``: the ``grader_id`` of its scores. ``metric``: its kind's name for what it scores. ``passes``: that
    passes or fails, so that it may decide the verdict. ``needs_compute``: it works in the episode's
    environment, which is held for it; depends on its config alone.
    """

    kind: ClassVar[str]
    metric: ClassVar[str]
    passes: ClassVar[bool] = True
    Config: ClassVar[type[Config]]
    """Of ``C``."""
    needs_compute: ClassVar[bool] = False

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Raises msgspec.ValidationError for a config that does not fit."""
        self._given = dict(given)
        self.config: C = msgspec.convert(self._given, self.Config)  # type: ignore[assignment]
        self.id = self.config.id or self.kind

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it scores at least, and what is unmeasured where it fails."""
        return (self.config.metric or self.metric,)

    @abstractmethod
    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        """Raises NotMeasured where it cannot tell, which includes what the environment raises."""

    def config_for(self, case: Case) -> C:
        """The config, with what it leaves open taken from the case's ``expected``, where that is a table."""
        if not isinstance(case.expected, Mapping):
            return self.config
        own = {name: case.expected[name] for name in self._open_fields() if name in case.expected}
        try:
            return msgspec.convert({**own, **self._given}, self.Config)  # type: ignore[return-value]
        except msgspec.ValidationError as error:
            raise NotMeasured(f"the case's expected.{told(error, self.Config)}", "grader_error") from None

    def measured(
        self, value: float, passed: bool | None = None, detail: Any = None, metric: str = ""
    ) -> Measured:
        """A score of this grader; ``metric`` "" is its first."""
        return Measured(
            grader_id=self.id,
            metric=metric or self.metrics[0],
            value=value,
            passed=passed,
            detail=detail or None,
        )

    def judged(self, passed: bool, detail: Any = None) -> list[Score]:
        """One score, 1 that passes or 0 that fails."""
        return [self.measured(float(passed), passed, detail)]

    def _open_fields(self) -> list[str]:
        """Those that ``expected`` may fill: none that what is scored depends on."""
        return [
            n for n in self.Config.__struct_fields__ if n not in self._given and n not in ("id", "metric")
        ]


AnyGrader = Grader[Any]


def check_pattern(name: str, pattern: str, groups: int = 0) -> None:
    """Raises ValueError for what is no regular expression with at least so many groups."""
    try:
        found = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"{name} is no regular expression: {error}") from None
    if found < groups:
        raise ValueError(f"{name} must have a group, such as ([0-9.]+), around what it is to find")


async def search(pattern: str, text: str, flags: re.RegexFlag = re.NOFLAG) -> patterns.Found | None:
    """``re.search``. Raises NotMeasured where it takes too long; another attempt would, too."""
    try:
        return await patterns.search(pattern, text, flags)
    except patterns.PatternTimeout as error:
        raise NotMeasured(str(error), "grader_timeout") from None


def check_metric(metric: str) -> None:
    """Raises ValueError for a metric that no grader may declare."""
    wrong = metric_problem(metric, (metric,))
    if wrong:
        raise ValueError(f"metric: {wrong}")
