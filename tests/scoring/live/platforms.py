"""What a platform under test is: how it is installed and started, and what people see on it afterwards."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

import httpx

from tests.scoring.live.servers import Launch
from tests.scoring.live.venvs import Recipe

SEEN_SEC = 30.0

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Score:
    """One as the platform shows it."""

    name: str
    value: float
    by: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """``tells``: what it carries of the episode. ``spans``: names, in order of time."""

    id: str
    tells: str
    spans: list[str]
    scores: list[Score] = field(default_factory=list)

    def score(self, name: str) -> Score:
        """The one of that name, and there is one."""
        (found,) = (score for score in self.scores if score.name == name)
        return found


def until(seen: Callable[[], T | None], what: str) -> T:
    """What is seen, as soon as it is."""
    deadline = time.monotonic() + SEEN_SEC
    while not (found := seen()):
        assert time.monotonic() < deadline, f"{what} was not seen within {SEEN_SEC:g} s"
        time.sleep(0.1)
    return found


class LivePlatform(ABC):
    """A server that lets nobody in without ``secret``; ``by_judge`` and ``by_code`` are its words for who
    gave a score."""

    kind: ClassVar[str]
    recipe: ClassVar[Recipe]
    secret: ClassVar[str]
    wrong_secret: ClassVar[str]
    place_field: ClassVar[str]
    by_judge: ClassVar[str]
    by_code: ClassVar[str]
    agent: ClassVar[str]
    """Options of the agent, without which no tag finds its trace."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, headers={"Authorization": self.secret}, timeout=30)

    @classmethod
    @abstractmethod
    def launch(cls, venv: Path, folder: Path) -> Launch:
        """From its environment, with everything that it writes in ``folder``."""

    @abstractmethod
    def new_place(self) -> str:
        """A fresh experiment or project, by its name."""

    @abstractmethod
    def otel(self, place: str) -> dict[str, str]:
        """The OpenTelemetry SDK's environment variables that send to it."""

    @abstractmethod
    def traces(self, place: str) -> list[Trace]:
        """What is there now."""

    def asked(self, place: str, **more: Any) -> dict[str, Any]:
        """Of a trace's or a sink's spec what says where."""
        return {
            "kind": self.kind,
            "endpoint": self.url,
            self.place_field: place,
            "auth_secret": "live",
            **more,
        }

    def seen(self, place: str, what: str, *is_there: Callable[[list[Trace]], bool]) -> list[Trace]:
        """The traces, as soon as they are like that."""

        def look() -> list[Trace] | None:
            traces = self.traces(place)
            return traces if all(test(traces) for test in is_there) else None

        return until(look, what)

    def close(self) -> None:
        self._http.close()

    def _json(self, answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        return answer.json()


def sends_to(url: str, headers: dict[str, str]) -> dict[str, str]:
    """The SDK's environment variables of an endpoint that wants these headers."""
    told = ",".join(f"{name}={quote(value, safe='')}" for name, value in headers.items())
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_HEADERS": told}
