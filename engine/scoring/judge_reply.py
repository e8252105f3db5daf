"""What a judge said, read strictly: a reply that is no verdict is never made into a number. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.text import cut

PASSING = 0.5
"""The score from which an episode passes where neither the judge's spec nor its reply says so."""

LONGEST_REASON = 4000
LONGEST_QUOTE = 200
"""Characters of a reply that is no verdict that are repeated."""

_OBJECT = re.compile(r'\{\s*"')
_THOUGHT = "<think>", "</think>"


class NotAVerdict(Exception):
    """The message says what the reply lacks, and how it begins."""


class OffScale(NotAVerdict):
    """A number of the reply is not on the scale that was asked for, so that no number of it can be
    believed: of a judge that counts to 100 a 1 is next to nothing."""


@dataclass(frozen=True, slots=True)
class Mark:
    """``value``: from 0 to 1. ``reason``: the judge's words."""

    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """``criteria``: a mark for each that was asked for."""

    mark: Mark
    passed: bool
    criteria: Mapping[str, Mark]


def read_reply(text: str, criteria: Sequence[str] = (), pass_threshold: float | None = None) -> Verdict:
    """The verdict in a judge's reply, which is the first JSON object in it.

    It has ``score``, a number in [0, 1], and ``reason``, a text; maybe ``pass``; and under ``criteria`` each
    that was asked for, as a number or an object of its own ``score`` and maybe ``reason``.
    ``pass_threshold`` decides over what the reply says of passing. Raises NotAVerdict.
    """
    try:
        return _verdict(_first_object(text), criteria, pass_threshold)
    except NotAVerdict as problem:
        raise type(problem)(f"{problem}; it says: {_quoted(text)}") from None


def _first_object(text: str) -> dict[str, Any]:
    opening, closing = _THOUGHT
    if text.lstrip().startswith(opening):  # drafts of a verdict are none
        text = text.partition(closing)[2]
    begins = _OBJECT.search(text)
    if begins is None:
        raise NotAVerdict("the judge's reply holds no JSON object")
    try:
        found, _ = json.JSONDecoder(object_pairs_hook=_unambiguous).raw_decode(text, begins.start())
    except (ValueError, RecursionError):
        raise NotAVerdict(
            "the JSON object in the judge's reply is damaged, not whole, or says a thing twice"
        ) from None
    assert isinstance(found, dict)
    return found


def _verdict(said: Mapping[str, Any], criteria: Sequence[str], pass_threshold: float | None) -> Verdict:
    if not isinstance(said.get("reason"), str):
        raise NotAVerdict("the judge's reply has no reason that is a text")
    mark = _mark(said, "its score")
    by_name = said.get("criteria")
    marks = {name: _criterion(by_name, name) for name in criteria}
    return Verdict(mark, _passed(said.get("pass"), mark.value, pass_threshold), marks)


def _passed(said: Any, value: float, threshold: float | None) -> bool:
    if threshold is None and isinstance(said, bool):
        return said
    if threshold is None and said is not None:
        raise NotAVerdict("what the judge's reply says of passing is neither true nor false")
    return value >= (PASSING if threshold is None else threshold)


def _criterion(by_name: Any, name: str) -> Mark:
    if not isinstance(by_name, dict) or name not in by_name:
        raise NotAVerdict(f"the judge's reply leaves out the criterion {name!r}")
    said = by_name[name]
    return _mark(said if isinstance(said, dict) else {"score": said}, f"the score of the criterion {name!r}")


def _mark(said: Mapping[str, Any], what: str) -> Mark:
    score, reason = said.get("score"), said.get("reason")
    if isinstance(score, bool) or not isinstance(score, int | float) or not _is_finite(score):
        raise NotAVerdict(f"the judge's reply has no number as {what}")
    if not 0 <= score <= 1:
        raise OffScale(f"the judge gave {_shown(score)} as {what}, where a number from 0 to 1 was asked for")
    return Mark(abs(score + 0.0), cut(reason, LONGEST_REASON) if isinstance(reason, str) else "")


def _is_finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def _shown(number: float) -> str:
    """A number as it is, unless it is too long for a line."""
    return repr(number) if abs(number) < 1e20 else "a number beyond all measure"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return repr(line[:LONGEST_QUOTE] + ("…" if len(line) > LONGEST_QUOTE else "")) if line else "nothing"


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """ValueError for a name that is there twice: which of the two is meant?"""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found
