"""A key that does not show itself."""

from __future__ import annotations

from collections.abc import Mapping

from engine.models.errors import KeyMissing
from engine.store.keys import SHORTEST_SECRET, STRUCK
from engine.store.profile import Profile


class ApiKey:
    """The key of a profile; empty where it needs none. Raises KeyMissing where it cannot be used."""

    def __init__(self, profile: Profile, environ: Mapping[str, str]) -> None:
        variable = profile.api_key_env
        self._text = environ.get(variable, "").strip() if variable else ""
        if variable and not self._text:
            raise KeyMissing(f"the environment variable {variable} is not set", "it has to hold the key")
        if not (self._text.isascii() and self._text.isprintable()):
            raise KeyMissing(
                f"the key in the environment variable {variable} holds characters that no key has",
                "set it again",
            )

    def __repr__(self) -> str:
        return "[key]"

    @property
    def headers(self) -> dict[str, str]:
        """What a request carries."""
        return {"Authorization": f"Bearer {self._text}"} if self._text else {}

    def strike(self, text: str) -> str:
        """The text without the key: a server may repeat what it was sent."""
        return text.replace(self._text, STRUCK) if len(self._text) >= SHORTEST_SECRET else text
