"""One profile at work: its key, its places, its cache, and the patience to try again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.models.answer import Answer, error_text, read_answer
from engine.models.api_key import ApiKey
from engine.models.cache import RequestCache
from engine.models.call import ChatCall, Reply
from engine.models.errors import AnswerLate, ChatRefused, ChatTimeout, ChatUnavailable, NoAnswer
from engine.models.retrying import LONGEST_PAUSE_SEC, backoff_sec, is_retried
from engine.models.transport import Response, Transport
from engine.store.profile import Profile

log = logging.getLogger(__name__)

ONE_AT_A_TIME = frozenset({400, 422})
"""How servers refuse an ``n`` that they do not know."""


@dataclass(slots=True)
class _Sent:
    """Requests sent for one question."""

    count: int = 0


class Endpoint:
    """Answers questions with one model. Raises ChatRefused and ChatUnavailable, which name the profile.

    ``places``: how many questions may be out at once; one keeps its place while it waits to be tried again,
    so that a server that asks for patience is not asked as much by others meanwhile.
    """

    def __init__(
        self,
        name: str,
        profile: Profile,
        key: ApiKey,
        cache: RequestCache,
        transport: Transport,
        places: asyncio.Semaphore,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.name = name
        self.profile = profile
        self._key = key
        self._cache = cache
        self._transport = transport
        self._sleep = sleep
        self._places = places
        self._url = profile.base_url.rstrip("/") + "/chat/completions"

    @property
    def longest_call_sec(self) -> float:
        """Wall seconds that one request can take at most, once it has a place."""
        return (1 + self.profile.retries) * (self.profile.timeout_sec + LONGEST_PAUSE_SEC)

    async def ask(self, call: ChatCall) -> Reply:
        """The answer from the cache, else from the server."""
        sent = _Sent()
        try:
            key = call.content_key(self.profile)
            answer = await asyncio.to_thread(self._cache.find, key)
            if answer is None:
                async with self._places:
                    drawn = await self._draw(call, sent)
                answer = await asyncio.to_thread(self._cache.keep, key, drawn)
        except OSError as error:
            raise self._unavailable(f"its request cache fails: {error}") from None
        return Reply(
            answer=answer,
            profile=self.name,
            parameters=call.sent_parameters(self.profile, call.n),
            requests=sent.count,
            cost_usd=self._cost(answer) if sent.count else 0.0,
        )

    async def _draw(self, call: ChatCall, sent: _Sent) -> Answer:
        """``call.n`` answers, in as many requests as the server needs for that."""
        answer: Answer | None = None
        at_once = call.n
        while answer is None or len(answer.texts) < call.n:
            drawn = len(answer.texts) if answer is not None else 0
            try:
                more = await self._post(call.body(self.profile, at_once, drawn), call.draw, sent)
            except ChatRefused as refused:
                if at_once == 1 or refused.status not in ONE_AT_A_TIME:
                    raise
                at_once = 1
                continue
            answer = answer.joined(more) if answer is not None else more
            at_once = min(at_once, max(call.n - len(answer.texts), 1))
        del answer.texts[call.n :], answer.finish_reasons[call.n :], answer.refusals[call.n :]
        return answer

    async def _post(self, body: bytes, draw: int, sent: _Sent) -> Answer:
        """One request, tried again while that may help."""
        attempt = 0
        while True:
            sent.count += 1
            told, wait, failure = "", 0.0, ChatUnavailable
            try:
                response = await self._transport.post(
                    self._url, body, self._key.headers, self.profile.timeout_sec
                )
                if response.status == 200:
                    return read_answer(response.body, self._key.strike)
                told, wait = self._told(response), response.retry_after_sec
                if not is_retried(response.status):
                    raise ChatRefused(self._named(told), response.status)
            except NoAnswer as nothing:
                told = f"{self._url}: {nothing}"
                failure = ChatTimeout if isinstance(nothing, AnswerLate) else ChatUnavailable
            if attempt >= self.profile.retries:
                raise self._unavailable(f"{told} (tries: {attempt + 1})", failure)
            if wait > LONGEST_PAUSE_SEC:
                raise self._unavailable(f"{told}, and it asks to be left alone for {wait:.0f} s")
            pause = max(backoff_sec(attempt, draw), wait)
            log.warning("%s", self._named(f"{told}; tried again in {pause:.1f} s"))
            await self._sleep(pause)
            attempt += 1

    def _told(self, response: Response) -> str:
        return f"{response.status_line}: {error_text(response.body, self._key.strike)}"

    def _named(self, text: str) -> str:
        return f"profile {self.name!r} ({self.profile.model}): {text}"

    def _unavailable(self, text: str, failure: type[ChatUnavailable] = ChatUnavailable) -> ChatUnavailable:
        return failure(self._named(text), call=self._url)

    def _cost(self, answer: Answer) -> float | None:
        price = self.profile.price
        return answer.usage.cost_usd(price) if price is not None and answer.usage is not None else None
