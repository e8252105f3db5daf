"""The process that keeps a shared server up, as its folder shows it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.components.errors import HostTimeout
from engine.hosting.leases import Lease
from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity, identity
from engine.store.server_folder import ServerFolder, server_at
from tests.fakes.shared_servers import MODEL, is_there, until
from tests.hosting.kept import Kept


@pytest.mark.slow
@pytest.mark.parametrize("key_for", [[], ["model_line"]])
def test_its_host_has_the_key_of_a_profile_only_where_it_is_given_it(
    keep: Callable[..., Kept], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key_for: list[str]
) -> None:
    monkeypatch.setenv("ASK_KEY", "sk-0123456789")
    profile = '[profiles.p]\nbase_url = "http://h/v1"\nmodel = "m"\napi_key_env = "ASK_KEY"\n'
    (tmp_path / "evaltower.toml").write_text(f"{profile}key_for = {key_for}\n")
    environ = Path(f"/proc/{keep().ready().pid}/environ").read_bytes().split(b"\0")
    assert (b"ASK_KEY=sk-0123456789" in environ) == bool(key_for)


def test_it_does_not_start_where_it_cannot_know_what_is_a_key(
    keep: Callable[..., Kept], tmp_path: Path
) -> None:
    (tmp_path / "evaltower.toml").write_text("[profiles.p]\n")
    assert "evaltower.toml: [profiles.p]" in keep().why()


def test_it_comes_back_after_a_crash_where_it_was_and_as_it_was(keep: Callable[..., Kept]) -> None:
    server = keep()
    first = server.ready()
    before = server.act()
    os.kill(first.pid, signal.SIGKILL)
    second = server.ready(after=1)
    assert (second.url, second.manifest_digest) == (first.url, first.manifest_digest)
    assert second.pid != first.pid
    assert repr(server.act()) == repr(before)
    found = server_at(second.url)
    assert found == server.folder


def test_told_to_stop_it_shuts_the_nodeset_down_and_leaves_no_address(keep: Callable[..., Kept]) -> None:
    server = keep()
    pid = server.ready().pid
    server.process.terminate()
    assert server.process.wait(60) == 0
    assert server.model.lines("shut_down") == [str(pid)]
    assert not is_there(pid)
    assert not server.folder.ready.exists()
    assert not Path(server.record.address).exists()


def test_told_to_stop_while_it_starts_it_ends(keep: Callable[..., Kept]) -> None:
    server = keep()
    until(lambda: server.folder.log(1).exists(), "its host to begin")
    server.process.terminate()
    assert server.process.wait(60) == 0
    assert server.folder.read_end(1) is None


def test_in_another_regime_it_does_not_come_back(keep: Callable[..., Kept]) -> None:
    server = keep()
    ready = server.ready()
    server.model.set("other")
    os.kill(ready.pid, signal.SIGKILL)
    why = server.why()
    assert "it came back in another regime" in why
    assert "model_line__act" in why


@pytest.mark.slow
def test_a_config_that_a_run_had_it_load_counts_too(keep: Callable[..., Kept]) -> None:
    server = keep()
    ready = server.ready()
    server.act({"temperature": 0.5})

    def noted() -> bool:
        regimes = server.folder.read_regimes()
        return regimes is not None and len(regimes.tools) == 2

    until(noted, "its regime to be noted")
    os.kill(ready.pid, signal.SIGKILL)
    server.ready(after=1)
    manifest = server.ask(lambda client: client.manifest())
    assert set(manifest["batching"]) == {"model_line__act", 'model_line__act {"temperature": 0.5}'}


def test_one_whose_source_has_changed_is_not_served(keep: Callable[..., Kept], tmp_path: Path) -> None:
    copy = tmp_path / "nodesets" / "model_line.py"
    copy.parent.mkdir()
    shutil.copy(MODEL, copy)
    server = keep(path=copy)
    ready = server.ready()
    copy.write_text(copy.read_text() + "\n# edited\n")
    os.kill(ready.pid, signal.SIGKILL)
    assert "has changed since the run was submitted" in server.why()


def test_one_that_does_not_start_says_why_in_the_words_of_its_log(
    keep: Callable[..., Kept], model: Any
) -> None:
    model.set("broken")
    server = keep()
    why = server.why()
    assert why.startswith("FileNotFoundError: weights.pt is not there (more in outputs/servers/")
    assert "\n" not in why
    assert why.endswith(f"(more in {server.folder.stderr.relative_to(server.folder.root)})")
    assert "Traceback" in server.folder.stderr.read_text()


@pytest.mark.slow
def test_one_that_ends_again_and_again_is_left_at_that(keep: Callable[..., Kept]) -> None:
    server = keep()
    starts = 0
    while server.process.poll() is None:
        ready = server.folder.read_ready(1)
        if ready and ready.starts > starts and is_there(ready.pid):
            starts = ready.starts
            os.kill(ready.pid, signal.SIGKILL)
    assert "it ended 4 times in a row, and is not started again" in server.why()
    assert "signal SIGKILL (9)" in server.why()
    assert starts == len(server.model.pids()) == 4


@pytest.mark.slow
def test_one_whose_socket_was_removed_is_started_again(keep: Callable[..., Kept]) -> None:
    server = keep()
    ready = server.ready()
    shutil.rmtree(server.record.address)
    assert server.ready(after=1).url == ready.url
    assert server.act()["action"] in ("LEFT", "RIGHT", "STOP")


@pytest.mark.slow
def test_one_that_hangs_in_a_call_is_started_again(keep: Callable[..., Kept]) -> None:
    server = keep(call_deadline_sec=1.0)
    first = server.ready()
    server.model.set("hang")
    with pytest.raises(HostTimeout):
        server.act(timeout=0.5)
    assert server.ready(after=1).url == first.url
    assert not is_there(first.pid)
    assert server.act()["action"] in ("LEFT", "RIGHT", "STOP")


def test_what_a_dead_run_left_there_is_dropped(keep: Callable[..., Kept]) -> None:
    server = keep()
    server.ready()
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    of_run = identity(sleeper.pid)
    server.ask(lambda client: client.set_live(True))
    server.folder.leases.mkdir()
    for process in (of_run, identity()):
        write_lease(server.folder, process)
    sleeper.kill()
    sleeper.wait()
    until(lambda: len(list(server.folder.leases.iterdir())) == 1, "the lease to be dropped")
    log = server.folder.path / "stderr.log"
    name = f"{of_run.pid}-{of_run.start_ticks}"
    until(lambda: f"{name} uses it no more" in log.read_text(), "the host to be told")


def write_lease(folder: ServerFolder, process: ProcessIdentity) -> None:
    write_json(folder.leases / f"{process.pid}-{process.start_ticks}.json", Lease(process=process, root="/"))


def test_its_host_ends_with_it(keep: Callable[..., Kept]) -> None:
    server = keep()
    pid = server.ready().pid
    server.process.kill()
    until(lambda: not is_there(pid), "its host to be gone")
