"""The chat client of one run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from engine.models.api_key import ApiKey
from engine.models.cache import RequestCache
from engine.models.call import ChatCall, Reply
from engine.models.profiles import pick
from engine.store.profile import Profile

if TYPE_CHECKING:
    from engine.models.endpoint import Endpoint
    from engine.models.transport import Transport


class ChatClient:
    """Answers the questions of all that one run asks. :class:`engine.models.call.Chat`.

    ``cache``: where answers are kept, unless a profile names a file below ``root``. ``sleep``: waits between
    tries. ``before_write``: called before an answer is kept, and what it raises is passed on. Costs nothing,
    httpx included, until a profile is first looked up.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        root: Path,
        cache: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        before_write: Callable[[], object] | None = None,
    ) -> None:
        self._profiles = profiles
        self._root = root
        self._cache = cache
        self._environ = environ
        self._sleep = sleep
        self._before_write = before_write
        self._transport: Transport | None = None
        self._caches: dict[Path, RequestCache] = {}
        self._places: dict[str, asyncio.Semaphore] = {}
        self._endpoints: dict[tuple[str, str], Endpoint] = {}

    @property
    def endpoints(self) -> list[Endpoint]:
        """Those that were looked up so far."""
        return list(self._endpoints.values())

    def endpoint(self, profile: str, model: str = "") -> Endpoint:
        """The endpoint of a profile ("" the active one), with another model than its own where one is given.

        Raises ProfileError.
        """
        name = pick(self._profiles, profile)
        if (name, model) not in self._endpoints:
            self._endpoints[name, model] = self._made(name, model)
        return self._endpoints[name, model]

    async def ask(self, profile: str, model: str, call: ChatCall) -> Reply:
        """See :meth:`engine.models.call.Chat.ask`."""
        return await self.endpoint(profile, model).ask(call)

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()
        for cache in self._caches.values():
            cache.close()

    def _made(self, name: str, model: str) -> Endpoint:
        from engine.models.endpoint import Endpoint
        from engine.models.transport import Transport

        profile = self._profiles[name]
        key = ApiKey(profile, self._environ)
        if model:  # a profile's price is that of its own model
            profile = msgspec.structs.replace(profile, model=model, price=None)
        self._transport = self._transport or Transport()
        path = self._root / profile.cache if profile.cache else self._cache
        cache = self._caches.setdefault(path, RequestCache(path, self._before_write))
        places = self._places.setdefault(name, asyncio.Semaphore(profile.concurrency))
        return Endpoint(name, profile, key, cache, self._transport, places, self._sleep)
