"""A key goes to its server, and nowhere else."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from engine.models.errors import ChatRefused, ChatUnavailable, KeyMissing
from tests.fakes.chat_server import ChatServer, Handler, completion, fails, sends
from tests.models.asking import ask
from tests.models.conftest import MakeClient

KEY = "sk-proj-0123456789abcdef"
FIELDS = {"api_key_env": "SOME_KEY"}


async def test_it_is_sent(server: ChatServer, make_client: MakeClient) -> None:
    await ask(make_client({"SOME_KEY": f" {KEY}\n"}, **FIELDS))
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


def echoes(handler: Handler, body: object) -> None:
    """A server that repeats the key wherever it can."""
    key = handler.headers["Authorization"].removeprefix("Bearer ")
    told = completion(f"your key is {key}") | {"model": key}
    told["choices"][0]["finish_reason"] = key
    handler.reply(200, told)


async def test_nothing_that_is_kept_holds_it(
    server: ChatServer, make_client: MakeClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client({"SOME_KEY": KEY}, retries=1, **FIELDS)
    server.acts.extend(
        [
            echoes,
            fails(401, {"error": {"message": f"wrong key {KEY}"}}),
            *[fails(500, f"no: {KEY}".encode())] * 2,
            *[sends(f"no JSON: {KEY}".encode())] * 2,
        ]
    )
    told = []
    with caplog.at_level(logging.DEBUG):
        told.append(str(await ask(client)))
        for _ in range(3):
            with pytest.raises((ChatRefused, ChatUnavailable)) as failed:
                await ask(client)
            told.append("".join(traceback.format_exception(failed.value)))
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("httpcore")]
    kept = [path.read_text() for path in tmp_path.iterdir()]
    assert kept
    assert len(ours) > 1
    assert "wrong key [key]" in told[1]
    for text in (*told, *ours, *kept, repr(vars(client.endpoints[0]))):
        assert KEY not in text


@pytest.mark.parametrize("key", ["sk-proj\n-0123456789", "sk-prój-0123456789", "sk-\x00-0123456789"])
async def test_one_that_cannot_be_sent_is_refused_without_being_shown(
    make_client: MakeClient, key: str
) -> None:
    with pytest.raises(KeyMissing, match="SOME_KEY holds characters that no key has") as failed:
        await ask(make_client({"SOME_KEY": key}, **FIELDS))
    assert "0123456789" not in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize("environ", [{}, {"SOME_KEY": ""}, {"SOME_KEY": " \n"}])
async def test_one_that_is_not_there_is_named(make_client: MakeClient, environ: dict[str, str]) -> None:
    with pytest.raises(KeyMissing, match="the environment variable SOME_KEY is not set"):
        await ask(make_client(environ, **FIELDS))


async def test_a_stand_in_is_a_word_like_any_other(server: ChatServer, make_client: MakeClient) -> None:
    server.answer = lambda body: "the fridge is EMPTY"
    assert (await ask(make_client({"SOME_KEY": "EMPTY"}, **FIELDS))).answer.texts == ["the fridge is EMPTY"]
