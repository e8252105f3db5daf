"""What is decided about shared servers on a cluster, with a clerk and processes that the tests play."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.hosting.leases import STALE_SEC, Lease, holder
from engine.scheduling.launchers.slurm import servers as module
from engine.scheduling.launchers.slurm.servers import ClusterServers, cluster_folder, cluster_key
from engine.scheduling.launching import LaunchError, NotNowError
from engine.scheduling.reaper import MOST_RESTARTS
from engine.scheduling.starts import JobAsk
from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity, identity
from engine.store.server_folder import GaveUp, Ready, ServerFolder, ServerRecord
from engine.store.settings import Settings
from engine.store.slurm_settings import SlurmSettings
from tests.fakes.played_clerk import PlayedClerk
from tests.fakes.shared_servers import model_need

NEED = model_need()
ASK = JobAsk(mem_mb=100, gpus=1)
KEY = cluster_key(NEED, "slurm:big")
IDLE_SEC = 120.0


class Site:
    def __init__(self, root: Path, now: list[float]) -> None:
        self.root = root
        self.now = now
        self.clerk = PlayedClerk()
        self.folder = cluster_folder(root, KEY)
        self.begin()

    def begin(self) -> None:
        settings = Settings(slurm=SlurmSettings(server_idle_sec=IDLE_SEC, grace_sec=10.0))
        self.servers = ClusterServers(self.root, self.clerk, settings)  # type: ignore[arg-type]

    def use(self) -> tuple[str, str]:
        return self.servers.use(NEED, "slurm:big", ASK)

    def tick(self, *users: str, after: float = 0.0) -> None:
        self.now[0] += after
        self.servers.tick({KEY: users} if users else {})

    @property
    def record(self) -> ServerRecord:
        record = self.folder.read_record()
        assert record is not None
        return record

    def begins(self) -> None:
        """Its job runs, and its shim has claimed the attempt."""
        self.clerk.says("RUNNING", node="n1")
        write_json(self.folder.attempt(self.record.attempt) / "shim.json", {"process": identity()})

    def is_up(self) -> None:
        self.begins()
        attempt = self.record.attempt
        ready = Ready(
            attempt=attempt, url=f"http://n1:{attempt}", pid=1, starts=1, manifest_digest="", since=""
        )
        write_json(self.folder.ready, ready)

    def is_killed(self) -> None:
        self.clerk.says("NODE_FAIL")

    def states(self) -> list[tuple[str, str]]:
        return [(report.state, report.node) for report in self.servers.reports()]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return Site(tmp_path, now)


def lease(folder: ServerFolder, name: str = "n2-a") -> Path:
    """Of a run on another node."""
    process = ProcessIdentity(pid=1, start_ticks=1, boot_id="another", pid_ns="", host="n2")
    path = folder.leases / f"{name}.json"
    write_json(path, Lease(process=process, root="/", touched=True))
    return path


def test_a_run_depends_on_its_job_until_that_has_begun(site: Site) -> None:
    with pytest.raises(NotNowError, match="it is being handed to the cluster"):
        site.use()
    site.clerk.says("PENDING", "Priority")
    assert site.use() == (f"server:{site.folder.path}", "1")
    assert site.states() == [("waiting", "")]
    site.begins()
    assert site.use()[1] == ""
    assert site.states() == [("loading", "n1")]
    site.is_up()
    assert site.use()[1] == ""
    assert site.states() == [("ready", "n1")]
    assert len(site.clerk.submitted) == 1


def test_its_job_asks_for_what_it_needs_under_the_name_of_its_folder(site: Site) -> None:
    with pytest.raises(NotNowError):
        site.use()
    text = site.clerk.submitted[0][1].read_text()
    for line in (
        f"--job-name={site.folder.path.name}",
        "--gres=gpu:1",
        "--mem=100M",
        "--partition=big",
        "--no-requeue",
    ):
        assert f"#SBATCH {line}\n" in text
    assert f"engine.hosting.shared_server --dir {site.folder.path} --attempt 1" in text
    assert site.folder.path.name.endswith("-slurm-big")
    assert site.record.token not in text.replace(f"{KEY}/1/{site.record.token}", "")


def test_servers_of_two_partitions_stand_beside_each_other(tmp_path: Path) -> None:
    keys = [cluster_key(NEED, on) for on in ("slurm", "slurm:big", "slurm:a/../b")]
    folders = {cluster_folder(tmp_path, key).path for key in keys}
    assert len(folders) == 3
    assert {path.parent for path in folders} == {tmp_path / "outputs" / "servers"}


def test_one_that_is_refused_is_told_once_and_tried_anew_by_the_next(site: Site) -> None:
    with pytest.raises(NotNowError):
        site.use()
    site.clerk.refusals[site.clerk.submitted[0][0]] = "sbatch: more memory than any node has"
    with pytest.raises(LaunchError, match="more memory than any node has"):
        site.use()
    with pytest.raises(NotNowError):
        site.use()
    assert len(site.clerk.submitted) == 2


def test_one_that_failed_before_any_run_could_see_it_is_told(site: Site) -> None:
    with pytest.raises(NotNowError):
        site.use()
    write_json(site.folder.end(1), GaveUp(why="weights.pt is not there", at=""))
    with pytest.raises(LaunchError, match=r"weights\.pt is not there"):
        site.use()


def test_one_that_ended_unused_is_started_anew(site: Site) -> None:
    site_is_used(site)
    write_json(site.folder.end(1), GaveUp(why="nobody had used it for 120 s", at="", unused=True))
    site.folder.regimes.write_text("{}")
    with pytest.raises(NotNowError):
        site.use()
    assert site.record.attempt == 2
    assert not site.folder.regimes.exists()  # nobody goes on with it


def site_is_used(site: Site) -> None:
    with pytest.raises(NotNowError):
        site.use()
    site.is_up()
    site.use()


def test_killed_while_used_it_comes_back_in_its_regime_so_many_times(site: Site) -> None:
    site_is_used(site)
    site.folder.regimes.write_text("{}")
    for attempt in range(2, MOST_RESTARTS + 2):
        site.is_killed()
        site.tick("run")
        site.tick("run", after=9.0)
        assert site.record.attempt == attempt - 1  # its files may come late
        site.tick("run", after=2.0)
        assert site.record.attempt == attempt
        assert site.folder.regimes.exists()
        site.is_up()
        site.tick("run")
    site.is_killed()
    site.tick("run")
    site.tick("run", after=11.0)
    site.tick("run", after=1.0)
    end = site.folder.read_end(site.record.attempt)
    assert end is not None
    assert end.why.startswith(
        f"it was killed {MOST_RESTARTS + 1} times, and is not started again; its node failed"
    )
    assert len(site.clerk.submitted) == MOST_RESTARTS + 1


def test_killed_with_nobody_to_use_it_it_stays_away(site: Site) -> None:
    site_is_used(site)
    site.is_killed()
    site.tick()
    site.tick(after=11.0)
    assert site.servers.reports() == []
    assert len(site.clerk.submitted) == 1
    assert site.folder.read_end(1) is not None


def test_one_that_never_began_can_begin_no_more_once_it_is_replaced(site: Site) -> None:
    with pytest.raises(NotNowError):
        site.use()
    site.clerk.says("PENDING")
    site.use()
    site.is_killed()
    site.tick("run")
    site.tick("run", after=11.0)
    assert site.record.attempt == 2
    assert '"void": true' in (site.folder.attempt(1) / "shim.json").read_text()


def test_unused_for_long_it_is_asked_to_end_and_forced_at_last(site: Site) -> None:
    site_is_used(site)
    own = site.folder.leases / f"{holder()}.json"
    site.tick("run", after=1000.0)
    assert own.exists()
    site.tick(after=IDLE_SEC - 1)
    assert site.record.stop_requested_at is None
    assert not own.exists()
    site.tick(after=2.0)
    assert site.record.stop_requested_at is not None
    comment = site.clerk.submitted[0][0]
    assert site.clerk.cancelled == [(comment, False)]
    assert site.states() == [("unloading", "n1")]
    with pytest.raises(NotNowError, match="being unloaded"):
        site.use()
    for _ in range(3):
        site.tick(after=40.0)
    assert site.clerk.cancelled == [(comment, False), (comment, True)]
    write_json(site.folder.attempt(1) / "exit.json", {"rc": 0, "stopped_by": "request"})
    site.tick()
    assert site.servers.reports() == []
    with pytest.raises(NotNowError):
        site.use()
    assert site.record.attempt == 2
    assert site.record.stop_requested_at is None


def test_a_run_that_this_backend_does_not_know_of_keeps_it(site: Site) -> None:
    site_is_used(site)
    path = lease(site.folder)
    site.tick(after=2 * IDLE_SEC)
    site.tick(after=IDLE_SEC - 1)
    assert site.record.stop_requested_at is None
    then = path.stat().st_mtime - STALE_SEC
    os.utime(path, (then, then))
    site.tick(after=IDLE_SEC + 1)
    assert site.record.stop_requested_at is not None


def test_a_run_that_comes_as_it_is_to_end_is_seen(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site_is_used(site)
    wrote = module.write_json

    def meanwhile(path: Path, value: object) -> None:
        wrote(path, value)
        lease(site.folder)

    monkeypatch.setattr(module, "write_json", meanwhile)
    site.tick(after=2 * IDLE_SEC)
    assert site.record.stop_requested_at is None
    assert site.clerk.cancelled == []


def test_the_next_backend_goes_on_with_what_is_there(site: Site) -> None:
    with pytest.raises(NotNowError):
        site.use()
    handed = site.clerk.submitted[0]
    site.begin()
    site.tick("run")
    assert site.clerk.submitted == [handed, handed]  # it may not have been handed over: the clerk knows
    site.is_up()
    site.begin()
    site.tick("run")
    assert len(site.clerk.submitted) == 2
    assert site.states() == [("ready", "n1")]
    assert site.use() == (f"server:{site.folder.path}", "")
    site.is_killed()
    site.tick("run")
    site.tick("run", after=11.0)
    text = site.clerk.submitted[-1][1].read_text()
    assert "--attempt 2" in text
    assert "#SBATCH --gres=gpu:1\n" in text


@pytest.mark.parametrize("users", [[], ["run"]])
def test_one_that_was_killed_before_the_next_backend_came_is_back_for_its_users(
    site: Site, users: list[str]
) -> None:
    site_is_used(site)
    write_json(site.folder.attempt(1) / "exit.json", {"rc": 1})
    site.begin()
    site.tick(*users)
    assert site.record.attempt == len(site.clerk.submitted) == 1 + len(users)
    assert (site.folder.read_end(1) is None) == bool(users)
    site.begin()
    site.tick(*users)
    assert len(site.servers.reports()) == len(users)


def test_while_the_cluster_is_silent_nothing_is_taken_for_gone(site: Site) -> None:
    site_is_used(site)
    site.clerk.jobs.clear()
    site.clerk.problem = "squeue: Unable to contact slurm controller"
    site.tick("run", after=1000.0)
    assert site.states() == [("ready", "")]
    assert site.record.attempt == 1


def test_a_silent_cluster_is_why_it_waits(site: Site) -> None:
    site.clerk.problem = "squeue: Unable to contact slurm controller"
    with pytest.raises(NotNowError, match="Unable to contact slurm controller"):
        site.use()
