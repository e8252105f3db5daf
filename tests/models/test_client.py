"""The client against a real server that behaves, and one that does not."""

from __future__ import annotations

import asyncio
import logging
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from engine.models.errors import ChatRefused, ChatTimeout, ChatUnavailable
from engine.store.profile import Price
from tests.fakes.chat_server import (
    ChatServer,
    breaks_off,
    completion,
    drips,
    fails,
    hangs,
    says,
    sends,
)
from tests.models.asking import ask, question
from tests.models.conftest import MakeClient


async def test_a_question_and_its_answer(server: ChatServer, make_client: MakeClient) -> None:
    server.acts.append(says("north", usage={"prompt_tokens": 7, "completion_tokens": 3}))
    reply = await ask(make_client(), temperature=0.2, max_tokens=20, stop=["\n"])
    assert reply.answer.texts == ["north"]
    assert reply.answer.finish_reasons == ["stop"]
    assert reply.answer.model == "tiny-0"
    assert (reply.requests, reply.from_cache, reply.profile) == (1, False, "local")
    assert server.asked[0].path == "/v1/chat/completions"
    assert "authorization" not in {name.lower() for name in server.asked[0].headers}
    assert server.bodies == [
        {
            "model": "tiny",
            "temperature": 0.2,
            "max_tokens": 20,
            "stop": ["\n"],
            "messages": [{"role": "user", "content": "where to?"}],
        }
    ]


async def test_what_is_not_set_is_not_sent(server: ChatServer, make_client: MakeClient) -> None:
    await ask(make_client())
    assert sorted(server.bodies[0]) == ["messages", "model"]


async def test_a_profile_has_the_last_word_on_parameters(server: ChatServer, make_client: MakeClient) -> None:
    client = make_client(max_tokens_field="max_completion_tokens", params={"temperature": 1.0, "top_k": 5})
    reply = await ask(client, temperature=0.0, max_tokens=9)
    sent = {"model": "tiny", "temperature": 1.0, "max_completion_tokens": 9, "top_k": 5}
    assert {name: value for name, value in server.bodies[0].items() if name != "messages"} == sent
    assert reply.parameters == sent


async def test_another_model_of_the_same_server(server: ChatServer, make_client: MakeClient) -> None:
    client = make_client(price=Price(input=1, output=1))
    reply = await client.ask("local", "big", question())
    assert server.bodies[0]["model"] == "big"
    assert reply.cost_usd is None


async def test_a_seed_goes_to_a_server_that_promises_something(
    server: ChatServer, make_client: MakeClient
) -> None:
    client = make_client(determinism="seeded")
    for draw in (1, 1, 2):
        await ask(client, f"question {len(server.bodies)}", draw=draw)
    seeds = [body["seed"] for body in server.bodies]
    assert seeds[0] == seeds[1] != seeds[2]


class TestSamples:
    async def test_in_one_request(self, server: ChatServer, make_client: MakeClient) -> None:
        server.acts.append(says("a", "b", "c"))
        reply = await ask(make_client(), n=3)
        assert reply.answer.texts == ["a", "b", "c"]
        assert [body["n"] for body in server.bodies] == [3]

    async def test_a_server_that_ignores_n_is_asked_again(
        self, server: ChatServer, make_client: MakeClient
    ) -> None:
        server.acts.extend([says("a"), says("b"), says("c")])
        reply = await ask(make_client(determinism="seeded", price=Price(input=1, output=10)), n=3)
        assert reply.answer.texts == ["a", "b", "c"]
        assert [body.get("n") for body in server.bodies] == [3, 2, None]
        assert len({body["seed"] for body in server.bodies}) == 3
        assert reply.requests == 3
        assert reply.cost_usd == pytest.approx(3 * (10 + 20) / 1e6)

    async def test_a_server_that_refuses_n_is_asked_for_one_at_a_time(
        self, server: ChatServer, make_client: MakeClient
    ) -> None:
        server.acts.extend([fails(400), says("a"), says("b")])
        assert (await ask(make_client(), n=2)).answer.texts == ["a", "b"]
        assert ["n" in body for body in server.bodies] == [True, False, False]

    async def test_a_server_that_sends_more_is_cut_short(
        self, server: ChatServer, make_client: MakeClient
    ) -> None:
        server.acts.append(says("a", "b"))
        answer = (await ask(make_client())).answer
        assert (answer.texts, answer.finish_reasons) == (["a"], ["stop"])


