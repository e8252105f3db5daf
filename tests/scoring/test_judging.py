"""Judges behind a real HTTP server that behaves, and one that does not."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engine.models.call import ChatCall, Reply
from engine.models.client import ChatClient
from engine.scoring.judging import Judged, JudgePanel, judge_models, without_verdict
from engine.scoring.streams import BoundedStream
from engine.store.profile import Price, Profile
from engine.store.scores import Measured, ModelUse, Score, Unmeasured
from tests.fakes.chat_server import Act, ChatServer, breaks_off, chat_server, drips, fails, hangs, says, sends
from tests.scoring.judges import a_judge, a_verdict, an_episode

SEED = 11
BAD_WORDS = [
    "[[90]]",
    "",
    "I cannot judge that.",
    '{"score": NaN, "reason": "?"}',
    '{"score": "1", "reason": "?"}',
]

MakeChat = Callable[..., ChatClient]
MakePanel = Callable[..., JudgePanel]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(answer=lambda body: a_verdict()) as running:
        yield running


@pytest.fixture
async def make_chat(tmp_path: Path, server: ChatServer) -> AsyncIterator[MakeChat]:
    """A client with one profile, ``local``, for the server; keywords change the profile."""
    made: list[ChatClient] = []

    async def no_pause(seconds: float) -> None:
        await asyncio.sleep(0)

    def make(**fields: Any) -> ChatClient:
        profile = Profile(**{"base_url": server.url, "model": "tiny", "retries": 2, **fields})
        cache = tmp_path / "answers.jsonl"
        client = ChatClient({"local": profile}, tmp_path, cache, environ={}, sleep=no_pause)
        made.append(client)
        return client

    yield make
    for client in made:
        await client.close()


@pytest.fixture
def make_panel(make_chat: MakeChat) -> MakePanel:
    """A panel of the judges; keywords change the profile."""
    return lambda *judges, **fields: JudgePanel(judges, make_chat(**fields))


async def judged(panel: JudgePanel, *earlier: Score) -> list[Judged]:
    return [one async for one in panel.judge_each(an_episode(), SEED, earlier)]


class BrokenChat:
    """A fault of ours at the k-th question, and verdicts before it."""

    def __init__(self, chat: ChatClient, at: int) -> None:
        self._chat = chat
        self._left = at

    async def ask(self, profile: str, model: str, call: ChatCall) -> Reply:
        self._left -= 1
        if self._left < 0:
            raise ZeroDivisionError("a fault of ours")
        return await self._chat.ask(profile, model, call)


async def test_a_verdict_becomes_scores(server: ChatServer, make_panel: MakePanel) -> None:
    server.acts.append(
        says(a_verdict(0.75, "good", criteria={"brief": {"score": 0.25, "reason": "long"}, "kind": 1}))
    )
    scores = await make_panel(a_judge("j1", "brief", "kind")).judge(an_episode(), SEED)
    assert scores == [
        Measured(grader_id="judge:j1", metric="judge:j1", value=0.75, passed=True, detail="good"),
        Measured(grader_id="judge:j1", metric="judge:j1:brief", value=0.25, detail="long"),
        Measured(grader_id="judge:j1", metric="judge:j1:kind", value=1.0),
    ]
    assert len(server.asked) == 1


async def test_the_specs_threshold_decides(server: ChatServer, make_panel: MakePanel) -> None:
    server.acts.append(says(a_verdict(0.75, **{"pass": True})))
    (score,) = await make_panel(a_judge(pass_threshold=0.8)).judge(an_episode(), SEED)
    assert isinstance(score, Measured)
    assert (score.value, score.passed) == (0.75, False)


@pytest.mark.case(16)
async def test_judges_are_asked_in_order_one_at_a_time(server: ChatServer, make_panel: MakePanel) -> None:
    panel = make_panel(a_judge("j1", prompt="first"), a_judge("j2", prompt="second"))
    stages = [one.stage for one in await judged(panel)]
    assert [score.metric for score in await panel.judge(an_episode(), SEED)] == ["judge:j1", "judge:j2"]
    assert server.most_at_once == 1
    assert ["first" in body["messages"][0]["content"] for body in server.bodies] == [True, False]
    assert [stage.name for stage in stages if stage] == ["judge:j1", "judge:j2"]
    times = [datetime.fromisoformat(t) for s in stages if s for t in (s.started_at, s.finished_at)]
    assert times == sorted(times)


@pytest.mark.case(15)
async def test_two_episodes_are_judged_at_once(server: ChatServer, make_panel: MakePanel) -> None:
    both = threading.Barrier(2, timeout=20)

    def together(body: dict[str, Any]) -> str:
        both.wait()
        return a_verdict()

    server.answer = together
    panel = make_panel(a_judge(pass_threshold=0.5))
    scores: list[Score] = []

    async def work(index: int) -> None:
        scores.extend(await panel.judge(an_episode(instruction=f"episode {index}"), index))

    stream = BoundedStream(4, work)
    for index in range(2):
        stream.push(index)
    await stream.settle()
    assert [type(score) for score in scores] == [Measured, Measured]


@pytest.mark.case(18)
async def test_without_judges_nothing_is_asked(server: ChatServer, make_panel: MakePanel) -> None:
    assert await make_panel().judge(an_episode(), SEED) == []
    assert server.asked == []


@pytest.mark.case(20)
async def test_a_fault_of_ours_raises_and_the_judges_before_it_stand(make_chat: MakeChat) -> None:
    judges = [a_judge(name, prompt=name) for name in ("j1", "j2", "j3")]
    panel = JudgePanel(judges, BrokenChat(make_chat(), at=1))
    kept: list[Score] = []

    async def work(index: int) -> None:
        async for one in panel.judge_each(an_episode(), index):
            kept.extend(one.scores)

    stream = BoundedStream(1, work)
    stream.push(0)
    with pytest.raises(ZeroDivisionError):
        await stream.settle()
    assert [(type(score), score.metric) for score in kept] == [(Measured, "judge:j1")]


class TestNoVerdict:
    """Whatever a judge or its server does: its scores are there without a value, and others' stand."""

    @staticmethod
    async def of_the_first(panel: JudgePanel) -> Unmeasured:
        first, criterion, second = [score for one in await judged(panel) for score in one.scores]
        assert isinstance(first, Unmeasured)
        assert isinstance(criterion, Unmeasured)
        assert (first.metric, criterion.metric) == ("judge:j1", "judge:j1:brief")
        assert (first.reason, first.retryable, first.detail) == (
            criterion.reason,
            criterion.retryable,
            criterion.detail,
        )
        assert isinstance(second, Measured)
        return first

    TWO = (a_judge("j1", "brief"), a_judge("j2", prompt="another"))

    @pytest.mark.parametrize("words", BAD_WORDS)
    async def test_words_that_are_none(self, server: ChatServer, make_panel: MakePanel, words: str) -> None:
        server.acts.append(says(words))
        score = await self.of_the_first(make_panel(*self.TWO))
        assert (score.reason, score.retryable) == ("grader_error", True)
        assert "it says: " in score.detail

    @pytest.mark.parametrize(
        "words", [a_verdict(80, criteria={"brief": 1}), a_verdict(1, criteria={"brief": 95})]
    )
    async def test_a_number_off_the_scale(
        self, server: ChatServer, make_panel: MakePanel, words: str
    ) -> None:
        server.acts.append(says(words))
        score = await self.of_the_first(make_panel(*self.TWO))
        assert (score.reason, score.retryable) == ("contract_violation", True)
        assert "where a number from 0 to 1 was asked for" in score.detail

    async def test_a_refusal_in_words(self, server: ChatServer, make_panel: MakePanel) -> None:
        message = {"role": "assistant", "content": None, "refusal": "I will not judge a burglary."}
        server.acts.append(sends(json.dumps({"choices": [{"message": message}]}).encode()))
        score = await self.of_the_first(make_panel(*self.TWO))
        assert (score.reason, score.retryable) == ("grader_error", True)
        assert score.detail == "the judge refused: I will not judge a burglary."

    async def test_an_answer_that_was_cut_off(self, server: ChatServer, make_panel: MakePanel) -> None:
        choice = {"message": {"content": '{"score": 0.9, "rea'}, "finish_reason": "length"}
        server.acts.append(sends(json.dumps({"choices": [choice]}).encode()))
        assert "(it ended with 'length')" in (await self.of_the_first(make_panel(*self.TWO))).detail

    @pytest.mark.parametrize("status", [400, 401, 404, 413])
    async def test_a_refusal(self, server: ChatServer, make_panel: MakePanel, status: int) -> None:
        server.acts.append(fails(status))
        score = await self.of_the_first(make_panel(*self.TWO))
        assert (score.reason, score.retryable) == ("grader_error", False)
        assert f"HTTP {status}" in score.detail

    @pytest.mark.parametrize(
        "act",
        [
            fails(429),
            fails(429, Retry_After="1"),
            fails(500),
            fails(503),
            breaks_off,
            sends(b"<html>gateway</html>"),
            sends(b"\xff"),
            sends(b'{"choices": []}'),
        ],
    )
    async def test_a_server_that_gives_none_in_all_tries(
        self, server: ChatServer, make_panel: MakePanel, act: Act
    ) -> None:
        server.acts.extend([act] * 3)
        score = await self.of_the_first(make_panel(*self.TWO))
        assert (score.reason, score.retryable) == ("grader_error", True)
        assert "profile 'local' (tiny)" in score.detail
        assert "(tries: 3)" in score.detail

    @pytest.mark.parametrize("act", [hangs, drips])
    async def test_a_server_that_takes_too_long(
        self, server: ChatServer, make_panel: MakePanel, act: Act
    ) -> None:
        server.acts.extend([act] * 2)
        score = await self.of_the_first(make_panel(*self.TWO, timeout_sec=1.0, retries=1))
        assert (score.reason, score.retryable) == ("grader_timeout", True)

    async def test_a_server_that_asks_to_be_left_alone(
        self, server: ChatServer, make_panel: MakePanel
    ) -> None:
        server.acts.append(fails(429, Retry_After="86400"))
        score = await self.of_the_first(make_panel(*self.TWO))
        assert (score.reason, score.retryable) == ("grader_error", True)

    async def test_a_storm_of_429_that_passes_is_no_failure(
        self, server: ChatServer, make_panel: MakePanel
    ) -> None:
        server.acts.extend([fails(429)] * 20)
        panel = make_panel(a_judge(), retries=20)
        episodes = [an_episode(instruction=f"episode {index}") for index in range(8)]
        scores = await asyncio.gather(*(panel.judge(episode, SEED) for episode in episodes))
        assert [type(score) for (score,) in scores] == [Measured] * 8
        assert len(server.asked) == 28

    @pytest.mark.case(22)
    async def test_a_profile_that_is_not_there(self, server: ChatServer, make_panel: MakePanel) -> None:
        panel = make_panel(a_judge("j1", "brief", profile="locla"), self.TWO[1])
        score = await self.of_the_first(panel)
        assert (score.reason, score.retryable) == ("unsupported", False)
        assert "there is no profile 'locla'" in score.detail
        assert "local" in score.detail
        assert len(server.asked) == 1

    @pytest.mark.case(22)
    async def test_a_key_that_is_not_set(self, server: ChatServer, make_panel: MakePanel) -> None:
        (score,) = await make_panel(a_judge(), api_key_env="JUDGE_KEY").judge(an_episode(), SEED)
        assert isinstance(score, Unmeasured)
        assert (score.reason, score.retryable) == ("missing_secret", False)
        assert "JUDGE_KEY is not set" in score.detail
        assert server.asked == []

    @pytest.mark.parametrize(
        ("act", "error_class"), [(says("[[90]]"), "judge"), (fails(400), "config"), (fails(503), "infra")]
    )
    async def test_its_stage_says_what_went_wrong(
        self, server: ChatServer, make_panel: MakePanel, act: Act, error_class: str
    ) -> None:
        server.acts.append(act)
        (one,) = await judged(make_panel(a_judge(), retries=0))
        assert one.stage is not None
        assert one.stage.error == one.scores[0].detail
        assert one.stage.error_class == error_class


