"""The profiles of ``[experiments.NAME]``, and the start requests that are made from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from engine.cli.output import say

if TYPE_CHECKING:
    from engine.control.reports import StartRequest


def profile_fields(root: Path, name: str) -> dict[str, Any]:
    """The fields of a start request that the profile gives; of an unknown one: the whole GPU, alone."""
    from engine.control.experiments import default_problems
    from engine.control.reports import ControlError
    from engine.store.settings import Experiment, SettingsError, read_settings

    try:
        profiles = read_settings(root).experiments
    except SettingsError as error:
        raise ControlError(str(error)) from None
    profile = profiles.get(name)
    if profile is None:
        near = get_close_matches(name, profiles, n=3)
        hint = f"; near: {', '.join(near)}" if near else ""
        say(f"there is no [experiments.{name}] in evaltower.toml{hint}: it gets a whole GPU, alone", "yellow")
        profile = Experiment(exclusive_gpu=True)
    if problems := default_problems(name, profile):
        raise click.UsageError("\n".join(problems))
    scheduling = {"marginal_vram_mb": profile.vram_mb, "exclusive_gpu": profile.exclusive_gpu}
    return {**scheduling, **profile.defaults}


def build_submission(graph: str, fields: Mapping[str, Any], pairs: Sequence[str]) -> StartRequest:
    """The request for ``graph``: the profile's fields under those of the ``K=V`` pairs. UsageError for a K
    that is no field, or a V that does not fit."""
    from engine.control.experiments import unknown_fields
    from engine.control.reports import StartRequest

    types = {field.name: field.type for field in msgspec.structs.fields(StartRequest)}
    merged = dict(fields)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{pair!r} is not K=V")
        name, dot, inner = name.partition(".")
        if problems := unknown_fields([name], pair):
            raise click.UsageError(problems[0])
        if dot:
            before = merged.get(name)
            value = _value(text, Any, pair)
            merged[name] = {**(before if isinstance(before, dict) else {}), inner: value}
        else:
            merged[name] = _value(text, types[name], pair)
    try:
        return msgspec.convert({**merged, "graph_name": graph}, StartRequest)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"no start request: {error}") from None


def _value(text: str, kind: Any, pair: str) -> Any:
    """``text`` as JSON where that fits the field, else as it is."""
    try:
        return msgspec.convert(json.loads(text), kind)
    except (ValueError, msgspec.ValidationError):
        pass
    try:
        return msgspec.convert(text, kind)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"{pair}: {error}") from None
