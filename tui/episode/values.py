"""A JSON value as lines for people: images and arrays by what they are, long texts cut, texts with newlines
as they read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.figures import count
from tui.episode.inks import Inked, InkedLine, inked

INLINE = 76
"""A list or an object stands in one line where it has no more characters."""

LONGEST_TEXT = 4096
DEEPEST = 24
_LOOKS_ENCODED = re.compile(r"[A-Za-z0-9+/=\s]{512}")
_MIME = re.compile(r"data:([\w./+-]{1,60})[;,]")


def value_lines(name: str, value: Any, *, indent: int = 0, whole: bool = False) -> Iterator[InkedLine]:
    """``name: value`` as lines. ``whole``: texts are not cut."""
    if isinstance(value, str):
        yield from _text_lines(name, value, indent, whole)
        return
    if (short := in_short(value, INLINE)) is not None or not isinstance(value, dict | list):
        text = scalar_text(value) if short is None else short
        yield (*_name(name, indent), (text, "dim" if chip_of(value) else "plain"))
        return
    if indent // 2 >= DEEPEST:
        yield (*_name(name, indent), (brief(value, 200), "dim"))
        return
    count = f"{len(value)} " + ("keys" if isinstance(value, dict) else "items")
    yield (*_name(name, indent), (count, "dim"))
    members = (
        value.items() if isinstance(value, dict) else ((f"[{at}]", item) for at, item in enumerate(value))
    )
    for key, item in members:
        yield from value_lines(str(key), item, indent=indent + 2, whole=whole)


def in_short(value: Any, room: int) -> str | None:
    """A value in at most ``room`` characters of one line; None where it takes more."""
    if isinstance(value, str):
        return None if len(value) > room or "\n" in value else _quoted(value, room)
    if chip := chip_of(value):
        return chip
    if isinstance(value, dict):
        inside = _in_row(((f"{key}: ", item) for key, item in value.items()), room - 2)
        return None if inside is None else "{" + inside + "}"
    if isinstance(value, list):
        inside = _in_row((("", item) for item in value), room - 2)
        return None if inside is None else f"[{inside}]"
    text = scalar_text(value)
    return text if len(text) <= room else None


def _in_row(members: Iterable[tuple[str, Any]], room: int) -> str | None:
    row = ""
    for name, item in members:
        before = f"{row}, {name}" if row else name
        text = in_short(item, room - len(before))
        if text is None:
            return None
        row = before + text
    return row if len(row) <= room else None


def brief(value: Any, room: int) -> str:
    """A value in a few words, whatever it takes: for a row."""
    if isinstance(value, str):
        return _cut(json.dumps(value[: room + 2], ensure_ascii=False), room)
    short = in_short(value, room)
    if short is not None:
        return short
    if isinstance(value, dict):
        return _cut("{" + ", ".join(list(map(str, value))[:8]) + "}", room)
    return f"[{len(value)} items]" if isinstance(value, list) else _cut(scalar_text(value), room)


def brief_ports(ports: Mapping[str, Any], room: int) -> str:
    """``action="left" reward=0.5``: ports in one line, those that have text or numbers first."""
    ordered = sorted(ports.items(), key=lambda port: isinstance(port[1], dict | list))
    parts: list[str] = []
    left = room
    for name, value in ordered:
        if left <= 0:
            break
        parts.append(f"{name}={chip_of(value, short=True) or brief(value, min(left, 48))}")
        left -= len(parts[-1]) + 1
    return " ".join(parts)


def chip_of(value: Any, *, short: bool = False) -> str:
    """What stands for an image or an array; empty for any other value. short: with its size alone."""
    if not isinstance(value, dict):
        return ""
    if isinstance(name := value.get("$asset"), str):
        kind = "image" if name.lower().endswith(".png") else "file"
        size = _shape(value.get("shape"), image=kind == "image")
        if short:
            return f"<{kind} {size}>" if size else f"<{kind}>"
        return f"<{' '.join(filter(None, [kind, size, str(value.get('dtype') or ''), name]))}>"
    if isinstance(array := value.get("$array"), dict) and len(value) == 1:
        if short:
            return f"<array {_shape(array.get('shape'))}>"
        told = [f"{key} {scalar_text(array[key])}" for key in ("min", "max", "mean") if key in array]
        return f"<{' '.join(['array', _shape(array.get('shape')), str(array.get('dtype', '')), *told])}>"
    return ""


def scalar_text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def bytes_text(size: int) -> str:
    """``814 bytes``, ``143 kB``, ``52.4 MB``."""
    if size < 10_000:
        return count(size, "byte")
    return f"{size / 1000:.0f} kB" if size < 10_000_000 else f"{size / 1e6:.1f} MB"


def _text_lines(name: str, text: str, indent: int, whole: bool) -> Iterator[InkedLine]:
    if not whole and (told := _encoded(text)):
        yield (*_name(name, indent), (told, "dim"))
        return
    shown = text if whole else text[:LONGEST_TEXT]
    if "\n" in shown:
        yield (*_name(name, indent), (f"{len(text.split(chr(10)))} lines", "dim"))
        for line in shown.split("\n"):
            yield inked(" " * (indent + 2) + line.removesuffix("\r").expandtabs(4))
    else:
        yield (*_name(name, indent), (json.dumps(shown, ensure_ascii=False), "plain"))
    if len(shown) < len(text):
        yield inked(
            " " * (indent + 2) + f"… {count(len(text) - len(shown), 'more character')}: enter shows all",
            "warn",
        )


def _encoded(text: str) -> str:
    """What a text is that only programs read; empty for one that people do."""
    if match := _MIME.match(text):
        return f"<{match[1]} in the text, {bytes_text(len(text))}>"
    if len(text) > 1024 and _LOOKS_ENCODED.match(text) and " " not in text[:512]:
        return f"<encoded, {bytes_text(len(text))}: enter shows all>"
    return ""


def _name(name: str, indent: int) -> tuple[Inked, ...]:
    return ((" " * indent, "plain"), (name, "key"), ("  ", "plain"))


def _quoted(text: str, room: int) -> str | None:
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if len(quoted) <= room else None


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(0, room - 1)] + "…"


def _shape(shape: Any, *, image: bool = False) -> str:
    if not isinstance(shape, list):
        return ""
    known = [size for size in shape if isinstance(size, int)]
    if image and len(known) >= 2:
        return f"{known[1]}×{known[0]}"
    return "×".join(map(str, known)) if known else "scalar"
