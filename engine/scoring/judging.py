"""Judges: chat models that score a finished episode. What goes wrong with one is a score without a value."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.components.seeds import derive
from engine.models.call import Chat, ChatCall, Reply
from engine.models.errors import ChatRefused, ChatTimeout, ChatUnavailable, KeyMissing, ProfileError
from engine.models.profiles import pick
from engine.scoring.context import Evidence
from engine.scoring.judge_prompt import judge_messages, shortened
from engine.scoring.judge_reply import Mark, NotAVerdict, OffScale, Verdict, read_reply
from engine.scoring.spec import JudgeSpec
from engine.store.profile import Profile
from engine.store.scores import (
    Measured,
    ModelUse,
    Score,
    Stage,
    Unmeasured,
    UnmeasuredReason,
    stage_time,
)

LONGEST_REFUSAL = 2000

_WHY: dict[type[Exception], tuple[UnmeasuredReason, str, bool]] = {
    KeyMissing: ("missing_secret", "config", False),
    ProfileError: ("unsupported", "config", False),
    ChatRefused: ("grader_error", "config", False),
    ChatTimeout: ("grader_timeout", "infra", True),
    ChatUnavailable: ("grader_error", "infra", True),
    OffScale: ("contract_violation", "judge", True),
    NotAVerdict: ("grader_error", "judge", True),
}
"""What may go wrong that is no fault of ours, and what it makes of the judge's scores: their reason, the
stage's class, and whether another attempt may help. The first that fits counts."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge made of an episode: always all of its scores.

    ``stage``: when, what went wrong, and what it took; None where its earlier scores stand, and nothing was
    asked.
    """

    judge_id: str
    scores: list[Score]
    stage: Stage | None = None


class JudgePanel:
    """The judges of a run. ``chat``: whom they ask; one panel may judge several episodes at once."""

    def __init__(self, judges: Sequence[JudgeSpec], chat: Chat) -> None:
        self._judges = tuple(judges)
        self._chat = chat

    async def judge(self, evidence: Evidence, seed: int, earlier: Iterable[Score] = ()) -> list[Score]:
        """All scores of all judges, in order. See :meth:`judge_each`."""
        return [score async for judged in self.judge_each(evidence, seed, earlier) for score in judged.scores]

    async def judge_each(
        self, evidence: Evidence, seed: int, earlier: Iterable[Score] = ()
    ) -> AsyncGenerator[Judged, None]:
        """One judge after the other, in order, each as soon as it is through.

        ``seed``: the episode's. ``earlier``: what was there of an earlier attempt with the same judges: those
        that measured are not asked again, and the others' questions get answers of their own. A judge that
        cannot be asked, or answers no verdict, has unmeasured scores; nothing else than a fault of ours, or a
        guard of the request cache, raises, and what came before it stands.
        """
        there = list(earlier)
        for spec in self._judges:
            old = [score for score in there if score.grader_id == spec.called]
            if {score.metric for score in old if isinstance(score, Measured)}.issuperset(spec.metrics):
                yield Judged(spec.id, old)
            else:
                made = max((score.attempts for score in old if isinstance(score, Unmeasured)), default=0)
                yield await self._judged(spec, evidence, seed, made + 1)

    async def _judged(self, spec: JudgeSpec, evidence: Evidence, seed: int, attempt: int) -> Judged:
        call = ChatCall(judge_messages(spec, evidence), derive("judge", seed, spec.id, attempt))
        stage = Stage(name=spec.called, started_at=stage_time())
        try:
            reply = await self._chat.ask(spec.profile, "", call)
            stage.used = _use(reply)
            scores = _measured(spec, _verdict(spec, reply))
        except tuple(_WHY) as problem:
            reason, stage.error_class, stage.retryable = _why(problem)
            stage.error = str(problem)
            scores = without_verdict(spec, reason, stage.error, retryable=stage.retryable, attempts=attempt)
        stage.finished_at = stage_time()
        return Judged(spec.id, scores, stage)


def without_verdict(
    spec: JudgeSpec, reason: UnmeasuredReason, detail: str, *, retryable: bool = False, attempts: int = 0
) -> list[Score]:
    """All scores of a judge that gave none. ``attempts``: how often it was asked."""
    return [
        Unmeasured(
            grader_id=spec.called,
            metric=metric,
            reason=reason,
            retryable=retryable,
            attempts=attempts,
            detail=detail,
        )
        for metric in spec.metrics
    ]


def judge_models(judges: Iterable[JudgeSpec], profiles: Mapping[str, Profile]) -> dict[str, str]:
    """Judge id → the model that its profile names, for those that have a profile."""
    found = {}
    for spec in judges:
        try:
            found[spec.id] = profiles[pick(profiles, spec.profile)].model
        except ProfileError:
            continue
    return found


def _use(reply: Reply) -> ModelUse:
    """What was spent on a reply now, which is nothing for one from the cache."""
    if reply.from_cache:
        return ModelUse()
    counted, price = reply.answer.usage, reply.cost_usd
    return ModelUse(
        asked=1,
        prompt_tokens=counted.prompt_tokens if counted else 0,
        completion_tokens=counted.completion_tokens if counted else 0,
        usd=price,
        uncounted=int(counted is None),
        unpriced=int(price is None),
    )


def _verdict(spec: JudgeSpec, reply: Reply) -> Verdict:
    ended = reply.answer.finish_reasons[0] if reply.answer.finish_reasons else None
    try:
        names = [criterion.name for criterion in spec.criteria]
        return read_reply(reply.answer.texts[0], names, spec.pass_threshold)
    except OffScale:
        raise
    except NotAVerdict as problem:
        if reply.answer.refusal:
            raise NotAVerdict(
                f"the judge refused: {shortened(reply.answer.refusal, LONGEST_REFUSAL)}"
            ) from None
        cut = f" (it ended with {ended!r})" if ended not in (None, "stop") else ""
        raise NotAVerdict(f"{problem}{cut}") from None


def _measured(spec: JudgeSpec, verdict: Verdict) -> list[Score]:
    """One score that passes or fails, and one a criterion that only tells."""
    called = spec.called

    def score(metric: str, mark: Mark, passed: bool | None = None) -> Score:
        return Measured(
            grader_id=called, metric=metric, value=mark.value, passed=passed, detail=mark.reason or None
        )

    told = [score(f"{called}:{name}", mark) for name, mark in verdict.criteria.items()]
    return [score(called, verdict.mark, verdict.passed), *told]


def _why(problem: Exception) -> tuple[UnmeasuredReason, str, bool]:
    return next(why for kind, why in _WHY.items() if isinstance(problem, kind))
