"""``evaltower.toml``: the settings of a root (contract cli.md). Absent, every setting has its default."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from engine.store.records import Determinism

FILE = "evaltower.toml"

_ENVIRONMENT_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")

AboveZero = Annotated[float, msgspec.Meta(gt=0)]
ZeroOrMore = Annotated[float, msgspec.Meta(ge=0)]


class SettingsError(Exception):
    """The file cannot be used; ``problems`` holds every reason. No value of the file is repeated in one."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{FILE}: {problem}" for problem in problems))


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """USD for a million tokens. cached_input: those of a prompt that the server had cached; None: input."""

    input: ZeroOrMore
    output: ZeroOrMore
    cached_input: ZeroOrMore | None = None


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """``[profiles.NAME]``: a model behind an OpenAI-compatible chat completions server.

    base_url: what comes before ``/chat/completions``. api_key_env: the environment variable that holds the
    key; empty, none is sent. key_for: nodesets whose processes get that variable, too. active: the profile of
    a node that names none (so is an only one). determinism: what the server promises for equal requests;
    unless ``none``, each request carries a ``seed``. params: sent with every request, over what a node says.
    max_tokens_field: how the server calls ``max_tokens``.
    timeout_sec: wall seconds for one try. retries: tries after the first. concurrency: requests at once, of
    one run. cache: a file under the root that keeps answers beyond the run; empty, the run's own.
    """

    base_url: str
    model: Annotated[str, msgspec.Meta(min_length=1)]
    api_key_env: str = ""
    key_for: list[str] = []
    price: Price | None = None
    active: bool = False
    determinism: Determinism = "none"
    params: dict[str, Any] = {}
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    timeout_sec: AboveZero = 120.0
    retries: Annotated[int, msgspec.Meta(ge=0)] = 4
    concurrency: Annotated[int, msgspec.Meta(ge=1)] = 8
    cache: str = ""


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """``[admission]``. fair_wait: seconds after which a job is passed over no more. orphan_grace: seconds
    that runs go on without a backend. usable_vram_mb: the most of one card that runs may use, None is all of
    it; where there is no NVIDIA driver, the GPU memory that declarations are counted against. disk_low:
    nothing starts with fewer MB free. grace: seconds between asking a run to end and killing it.
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
    slurm: dict[str, Any] = {}
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
    profiles = _profiles(tables.pop("profiles", {}))
    experiments = _experiments(tables.pop("experiments", {}))
    admission = _admission(tables.pop("admission", {}))
    return Settings(profiles=profiles, experiments=experiments, admission=admission, **tables)


def _profiles(tables: Mapping[str, Any]) -> dict[str, Profile]:
    profiles: dict[str, Profile] = {}
    problems: list[str] = []
    for name, table in tables.items():
        found = _problems(name, table)
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
            problems.append(f"{where}: {error}")
    if problems:
        raise SettingsError(problems)
    return experiments


def _admission(table: Mapping[str, Any]) -> Admission:
    problems = _unknown(table, Admission, "[admission]", "key")
    try:
        admission = msgspec.convert(table, Admission)
    except msgspec.ValidationError as error:
        problems.append(f"[admission]: {error}")
    if problems:
        raise SettingsError(problems)
    return admission


def _problems(name: str, table: Any) -> list[str]:
    where = f"[profiles.{name}]"
    if not isinstance(table, dict):
        return [f"profiles.{name} is not a table: a profile begins with {where}"]
    problems = _unknown(table, Profile, where, "key")
    if isinstance(table.get("price"), dict):
        problems += _unknown(table["price"], Price, f"{where} price", "key")
    try:
        profile = msgspec.convert(table, Profile)
    except msgspec.ValidationError as error:
        return [*problems, f"{where}: {error}"]
    if not _is_plain_url(profile.base_url):
        problems.append(
            f"{where} base_url must be http://HOST… or https://HOST… without a password, ? or #;"
            " a key goes into the variable that api_key_env names"
        )
    if profile.api_key_env and not _ENVIRONMENT_VARIABLE.fullmatch(profile.api_key_env):
        problems.append(
            f"{where} api_key_env must be the name of an environment variable (A-Z, 0-9, _), not a key"
        )
    return problems


def _is_plain_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        plain = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:  # a bad port, or a bad IPv6 address
        return False
    return plain and text.isprintable() and not any(mark in text for mark in "@?# ")


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
