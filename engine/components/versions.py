"""Which versions of what a nodeset stands on are installed, told without importing any.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import logging
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from typing import Iterable

from engine.components.requirements import Package

logger = logging.getLogger(__name__)


def installed_versions(packages: Iterable[Package]) -> dict[str, str]:
    """By distribution, of the packages' modules and of all that they stand on. What is not there is left
    out, and so is a module that merely lies in a folder: it has no version."""
    told: dict[str, str] = {}
    for package in packages:
        package.search()
        for module in (*package.modules, *package.stands_on):
            told.update(_version(module))
    return told


def _version(module: str) -> dict[str, str]:
    try:
        found = _by_name(module) or _by_contents(module)
        name, version = (found.metadata["Name"], found.version) if found is not None else (None, None)
    except (OSError, TypeError, LookupError, ValueError) as error:  # what is left of a removed one
        logger.warning("the version of %s cannot be read: %r", module, error)
        return {}
    return {name: version} if name and version else {}


def _by_name(module: str) -> Distribution | None:
    """Most are called like their module, which is found at once."""
    try:
        return distribution(module.replace(".", "-"))
    except PackageNotFoundError:
        return None


def _by_contents(module: str) -> Distribution | None:
    """The one that has brought a module which is there; every other would be looked through for nothing."""
    top = module.partition(".")[0]
    try:
        if find_spec(top) is None:
            return None
    except (ImportError, ValueError):
        return None
    listed = re.compile(rf"^{re.escape(module.replace('.', '/'))}[./]", re.MULTILINE)
    for found in distributions():
        names = found.read_text("top_level.txt") or ""
        if module in names.split() or listed.search(found.read_text("RECORD") or ""):
            return found
    return None
