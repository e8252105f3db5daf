"""Graders of the page that a browser ended on: ``url`` and ``dom`` of the snapshot."""

from __future__ import annotations

from engine.scoring.context import Compute, Evidence, missing
from engine.scoring.graders.base import Config, Grader, check_pattern, search
from engine.store.scores import Score


class DomContainsConfig(Config, frozen=True, kw_only=True):
    """text: what the page is to hold, as it stands there; "" is the case's."""

    text: str = ""


class DomContains(Grader[DomContainsConfig]):
    kind = "dom-contains"
    Config = DomContainsConfig
    metric = "dom_contains"

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        text = self.config_for(evidence.case).text
        if not text:
            raise missing("neither the config nor the case says which text the page is to hold")
        return self.judged(text in _of_page(evidence, "dom"))


class UrlMatchesConfig(Config, frozen=True, kw_only=True):
    """pattern: a regular expression that is to be found in the page's URL; "" is the case's."""

    pattern: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pattern("pattern", self.pattern)


class UrlMatches(Grader[UrlMatchesConfig]):
    kind = "url-matches"
    Config = UrlMatchesConfig
    metric = "url_matches"

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        pattern = self.config_for(evidence.case).pattern
        if not pattern:
            raise missing("neither the config nor the case says which URL is right")
        url = _of_page(evidence, "url")
        return self.judged(await search(pattern, url) is not None, url[:200])


def _of_page(evidence: Evidence, name: str) -> str:
    value = (evidence.snapshot or {}).get(name)
    if not isinstance(value, str):
        raise missing(f"the episode's snapshot holds no {name}: it is not a browser's")
    return value
