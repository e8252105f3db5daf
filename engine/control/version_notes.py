"""Which runs were played with other versions, so that their results need not be the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from engine.store.environment_record import EnvironmentRecord

CARRIERS = ("aiohttp", "httpx", "msgspec")
"""They carry values, and change none."""
NOT_RECORDED = "none on record"

_Versions = dict[str, dict[str, list[str]]]
"""By whose process, and by package: of one that parts of the run had in several versions, each."""


def version_notes(environments: Sequence[EnvironmentRecord]) -> list[str]:
    """A sentence for each process, by runs that are neighbours in the list and for each run by itself."""
    found = [(environment.run_id, _versions(environment)) for environment in environments]
    notes = [note for run, versions in found for note in _within(run, versions)]
    for (mine, versions), (other, others) in pairwise(found):
        for process in versions.keys() & others.keys():
            parts = list(_differences(versions[process], others[process]))
            if parts:
                told = ", ".join(parts)
                notes.append(f"{process} of {mine} and {other} need not come to the same: {told}")
    return sorted(notes)


def _versions(environment: EnvironmentRecord) -> _Versions:
    told: _Versions = {}
    processes = [(record.name, record.versions) for record in environment.nodesets]
    for process, versions in [("the run process", environment.versions), *processes]:
        for package, version in versions.items():
            seen = told.setdefault(process, {}).setdefault(package, [])
            seen += [version] if package not in CARRIERS and version not in seen else []
    return told


def _within(run: str, versions: _Versions) -> Iterator[str]:
    for process, packages in versions.items():
        several = [f"{package} {' and '.join(seen)}" for package, seen in packages.items() if len(seen) > 1]
        if several:
            yield f"{process} of {run} ran in parts with other versions: {', '.join(several)}"


def _differences(mine: dict[str, list[str]], other: dict[str, list[str]]) -> Iterator[str]:
    for package in dict.fromkeys([*mine, *other]):
        sides = [" and ".join(versions.get(package, [])) for versions in (mine, other)]
        if sides[0] != sides[1]:
            yield f"{package} {sides[0] or NOT_RECORDED} against {sides[1] or NOT_RECORDED}"
