"""The chat clients of a process, one for each way of asking, and where answers are kept."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Mapping

OF_A_SERVER = (
    "base_url",
    "model",
    "api_key_env",
    "price",
    "params",
    "max_tokens_field",
    "timeout_sec",
    "retries",
    "concurrency",
)
"""Fields of a node's config that are those of a profile in ``evaltower.toml``, and mean the same."""

NAME = "vlm_openai"


class Servers:
    """Clients are made when first asked for, and kept, so that all nodes of a config share its places."""

    def __init__(self) -> None:
        self._clients: dict[str, Any] = {}
        self._answers: tempfile.TemporaryDirectory[str] | None = None

    def client(self, config: Mapping[str, Any]) -> Any:
        """The :class:`engine.models.call.Chat` of a config. Raises ValueError and ProfileError."""
        wanted = {name: config[name] for name in OF_A_SERVER if config.get(name) not in (None, "")}
        label = json.dumps([wanted, config["cache"]], sort_keys=True)
        if label not in self._clients:
            self._clients[label] = self._made(wanted, str(config["cache"]))
        return self._clients[label]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()
        if self._answers is not None:
            self._answers.cleanup()

    def _made(self, wanted: dict[str, Any], cache: str) -> Any:
        import msgspec

        from engine.models.client import ChatClient
        from engine.store.profile import Profile, profile_problems

        if cache and not (Path(cache).is_absolute() and cache.endswith(".jsonl")):
            raise ValueError(f"config cache is {cache!r}; it is an absolute path that ends in .jsonl")
        try:
            # A seed rides each request; whether the server heeds it is its own affair.
            profile = msgspec.convert({**wanted, "determinism": "seeded"}, Profile)
        except msgspec.ValidationError as error:
            raise ValueError(f"config: {error}") from None
        for problem in profile_problems(profile, Path("/")):
            raise ValueError(f"config: {problem}")
        client = ChatClient({NAME: profile}, Path("/"), Path(cache) if cache else self._own_file())
        client.endpoint(NAME)  # says now what is wrong with its key
        return client

    def _own_file(self) -> Path:
        """Where answers are kept for as long as the process lives."""
        if self._answers is None:
            self._answers = tempfile.TemporaryDirectory(prefix="vlm_openai-")
        return Path(self._answers.name) / "answers.jsonl"
