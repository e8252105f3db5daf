"""The profiles of ``[experiments.NAME]``: which fields of a start request they may set, and to what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from engine.control.reports import StartRequest
from engine.graph.names import near_or_all
from engine.store.settings import Experiment, misfit_of

OWN = ("graph_name", "graph", "trust_hooks", "caller_secrets")
"""Fields of a start request that a profile and ``K=V`` do not set."""
FIELDS = {field.name: field.type for field in msgspec.structs.fields(StartRequest) if field.name not in OWN}


def unknown_fields(names: Iterable[str], where: str) -> list[str]:
    """A sentence for each that is none of them."""
    return [
        f"{where}: there is no field {name!r}: {near_or_all(name, FIELDS, 'there are')}"
        for name in names
        if name not in FIELDS
    ]


def default_problems(name: str, profile: Experiment) -> list[str]:
    """What is wrong with the profile's ``defaults``."""
    where = f"[experiments.{name}] defaults"
    problems: list[str] = []
    for field, value in profile.defaults.items():
        if field in FIELDS:
            problems += misfit_of(field, value, FIELDS[field], f"{where}:")
    return [*unknown_fields(profile.defaults, where), *problems]


def experiment_problems(experiments: Mapping[str, Experiment]) -> list[str]:
    return [told for name, profile in experiments.items() for told in default_problems(name, profile)]
