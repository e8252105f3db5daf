"""What a nodeset needs, or a failure that says how to get it. Nothing by hand is skipped in silence."""

from __future__ import annotations

import sys
from functools import cache

import pytest

from engine.components.catalog import NodesetManifest
from engine.components.discover import discover
from engine.components.roots import standard_roots
from engine.hosting.asking import ask_requirements


@cache
def interpreter_of(nodeset: str) -> str:
    """The interpreter that hosts the built-in nodeset, with all that it needs."""
    manifest = _manifest(nodeset)
    (needs,) = ask_requirements([manifest])
    missing = [f"{need.what}: {need.found} -> {need.remedy}" for need in needs if not need.met]
    python = manifest.server_python or sys.executable
    if missing:
        pytest.fail(f"{python} lacks what {nodeset} needs:\n" + "\n".join(missing), pytrace=False)
    return python


def _manifest(nodeset: str) -> NodesetManifest:
    roots = [root for root in standard_roots() if root.origin == "builtin"]
    return discover(roots).nodesets[nodeset]
