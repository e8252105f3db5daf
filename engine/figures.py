"""How figures are written, wherever they are shown."""

from __future__ import annotations

from typing import Protocol


class HasInterval(Protocol):
    """An estimate; None where too few values give no interval."""

    @property
    def ci95(self) -> tuple[float, float] | None: ...


def number(value: float | None) -> str:
    """A metric's value: three decimals, or four digits for what is large."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"


def interval(found: HasInterval, before: str = "") -> str:
    """The 95 % interval, or nothing where there is none."""
    return f"{before}[{number(found.ci95[0])}, {number(found.ci95[1])}]" if found.ci95 else ""


def count(number: int, what: str) -> str:
    """``1 episode``, ``24 episodes``."""
    return f"{number} {what}" + ("" if number == 1 else "s")
