"""The black-box cases of the scoring contract are all shown by a test."""

from __future__ import annotations

import ast
from pathlib import Path

CASES = range(1, 56)


def test_every_case_is_shown_by_a_test() -> None:
    shown = {case for path in Path(__file__).parent.rglob("test_*.py") for case in _cases(path)}
    assert sorted(set(CASES) - shown) == []
    assert sorted(shown - set(CASES)) == []


def _cases(path: Path) -> set[int]:
    """The numbers of ``@pytest.mark.case(n)`` over the tests of a file, or over classes of them."""
    nodes = ast.walk(ast.parse(path.read_text()))
    tests = (
        node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    marks = (mark for node in tests if node.name.lower().startswith("test") for mark in node.decorator_list)
    return {
        int(ast.unparse(mark.args[0]))
        for mark in marks
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.case"
    }
