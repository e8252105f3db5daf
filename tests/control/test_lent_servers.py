"""A shared server that one backend of a user has loaded, used by the runs of another one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from engine.hosting.leases import living
from engine.scheduling.launchers.servers import ServerLauncher
from engine.scheduling.launchers.spawning import Graces
from engine.scheduling.launching import NotNowError, ServerState
from engine.scheduling.ledger import Entry, Ledger
from engine.store.atomic import write_json
from engine.store.process_identity import identity
from engine.store.records import now_iso
from engine.store.rundir import RunDir
from engine.store.server_folder import server_folder
from tests.control.test_shared_servers import completed, loaded, request
from tests.control.waiting import wait_for, wait_until_running
from tests.fakes.live_backend import live
from tests.fakes.real_runs import make_root
from tests.fakes.shared_servers import ModelFiles, model_files, model_need, policy_graph, seated

GRACES = Graces(None, 20.0, 20.0)


class Lender:
    """Another backend of this user: its process does nothing, its launcher is here."""

    def __init__(self, root: Path, ledger: Path, workspace: Path) -> None:
        self.seated = seated(model_need(workspace / "nodesets" / "model_line.py"))
        self.key = self.seated.owner
        self.launcher = ServerLauncher(root, GRACES)
        self.folder = server_folder(root, self.key)
        self.process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.launcher.start(self.seated)
        wait_for(lambda: self.state.ready, "it to be ready")
        with Ledger(ledger).turn():
            own = identity(self.process.pid)
            servers = {self.key: str(self.folder.path)}
            write_json(ledger / f"0-{own.pid}.json", Entry(process=own, root=str(root), servers=servers))

    @property
    def state(self) -> ServerState:
        return self.launcher.poll([self.key])[self.key]

    def unload(self) -> None:
        self.launcher.stop(self.key)
        wait_for(lambda: self.state.ended, "it to be unloaded")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.unload()


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFiles:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return model_files(tmp_path / "model", monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_root(tmp_path / "borrower")
    (root / "workspace" / "graphs").mkdir()
    (root / "workspace" / "graphs" / "policy.json").write_text(json.dumps(policy_graph()))
    return root


@pytest.fixture
def lender(tmp_path: Path, root: Path, model: ModelFiles) -> Iterator[Lender]:
    (tmp_path / "lender").mkdir()
    lender = Lender(tmp_path / "lender", tmp_path / "ledger", root / "workspace")
    yield lender
    lender.close()
    assert not model.living()


@pytest.mark.slow
def test_it_is_used_instead_of_loading_it_twice(root: Path, lender: Lender, model: ModelFiles) -> None:
    model.set("slow")
    with live(root, ledger=Ledger(root.parent / "ledger")) as control:
        wait_for(lambda: bool(control.live.scheduler.decisions.accounts), "the first look at the ledger")
        run = control.start(request(episode_count=60))
        wait_until_running(control, run)
        assert RunDir(Path(control.show(run).path)).read_shared_urls() == {"model_line": lender.state.url}
        lender.launcher.stop(lender.key)  # its own last user has ended
        assert lender.state.leased
        (borrowed,) = loaded(control)
        assert (borrowed.state, borrowed.pid, borrowed.users) == ("ready", None, [run])
        model.set("slow", False)
        report = completed(control, run)
        wait_for(lambda: not loaded(control), "it to be given back")
        wait_for(lambda: not living(lender.folder), "the leases to be gone")
        assert not lender.state.leased
        assert len(model.lines("loads")) == 1
        lender.unload()
        own = completed(control, control.start(request(episode_count=60)))
        assert own.summary.result_digest == report.summary.result_digest
        wait_for(lambda: not loaded(control), "its own to be unloaded")
    assert len(model.lines("loads")) == 2


def test_one_that_is_being_unloaded_is_not_borrowed(root: Path, lender: Lender) -> None:
    borrower = ServerLauncher(root, GRACES)
    wanted = seated(lender.seated.server)
    lent = msgspec.structs.replace(wanted, lender=str(lender.folder.path))
    borrower.start(lent)
    assert borrower.poll([lender.key])[lender.key].ready
    borrower.stop(lender.key)
    assert borrower.poll([lender.key])[lender.key].ended == "it was given back"
    lender.unload()
    with pytest.raises(NotNowError, match="unloaded"):
        borrower.start(lent)
    assert not living(lender.folder)


def test_an_owner_that_says_so_and_then_finds_the_lease_ends_nothing(root: Path, lender: Lender) -> None:
    borrower = ServerLauncher(root, GRACES)
    borrower.start(msgspec.structs.replace(seated(lender.seated.server), lender=str(lender.folder.path)))
    record = lender.folder.read_record()
    assert record is not None
    write_json(lender.folder.record, msgspec.structs.replace(record, stop_requested_at=now_iso()))
    assert borrower.poll([lender.key])[lender.key].ended is None
    write_json(lender.folder.record, record)
    assert borrower.poll([lender.key])[lender.key].ready
    borrower.stop(lender.key)