class TestTriedAgain:
    @pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
    async def test_a_status_that_may_pass(
        self, server: ChatServer, make_client: MakeClient, waits: list[float], status: int
    ) -> None:
        server.acts.extend([fails(status), fails(status)])
        reply = await ask(make_client())
        assert (reply.answer.texts, reply.requests) == (["ok"], 3)
        assert 0.25 <= waits[0] < 0.5 <= waits[1] < 1.0

    async def test_as_late_as_the_server_asks(
        self, server: ChatServer, make_client: MakeClient, waits: list[float]
    ) -> None:
        sent = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)  # the server's clock, which is not ours
        until = format_datetime(sent + timedelta(seconds=42), usegmt=True)
        server.acts.extend(
            [
                fails(429, Retry_After="17"),
                fails(503, Retry_After=until, Date=format_datetime(sent, usegmt=True)),
                fails(429, Retry_After="soon"),
            ]
        )
        await ask(make_client())
        assert waits[:2] == [17.0, 42.0]
        assert waits[2] < 2.0

    async def test_not_where_it_asks_for_too_much(
        self, server: ChatServer, make_client: MakeClient, waits: list[float]
    ) -> None:
        server.acts.append(fails(429, Retry_After="86400"))
        with pytest.raises(ChatUnavailable, match=r"HTTP 429 Too Many Requests: no luck.* 86400 s"):
            await ask(make_client())
        assert (len(server.asked), waits) == (1, [])

    @pytest.mark.parametrize(
        "raw",
        [
            b"<html>gateway</html>",
            b'{"choices": [',
            b"",
            b"[" * 100_000,
            b'{"choices": []}',
            b'{"choices": [{"message": "hi"}]}',
            b'{"error": {"message": "upstream"}}',
            b'"\xff\xfe"',
        ],
    )
    async def test_an_answer_that_is_none(
        self, server: ChatServer, make_client: MakeClient, raw: bytes
    ) -> None:
        server.acts.append(sends(raw))
        assert (await ask(make_client())).requests == 2

    async def test_a_connection_that_breaks_off(self, server: ChatServer, make_client: MakeClient) -> None:
        server.acts.extend([breaks_off, breaks_off])
        assert (await ask(make_client())).requests == 3

    @pytest.mark.parametrize("act", [hangs, drips])
    async def test_a_server_that_does_not_come_to_an_end(
        self, server: ChatServer, make_client: MakeClient, act: object
    ) -> None:
        server.acts.append(act)  # type: ignore[arg-type]
        assert (await ask(make_client(timeout_sec=0.3))).requests == 2


class TestGivenUp:
    async def test_after_all_tries(
        self, server: ChatServer, make_client: MakeClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        server.acts.extend([fails(503, {"error": {"message": "too\nmany"}})] * 3)
        with caplog.at_level(logging.WARNING), pytest.raises(ChatUnavailable) as failed:
            await ask(make_client(retries=2))
        told = "profile 'local' (tiny): HTTP 503 Service Unavailable: too many (tries: 3)"
        assert str(failed.value) == told
        assert len([record for record in caplog.records if "tried again in" in record.message]) == 2
        assert failed.value.termination == "exception"
        assert not isinstance(failed.value, ChatTimeout)

    async def test_a_server_that_never_answers(self, server: ChatServer, make_client: MakeClient) -> None:
        server.acts.extend([hangs] * 2)
        with pytest.raises(ChatTimeout, match=r"no answer within 0\.2 s \(tries: 2\)"):
            await ask(make_client(timeout_sec=0.2, retries=1))

    async def test_nobody_there(self, make_client: MakeClient) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        client = make_client(base_url=f"http://127.0.0.1:{port}/v1", retries=1)
        told = rf": http://127\.0\.0\.1:{port}/v1/chat/completions: the connection failed \(ConnectError"
        with pytest.raises(ChatUnavailable, match=told):
            await ask(client)

    @pytest.mark.parametrize("url", ["http://ex☃.é/v1", "http://xn--/v1"])
    async def test_a_url_that_is_none(self, make_client: MakeClient, url: str) -> None:
        with pytest.raises(ChatUnavailable, match=r"cannot be asked: .*tries: 1"):
            await ask(make_client(base_url=url, retries=0))

    @pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
    async def test_at_once_where_no_try_can_help(
        self, server: ChatServer, make_client: MakeClient, status: int
    ) -> None:
        server.acts.append(fails(status, {"error": "no such thing"}))
        with pytest.raises(ChatRefused, match=rf"profile 'local' \(tiny\): HTTP {status} .*no such thing"):
            await ask(make_client())
        assert len(server.asked) == 1

    async def test_a_failure_is_not_kept(self, server: ChatServer, make_client: MakeClient) -> None:
        client = make_client()
        server.acts.append(fails(400))
        with pytest.raises(ChatRefused):
            await ask(client, draw=1)
        assert (await ask(client, draw=1)).answer.texts == ["ok"]


async def test_a_question_that_is_cancelled_leaves_its_place(
    server: ChatServer, make_client: MakeClient
) -> None:
    client = make_client(concurrency=1)
    server.acts.append(hangs)
    first = asyncio.create_task(ask(client))
    while not server.asked:
        await asyncio.sleep(0.005)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await ask(client)).answer.texts == ["ok"]


