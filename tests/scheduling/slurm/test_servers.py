"""Shared servers as real jobs on the two nodes: served on n1, used on n2."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.components.errors import HostFailure
from engine.hosting.borrowed import BorrowedServer
from engine.hosting.client import HostClient
from engine.hosting.leases import STALE_SEC, holder, living
from engine.scheduling.launchers.closing import mark_of
from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.commands import Slurm
from engine.scheduling.launchers.slurm.script import JobScript
from engine.scheduling.launchers.slurm.servers import (
    ClusterServer,
    ClusterServers,
    cluster_folder,
    cluster_key,
)
from engine.scheduling.launchers.slurm.units import comment_of
from engine.scheduling.launching import LaunchError, NotNowError
from engine.scheduling.starts import JobAsk
from engine.store.atomic import write_json
from engine.store.attempts import Attempt
from engine.store.rundir import RunDir
from engine.store.server_folder import Ready, ServerFolder
from engine.store.settings import Admission, Settings
from engine.store.slurm_settings import SlurmSettings
from tests.fakes.real_runs import finished, make_root, next_attempt, write_run
from tests.fakes.shared_servers import ModelFiles, model_files, model_need, policy_graph, until
from tests.fakes.slurm_cluster import Cluster
from tests.scheduling.slurm.towers import tower

pytestmark = pytest.mark.slurm

ASK = JobAsk(mem_mb=300, gpus=1)
GRAPH = policy_graph()


def settings(**changes: Any) -> Settings:
    fields = {"poll_sec": 0.5, "grace_sec": 2.0, "server_idle_sec": 600.0, "extra": ["--nodelist=n1"]}
    return Settings(slurm=SlurmSettings(**{**fields, **changes}), admission=Admission(grace=5.0))


@dataclass
class Site:
    """A root on the cluster, and its backend's part in it. in_use: key → runs, as the launcher has it."""

    root: Path
    cluster: Cluster
    model: ModelFiles
    settings: Settings
    in_use: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.need = model_need(self.root / "workspace" / "nodesets" / "model_line.py")
        self.key = cluster_key(self.need, "slurm")
        self.begin()

    def begin(self) -> None:
        """As a backend that has just started."""
        self.clerk = Clerk(Slurm(), self.settings.slurm.poll_sec)
        self.servers = ClusterServers(self.root, self.clerk, self.settings)

    @property
    def folder(self) -> ServerFolder:
        return cluster_folder(self.root, self.key)

    def use(self) -> tuple[str, str]:
        """Once the cluster has the job."""

        def used() -> tuple[str, str] | None:
            try:
                return self.servers.use(self.need, "slurm", ASK)
            except NotNowError:
                return None

        found = until(used, "the server's job to be known")
        assert found is not None
        return found

    def tick_until(self, so: Callable[[], Any], what: str) -> Any:
        def tick() -> Any:
            self.servers.tick(self.in_use)
            return so()

        return until(tick, what)

    def report(self) -> ClusterServer | None:
        return next(iter(self.servers.reports()), None)

    def ready(self, attempt: int = 1) -> Ready:
        ready = self.tick_until(lambda: self.folder.read_ready(attempt), "it to be ready")
        assert isinstance(ready, Ready)
        return ready

    def run(self, after: str = "", **request: Any) -> RunDir:
        """A run's job on n2 that is to use it."""
        run = write_run(self.root, GRAPH, episode_count=4, **request)
        write_json(run.shared_urls, {"model_line": self.use()[0]})
        job = next_attempt(run)
        attempt = Attempt.of(run.path, job.attempt)
        attempt.lay_out()
        script = JobScript(
            attempt=attempt,
            name=run.run_id,
            comment=comment_of(job),
            mark=mark_of(job),
            partition="",
            ask=JobAsk(mem_mb=300, workers=1),
            root=self.root,
            command=["-m", "engine.evaluation", "--run-dir", str(run.path)],
            grace_sec=5.0,
            after=[after] if after else [],
        )
        path = attempt.path / "job.sh"
        path.write_text(script.text(settings(extra=["--nodelist=n2"]).slurm))
        self.clerk.submit(comment_of(job), path)
        return run


