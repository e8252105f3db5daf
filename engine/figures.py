"""How figures are written, wherever they are shown."""

from __future__ import annotations


def number(value: float | None) -> str:
    """A metric's value: three decimals, or four digits for what is large."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"
