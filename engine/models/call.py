"""What a chat model is asked, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

import msgspec

from engine.components.seeds import derive
from engine.models.answer import Answer
from engine.store.profile import Profile
from engine.store.strict_json import encode


def schema_format(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The ``response_format`` that holds an answer to a JSON schema; None for none."""
    if not schema:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}


@dataclass(frozen=True, slots=True)
class ChatCall:
    """One question. ``parameters``: those that are set of ``temperature``, ``max_tokens``, ``stop`` and
    ``response_format``.

    ``n``: answers wanted. ``draw``: what two equal questions that are meant to get answers of their own
    differ in, an int in [0, 2**63): the key of the firing that asks.
    """

    messages: Sequence[Mapping[str, Any]]
    draw: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    n: int = 1

    def sent_parameters(self, profile: Profile, n: int, drawn: int = 0) -> dict[str, Any]:
        """The request but for its messages, for ``n`` more answers where ``drawn`` are there already."""
        sent: dict[str, Any] = {"model": profile.model}
        for name, value in self.parameters.items():
            sent[profile.max_tokens_field if name == "max_tokens" else name] = value
        if n > 1:
            sent["n"] = n
        if profile.determinism != "none":
            sent["seed"] = derive("chat", self.draw, drawn) % (1 << 31)
        return {**sent, **profile.params}

    def body(self, profile: Profile, n: int, drawn: int = 0) -> bytes:
        """The request's JSON."""
        return encode({**self.sent_parameters(profile, n, drawn), "messages": list(self.messages)})

    def content_key(self, profile: Profile) -> str:
        """BLAKE2b-128 hex of all that decides the answer: server, request and draw."""
        digest = blake2b(f"{profile.base_url}\0{self.draw}\0{self.n}\0".encode(), digest_size=16)
        digest.update(self.body(profile, self.n))
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """``requests``: those that were sent for it, tries included; none for one from the cache.

    ``cost_usd``: what it cost now, None where that is not known. ``parameters``: as sent.
    """

    answer: Answer
    profile: str
    parameters: Mapping[str, Any]
    requests: int
    cost_usd: float | None

    @property
    def from_cache(self) -> bool:
        return self.requests == 0

    @property
    def model(self) -> str:
        """As the server calls it."""
        return self.answer.model or str(self.parameters["model"])

    @property
    def cost(self) -> dict[str, Any]:
        """``{prompt_tokens, completion_tokens, cached_tokens, usd}``, without what is not counted."""
        usage = self.answer.usage
        return {**(msgspec.structs.asdict(usage) if usage is not None else {}), "usd": self.cost_usd}

    def told(self) -> dict[str, Any]:
        """What a firing's inner log holds of it."""
        return {
            "profile": self.profile,
            "model": self.model,
            "parameters": self.parameters,
            "finish_reasons": self.answer.finish_reasons,
            "usage": {"requests": self.requests, "from_cache": self.from_cache, **self.cost},
        }

    def events(self, prompt: str, latency_ms: float) -> list[dict[str, Any]]:
        """The call as trace events."""
        call = {"profile": self.profile, "model": self.model, "cost": self.cost}
        return [
            {"kind": "message", "role": "user", "text": prompt},
            {"kind": "llm_call", **call, "latency_ms": round(latency_ms, 3), "from_cache": self.from_cache},
            *({"kind": "message", "role": "assistant", "text": text} for text in self.answer.texts),
        ]


class Chat(Protocol):
    """Answers questions."""

    async def ask(self, profile: str, model: str, call: ChatCall) -> Reply:
        """Ask ``profile`` ("" the active one), with ``model`` in place of its own where one is given.

        Raises ProfileError, ChatRefused and ChatUnavailable.
        """
