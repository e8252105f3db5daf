"""A mean with its interval in few cells, of which nothing is untrue but the last digit."""

from __future__ import annotations

from engine.figures import number

_DIGITS = ((3, 2), (1, 0))
"""Of a group, a digit is given up before the mean is; the last is for large numbers."""
_FORMS = ("{middle} [{low}, {high}]", "{short} {low}–{high}", "[{low}, {high}]")


def short_estimate(mean: float | None, ci95: tuple[float, float] | None, room: int) -> str:
    """``0.500±.148`` where the interval is as wide to both sides, as far as the digits tell; else mean and
    ends, ``0.896 [.843, .933]`` or ``.90 .84–.93``, or the ends alone, with as many digits as there is room
    for. The mean alone where even they have none."""
    if mean is None or ci95 is None:
        return number(mean)
    for group in _DIGITS:
        for form in _FORMS:
            for digits in group:
                told = _told(mean, ci95, digits, form)
                if told and len(told) <= room:
                    return told
    return number(mean)


def short_named(mean: float, metric: str, room: int) -> str:
    """``-21 return``: a mean that has no interval to show of what kind it is, with as many digits as there is
    room for beside its metric, which is cut where there is none."""
    for digits in (3, 2, 1, 0):
        if len(told := f"{_end(mean, digits)} {metric}") <= room:
            return told
    value = number(mean)
    return f"{value} {metric}"[: room - 1] + "…" if len(value) + 3 < room else value


def _told(mean: float, ci95: tuple[float, float], digits: int, form: str) -> str:
    """Empty where so few digits tell nothing."""
    low, high = (_end(end, digits) for end in ci95)
    if low == high:
        return ""
    middle = f"{mean:.{digits}f}"
    above, below = ci95[1] - mean, mean - ci95[0]
    half = _end((above + below) / 2, digits)
    if abs(above - below) < 10**-digits and half != "0":
        return f"{middle}±{half}"
    return form.format(middle=middle, short=_end(mean, digits), low=low, high=high)


def _end(value: float, digits: int) -> str:
    """``.843``, ``12.5``; whole numbers without zeros after them."""
    told = f"{value:.{digits}f}"
    if digits and not told.rpartition(".")[2].strip("0"):
        told = told.partition(".")[0]
    return {"-0": "0"}.get(told, told.replace("0.", ".", 1) if told.lstrip("-").startswith("0.") else told)
