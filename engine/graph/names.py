"""How messages name what is in a graph, and what else it may have been meant to be."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from engine.graph.model import Problem

_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_ALIKE = 0.7
_LONGEST_NAME = 200
"""Near names cost the square of the length, and no real name is longer."""


def node_name(node_id: str) -> str:
    return f"node {node_id!r}"


def edge_name(edge_id: str) -> str:
    return f"edge {edge_id!r}"


def called(problem: Problem, names: Mapping[str, str]) -> Problem:
    """The problem, with other names for the ids that it quotes."""
    quoted = {repr(name): repr(other) for name, other in names.items()}

    def renamed(text: str) -> str:
        return _QUOTED.sub(lambda found: quoted.get(found[0], found[0]), text)

    return replace(
        problem,
        where=renamed(problem.where),
        message=renamed(problem.message),
        remedy=renamed(problem.remedy),
    )


def near(name: str, options: Iterable[str]) -> str:
    """A remedy that offers the options nearest to ``name``, or ``""`` where none is near."""
    if len(name) > _LONGEST_NAME:
        return ""
    return did_you_mean(get_close_matches(name, sorted(set(options)), n=3, cutoff=0.6))


def did_you_mean(found: Iterable[str]) -> str:
    """``""`` where there is none."""
    told = " or ".join(map(repr, found))
    return f"did you mean {told}?" if told else ""


def near_nodesets(name: str, options: Iterable[str]) -> list[str]:
    """The nodesets whose names are nearest. What two have alike that begin with ``env_`` is not that."""
    if len(name) > _LONGEST_NAME:
        return []
    kind = name.partition("_")[0] + "_"
    own = {option.removeprefix(kind): option for option in options if option.startswith(kind)}
    alike = [own[found] for found in get_close_matches(name.removeprefix(kind), own, n=3)]
    others = [option for option in options if not option.startswith(kind)]
    return alike or get_close_matches(name, others, n=3)


def near_or_all(name: str, options: Iterable[str], what: str) -> str:
    """The near options, or, where none is near, all of them."""
    options = list(dict.fromkeys(options))
    listed = ", ".join(map(repr, options)) or "none"
    return near(name, options) or f"{what}: {listed}"


def misspelt(
    where: str,
    place: str,
    given: Mapping[str, object],
    known: Collection[str],
    unread: str = "is read by nothing",
) -> Iterator[Problem]:
    """A warning of each key that nothing reads and that looks like another; a drawing's own keys do not."""
    for key in given:
        near = get_close_matches(key, known, n=1, cutoff=_ALIKE) if key not in known else []
        if near and near[0] not in given:
            told = f"{place}{key} {unread}"
            yield Problem("unknown-key", where, told, f"did you mean {near[0]!r}?", severity="warning")
