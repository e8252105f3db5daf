"""``evaltower.toml``: the settings of a root (contract cli.md). Absent, every setting has its default."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from engine.store.profile import Price, Profile, profile_problems
from engine.store.slurm_settings import SlurmSettings
from engine.store.wording import told

FILE = "evaltower.toml"

T = TypeVar("T", bound=msgspec.Struct)

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
    """The whole file. A section without a type of its own is read by whoever it is for."""

    profiles: dict[str, Profile] = {}
    experiments: dict[str, Experiment] = {}
    slurm: SlurmSettings = SlurmSettings()
    keys: dict[str, Any] = {}
    ui: dict[str, Any] = {}
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
    if problems:
        raise SettingsError(problems)
    profiles = _profiles(tables.pop("profiles", {}), root)
    experiments = _experiments(tables.pop("experiments", {}))
    admission = _section("admission", tables.pop("admission", {}), Admission)
    slurm = _section("slurm", tables.pop("slurm", {}), SlurmSettings)
    return Settings(profiles=profiles, experiments=experiments, admission=admission, slurm=slurm, **tables)


def _profiles(tables: Mapping[str, Any], root: Path) -> dict[str, Profile]:
    profiles: dict[str, Profile] = {}
    problems: list[str] = []
    for name, table in tables.items():
        found = _problems(name, table, root)
        problems += found
        if not found:
            profiles[name] = msgspec.convert(table, Profile)
    active = [name for name, profile in profiles.items() if profile.active]
    if len(active) > 1:
        problems.append(f"more than one profile is active ({', '.join(active)}): let one be")
    if problems:
        raise SettingsError(problems)
    return profiles


def _experiments(tables: Mapping[str, Any]) -> dict[str, Experiment]:
    experiments: dict[str, Experiment] = {}
    problems: list[str] = []
    for name, table in tables.items():
        where = f"[experiments.{name}]"
        if isinstance(table, dict):
            problems += _unknown(table, Experiment, where, "key")
        try:
            experiments[name] = msgspec.convert(table, Experiment)
        except msgspec.ValidationError as error:
            problems.append(f"{where} {told(error, Experiment)}")
    if problems:
        raise SettingsError(problems)
    return experiments


def _section(name: str, table: Mapping[str, Any], record: type[T]) -> T:
    problems = _unknown(table, record, f"[{name}]", "key")
    try:
        section = msgspec.convert(table, record)
    except msgspec.ValidationError as error:
        problems.append(f"[{name}] {told(error, record)}")
    if problems:
        raise SettingsError(problems)
    return section


def _problems(name: str, table: Any, root: Path) -> list[str]:
    where = f"[profiles.{name}]"
    if not isinstance(table, dict):
        return [f"profiles.{name} is not a table: a profile begins with {where}"]
    problems = _unknown(table, Profile, where, "key")
    if isinstance(table.get("price"), dict):
        problems += _unknown(table["price"], Price, f"{where} price", "key")
    try:
        profile = msgspec.convert(table, Profile)
    except msgspec.ValidationError as error:
        return [*problems, f"{where} {told(error, Profile)}"]
    return [*problems, *(f"{where} {problem}" for problem in profile_problems(profile, root))]


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
