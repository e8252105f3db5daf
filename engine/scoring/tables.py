"""Reading what somebody wrote, as the records it is to be: every problem at once, each under its field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec

from engine.graph.model import Problem
from engine.graph.names import near_or_all
from engine.scoring.urls import with_shown_urls
from engine.store.wording import told

Check = Callable[[Any, str], Iterator[Problem]]
"""(a record that was read, its path) → what is wrong with it beyond its fields' types."""


def problem(where: str, message: str, remedy: str = "") -> Problem:
    """What it repeats of what it was given is without the keys that a URL may hold."""
    return Problem("scoring", with_shown_urls(where), with_shown_urls(message), remedy)


class TableReader:
    """``checks``: record → what else it is to be. ``names``: record → (how one in a list is called there, the
    field that says so), where none may be called as another is. ``problems``: of all that was read."""

    def __init__(
        self,
        checks: Mapping[type, Check] | None = None,
        names: Mapping[type, tuple[Callable[[Any], str], str]] | None = None,
    ) -> None:
        self.problems: list[Problem] = []
        self._checks = checks or {}
        self._names = names or {}

    def read(self, value: Any, kind: Any, where: str) -> Any:
        """``value`` as a ``kind``; None where it is none, which is then among the problems."""
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self._table(value, kind, where)
        if get_origin(kind) is list and isinstance(value, list):
            return self._list(value, get_args(kind)[0], where)
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            self._refuse(where, value, kind, error)
            return None

    def _table(self, value: Any, kind: type[msgspec.Struct], where: str) -> Any:
        if not isinstance(value, Mapping):
            self.problems.append(problem(where, "must be a table"))
            return None
        before = len(self.problems)
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        self.problems += [
            problem(f"{where}.{name}", "there is no such field", near_or_all(str(name), fields, "there are"))
            for name in value
            if name not in fields
        ]
        self.problems += [
            problem(f"{where}.{name}", "is missing")
            for name, field in fields.items()
            if field.required and name not in value
        ]
        read = {
            name: self.read(value[name], field.type, f"{where}.{name}")
            for name, field in fields.items()
            if name in value
        }
        if len(self.problems) > before:
            return None
        try:
            record = msgspec.convert(read, kind, from_attributes=True)
        except msgspec.ValidationError as error:
            self._refuse(where, value, kind, error)
            return None
        if kind in self._checks:
            self.problems += self._checks[kind](record, where)
        return record

    def _list(self, values: list[Any], kind: Any, where: str) -> list[Any]:
        read = [self.read(value, kind, f"{where}[{place}]") for place, value in enumerate(values)]
        if kind in self._names:
            taken: set[str] = set()
            for place, record in enumerate(read):
                called, field = self._names[kind]
                name = called(record) if record is not None else None
                if name in taken:
                    remedy = f"give one another {field}"
                    self.problems.append(
                        problem(f"{where}[{place}]", f"a second one is called {name!r}", remedy)
                    )
                if name is not None:
                    taken.add(name)
        return read

    def _refuse(self, where: str, value: Any, kind: Any, error: msgspec.ValidationError) -> None:
        choices = list(_choices(kind))
        if choices and isinstance(value, str):
            remedy = near_or_all(value, choices, "there are")
            self.problems.append(problem(where, f"cannot be {value!r}", remedy))
        else:
            self.problems.append(problem(where, told(error, msgspec.Struct)))


def _choices(kind: Any) -> Iterator[str]:
    """The values that a Literal allows, alone or among others."""
    for part in get_args(kind):
        if get_origin(kind) is Literal:
            yield str(part)
        else:
            yield from _choices(part)