class TestWhatItTook:
    PRICE = Price(input=2.0, output=10.0)

    async def use(self, panel: JudgePanel) -> ModelUse:
        (one,) = await judged(panel)
        assert one.stage is not None
        assert one.stage.used is not None
        return one.stage.used

    async def test_is_in_its_stage_whatever_it_said(self, server: ChatServer, make_panel: MakePanel) -> None:
        panel = make_panel(a_judge(), price=self.PRICE)
        server.acts.append(says("[[90]]", usage={"prompt_tokens": 1_000_000, "completion_tokens": 100_000}))
        assert await self.use(panel) == ModelUse(
            asked=1, prompt_tokens=1_000_000, completion_tokens=100_000, usd=3.0
        )
        assert await self.use(panel) == ModelUse(), "an answer from the cache took nothing"

    async def test_says_what_is_not_known(self, server: ChatServer, make_panel: MakePanel) -> None:
        server.acts.append(says(a_verdict(), usage="none"))
        assert await self.use(make_panel(a_judge(), price=self.PRICE)) == ModelUse(
            asked=1, uncounted=1, unpriced=1
        )

    async def test_without_a_price_is_tokens(self, server: ChatServer, make_panel: MakePanel) -> None:
        use = await self.use(make_panel(a_judge()))
        assert (use.prompt_tokens, use.completion_tokens, use.usd, use.unpriced) == (10, 2, None, 1)


