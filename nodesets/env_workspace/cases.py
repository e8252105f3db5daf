"""Cases: what an episode's folder is made of, what is asked, and what the right outcome is.

They are read from a file, or from a folder of them: JSON (one case, or a list) or JSONL. In a folder, the
files of each folder below are a split of its name; those that lie in it directly are the split ``default``,
as are those of a single file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Mapping

from .fields import check_fields
from .swe_bench import as_case, is_row

BUILTIN = Path(__file__).with_name("cases")
DEFAULT_SPLIT = "default"
_SUFFIXES = (".json", ".jsonl")


@dataclass(frozen=True)
class Case:
    """``beside``: the folder that relative paths of it start at.

    files: text by path. repo: ``{url, commit}``. archive: a tar or zip file. The folder is made of the
    repository, the archive and the files, in that order, then the command ``setup`` is run in it. params: for
    the harness's command. timeout_sec: of the harness. ``expected`` never gets into the folder.
    """

    case_id: str
    instruction: str
    beside: Path
    files: Mapping[str, str] = field(default_factory=dict)
    repo: Mapping[str, str] | None = None
    archive: str = ""
    setup: str = ""
    expected: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    timeout_sec: float | None = None


def choose_case(place: str, split: str, index: int) -> Case:
    """One case; ValueError names what there is instead. ``place`` "" is the built-in ones."""
    splits = read_splits(place)
    if split and split not in splits:
        raise ValueError(f"split {split!r} does not exist; the splits are {', '.join(splits)}")
    name = split or next(iter(splits))
    cases = splits[name]
    if not 0 <= index < len(cases):
        raise ValueError(f"episode_index {index} is not in {name}, which has 0 to {len(cases) - 1}")
    return cases[index]


def read_splits(place: str) -> dict[str, list[Case]]:
    """All cases by split, both in order of names; ValueError names the file, the case and what is wrong."""
    root = Path(place).expanduser().absolute() if place else BUILTIN
    if not root.exists():
        raise ValueError(f"cases: there is no {root}; give a folder, or a JSON or JSONL file, of cases")
    splits: dict[str, list[Case]] = {}
    for split, file in _files(root):
        splits.setdefault(split, []).extend(_cases_of(file))
    if not any(splits.values()):
        raise ValueError(
            f"cases: {root} holds no case; they are .json or .jsonl files in it or a folder below"
        )
    for split, cases in splits.items():
        _refuse_doubles(split, cases)
    return dict(sorted(splits.items()))


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    if not root.is_dir():
        yield DEFAULT_SPLIT, root
        return
    for entry in sorted(root.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            for file in sorted(entry.iterdir()):
                if file.suffix in _SUFFIXES:
                    yield entry.name, file
        elif entry.suffix in _SUFFIXES:
            yield DEFAULT_SPLIT, entry


def _cases_of(file: Path) -> Iterator[Case]:
    for where, row in _rows(file):
        if not isinstance(row, dict):
            raise ValueError(f"{where}: a case is an object, not {type(row).__name__}")
        given = as_case(row, where) if is_row(row) else row
        check_fields(given, where)
        yield Case(given["id"], given["instruction"], file.parent, **_optional(given))


def _rows(file: Path) -> Iterator[tuple[str, Any]]:
    """(where, row) of a file."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: cannot be read: {error}") from None
    if file.suffix == ".jsonl":
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield f"{file} line {number}", _parsed(line, f"{file} line {number}")
        return
    whole = _parsed(text, str(file))
    if isinstance(whole, list):
        for number, row in enumerate(whole):
            yield f"{file} case {number}", row
    else:
        yield str(file), whole


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{where}: not JSON: {error}") from None


def _optional(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in ("id", "instruction")}


def _refuse_doubles(split: str, cases: list[Case]) -> None:
    seen = set()
    for case in cases:
        if case.case_id in seen:
            raise ValueError(f"cases: {case.case_id!r} is in split {split} twice; give each an id of its own")
        seen.add(case.case_id)
