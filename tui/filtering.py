"""``running !navA steps>100 outcome:fail|timeout "two words"``: which rows of a table are shown.

All terms must hold. A term is a regex, without regard to case, for any cell; ``field:regex`` for one;
``field>1``, ``>=``, ``<``, ``<=``, ``field=text`` compare. ``!`` before a term inverts it.
"""

from __future__ import annotations

import difflib
import operator
import re
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_TERM = re.compile(r"(?P<field>[A-Za-z_][\w.@/-]*)(?P<how>>=|<=|[:><=])(?P<value>.*)", re.DOTALL)


class FilterError(ValueError):
    """The filter cannot be understood; the message says why."""


@dataclass(frozen=True)
class Term:
    """field: "" is any. how: ``:`` for a regex, or a comparison, with a number where there can be one."""

    field: str
    how: str
    value: str
    inverted: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.value, re.IGNORECASE)


def parse_terms(typed: str, fields: Collection[str]) -> list[Term]:
    """Raises FilterError. A name that is not among ``fields`` is one only where it cannot be plain text."""
    terms = [_term(word, fields) for word in _words(typed)]
    for term in terms:
        if term.how == ":":
            try:
                term.pattern  # noqa: B018
            except re.error as error:
                raise FilterError(f"{term.value!r} is no regex: {error}") from None
    return terms


def passes(value: Any, term: Term) -> bool:
    """Whether a field's value satisfies a term, its inversion aside. None satisfies no comparison."""
    if term.how == ":":
        return term.pattern.search(_text(value)) is not None
    if value is None:
        return False
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (wanted := _number(term.value)) is not None and _COMPARE[term.how](value, wanted)
    return _COMPARE[term.how](_text(value).lower(), term.value.lower())


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _term(word: str, fields: Collection[str]) -> Term:
    inverted = word.startswith("!") and len(word) > 1
    bare = word[1:] if inverted else word
    match = _named(bare, fields) or _TERM.fullmatch(bare)
    if match is None:
        return Term("", ":", bare, inverted)
    field, how, value = match["field"], match["how"], match["value"]
    if field not in fields:
        near = difflib.get_close_matches(field, fields, n=1, cutoff=0.6)
        known = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(fields)}"
        raise FilterError(f"there is no column {field!r}: {known}")
    if how in (">", "<", ">=", "<=") and not value:
        raise FilterError(f"{field}{how} what?")
    return Term(field, how, value, inverted)


def _named(bare: str, fields: Collection[str]) -> re.Match[str] | None:
    """Of a field that has a colon in its name, as a judge's metric has; the longest that it may mean."""
    found = [field for field in fields if ":" in field and bare.startswith(field)]
    matches = (_part(field).fullmatch(bare) for field in sorted(found, key=len, reverse=True))
    return next((match for match in matches if match is not None), None)


def _part(field: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<field>{re.escape(field)})(?P<how>>=|<=|[:><=])(?P<value>.*)", re.DOTALL)


def _words(typed: str) -> list[str]:
    """Split at blanks, but not between double quotes. A backslash is a regex's."""
    lexer = shlex.shlex(typed, posix=True)
    lexer.whitespace_split = True
    lexer.escape = lexer.commenters = ""
    lexer.quotes = '"'
    try:
        return list(lexer)
    except ValueError:
        raise FilterError("a quotation mark is not closed") from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
