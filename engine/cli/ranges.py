"""Numbers on the command line: finite, and within what makes sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engine.limits import LIMITS, Limit

if TYPE_CHECKING:
    _Type = click.ParamType[float]
else:
    _Type = click.ParamType  # older ones cannot be subscripted

LONGEST_TOLD = 40
"""Characters of a wrong value that are shown."""


class Number(_Type):
    """A number within a limit; anything else is refused with the flag, the value, and what it takes."""

    name = "number"

    def __init__(self, limit: Limit) -> None:
        self._limit = limit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            found: float = int(value) if self._limit.whole else float(value)
        except ValueError:
            found = float("nan")
        if self._limit.takes(found):
            return found
        told = str(value)
        told = repr(told) if len(told) <= LONGEST_TOLD else f"{told[:LONGEST_TOLD]!r}…"
        self.fail(f"{told} is not {self._limit.described}.", param, ctx)


def limited(field: str) -> Number:
    """What a start request takes in this field."""
    return Number(LIMITS[field])


def given(context: click.Context, option: click.Parameter, value: str | None) -> str:
    """The text of an option; "" without it. BadParameter where it is empty, as from an unset variable."""
    if value is not None and not value.strip():
        raise click.BadParameter("is empty: give it a value, or leave it out")
    return value or ""
