"""A graph's hooks run commands as the operator: shown, and allowed once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.control.local import LocalControl
from engine.control.reports import RefusedError, Sources, StartRequest, UntrustedHooksError
from tests.control.waiting import wait_until_over
from tests.fakes.workspace import toy_graph

HOOK = {"event": "PreNodeExecute", "command": "true", "match_node_type": "env_toy__*"}


def hooked(**more: Any) -> dict[str, Any]:
    graph = toy_graph(hooks=[HOOK, {"event": "GraphStart", "command": "false", "enabled": False}])
    graph["nodes"][0] = {
        **graph["nodes"][0],
        "config": {"hooks": [{"event": "PostNodeExecute", "command": "cat"}]},
    }
    return graph | more


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def asked(graph: dict[str, Any], **more: Any) -> StartRequest:
    return StartRequest(graph_name="mine", graph=graph, episode_count=1, **more)


def start(control: LocalControl, request: StartRequest) -> None:
    wait_until_over(control, control.start(request))


def test_a_check_shows_the_hooks_that_would_run(control: LocalControl, tmp_path: Path) -> None:
    (control.root / "workspace" / "hooks.json").write_text(
        json.dumps([{"event": "GraphStart", "command": "w"}])
    )
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(hooked()))
    report = control.check(str(file))
    assert report.ok
    assert not report.hooks_trusted
    assert [(hook.origin, hook.event, hook.command, hook.matches) for hook in report.hooks] == [
        ("workspace", "GraphStart", "w", "*"),
        ("graph", "PreNodeExecute", "true", "env_toy__*"),
        ("graph", "PostNodeExecute", "cat", "reset"),
    ]


def test_an_overlays_hooks_stand_before_the_workspaces(control: LocalControl, tmp_path: Path) -> None:
    for place, command in ((control.root / "workspace", "base"), (tmp_path / "overlay", "over")):
        place.mkdir(exist_ok=True)
        (place / "hooks.json").write_text(json.dumps([{"event": "GraphStart", "command": command}]))
    overlaid = control.check("toy", Sources(active_workspace_dir=str(tmp_path / "overlay")))
    assert [hook.command for hook in overlaid.hooks] == ["over"]
    assert [hook.command for hook in control.check("toy").hooks] == ["base"]
    assert control.check("toy").hooks_trusted


def test_hooks_of_the_workspace_that_cannot_be_read_are_a_problem(control: LocalControl) -> None:
    (control.root / "workspace" / "hooks.json").write_text('[{"event": "GraphStart"}]')
    problems = control.check("toy").problems
    assert [problem.code for problem in problems] == ["missing-key"]
    assert "hooks.json" in problems[0].where
    with pytest.raises(RefusedError, match=r"hooks\.json"):
        control.start(StartRequest(graph_name="toy"))


def test_a_graph_with_hooks_is_refused_until_it_is_trusted(control: LocalControl, state: Path) -> None:
    with pytest.raises(UntrustedHooksError) as refused:
        control.start(asked(hooked()))
    assert [problem.where for problem in refused.value.problems] == [
        "hook on 'PreNodeExecute'",
        "hook on 'PostNodeExecute'",
    ]
    assert "would run 'true' as you" in str(refused.value)
    assert control.runs() == []
    assert not state.exists()
    start(control, asked(hooked(), trust_hooks=True))
    start(control, asked(hooked()))


def test_trust_is_of_exactly_this_graph(control: LocalControl) -> None:
    start(control, asked(hooked(), trust_hooks=True))
    with pytest.raises(UntrustedHooksError):
        control.start(asked(hooked(hooks=[{**HOOK, "command": "other"}])))


def test_other_problems_come_before_the_question(control: LocalControl) -> None:
    with pytest.raises(RefusedError) as refused:
        control.start(asked(hooked(edges=[]), trust_hooks=False))
    assert not isinstance(refused.value, UntrustedHooksError)
    assert "untrusted-hook" not in {problem.code for problem in refused.value.problems}


def test_a_graph_without_enabled_hooks_asks_nothing(control: LocalControl, state: Path) -> None:
    start(control, asked(toy_graph(hooks=[{**HOOK, "enabled": False}])))
    assert not state.exists()


def test_trust_that_cannot_be_kept_holds_for_this_run(
    control: LocalControl, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state.write_text("a file where the folder should be")
    start(control, asked(hooked(), trust_hooks=True))
    assert "cannot be kept" in caplog.text
