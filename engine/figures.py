"""How figures are written, wherever they are shown."""

from __future__ import annotations


def number(value: float | None) -> str:
    """A metric's value: three decimals, or four digits for what is large."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"


def interval(ci95: tuple[float, float] | None, stderr: float | None) -> str:
    """``[0.578, 0.645]``; ``no spread`` where all values were the same, so that nothing is known of how far
    others may be; empty where there is none at all."""
    if ci95 is not None:
        return f"[{number(ci95[0])}, {number(ci95[1])}]"
    return "no spread" if stderr == 0 else ""


def count(number: int, what: str) -> str:
    """``1 episode``, ``24 episodes``."""
    return f"{number} {what}" + ("" if number == 1 else "s")
