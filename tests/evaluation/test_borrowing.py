"""Runs that borrow a server: a fake of AgentCanvas's, and a host of ours that was started by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from engine.control.local import LocalControl
from engine.control.reports import RefusedError, RunReport, Sources, StartRequest
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from tests.control.waiting import wait_until_over, wait_until_running
from tests.fakes import agentcanvas_workspace as fake
from tests.fakes.canvas_server import CanvasServer, Dropped, port, running
from tests.fakes.lent_host import lent
from tests.fakes.live_backend import live

EYES = "nodesets/model/model_eyes.py"
FRAME = np.zeros((8, 8, 3), np.uint8)


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalControl]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "root").mkdir()
    with live(tmp_path / "root") as control:
        yield control


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return fake.make_workspace(tmp_path / "workspace")


def eyes(look: Any = None) -> CanvasServer:
    """AgentCanvas's server of ``model_eyes``, version 7; ``look(inputs, config)`` may raise."""

    def function(inputs: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
        if look is not None:
            look(inputs, config)
        return {"action": 1, "said": {"version": 7, "prompt": len(config["prompt"])}}

    ports = [port("rgb", "IMAGE")], [port("action", "DISCRETE_ACTION"), port("said", "ANY")]
    return CanvasServer("model_eyes", {"model_eyes__look": (*ports, function)})


def request_for(workspace: Path, server: Any, name: str = "model_eyes", **more: Any) -> StartRequest:
    fields = {"episode_count": 3, "workspaces": [str(workspace)], "servers": {name: server.url}, **more}
    return StartRequest(graph_name="walk", **fields)


def play(control: LocalControl, request: StartRequest) -> tuple[RunReport, list[EpisodeRow]]:
    report = wait_until_over(control, control.start(request))
    return report, control.episodes(report.run_id)


def record_of(report: RunReport, name: str) -> Any:
    assert report.environment is not None
    return next(nodeset for nodeset in report.environment.nodesets if nodeset.name == name)


@pytest.mark.slow
def test_a_server_of_agentcanvas_s_stands_in_for_a_nodeset_that_is_not_installed(
    control: LocalControl, workspace: Path
) -> None:
    (workspace / EYES).unlink()
    with running(eyes()) as server:
        sources = Sources(workspaces=[str(workspace)])
        without = control.check("walk", sources)
        assert [(missing.kind, missing.name) for missing in without.missing] == [("nodeset", "model_eyes")]
        borrowed = control.check("walk", structs.replace(sources, servers={"model_eyes": server.url}))
        assert (borrowed.ok, borrowed.missing) == (True, [])
        report, rows = play(control, request_for(workspace, server, worker_count=2))
        assert report.status == "completed"
        assert [(row.status, row.step_count, row.metrics["version"]) for row in rows] == [
            ("completed", 3, 7)
        ] * 3
        assert len(server.calls) == 9
        assert {(call[1]["rgb"].shape, str(call[1]["rgb"].dtype)) for call in server.calls} == {
            ((8, 8, 3), "uint8")
        }
        executions = {f"{report.run_id}/ep000{i}" for i in range(3)}
        assert set(server.evicted) == executions | {"i0", "i1", "i2"}
    record = record_of(report, "model_eyes")
    assert (record.url, record.determinism, record.source_hash) == (server.url, "none", "")
    assert report.environment is not None
    assert report.environment.determinism == "none"
    run = RunDir(Path(report.path))
    assert run.read_shared_urls() == {"model_eyes": server.url}
    assert [p.name for p in (run.attempt(1) / "hosts").iterdir()] == ["env_walk#0.log", "env_walk#1.log"]


@pytest.mark.slow
def test_a_host_of_ours_stands_in_for_one_of_the_run_s_own_bit_for_bit(
    control: LocalControl, workspace: Path
) -> None:
    alone, _ = play(control, StartRequest(graph_name="walk", episode_count=3, workspaces=[str(workspace)]))
    with lent(str(workspace / EYES)) as server:
        report, _ = play(control, request_for(workspace, server, worker_count=3))
        assert server.process.poll() is None
    assert report.summary.result_digest == alone.summary.result_digest is not None
    mine, theirs = record_of(alone, "model_eyes"), record_of(report, "model_eyes")
    assert (mine.url.startswith("unix:"), theirs.url) == (True, server.url)
    assert (mine.source_hash, mine.determinism) == (theirs.source_hash, theirs.determinism)


@pytest.mark.slow
def test_what_a_borrowed_node_raises_is_the_agent_s_error(control: LocalControl, workspace: Path) -> None:
    def look(inputs: dict[str, Any], config: dict[str, Any]) -> None:
        raise ValueError("it is dark")

    with running(eyes(look)) as server:
        report, (row,) = play(control, request_for(workspace, server, episode_count=1, step_budget=2))
    assert (row.status, row.error_class) == ("error", "graph")
    assert "it is dark" in (row.error or "")
    assert report.status == "completed"


@pytest.mark.slow
def test_a_connection_that_breaks_costs_one_episode(control: LocalControl, workspace: Path) -> None:
    calls = []

    def look(inputs: dict[str, Any], config: dict[str, Any]) -> None:
        calls.append(1)
        if len(calls) == 5:
            raise Dropped

    with running(eyes(look)) as server:
        report, rows = play(control, request_for(workspace, server))
    assert report.status == "completed"
    assert [(row.status, row.error_class) for row in rows] == [
        ("completed", None),
        ("error", "infra"),
        ("completed", None),
    ]
    assert rows[1].failure is not None
    assert rows[1].failure["cause"] == f"borrowed from {server.url}"


@pytest.mark.slow
def test_a_server_that_is_gone_ends_what_is_left_as_infra(control: LocalControl, workspace: Path) -> None:
    with lent(str(workspace / EYES)) as server:
        run = control.start(request_for(workspace, server, episode_count=20))
        wait_until_running(control, run)
        server.process.kill()
        server.process.wait()
        report = wait_until_over(control, run)
    rows = control.episodes(run)
    assert (report.status, len(rows)) == ("completed", 20)
    kinds = [(row.status, row.error_class) for row in rows]
    struck = kinds.index(("error", "infra"))
    assert kinds == [("completed", None)] * struck + [("error", "infra")] * (20 - struck)


def walk(played: list[Any], breaks: bool = False) -> CanvasServer:
    """AgentCanvas's server of ``env_walk``, with its panel."""

    def panel(what: str, name: str, body: Any) -> Any:
        played.append((what, name, *body.values()))
        if what == "action":
            return {"ok": True}
        if what == "info":
            return {"name": "env_walk", "display_name": "Walk", "fields": [], "actions": []}
        return {"current_episode": {"episode_id": "far", "scan": "grey"}, "step_budget": 2}

    def step(inputs: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
        if breaks:
            raise Dropped
        return {"rgb": FRAME, "done": False}

    rgb, any_input = port("rgb", "IMAGE"), [port("trigger", "ANY")]
    actions = [port("action", "ACTION"), port("said", "ANY")]
    functions: dict[str, Any] = {
        "env_walk__reset": ([], [rgb], lambda inputs, config: {"rgb": FRAME}),
        "env_walk__step_discrete": (actions, [rgb, port("done", "BOOL")], step),
        "env_walk__evaluate": (
            any_input,
            [port("metrics", "METRICS")],
            lambda inputs, config: {"metrics": {"success": 1.0}},
        ),
    }
    return CanvasServer("env_walk", functions, panel)


@pytest.mark.slow
def test_an_environment_is_borrowed_with_its_panel(control: LocalControl, workspace: Path) -> None:
    (workspace / "nodesets/env/env_walk/__init__.py").unlink()
    played: list[Any] = []
    with running(walk(played)) as server:
        _, rows = play(control, request_for(workspace, server, "env_walk", episode_count=2, seed=5))
        with pytest.raises(RefusedError, match="one process cannot serve 2 workers"):
            control.start(request_for(workspace, server, "env_walk", worker_count=2))
    assert [(row.status, row.termination, row.step_count) for row in rows] == [("completed", "budget", 2)] * 2
    assert [(row.episode_id, row.scene_id) for row in rows] == [("far", "grey")] * 2
    set_up = [("field", "seed", rows[0].seed), ("field", "episode_index", 0), ("action", "play", {})]
    assert [call for call in played if call[0] != "info"][:3] == set_up


@pytest.mark.slow
def test_a_borrowed_environment_that_failed_is_not_trusted_again(
    control: LocalControl, workspace: Path
) -> None:
    with running(walk([], breaks=True)) as server:
        _, rows = play(control, request_for(workspace, server, "env_walk"))
    assert [(row.status, row.error_class) for row in rows] == [("error", "infra")] * 3
    assert "the connection broke" in (rows[0].error or "")
    assert "is not used again" in (rows[1].error or "")


def test_servers_that_cannot_stand_in_are_refused_before_anything_starts(
    control: LocalControl, workspace: Path, tmp_path: Path
) -> None:
    overlay = fake.write(tmp_path / "overlay", {EYES: fake.model(2)})

    def refused(**fields: Any) -> str:
        with pytest.raises(RefusedError) as caught:
            control.start(StartRequest(graph_name="walk", workspaces=[str(workspace)], **fields))
        return "\n".join(f"{p.where}: {p.message}" for p in caught.value.problems)

    with running(eyes()) as server:
        assert "serves 'model_eyes', not 'env_walk'" in refused(servers={"env_walk": server.url})
        assert "the overlay changes it" in refused(
            servers={"model_eyes": server.url}, active_workspace_dir=str(overlay)
        )
        unused = refused(servers={"model_eyes": server.url, "model_ears": "http://127.0.0.1:1"})
        assert "servers.model_ears: the graph does not use this nodeset" in unused
        assert "servers.model_ears: model_ears cannot be borrowed from http://127.0.0.1:1" in unused
    gone = refused(servers={"model_eyes": server.url})
    assert f"servers.model_eyes: model_eyes cannot be borrowed from {server.url}" in gone
    secret = refused(servers={"model_eyes": "http://me:hunter2@127.0.0.1:9200"})
    assert "its URL holds a user, or a password" in secret
    assert "hunter2" not in secret
    assert "is no URL of a server" in refused(servers={"model_eyes": "localhost:9200"})
    assert control.runs() == []


@pytest.mark.slow
def test_a_server_of_the_overlay_s_own_source_may_stand_in(
    control: LocalControl, workspace: Path, tmp_path: Path
) -> None:
    overlay = fake.write(tmp_path / "overlay", {EYES: fake.model(2)})
    sources = Sources(workspaces=[str(workspace)], active_workspace_dir=str(overlay))
    with lent(str(overlay / EYES)) as server:
        assert control.check("walk", structs.replace(sources, servers={"model_eyes": server.url})).ok
    with lent(str(workspace / EYES)) as server:
        assert not control.check("walk", structs.replace(sources, servers={"model_eyes": server.url})).ok
