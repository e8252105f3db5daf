from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.filtering import FilterError, Term, parse_terms, passes

FIELDS = ("run", "status", "steps", "success")


def _passes(typed: str, **row: Any) -> bool:
    return all(
        passes(row.get(term.field, "\n".join(map(str, row.values()))), term) != term.inverted
        for term in parse_terms(typed, FIELDS)
    )


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("running", True),
        ("RUNN", True),
        ("!running", False),
        ("status:run|pend", True),
        ("status:^unn", False),
        ("steps>99", True),
        ("steps>100", False),
        ("steps>=100 steps<=100", True),
        ("steps=100", True),
        ("!steps=100", False),
        ("status=running", True),
        ("status=runn", False),
        ("success>0", False),
        ("!success>0", True),
        ("steps>many", False),
        ('"nav a"', True),
        ("nav a missing", False),
        ("", True),
    ],
)
def test_what_a_filter_keeps(typed: str, kept: bool) -> None:
    assert _passes(typed, run="nav a", status="running", steps=100, success=None) == kept


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("[", "no regex"),
        ("stauts:x", "did you mean 'status'"),
        ("colour>3", "there is no column 'colour'"),
        ("steps>", "steps> what?"),
        ('"open', "not closed"),
    ],
)
def test_what_cannot_be_understood_is_told(typed: str, told: str) -> None:
    with pytest.raises(FilterError, match=told.replace("?", r"\?")):
        parse_terms(typed, FIELDS)


def test_a_term_is_text_where_no_column_is_named() -> None:
    assert parse_terms("!a:b", ("a",)) == [Term("a", ":", "b", inverted=True)]
    assert parse_terms("12:30", ("a",)) == [Term("", ":", "12:30")]


@given(st.text(max_size=40))
def test_any_text_is_a_filter_or_is_refused_in_words(typed: str) -> None:
    with suppress(FilterError):
        for term in parse_terms(typed, FIELDS):
            assert {passes(value, term) for value in ("x", None, 1.5)} <= {True, False}
