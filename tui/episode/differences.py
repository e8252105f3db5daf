"""What changed in a node's values since it fired in an earlier step."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from engine.figures import count
from tui.episode.inks import InkedLine, inked
from tui.episode.values import brief, chip_of

MOST_LEAVES = 20_000
MOST_TEXT_LINES = 2_000
MOST_CHANGES = 500
ROOM = 60

_ABSENT: Any = object()


def difference_lines(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[InkedLine]:
    """Two records of log.jsonl: each value that is not the same, the outputs first; then how many are.

    Outputs of one digest are the same, whatever the files' names.
    """
    lines: list[InkedLine] = []
    same = changed = 0
    for side in ("outputs", "inputs"):
        old, new = _ports(before, side), _ports(now, side)
        for port in dict.fromkeys((*new, *old)):
            if port in old and port in new and side == "outputs" and _same_digest(before, now, port):
                same += 1
                continue
            left, right = _leaves(old.get(port, _ABSENT)), _leaves(new.get(port, _ABSENT))
            for path in dict.fromkeys((*right, *left)):
                a, b = left.get(path, _ABSENT), right.get(path, _ABSENT)
                if a is not _ABSENT and b is not _ABSENT and _equal(a, b):
                    same += 1
                else:
                    changed += 1
                    if changed <= MOST_CHANGES:
                        lines += _change(f"{side}.{port}{path}", a, b)
    if changed > MOST_CHANGES:
        lines.append(inked(f"… {count(changed - MOST_CHANGES, 'more change')}", "warn"))
    told = f"{count(changed, 'value')} changed, {same} the same"
    return [inked(told, "dim"), inked(""), *lines]


def _ports(fields: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    ports = fields.get(side)
    return ports if isinstance(ports, dict) else {}


def _same_digest(before: Mapping[str, Any], now: Mapping[str, Any], port: str) -> bool:
    digests = _ports(before, "output_digests").get(port), _ports(now, "output_digests").get(port)
    return isinstance(digests[0], str) and digests[0] == digests[1]


def _leaves(value: Any) -> dict[str, Any]:
    """Path → value, of everything that is no list or object, or is an empty one."""
    if value is _ABSENT:
        return {}
    return dict(islice(_walk(value), MOST_LEAVES))


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    waiting = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict) and item and not chip_of(item):
            waiting += [(f"{path}.{key}", inner) for key, inner in reversed(item.items())]
        elif isinstance(item, list) and item:
            waiting += [(f"{path}[{at}]", inner) for at, inner in reversed(list(enumerate(item)))]
        else:
            yield path, item


def _equal(a: Any, b: Any) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _change(path: str, a: Any, b: Any) -> Iterator[InkedLine]:
    if a is _ABSENT:
        yield ((f"+ {path}  ", "good"), (brief(b, ROOM), "plain"))
    elif b is _ABSENT:
        yield ((f"- {path}  ", "bad"), (brief(a, ROOM), "plain"))
    elif isinstance(a, str) and isinstance(b, str) and max(len(a), len(b)) > ROOM:
        yield ((f"~ {path}", "key"),)
        yield from _text_change(a, b)
    else:
        yield (
            (f"~ {path}  ", "key"),
            (brief(a, ROOM), "dim"),
            (" → ", "dim"),
            (brief(b, ROOM), "plain"),
            (_by(a, b), "dim"),
        )


def _by(a: Any, b: Any) -> str:
    """``  (+0.5)``: by how much a number has changed."""
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (a, b)):
        return ""
    return f"  ({b - a:+.6g})"


def _text_change(a: str, b: str) -> Iterator[InkedLine]:
    old, new = a.split("\n")[:MOST_TEXT_LINES], b.split("\n")[:MOST_TEXT_LINES]
    for line in islice(difflib.unified_diff(old, new, lineterm="", n=1), 2, None):
        if line.startswith("@@"):
            yield inked("  …", "dim")
        else:
            yield inked(
                f"  {line[:1]} {line[1:]}", "good" if line[0] == "+" else "bad" if line[0] == "-" else "dim"
            )
