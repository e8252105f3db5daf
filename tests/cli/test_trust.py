"""The question before the first run of a graph with hooks, on a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest

from engine.store.runs import list_runs
from tests.fakes.workspace import make_root, toy_graph

DEADLINE_SEC = 60


@pytest.fixture
def hooked(tmp_path: Path) -> Path:
    """A root whose graph ``toy`` has a hook that leaves a mark."""
    hook = {"event": "GraphStart", "command": f"touch {tmp_path / 'mark'}"}
    return make_root(tmp_path / "root", toy=toy_graph(hooks=[hook]))


def run(root: Path, answer: str | None) -> tuple[int, str]:
    """(Exit code, what the terminal showed) of ``run toy``; ``answer``: None where no question is to come."""
    state = {"XDG_STATE_HOME": str(root / "state"), "PYTHONPATH": str(Path(__file__).parents[2])}
    words = ["-m", "engine.main", "--root", str(root), "run", "toy", "-n", "1"]
    child = pexpect.spawn(
        sys.executable, words, env={**os.environ, **state}, encoding="utf-8", timeout=DEADLINE_SEC
    )
    try:
        if answer is not None:
            child.expect("Let toy run these, now and later")
            child.sendline(answer)
        shown = (child.before or "") + child.read()
    finally:
        child.close()
    return child.exitstatus, shown


@pytest.mark.slow
def test_no_is_a_refusal_and_yes_is_remembered(hooked: Path) -> None:
    code, shown = run(hooked, "n")
    assert (code, list_runs(hooked)) == (1, [])
    assert "hook on 'GraphStart' would run 'touch" in shown
    assert run(hooked, "y")[0] == 0
    assert (hooked.parent / "mark").exists()
    assert run(hooked, None)[0] == 0
