"""The Markdown table of published figures and ours: printed after ``pytest -m reference``, and in the README.

``pytest -m reference --update-readme`` writes what was measured into the README; other rows stay.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.reference.figures import Figure, Measured, Room, rooms

README = Path(__file__).parent.parent.parent / "README.md"
PROPERTY = "published figure"
"""Under which a test reports (room, figure, what was measured)."""
_BEGIN, _END = "<!-- published figures -->\n", "<!-- /published figures -->\n"
_HEAD = (
    "| figure | published | source | ours | 95 % interval | n | z | asserted | CPU s |\n"
    "| --- | --: | --- | --: | --- | --: | --: | --- | --: |\n"
)
Lines = Mapping[tuple[str, str], str]


def line(figure: Figure, ours: Measured) -> str:
    """One row."""
    digits = 4 if abs(figure.published.mean) < 1 else 2
    interval = ", ".join(f"{end:.{digits}f}" for end in ours.interval or ())
    z = figure.published.z(ours)
    cells = (
        figure.name,
        f"{figure.published.mean:.{digits}f}",
        figure.published.source,
        f"{ours.mean:.{digits}f}",
        f"[{interval}]" if interval else "",
        str(ours.n),
        f"{z:+.1f}" if figure.rule.kind in ("agrees", "shown") and math.isfinite(z) else "",
        _asserted(figure, ours),
        "" if ours.cpu_sec is None else f"{ours.cpu_sec:.0f}",
    )
    return f"| {' | '.join(cells)} |\n"


def _asserted(figure: Figure, ours: Measured) -> str:
    """Agreement is said only of what could also have disagreed: where the interval is at most half as wide
    as the figure is great."""
    if figure.rule.kind == "shown":
        return f"no: {figure.rule.why}"
    low, high = ours.interval or (-math.inf, math.inf)
    if figure.rule.kind == "agrees" and high - low > abs(figure.published.mean) / 2:
        return "too few to tell"
    return figure.rule.kind


def render(known: Lines) -> str:
    """Every room with the rows that are known, in their order."""
    shown = [(room, [known.get((room.title, figure.name)) for figure in room.figures]) for room in rooms()]
    return "\n".join(
        f"**{room.title}.** {room.note}\n\n{_HEAD}{''.join(row for row in lines if row)}"
        for room, lines in shown
        if any(lines)
    )


def in_readme() -> dict[tuple[str, str], str]:
    """The README's rows, by room and figure."""
    found: dict[tuple[str, str], str] = {}
    title = ""
    for text in _section(README.read_text("utf-8")).splitlines(keepends=True):
        if heading := re.match(r"\*\*(.+?)\.\*\*", text):
            title = heading[1]
        elif text.startswith("| ") and not _HEAD.startswith(text) and text not in _HEAD:
            found[title, text.split("|")[1].strip()] = text
    return found


def _section(readme: str) -> str:
    return readme.partition(_BEGIN)[2].partition(_END)[0]


def write_readme(measured: Lines) -> None:
    """Put these rows into the README's section, beside those that it has."""
    before, _, rest = README.read_text("utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    README.write_text(f"{before}{_BEGIN}{render({**in_readme(), **measured})}{_END}{after}", "utf-8")


def record(request: pytest.FixtureRequest, room: Room, figure: Figure, ours: Measured) -> None:
    """Let the table know, whatever becomes of the test."""
    request.node.user_properties.append((PROPERTY, (room.title, figure.name, dataclasses.asdict(ours))))


def _measured(reports: Iterable[Any]) -> dict[tuple[str, str], str]:
    known = {(room.title, figure.name): figure for room in rooms() for figure in room.figures}
    found: dict[tuple[str, str], str] = {}
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == PROPERTY:
                title, figure, ours = value
                found[title, figure] = line(known[title, figure], Measured(**ours))
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-readme", action="store_true", help="write measured figures into the README")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    measured = _measured(report for reports in terminalreporter.stats.values() for report in reports)
    if measured:
        terminalreporter.section("published figures")
        terminalreporter.write(render(measured))
        if config.getoption("update_readme"):
            write_readme(measured)
