"""Rows of SWE-bench's shape as cases.

Fields as the data set has them (Jimenez et al. 2024, arXiv 2310.06770): instance_id, repo, base_commit,
problem_statement, patch, test_patch, FAIL_TO_PASS and PASS_TO_PASS (lists, or JSON text of lists). A row that
has ``files`` needs no ``repo``; ``test_cmd`` says how its tests are run.
"""

from __future__ import annotations

import json
from typing import Any, Mapping

GOLD = "gold_patch"
"""Parameter that holds the row's own solution: only a harness's command that names it gets it."""

_HUB = "https://github.com/{}.git"
_PASSED_ON = ("files", "archive", "setup", "timeout_sec")
_GRADING = {"test_patch": "test_patch", "test_cmd": "cmd"}


def is_row(row: Mapping[str, Any]) -> bool:
    return "instance_id" in row


def as_case(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A case's fields. What the data set says beside (hints_text, version, …) is left out."""
    expected: dict[str, Any] = {name: row[given] for given, name in _GRADING.items() if row.get(given)}
    for name in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        expected[name.lower()] = _names(row.get(name), f"{where}: {name}")
    case: dict[str, Any] = {
        "id": row["instance_id"],
        "instruction": row.get("problem_statement"),
        "expected": expected,
        **{name: row[name] for name in _PASSED_ON if name in row},
    }
    if row.get("patch"):
        case["params"] = {GOLD: row["patch"]}
    if row.get("repo"):
        repo = str(row["repo"])
        url = _HUB.format(repo) if _is_hub_name(repo) else repo
        case["repo"] = {"url": url, "commit": row.get("base_commit")}
    return case


def _is_hub_name(repo: str) -> bool:
    """``owner/name``, as the data set has it, and no path or address."""
    owner, slash, name = repo.partition("/")
    return bool(owner and slash and name) and "/" not in name and owner not in (".", "..") and ":" not in repo


def _names(value: Any, where: str) -> list[str]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{where} must be a list of test names")
    return value