@pytest.fixture
def site(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Site]]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sites: list[Site] = []

    def make(**changes: Any) -> Site:
        model = model_files(tmp_path / "model", monkeypatch)
        sites.append(Site(make_root(tmp_path / "root"), cluster, model, settings(**changes)))
        return sites[-1]

    yield make
    for each in sites:
        each.clerk.close()
    cluster.clear()
    until(lambda: not any(each.model.living() for each in sites), "their hosts to be gone")


Make = Callable[..., Site]


def kill_job(number: str) -> None:
    """All of its processes, from one moment to the next."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("SLURM_JOB_ID") == number:
                found.append(process)
        except psutil.Error:
            continue
    for process in sorted(found, key=lambda process: "shim.py" not in " ".join(process.cmdline())):
        process.kill()


def test_a_run_on_one_node_uses_the_server_on_the_other(site: Make, tmp_path: Path) -> None:
    here = site()
    _, number = here.use()
    assert number
    run = here.run(after=number)
    here.in_use = {here.key: [run.run_id]}
    ready = here.ready()
    report = here.report()
    assert report is not None
    assert (report.state, report.node, report.users, report.url) == ("ready", "n1", [run.run_id], ready.url)
    assert here.use() == (f"server:{here.folder.path}", "")  # it has begun: nothing to depend on
    here.tick_until(run.is_done, "the run's end")
    summary = run.read_summary()
    assert summary.status == "completed", summary.error
    assert [n.url for n in run.read_environment().nodesets if n.name == "model_line"] == [here.use()[0]]
    assert here.cluster.run("squeue", "-h", "-t", "all", "-n", run.run_id, "-o", "%N") == "n2"
    own = finished(here.root, GRAPH, episode_count=4)
    assert summary.result_digest == own.read_summary().result_digest
    assert len(here.model.pids()) == 2
    assert set(living(here.folder)) == {holder()}  # the run gave its lease back
    assert stat.S_IMODE(here.folder.ready.stat().st_mode) == 0o600
    files = [path for path in here.root.rglob("*") if path.is_file() and path != here.folder.ready]
    assert not [path for path in files if ready.token in path.read_text(errors="replace")]


def test_the_nodes_of_a_split_run_share_one_until_it_is_over(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model, root = model_files(tmp_path / "model", monkeypatch), make_root(tmp_path / "root")
    with tower(root, cluster, server_idle_sec=2.0) as box:
        asked = {"graph": GRAPH, "graph_name": "line", "episode_count": 4, "seed": 5}
        there, here = box.submit(**asked, nodes=2), box.submit(**asked, on="")
        served = box.wait_for(lambda: [one for one in box.control.servers() if one.url.startswith("http")])
        assert [(one.name, one.users) for one in served] == [("model_line", [there.run_id])]
        ends = [box.over(run, within_sec=100).summary for run in (there, here)]
        assert [end.status for end in ends] == ["completed", "completed"], [end.error for end in ends]
        assert ends[0].result_digest == ends[1].result_digest
        box.wait_for(lambda: not model.living())
        box.wait_for(lambda: not [one for one in box.control.servers() if "@slurm" in one.key])
    assert len(model.pids()) == 2  # there, and here


def test_it_waits_in_the_queue_and_says_why(site: Make) -> None:
    here = site(extra=["--nodelist=n1", "--hold"])
    url, number = here.use()
    assert url == f"server:{here.folder.path}"

    def held() -> bool:
        report = here.report()
        return report is not None and report.state == "waiting" and "held" in report.detail

    here.in_use = {here.key: ["run"]}
    here.tick_until(held, "the reason to be told")
    assert here.use()[1] == number
    here.cluster.run("scontrol", "release", number)
    here.ready()


def test_when_nobody_uses_it_the_backend_ends_it(site: Make) -> None:
    here = site()
    here.in_use = {here.key: ["run"]}
    here.use()
    pid = here.ready().pid
    here.clerk.close()
    here.settings, here.in_use = settings(server_idle_sec=1.0), {}
    here.begin()  # which is quicker than the server itself
    here.tick_until(lambda: here.report() is None, "its end")
    record = here.folder.read_record()
    assert record is not None
    assert record.stop_requested_at
    assert here.model.lines("shut_down") == [str(pid)]
    assert here.model.living() == []
    assert not (here.folder.leases / f"{holder()}.json").exists()
    here.begin()  # another backend has nothing to do with it
    here.servers.tick({})
    assert here.servers.reports() == []
    here.in_use = {here.key: ["run"]}
    here.use()
    here.ready(attempt=2)


def test_without_a_backend_it_ends_by_itself_when_its_last_user_is_gone(site: Make) -> None:
    here = site(server_idle_sec=2.0)
    here.in_use = {here.key: ["run"]}
    here.use()
    here.ready()
    lease = here.folder.leases / f"{holder()}.json"
    then = lease.stat().st_mtime - 2 * STALE_SEC  # as of a backend that was killed so long ago
    os.utime(lease, (then, then))
    until(lambda: here.folder.read_end(1), "its end")
    until(lambda: Attempt(here.folder.attempt(1)).read_exit(), "its shim's word")
    end = here.folder.read_end(1)
    assert end is not None
    assert end.unused
    assert here.model.living() == []


def test_killed_while_it_is_used_it_comes_back_elsewhere_and_is_found(site: Make) -> None:
    here = site()
    _, number = here.use()
    first = here.ready()
    here.model.set("slow")  # not while it loads and checks itself
    run = here.run(retries=3)
    here.in_use = {here.key: [run.run_id]}
    here.tick_until(lambda: run.episode_rows.exists(), "the run to have played an episode")
    kill_job(number)
    here.model.set("slow", False)
    second = here.ready(attempt=2)
    assert second.url != first.url
    assert second.token != first.token
    here.tick_until(run.is_done, "the run's end")
    summary = run.read_summary()
    assert (summary.status, summary.error_count) == ("completed", 0), summary.error


def test_whoever_has_not_its_token_is_refused(site: Make) -> None:
    here = site()
    url, _ = here.use()
    ready = here.ready()

    async def ask(token: str) -> Any:
        client = HostClient(ready.url, "run/0", "model_line", token=token)
        try:
            return await client.manifest()
        finally:
            await client.close()

    for wrong in ("", secrets.token_urlsafe(32)):
        with pytest.raises(HostFailure, match=r"status 401|does not take the token"):
            asyncio.run(ask(wrong))
    assert asyncio.run(ask(ready.token))["name"] == "model_line"
    assert asyncio.run(BorrowedServer.reach("model_line", url)).url == ready.url


def test_another_backend_goes_on_with_it(site: Make) -> None:
    here = site()
    url, number = here.use()
    here.ready()
    here.clerk.close()
    here.begin()
    here.in_use = {here.key: ["run"]}
    here.tick_until(lambda: (report := here.report()) and report.node == "n1", "it to be known")
    assert here.use() == (url, "")
    listed = here.cluster.run("squeue", "-h", "-t", "PENDING,RUNNING", "-o", "%i")
    assert listed == number


def test_what_the_cluster_can_never_serve_is_told_to_whoever_asked(site: Make) -> None:
    here = site()

    def refused() -> str:
        try:
            here.servers.use(here.need, "slurm", JobAsk(mem_mb=300, gpus=7))
        except NotNowError:
            return ""
        except LaunchError as error:
            return str(error)
        return ""

    told = until(refused, "it to be refused")
    assert told is not None
    assert re.match(r"model_line cannot be served on the cluster: sbatch: .*not available", told)
