"""An answer of a chat completions server: read, cleaned, counted and priced. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

from engine.models.errors import NoAnswer
from engine.store.profile import Price

LONGEST_ERROR = 300
"""Characters of a server's own words that an error repeats."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_MILLION = 1_000_000


class Usage(msgspec.Struct):
    """Tokens. cached_tokens: those of the prompt that the server had cached. completion: all n answers."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def cost_usd(self, price: Price) -> float:
        """What the tokens cost, in USD."""
        cached = price.input if price.cached_input is None else price.cached_input
        fresh = self.prompt_tokens - self.cached_tokens
        total = fresh * price.input + self.cached_tokens * cached + self.completion_tokens * price.output
        return total / _MILLION


class Answer(msgspec.Struct):
    """texts: one an answer, maybe empty. finish_reasons: beside them. model: as the server calls it.

    usage: None where the server does not count. refusals: what the model said instead of each text, "" where
    it did not refuse; none at all where it never did. What the request cache keeps.
    """

    texts: list[str] = []
    finish_reasons: list[str | None] = []
    model: str = ""
    usage: Usage | None = None
    refusals: list[str] = []

    @property
    def refusal(self) -> str:
        """Why the first answer was refused; "" where it was not."""
        return self.refusals[0] if self.refusals else ""

    def joined(self, more: Answer) -> Answer:
        """Both; tokens are known only where they are of both."""
        return Answer(
            [*self.texts, *more.texts],
            [*self.finish_reasons, *more.finish_reasons],
            more.model,
            self.usage + more.usage if self.usage is not None and more.usage is not None else None,
            [*self._all_refusals, *more._all_refusals] if self.refusals or more.refusals else [],
        )

    @property
    def _all_refusals(self) -> list[str]:
        return self.refusals or [""] * len(self.texts)


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: Any = None


def read_answer(body: bytes, strike: Callable[[str], str]) -> Answer:
    """The answer in a response's body. Lone surrogates become U+FFFD; ``strike`` takes keys out of texts.

    Raises NoAnswer where it is none.
    """
    try:
        completion = msgspec.convert(json.loads(body), _Completion)
    except msgspec.ValidationError as error:
        raise NoAnswer(f"the answer is no chat completion ({error}): {error_text(body, strike)}") from None
    except (ValueError, RecursionError):
        raise NoAnswer(f"the answer is not JSON: {error_text(body, strike)}") from None
    if not completion.choices:
        raise NoAnswer("the answer has no choices")
    return Answer(
        texts=[strike(_clean(_text(choice.message))) for choice in completion.choices],
        finish_reasons=[
            reason if reason is None else strike(_clean(reason))
            for reason in (choice.finish_reason for choice in completion.choices)
        ],
        model=strike(_clean(completion.model or "")),
        usage=_counted(completion.usage),
        refusals=_refusals(completion.choices, strike),
    )


def error_text(body: bytes, strike: Callable[[str], str]) -> str:
    """What the server says went wrong, in one line: its error's message, else the beginning of the body."""
    text = body.decode("utf-8", "replace")
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    error = said.get("error") if isinstance(said, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    line = " ".join(strike(_clean(error if isinstance(error, str) else text)).split())
    return line[:LONGEST_ERROR] + ("…" if len(line) > LONGEST_ERROR else "") or "nothing"


def _text(message: _Message) -> str:
    if isinstance(message.content, list):
        return "".join(str(part.get("text") or "") for part in message.content)
    return message.content or ""


def _refusals(choices: list[_Choice], strike: Callable[[str], str]) -> list[str]:
    said = [choice.message.refusal for choice in choices]
    told = [strike(_clean(refusal)) if isinstance(refusal, str) else "" for refusal in said]
    return told if any(told) else []


def _clean(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _counted(found: Any) -> Usage | None:
    try:
        usage = msgspec.convert(found, _Usage, strict=False)
    except (msgspec.ValidationError, ValueError):  # an answer is none the worse for an odd count
        return None
    details = usage.prompt_tokens_details
    cached = details.cached_tokens if details is not None else None
    counted = Usage(usage.prompt_tokens, usage.completion_tokens or 0, cached or 0)
    sound = min(
        counted.prompt_tokens - counted.cached_tokens, counted.completion_tokens, counted.cached_tokens
    )
    return counted if sound >= 0 else None
