"""How figures are written, wherever they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Protocol

UNITS = {"span": "ms"}
"""Of metrics that a grader gives in one; what an environment measures is its own affair."""
_NAMED = 4
"""Metrics that a line names."""


class HasInterval(Protocol):
    """An estimate; None where too few values give no interval, or no standard error."""

    @property
    def ci95(self) -> tuple[float, float] | None: ...

    @property
    def stderr(self) -> float | None: ...


def labelled(metric: str) -> str:
    """``success``; ``span (ms)``."""
    return f"{metric} ({UNITS[metric]})" if metric in UNITS else metric


def measure(metric: str, value: float | None) -> str:
    """``0.750``; of ``span``, ``34.640 ms``."""
    return f"{number(value)} {UNITS[metric]}" if metric in UNITS and value is not None else number(value)


def number(value: float | None) -> str:
    """A metric's value: three decimals, or four digits for what is large."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"


def interval(found: HasInterval, before: str = "") -> str:
    """The 95 % interval, ``[0.578, 0.645]``; ``no spread`` where all values were the same, so that nothing is
    known of how far others may be; empty where there is none at all."""
    if found.ci95 is not None:
        return f"{before}[{number(found.ci95[0])}, {number(found.ci95[1])}]"
    return f"{before}no spread" if found.stderr == 0 else ""


def instead_in_words(metrics: Sequence[str], run: str) -> str:
    """``Of return and length enough was measured: evaltower show RUN --metric return``; at least one."""
    named = [*metrics[:_NAMED], *(["more"] if len(metrics) > _NAMED else [])]
    told = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return f"Of {told} enough was measured: evaltower show {run} --metric {quote(metrics[0])}"


def count(number: int, what: str) -> str:
    """``1 episode``, ``24 episodes``."""
    return f"{number} {noun(number, what)}"


def noun(number: int, what: str) -> str:
    """``episode`` where there is one, else ``episodes``."""
    return what if number == 1 else f"{what}s"
