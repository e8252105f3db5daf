"""``evaltower.toml``: the settings of a root (contract cli.md). Absent, every setting has its default."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import msgspec

from engine.store.preferences import Preferences
from engine.store.profile import Price, Profile, profile_problems
from engine.store.slurm_settings import SlurmSettings
from engine.store.wording import told

FILE = "evaltower.toml"

AboveZero = Annotated[float, msgspec.Meta(gt=0)]
ZeroOrMore = Annotated[float, msgspec.Meta(ge=0)]


class SettingsError(Exception):
    """The file cannot be used; ``problems`` holds every reason. No value of the file is repeated in one."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{FILE}: {problem}" for problem in problems))


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """``[admission]``. fair_wait: seconds after which a job is passed over no more. orphan_grace: seconds
    that runs go on without a backend. usable_vram_mb: the most of one card that runs may use, None is all of
    it; where there is no NVIDIA driver, the GPU memory that declarations are counted against, and None
    counts none. disk_low: nothing starts with fewer MB free. grace: seconds between asking a run to end and
    killing it.
    """

    fair_wait: ZeroOrMore = 600.0
    orphan_grace: ZeroOrMore = 60.0
    usable_vram_mb: AboveZero | None = None
    disk_low: ZeroOrMore = 2048.0
    grace: ZeroOrMore = 30.0


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """``[experiments.NAME]``: what is submitted under this name. vram_mb: GPU memory that it takes; None is
    unknown, 0 is no GPU. exclusive_gpu: alone on its card. defaults: fields of a start request (contract
    rest-api.md) for where the submitter gives none.
    """

    vram_mb: ZeroOrMore | None = None
    exclusive_gpu: bool = False
    defaults: dict[str, Any] = {}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file. keys: action → its key, or a list of them; the screen knows the actions."""

    profiles: dict[str, Profile] = {}
    experiments: dict[str, Experiment] = {}
    slurm: SlurmSettings = SlurmSettings()
    keys: dict[str, str | list[str]] = {}
    ui: Preferences = Preferences()
    admission: Admission = Admission()


def read_settings(root: Path) -> Settings:
    """The settings of ``root``. Raises SettingsError with every problem of the file."""
    try:
        document = tomllib.loads((root / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError([f"it cannot be read: {error}"]) from None
    problems = _unknown(document, Settings, "", "section")
    tables = {name: table for name, table in document.items() if name in Settings.__struct_fields__}
    problems += [f"[{name}] is not a table" for name, table in tables.items() if not isinstance(table, dict)]
    if not problems:
        for name, record in (("admission", Admission), ("slurm", SlurmSettings), ("ui", Preferences)):
            problems += _wrong(tables.get(name, {}), record, f"[{name}]")
        problems += [
            f"[keys] {action}: must be a key, or a list of keys"
            for action, keys in tables.get("keys", {}).items()
            if not all(isinstance(key, str) for key in (keys if isinstance(keys, list) else [keys]))
        ]
        for name, table in tables.get("experiments", {}).items():
            problems += _wrong(table, Experiment, f"[experiments.{name}]")
        problems += _wrong_profiles(tables.get("profiles", {}), root)
    if problems:
        raise SettingsError(problems)
    return msgspec.convert(tables, Settings)


def _wrong_profiles(tables: Mapping[str, Any], root: Path) -> list[str]:
    problems: list[str] = []
    active: list[str] = []
    for name, table in tables.items():
        where = f"[profiles.{name}]"
        found = _wrong(table, Profile, where)
        if isinstance(table, dict) and isinstance(table.get("price"), dict):
            found += _unknown(table["price"], Price, f"{where} price", "key")
        with suppress(msgspec.ValidationError):
            profile = msgspec.convert(table, Profile)
            found += [f"{where} {problem}" for problem in profile_problems(profile, root)]
            active += [name] if profile.active else []
        problems += found
    if len(active) > 1:
        problems.append(f"more than one profile is active ({', '.join(active)}): let one be")
    return problems


def _wrong(table: Any, record: type[msgspec.Struct], where: str) -> list[str]:
    """Every key that is none, and every value that does not fit."""
    if not isinstance(table, dict):
        return [f"{where.strip('[]')} is not a table: it begins with {where}"]
    problems = _unknown(table, record, where, "key")
    misfits = []
    for field in msgspec.structs.fields(record):
        if field.name in table:
            misfits += misfit_of(field.name, table[field.name], field.type, where)
    return problems + (misfits or _misfit(table, record, where))


def misfit_of(name: str, value: Any, kind: Any, where: str) -> list[str]:
    """A sentence, after ``where``, for a value that is not of its field's type; else nothing."""
    return _misfit({name: value}, msgspec.defstruct("Field", [(name, kind)]), where)


def _misfit(table: dict[str, Any], record: type[msgspec.Struct], where: str) -> list[str]:
    try:
        msgspec.convert(table, record)
    except msgspec.ValidationError as error:
        return [f"{where} {told(error, record)}"]
    return []


def _unknown(table: Mapping[str, Any], record: type[msgspec.Struct], where: str, kind: str) -> list[str]:
    known = record.__struct_fields__
    return [
        f"{where} there is no {kind} {key!r}: {_nearest(key, known)}".strip()
        for key in table
        if key not in known
    ]


def _nearest(key: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
