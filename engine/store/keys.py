"""The keys of a root's profiles: kept from other processes, and out of what is written."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any

import msgspec

from engine.store.profile import Profile

SHORTEST_SECRET = 8
"""Shorter ones are stand-ins for local servers ("EMPTY", "none"), and words of their own in a text."""

STRUCK = "[key]"


class Keys:
    """``environ``: the variables that hold keys, those that are set. ``given``: the ones that a nodeset gets,
    by its name."""

    def __init__(self, environ: Mapping[str, str], given: Mapping[str, Collection[str]]) -> None:
        self.environ = environ
        self._given = given
        texts = (value.strip() for value in environ.values())
        self._secrets = [text for text in texts if len(text) >= SHORTEST_SECRET and text.isascii()]
        quoted = (msgspec.json.encode(text)[1:-1] for text in self._secrets)
        self._forms = {*quoted, *(text.encode() for text in self._secrets)}

    def with_those_of(self, other: Keys) -> Keys:
        """The same, and what ``other`` strikes is struck, too."""
        both = Keys(self.environ, self._given)
        both._secrets = [*self._secrets, *other._secrets]
        both._forms = self._forms | other._forms
        return both

    def of_nodeset(self, name: str) -> dict[str, str]:
        """What a nodeset's process has of them in its environment."""
        return {variable: self.environ[variable] for variable in self._given.get(name, ())}

    def strike(self, data: bytes) -> bytes:
        """Text, or JSON, without the keys."""
        for form in self._forms:
            data = data.replace(form, STRUCK.encode())
        return data

    def strike_in(self, value: Any) -> Any:
        """JSON data without the keys."""
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, STRUCK)
            return value
        if isinstance(value, Mapping):
            return {self.strike_in(name): self.strike_in(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.strike_in(item) for item in value]
        return value


def withhold(profiles: Mapping[str, Profile], environ: MutableMapping[str, str] = os.environ) -> Keys:
    """Take the profiles' keys out of ``environ``, so that no process that is started from now on has them."""
    named = {profile.api_key_env for profile in profiles.values()} & environ.keys()
    given: defaultdict[str, set[str]] = defaultdict(set)
    for profile in profiles.values():
        for nodeset in profile.key_for:
            given[nodeset] |= named & {profile.api_key_env}
    return Keys({variable: environ.pop(variable) for variable in named}, given)
