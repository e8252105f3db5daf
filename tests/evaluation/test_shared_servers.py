"""Runs that use a shared server of the scheduler's: the same result as with one of their own, also when it is
killed under them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.hosting.leases import living
from engine.scheduling.launchers.servers import ServerLauncher
from engine.scheduling.launchers.spawning import Graces
from engine.scheduling.launching import ServerState
from engine.store.atomic import write_json
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from engine.store.server_folder import ServerRecord, cluster_url, server_folder
from tests.fakes.real_runs import RUN_DEADLINE_SEC, ask_to_end, attempt, finished, make_root, write_run
from tests.fakes.shared_servers import ModelFiles, model_files, model_need, policy_graph, seated, until

GRAPH = policy_graph()
EPISODES = 12


class Server:
    """A loaded ``model_line``, whose nodeset is the root's."""

    def __init__(self, root: Path, model: ModelFiles) -> None:
        self.root = root
        self.model = model
        need = model_need(root / "workspace" / "nodesets" / "model_line.py")
        self.seated = seated(need)
        self.key = self.seated.owner
        self.launcher = ServerLauncher(root, Graces(None, 20.0, 20.0))

    def start(self) -> None:
        self.launcher.start(self.seated)
        until(lambda: self.state.ready, "it to be ready")

    @property
    def state(self) -> ServerState:
        return self.launcher.poll([self.key])[self.key]

    @property
    def host(self) -> int:
        return self.model.pids()[-1]

    def run(self, **request: Any) -> RunDir:
        """The folder of a run that is to use it."""
        run = write_run(self.root, request.pop("graph", GRAPH), episode_count=EPISODES, **request)
        write_json(run.shared_urls, {"model_line": self.launcher.url(self.key)})
        return run

    def end(self) -> None:
        self.launcher.stop(self.key)
        until(lambda: self.state.ended, "its end")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFiles:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return model_files(tmp_path / "model", monkeypatch)


@pytest.fixture
def server(tmp_path: Path, model: ModelFiles) -> Iterator[Server]:
    server = Server(make_root(tmp_path / "root"), model)
    server.start()
    yield server
    server.end()
    assert model.living() == []


def together(runs: list[RunDir]) -> ExitStack:
    stack = ExitStack()
    for run in runs:
        process = stack.enter_context(attempt(run))
        stack.callback(process.wait, RUN_DEADLINE_SEC)
    return stack


def asking(run: RunDir) -> int:
    """How many of its workers are at the node that the server serves."""
    progress = run.read_progress()
    return sum(worker.node == "act" for worker in progress.workers) if progress else 0


def played(run: RunDir) -> int:
    return len(read_rows(run))


@pytest.mark.slow
def test_the_result_is_that_of_a_run_with_a_server_of_its_own(server: Server) -> None:
    own = finished(server.root, GRAPH, episode_count=EPISODES, worker_count=2)
    assert own.read_summary().status == "completed"
    loads, batches = (len(server.model.lines(name)) for name in ("loads", "batches"))
    server.model.set("slow")
    runs = [server.run(worker_count=workers) for workers in (1, 2, 3)]
    with together(runs):
        pass
    assert {run.read_summary().result_digest for run in (own, *runs)} == {own.read_summary().result_digest}
    assert len(server.model.lines("loads")) == loads
    assert max(map(int, server.model.lines("batches")[batches:])) > 1
    mine, theirs = own.read_environment(), runs[0].read_environment()
    assert [record.url for record in theirs.nodesets if record.name == "model_line"] == [server.state.url]
    assert theirs.batched == mine.batched
    assert theirs.determinism == mine.determinism
    assert [(n.name, n.source_hash, n.determinism) for n in theirs.nodesets] == [
        (n.name, n.source_hash, n.determinism) for n in mine.nodesets
    ]
    folder = server_folder(server.root, server.key)
    until(lambda: not living(folder) and not list(folder.leases.iterdir()), "their leases to be dropped")


@pytest.mark.slow
def test_killed_under_three_runs_it_comes_back_and_they_finish(server: Server) -> None:
    undisturbed = server.run(worker_count=1)
    with together([undisturbed]):
        pass
    server.model.set("hang")
    tried_again = [server.run(worker_count=2, retries=3) for _ in range(2)]
    tried_once = server.run(worker_count=2)
    runs = [*tried_again, tried_once]
    with together(runs):
        until(lambda: all(asking(run) == 2 for run in runs), "each of their workers to wait for an action")
        os.kill(server.host, signal.SIGKILL)
    assert [run.read_summary().status for run in runs] == ["completed"] * 3
    digest = undisturbed.read_summary().result_digest
    assert [run.read_summary().result_digest for run in tried_again] == [digest] * 2
    assert {row.error_class for row in read_rows(tried_once)} == {None, "infra"}
    assert 1 <= sum(row.error_class == "infra" for row in read_rows(tried_once)) <= 2
    assert len(server.model.lines("loads")) == 2


@pytest.mark.slow
def test_killed_with_its_tree_it_is_waited_for_until_the_scheduler_starts_it_again(server: Server) -> None:
    server.model.set("slow")
    run = server.run(worker_count=2, retries=3)
    with together([run]):
        until(lambda: played(run) > 1, "the run to have played an episode")
        shim = psutil.Process(server.state.pid)
        for process in (shim, *shim.children(recursive=True)):
            process.kill()
        until(lambda: server.state.killed, "its end to be seen")
        server.model.set("slow", False)
        server.start()
    rows = read_rows(run)
    assert run.read_summary().status == "completed"
    assert [row.error_class for row in rows] == [None] * EPISODES


def test_one_that_waits_for_a_server_on_a_cluster_is_cancelled_at_once(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    folder = server_folder(root, "server:model_line@x-slurm")
    folder.attempt(1).mkdir(parents=True)
    write_json(folder.record, ServerRecord(key="x", nodeset=model_need(), attempt=1, on="slurm"))
    run = write_run(root, GRAPH, episode_count=EPISODES)
    write_json(run.shared_urls, {"model_line": cluster_url(folder)})
    with attempt(run) as process:
        until(lambda: (now := run.read_progress()) and now.activity == "waiting for model_line", "it to wait")
        assert len(living(folder)) == 1
        ask_to_end(run)
        process.terminate()
        process.wait(RUN_DEADLINE_SEC)
    assert run.read_summary().status == "cancelled"
    assert not living(folder)


@pytest.mark.slow
def test_in_another_regime_the_open_episodes_end_as_infra_and_say_why(server: Server) -> None:
    server.model.set("slow")
    run = server.run(worker_count=2)
    with together([run]):
        until(lambda: played(run) > 1, "the run to have played an episode")
        server.model.set("other")
        server.model.set("slow", False)
        os.kill(server.host, signal.SIGKILL)
    rows = read_rows(run)
    failed = [row for row in rows if row.status == "error"]
    assert {row.error_class for row in failed} == {"infra"}
    assert any("it came back in another regime" in (row.error or "") for row in failed)
    assert len(rows) == EPISODES


@pytest.mark.slow
def test_what_another_run_had_it_load_is_not_in_a_run_s_record(server: Server) -> None:
    warm = server.run(graph=policy_graph(temperature=0.25))
    with together([warm]):
        pass
    run = server.run()
    with together([run]):
        pass
    assert [record.tool for record in run.read_environment().batched] == ["model_line__act"]
