"""Ask a nodeset what it needs, in the interpreter that would host it (Python 3.8+)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Sequence

from engine.components.loading import load_nodeset
from engine.components.requirements import Requirement, needs_host


def requirements_line(path: str, name: str, workspaces: Sequence[str]) -> str:
    """A list of :class:`Requirement` as one line of JSON: the host's own, then the nodeset's.

    A nodeset that cannot be loaded, or that fails to answer, is itself a requirement that is not met.
    """
    found = needs_host()
    if all(requirement.met for requirement in found):
        try:
            found += load_nodeset(path, name, workspaces).requirements()
        except Exception as error:
            found.append(Requirement("its own answer", False, f"{type(error).__name__}: {error}"))
    return json.dumps([asdict(requirement) for requirement in found])