class TestAnotherAttempt:
    async def test_is_of_those_that_did_not_measure(self, server: ChatServer, make_panel: MakePanel) -> None:
        panel = make_panel(a_judge("j1"), a_judge("j2", "brief", prompt="another"), retries=0)
        server.acts.extend([says(a_verdict(0.25)), fails(503)])
        earlier = await panel.judge(an_episode(), SEED)
        server.acts.append(says(a_verdict(0.5, criteria={"brief": 1})))
        again = await judged(panel, *earlier)
        assert again[0] == Judged("j1", earlier[:1])
        assert [score.value for score in again[1].scores if isinstance(score, Measured)] == [0.5, 1.0]
        assert len(server.asked) == 3

    async def test_counts_and_is_not_answered_from_the_cache(
        self, server: ChatServer, make_panel: MakePanel
    ) -> None:
        panel = make_panel(a_judge())
        server.acts.extend([says("[[90]]"), says("[[91]]")])
        first = await panel.judge(an_episode(), SEED)
        second = await panel.judge(an_episode(), SEED, first)
        assert [score.attempts for score in first + second if isinstance(score, Unmeasured)] == [1, 2]
        (third,) = await panel.judge(an_episode(), SEED, second)
        assert isinstance(third, Measured)

    async def test_of_a_run_that_was_killed_costs_nothing_where_it_had_answers(
        self, server: ChatServer, make_panel: MakePanel
    ) -> None:
        panel = make_panel(a_judge())
        assert await panel.judge(an_episode(), SEED) == await panel.judge(an_episode(), SEED)
        assert len(server.asked) == 1

    async def test_of_another_repeat_gets_an_answer_of_its_own(
        self, server: ChatServer, make_panel: MakePanel
    ) -> None:
        panel = make_panel(a_judge(), determinism="seeded")
        for seed in (SEED, SEED + 1):
            await panel.judge(an_episode(), seed)
        assert len({body["seed"] for body in server.bodies}) == 2


async def test_scores_of_a_judge_that_was_not_asked_are_followed_by_its_first_attempt(
    server: ChatServer, make_panel: MakePanel
) -> None:
    judge = a_judge("j1", "brief")
    earlier = without_verdict(judge, "missing_evidence", "no trace yet", retryable=True)
    assert [score.metric for score in earlier] == ["judge:j1", "judge:j1:brief"]
    server.acts.append(says("[[90]]"))
    scores = await make_panel(judge).judge(an_episode(), SEED, earlier)
    assert [score.attempts for score in scores if isinstance(score, Unmeasured)] == [1, 1]


def test_models_of_judges_by_their_profiles() -> None:
    profiles = {
        "one": Profile(base_url="http://h/v1", model="big", active=True),
        "two": Profile(base_url="http://h/v1", model="small"),
    }
    judges = [a_judge("a"), a_judge("b", profile="two"), a_judge("c", profile="three")]
    assert judge_models(judges, profiles) == {"a": "big", "b": "small"}