async def test_no_more_questions_at_once_than_the_profile_allows(
    server: ChatServer, make_client: MakeClient
) -> None:
    client = make_client(concurrency=3)
    await asyncio.gather(*(ask(client, f"question {i}") for i in range(30)))
    assert len(server.asked) == 30
    assert server.most_at_once <= 3


class TestUnicode:
    async def test_text_arrives_as_it_is(self, server: ChatServer, make_client: MakeClient) -> None:
        text = "a\u2028b\x85c\u202e日本 🚀 \x1b[31m \x00"
        server.acts.append(says(text))
        assert (await ask(make_client(), text)).answer.texts == [text]
        assert server.bodies[0]["messages"][0]["content"] == text

    async def test_lone_surrogates_are_replaced(self, server: ChatServer, make_client: MakeClient) -> None:
        server.acts.append(sends(b'{"choices": [{"message": {"content": "x\\ud83dy"}}]}'))
        client = make_client()
        assert (await ask(client, "a\ud800b", draw=1)).answer.texts == ["x\ufffdy"]
        assert server.bodies[0]["messages"][0]["content"] == "a\ufffdb"
        assert (await ask(client, "a\ud800b", draw=1)).from_cache

    async def test_an_error_in_another_encoding(self, server: ChatServer, make_client: MakeClient) -> None:
        server.acts.append(fails(404, b"na\xefve \xff"))
        with pytest.raises(ChatRefused, match="HTTP 404 Not Found: na\ufffdve"):
            await ask(make_client())


class TestCost:
    PRICE = Price(input=2.0, output=8.0, cached_input=0.5)

    async def test_tokens_by_their_prices(self, server: ChatServer, make_client: MakeClient) -> None:
        usage = {
            "prompt_tokens": 1000,
            "completion_tokens": 100,
            "prompt_tokens_details": {"cached_tokens": 400},
        }
        server.acts.append(sends_completion(usage))
        reply = await ask(make_client(price=self.PRICE), draw=1)
        assert reply.cost_usd == pytest.approx((600 * 2.0 + 400 * 0.5 + 100 * 8.0) / 1e6)

    async def test_an_answer_from_the_cache_is_free(
        self, server: ChatServer, make_client: MakeClient
    ) -> None:
        client = make_client(price=self.PRICE)
        await ask(client, draw=1)
        again = await ask(client, draw=1)
        assert again.cost_usd == 0.0
        assert again.answer.usage is not None
        assert again.answer.usage.prompt_tokens == 10

    @pytest.mark.parametrize("usage", [{}, {"prompt_tokens": "many"}, {"prompt_tokens": None}])
    async def test_what_was_not_counted_has_no_cost(
        self, server: ChatServer, make_client: MakeClient, usage: object
    ) -> None:
        server.acts.append(sends_completion(usage))
        reply = await ask(make_client(price=self.PRICE))
        assert reply.answer.usage is None
        assert reply.cost_usd is None

    async def test_without_a_price_there_is_none(self, server: ChatServer, make_client: MakeClient) -> None:
        assert (await ask(make_client())).cost_usd is None


def sends_completion(usage: object):  # type: ignore[no-untyped-def]
    return lambda handler, body: handler.reply(200, completion("ok", usage=usage))
