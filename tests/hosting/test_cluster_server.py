"""A shared server on a cluster, as its folder shows it: by TCP with a token, with leases that are touched."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.components.errors import HostStartFailed
from engine.hosting import leases, waiting
from engine.hosting.borrowed import BorrowedServer
from engine.hosting.client import HostClient
from engine.hosting.leases import Lease, Leases, drop_dead, holder, living, take, touch
from engine.hosting.node_address import node_address
from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity
from engine.store.server_folder import GaveUp, Ready, ServerFolder, ServerRecord, cluster_url, server_at
from tests.fakes.shared_servers import is_there, model_need, until
from tests.hosting.kept import Kept

Keep = Callable[..., Kept]
ELSEWHERE = ProcessIdentity(pid=77, start_ticks=1, boot_id="another", pid_ns="pid:[1]", host="n2")


@pytest.fixture
def folder(tmp_path: Path) -> ServerFolder:
    """Of a server that is still to begin."""
    folder = ServerFolder(tmp_path / "outputs/servers/model_line@x")
    folder.attempt(1).mkdir(parents=True)
    record = ServerRecord(key="server:x", nodeset=model_need(start_deadline_sec=0.2), attempt=1, on="slurm")
    write_json(folder.record, record)
    return folder


def lease_of(folder: ServerFolder, name: str, aged_sec: float = 0.0) -> Path:
    """Of a run on another node."""
    folder.leases.mkdir(exist_ok=True)
    path = folder.leases / f"{name}.json"
    write_json(path, Lease(process=ELSEWHERE, root="/", touched=True))
    age(path, aged_sec)
    return path


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def reached(folder: ServerFolder) -> BorrowedServer:
    return asyncio.run(BorrowedServer.reach("model_line", cluster_url(folder)))


def manifest_with(ready: Ready, token: str) -> Any:
    async def ask() -> Any:
        client = HostClient(ready.url, "run/0", "model_line", token=token)
        try:
            return await client.manifest()
        finally:
            await client.close()

    return asyncio.run(ask())


def test_a_lease_from_elsewhere_counts_while_it_is_touched(folder: ServerFolder) -> None:
    fresh, stale = (
        lease_of(folder, "fresh", leases.STALE_SEC - 20),
        lease_of(folder, "stale", leases.STALE_SEC),
    )
    assert set(living(folder)) == {"fresh"}
    assert drop_dead(folder) == {"stale"}
    assert (fresh.exists(), stale.exists()) == (True, False)


def test_its_age_is_told_by_the_clock_of_the_files(
    folder: ServerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease_of(folder, "a")
    monkeypatch.setattr(time, "time", lambda: 0.0)  # this machine's clock is of no interest
    assert set(living(folder)) == {"a"}


def test_one_that_was_dropped_is_taken_again_by_whoever_lives(folder: ServerFolder) -> None:
    take(folder, Path("/"), touched=True)
    path = folder.leases / f"{holder()}.json"
    age(path, 2 * leases.STALE_SEC)
    assert drop_dead(folder) == {holder()}
    touch(folder, Path("/"))
    assert set(living(folder)) == {holder()}
    age(path, 2 * leases.STALE_SEC)
    touch(folder, Path("/"))
    assert set(living(folder)) == {holder()}


def test_a_run_touches_its_leases_until_it_gives_them_back(
    folder: ServerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "TOUCH_SEC", 0.05)
    held = Leases([cluster_url(folder), "http://elsewhere:1", "unix:/nowhere"], Path("/"), 7.0)
    path = folder.leases / f"{holder()}.json"
    assert [lease.call_sec for lease in living(folder).values()] == [7.0]
    age(path, 2 * leases.STALE_SEC)
    until(lambda: living(folder), "it to be touched")
    path.unlink()
    until(path.exists, "it to be taken again")
    held.close()
    assert not path.exists()


def test_it_answers_over_tcp_whoever_has_the_token_of_its_folder(keep: Keep, tmp_path: Path) -> None:
    server = keep(on="slurm")
    ready = server.ready()
    assert ready.url.startswith(f"http://{node_address()}:")
    assert stat.S_IMODE(server.folder.ready.stat().st_mode) == 0o600
    assert server.act()["action"] in ("LEFT", "RIGHT", "STOP")
    for wrong in ("", "wrong", ready.token[:-1]):
        with pytest.raises(Exception, match=r"does not take the token|status 401"):
            manifest_with(ready, wrong)
    told = [path for path in tmp_path.rglob("*") if path.is_file() and path != server.folder.ready]
    assert not [path for path in told if ready.token in path.read_text(errors="replace")]


def test_killed_it_comes_back_elsewhere_and_is_found(keep: Keep) -> None:
    server = keep(on="slurm")
    first = server.ready()
    before = reached(server.folder)
    assert before.url == first.url
    os.kill(first.pid, signal.SIGKILL)
    after = reached(server.folder)
    second = server.ready(after=1)
    assert after.url == second.url != first.url
    assert second.token == first.token
    assert second.manifest_digest == first.manifest_digest
    assert second.token not in after.exit_cause()


@pytest.mark.slow
def test_another_boot_s_regimes_count_on_a_cluster(keep: Keep) -> None:
    server = keep(on="slurm")
    server.ready()
    regimes = server.folder.read_regimes()
    assert regimes is not None
    server.process.terminate()
    assert server.process.wait(60) == 0
    regimes.boot_id = "another"
    regimes.tools["model_line__act"]["digest"] = "another"
    write_json(server.folder.regimes, regimes)
    server.process = server._spawn()
    assert "it came back in another regime" in server.why()


@pytest.mark.slow
def test_what_a_run_elsewhere_left_there_is_dropped_when_its_lease_is_stale_or_gone(keep: Keep) -> None:
    server = keep(on="slurm")
    server.ready()
    stale, gone = lease_of(server.folder, "n2-a"), lease_of(server.folder, "n2-b")
    lease_of(server.folder, "n2-c")
    log = server.folder.path / "stderr.log"
    until(lambda: _seen_by(server), "it to have counted them")
    age(stale, 2 * leases.STALE_SEC)
    gone.unlink()
    for name in ("n2-a", "n2-b"):
        until(lambda name=name: f"{name} uses it no more" in log.read_text(), "the host to be told")  # type: ignore[misc]
    assert "n2-c uses it no more" not in log.read_text()


def _seen_by(server: Kept) -> bool:
    """It looks at the clock of the leases each time that it looks at them."""
    clock = server.folder.leases / ".clock"
    return clock.exists() and clock.stat().st_mtime > (server.folder.leases / "n2-c.json").stat().st_mtime


@pytest.mark.slow
def test_unused_it_ends_by_itself_and_says_so(keep: Keep) -> None:
    server = keep(on="slurm", idle_sec=1.0)
    host = server.ready().pid
    lease = lease_of(server.folder, "n2-a")
    until(lambda: _uses(server, lease), "it to have been idle for long, but for the lease")
    assert server.process.poll() is None
    lease.unlink()
    assert server.process.wait(60) == 0
    end = server.folder.read_end(1)
    assert end is not None
    assert (end.unused, end.why) == (True, "nobody had used it for 1 s")
    assert not is_there(host)
    assert not server.folder.ready.exists()
    with pytest.raises(HostStartFailed, match="nobody had used it for 1 s"):
        reached(server.folder)


def _uses(server: Kept, lease: Path) -> bool:
    clock = server.folder.leases / ".clock"
    return clock.exists() and clock.stat().st_mtime - lease.stat().st_mtime > 3.0


def test_once_another_attempt_counts_it_ends_and_leaves_that_one_s_word(keep: Keep) -> None:
    server = keep(on="slurm")
    host = server.ready().pid
    server.folder.attempt(2).mkdir()
    theirs = Ready(attempt=2, url="http://n2:1", pid=1, starts=1, manifest_digest="", since="", token="t")
    write_json(server.folder.ready, theirs)
    server.record.attempt = 2
    write_json(server.folder.record, server.record)
    assert server.process.wait(60) == 1
    assert not is_there(host)
    assert server.folder.read_ready(2) == theirs
    end = server.folder.read_end(1)
    assert end is not None
    assert "another start of this server has taken its place" in end.why


def claim(folder: ServerFolder) -> None:
    write_json(folder.attempt(1) / "shim.json", {"process": None})


def test_a_server_that_does_not_come_is_not_waited_for_for_ever(
    folder: ServerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "BACK_SEC", 0.2)
    claim(folder)
    with pytest.raises(HostStartFailed, match=r"cannot be borrowed .* still loading"):
        reached(folder)


def test_its_time_runs_from_when_its_job_does(folder: ServerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "BACK_SEC", 0.0)

    async def wait() -> None:
        trying = asyncio.ensure_future(BorrowedServer.reach("model_line", cluster_url(folder)))
        done, _ = await asyncio.wait([trying], timeout=1.0)  # five times as long as it may take to start
        assert not done
        claim(folder)
        with pytest.raises(HostStartFailed, match="still loading"):
            await trying

    asyncio.run(wait())


def test_in_the_queue_for_ever_it_is_given_up(folder: ServerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "QUEUED_SEC", 0.2)
    with pytest.raises(HostStartFailed, match="waiting for its place on the cluster"):
        reached(folder)


def test_one_that_has_ended_says_why_at_once(folder: ServerFolder) -> None:
    write_json(folder.end(1), GaveUp(why="weights.pt is not there", at=""))
    with pytest.raises(HostStartFailed, match=r"weights\.pt is not there"):
        reached(folder)


def test_what_is_no_folder_of_a_server_is_refused(tmp_path: Path) -> None:
    for path, told in (
        (tmp_path / "none", "no folder of a shared server"),
        (tmp_path, "server.json is not there"),
    ):
        with pytest.raises(HostStartFailed, match=told):
            reached(ServerFolder(path))
    assert server_at("server:relative/path") is None


def test_a_name_that_leads_nowhere_is_not_told_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "no-such-node.invalid")
    assert node_address() != "no-such-node.invalid"
