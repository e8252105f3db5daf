"""What holds of every platform. Contract tests: against doubles in their shape."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from engine.scoring import platform
from engine.scoring.sources import CollectError
from tests.fakes.platforms.double import Double, running
from tests.fakes.platforms.jaeger import JaegerDouble
from tests.fakes.platforms.langfuse_reads import LangfuseDouble
from tests.fakes.platforms.langsmith_reads import LangsmithDouble
from tests.fakes.platforms.mlflow_reads import MlflowDouble
from tests.fakes.platforms.phoenix_reads import PhoenixDouble
from tests.scoring.sources.conftest import RUN, TRACE, MakeSource

SECRET = "hush-hush-12345"
DOUBLES: dict[str, type[Double]] = {
    "otel": JaegerDouble,
    "mlflow": MlflowDouble,
    "langfuse": LangfuseDouble,
    "langsmith": LangsmithDouble,
    "phoenix": PhoenixDouble,
}
FOUND_BY: dict[str, dict[str, Any]] = {
    "id": {"project": "11111111-2222-3333-4444-555555555555"},
    "tag": {
        "correlate": "tag",
        "service": "s",
        "experiment": "1",
        "project": "11111111-2222-3333-4444-555555555555",
    },
}


@pytest.fixture(params=DOUBLES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=FOUND_BY)
def fields(request: pytest.FixtureRequest) -> dict[str, Any]:
    return FOUND_BY[request.param]


class Answering(Double):
    """A server that answers everything in one way."""

    def __init__(self, status: int, content: Any) -> None:
        super().__init__()
        self.whole = (status, content)

    def routes(self) -> Any:
        from aiohttp import web

        from tests.fakes.platforms.double import answer

        async def told(request: web.Request) -> web.Response:
            return answer(*self.whole)

        return (web.route("*", "/{tail:.*}", told),)


@pytest.mark.case(40)
class TestErrors:
    async def test_a_trace_that_is_not_there_is_empty(
        self, make: MakeSource, kind: str, fields: dict[str, Any]
    ) -> None:
        async with running(DOUBLES[kind]()) as double:
            assert await make(kind, double, **fields).fetch(RUN) == []

    @pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503])
    async def test_any_other_status_is_an_error_that_says_it(
        self, make: MakeSource, kind: str, fields: dict[str, Any], status: int
    ) -> None:
        async with running(Answering(status, "no " * 200)) as server:
            with pytest.raises(CollectError) as raised:
                await make(kind, server, **fields).fetch(RUN)
        assert raised.value.status == status
        assert f"HTTP {status}: no no" in raised.value.message
        assert len(raised.value.message) < 400
        assert len(server.asked) == 1, "an error is not asked for twice"

    @pytest.mark.parametrize(
        "content",
        [
            "<html>sign in</html>",
            "",
            "[]",
            "17",
            '{"result": 1, "traces": 1}',
            '{"data": [[]], "traces": 1, "trace": 2}',
        ],
    )
    async def test_a_server_that_is_another_is_an_error(
        self, make: MakeSource, kind: str, fields: dict[str, Any], content: str
    ) -> None:
        async with running(Answering(200, content)) as server:
            with pytest.raises(CollectError, match=r"is not JSON|is not as expected"):
                await make(kind, server, **fields).fetch(RUN)

    async def test_a_dead_port_is_an_error_without_a_status(self, make: MakeSource, kind: str) -> None:
        with socket.socket() as bound:  # bound, and not listening
            bound.bind(("127.0.0.1", 0))
            at = f"http://user:{SECRET}@127.0.0.1:{bound.getsockname()[1]}"
            source = make(kind, at, **FOUND_BY["id"])
            with pytest.raises(CollectError) as raised:
                await source.fetch(TRACE)
        assert raised.value.status is None
        assert "ConnectError" in raised.value.message
        assert SECRET not in raised.value.message

    @pytest.mark.parametrize("url", ["http://", "nowhere", "ftp://x", "http://[", "http://a b"])
    async def test_a_url_that_is_none_is_an_error(self, make: MakeSource, kind: str, url: str) -> None:
        with pytest.raises(CollectError):
            await make(kind, url, **FOUND_BY["id"]).fetch(TRACE)

    async def test_a_server_that_never_answers_is_given_up(
        self, make: MakeSource, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(platform, "REQUEST_SEC", 0.05)
        async with running(DOUBLES[kind](hangs=True)) as double:
            source = make(kind, double, **FOUND_BY["id"])
            with pytest.raises(CollectError, match="no answer within"):
                await source.fetch(TRACE)


AUTH = [
    ("otel", SECRET, "Authorization", f"Bearer {SECRET}"),
    ("otel", f"Basic {SECRET}", "Authorization", f"Basic {SECRET}"),
    ("mlflow", f"Basic {SECRET}", "Authorization", f"Basic {SECRET}"),
    ("mlflow", SECRET, "Authorization", f"Bearer {SECRET}"),
    ("langfuse", "pk-1:sk-2", "Authorization", "Basic cGstMTpzay0y"),
    ("langfuse", "Basic cGstMTpzay0y", "Authorization", "Basic cGstMTpzay0y"),
    ("langsmith", SECRET, "x-api-key", SECRET),
    ("phoenix", f" {SECRET}\n", "Authorization", f"Bearer {SECRET}"),
]


@pytest.mark.case(43)
class TestAuth:
    @pytest.mark.parametrize(("kind", "secret", "header", "value"), AUTH)
    async def test_each_kind_takes_its_secret_in_its_header(
        self, make: MakeSource, kind: str, secret: str, header: str, value: str
    ) -> None:
        async with running(DOUBLES[kind](lets_in=(header, value))) as double:
            source = make(kind, double, secret, auth_secret="NAME", **FOUND_BY["id"])
            assert await source.fetch(TRACE) == []

    async def test_a_secret_that_the_server_repeats_is_struck_out(self, make: MakeSource, kind: str) -> None:
        async with running(DOUBLES[kind](lets_in=("Authorization", "other"))) as double:
            source = make(kind, double, f"Basic {SECRET}", auth_secret="NAME", **FOUND_BY["id"])
            with pytest.raises(CollectError) as raised:
                await source.fetch(TRACE)
        assert raised.value.status == 401
        assert "not let in with" in raised.value.message
        assert SECRET not in raised.value.message

    @pytest.mark.case(12)
    async def test_a_secret_that_is_not_there_is_named_and_nothing_is_asked(
        self, make: MakeSource, kind: str
    ) -> None:
        async with running(DOUBLES[kind]()) as double:
            with pytest.raises(CollectError, match="there is no secret 'TRACES'"):
                make(kind, double, auth_secret="TRACES", **FOUND_BY["id"])
        assert double.asked == []

    @pytest.mark.parametrize("secret", ["", " ", "two\nlines", "smørrebrød"])
    async def test_a_secret_that_no_header_carries_is_named_and_not_told(
        self, make: MakeSource, kind: str, secret: str
    ) -> None:
        with pytest.raises(CollectError, match="'TRACES' is empty, or has characters") as raised:
            make(kind, "http://127.0.0.1:9", secret, auth_secret="TRACES", **FOUND_BY["id"])
        assert not secret.strip() or secret not in raised.value.message


def test_nothing_is_fetched_from_none(make: MakeSource) -> None:
    with pytest.raises(CollectError, match="from 'none' there is nothing to fetch"):
        make("none", "")


def test_a_mapping_of_what_is_not_looked_for_is_an_error(make: MakeSource) -> None:
    with pytest.raises(CollectError, match=r"trace\.mapping: 'modell'"):
        make("otel", "http://127.0.0.1:9", mapping={"modell": "x"})
