"""HTML that is made of elements, so that no text gets into it unescaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from engine.figures import number
from engine.store.strict_json import encode
from engine.text import visible

STYLE = Path(__file__).with_name("report.css")

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{title}
<style>
{style}</style>
</head>
<body>
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""Of the page: a browser loads nothing for it, and runs nothing in it."""


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | None
"""A text, which is escaped; markup, which is not; or nothing."""


def text(value: str) -> Html:
    """Untrusted text: nothing of it is markup, and what would be invisible or turn it around is a glyph. A
    tab, which can do nothing to a page, stays the white space that it is."""
    return Html(escape("\t".join(map(visible, value.split("\t")))))


def lines(value: str, longest: int) -> Html:
    """The same with its line breaks, cut where it is longer."""
    shown = cut(value, longest)
    return Html("\n".join(map(text, shown.replace("\r\n", "\n").split("\n"))))


def breakable(name: str) -> Html:
    """A name that may go on in another line after each ``_``, ``/``, ``.`` and ``:``."""
    return Html(re.sub(r"([_/.:])(?=.)", r"\1<wbr>", text(name)))


def cut(value: str, longest: int) -> str:
    return value if len(value) <= longest else f"{value[:longest]}…"


def el(tag: str, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element. ``cls`` is its class, ``data_of`` its ``data-of``; what is None or False is left out."""
    return Html(f"<{tag}{_attributes(attributes)}>{join(children)}</{tag}>")


def void(tag: str, **attributes: str | int | bool | None) -> Html:
    """An element without an end."""
    return Html(f"<{tag}{_attributes(attributes)}>")


def join(children: Iterable[Child]) -> Html:
    return Html("".join(one if isinstance(one, Html) else text(one) for one in children if one))


def figure(value: float | None, of: str, shown: Callable[[float], str] = number) -> Html:
    """A number as people read it, with all of its digits for programs. ``of``: where it is from, a document
    and a JSON pointer (RFC 6901): ``summary.json#/total_episodes``."""
    if value is None:
        return el("span", "–", cls="none")
    told = str(value) if isinstance(value, int) else shown(value)
    return el("data", told, value=repr(value), data_of=of)


def pointer(*path: str | int) -> str:
    """``/metric_stats/success/mean``."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def table(header: Sequence[Child], rows: Iterable[Sequence[Child]], numbers: Sequence[int] = ()) -> Html:
    """A table that scrolls in itself where it is too wide. ``numbers``: columns that stand right."""

    def cell(tag: str, place: int, child: Child) -> Html:
        return el(tag, child, cls="number" if place in numbers else None)

    def row(tag: str, cells: Sequence[Child]) -> Html:
        return el("tr", *(cell(tag, place, child) for place, child in enumerate(cells)))

    head = el("thead", row("th", header)) if any(header) else None
    body = Html("\n".join(row("td", cells) for cells in rows))
    return el("div", el("table", head, el("tbody", body)), cls="scroll", tabindex=0)


def facts(pairs: Iterable[tuple[str, Child]]) -> Html:
    """Names and what is said of each; those of which nothing is said are left out."""
    return el("dl", *(el("div", el("dt", name), el("dd", said)) for name, said in pairs if said))


def section(title: str, *children: Child, name: str) -> Html:
    return Html(el("section", el("h2", title), *children, id=name) + "\n")


def as_json(value: object) -> str:
    return encode(value).decode()


def head(title: str) -> Html:
    style = STYLE.read_text(encoding="utf-8")
    return Html(_HEAD.format(policy=escape(POLICY), title=el("title", title), style=style))


TAIL = Html("</body>\n</html>\n")


def _attributes(attributes: dict[str, str | int | bool | None]) -> str:
    told = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        called = "class" if name == "cls" else name.replace("_", "-")
        told.append(f" {called}" if value is True else f' {called}="{text(str(value))}"')
    return "".join(told)
