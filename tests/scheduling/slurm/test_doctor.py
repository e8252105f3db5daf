"""``evaltower doctor`` on the two nodes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.control import doctor_cluster
from engine.control.doctor_cluster import COMMANDS, examine_cluster
from engine.control.reports import DoctorItem
from engine.scheduling.launchers.slurm.commands import Listed, Slurm
from tests.fakes.slurm_cluster import Cluster

pytestmark = pytest.mark.slurm

Ask = Callable[..., DoctorItem]


@pytest.fixture
def ask(tmp_path: Path, cluster: Cluster) -> Ask:
    """What the job on a node tells, under some lines of ``[slurm]``. as_if: an expression of sed that changes
    the job's script, for what cannot be had on one machine."""

    def ask(*settings: str, as_if: str = "") -> DoctorItem:
        lines = list(settings)
        if as_if:
            lines.append(f'bin = "{_commands_that_change(tmp_path / "bin", as_if)}"')
        (tmp_path / "evaltower.toml").write_text("\n".join(["[slurm]", *lines]))
        item = examine_cluster(tmp_path, submit=True)[-1]
        assert list((tmp_path / "outputs" / "system").iterdir()) == []
        cluster.wait_for(lambda: all(job.name != "evaltower-doctor" for job in _alive()))
        return item

    return ask


def _alive() -> list[Listed]:
    return [job for job in Slurm().jobs() if job.state in ("PENDING", "RUNNING", "COMPLETING")]


def _commands_that_change(folder: Path, expression: str) -> Path:
    folder.mkdir()
    for name in COMMANDS:
        (folder / name).symlink_to(shutil.which(name) or "")
    (folder / "sbatch").unlink()
    real = shutil.which("sbatch")
    (folder / "sbatch").write_text(f'#!/bin/sh\nsed -i \'{expression}\' "$2"\nexec {real} "$@"\n')
    (folder / "sbatch").chmod(0o755)
    return folder


def test_all_is_well(cluster: Cluster, tmp_path: Path) -> None:
    items = {item.name: item for item in examine_cluster(tmp_path, submit=False)}
    assert {item.state for item in items.values()} == {"ok"}
    assert items["cluster"].detail.startswith("slurm")
    assert items["cluster's partitions"].detail == "main (default): up, gpu:2; small: up, gpu:2"
    assert items["cluster's nodes"].detail == "2 idle"
    assert "evaltower doctor --cluster" in items["cluster's node"].detail
    assert not (tmp_path / "outputs").exists()


def test_a_node_sees_the_root_and_runs_us(ask: Ask) -> None:
    item = ask('partition = "small"')
    assert (item.state, item.remedy) == ("ok", "")
    assert item.detail.startswith("n2 sees the root /")
    assert item.detail.endswith("runs us there; its clock is ours")


def test_a_root_may_have_any_name(cluster: Cluster, tmp_path: Path) -> None:
    odd = tmp_path / 'it\'s 100% "mine" #1 %j $HOME {x}'
    odd.mkdir()
    (odd / "evaltower.toml").write_text("[slurm]\nextra = ['--mail-user=\"a b\"']\n")
    item = examine_cluster(odd, submit=True)[-1]
    assert item.state == "ok", item


def test_a_node_that_cannot_run_us_says_how(ask: Ask) -> None:
    item = ask('python = "/no/python"')
    assert item.state == "failure"
    assert "/no/python does not run us: " in item.detail
    assert "not found" in item.detail
    item = ask(as_if="s#import engine.evaluation.run#import no_such_module#")
    assert "does not run us: ModuleNotFoundError: No module named 'no_such_module'" in item.detail


def test_a_setup_that_fails_is_told(ask: Ask) -> None:
    item = ask("setup = '''echo no module cuda\nexit 3'''")
    assert item.state == "failure"
    assert "exit code 3: no module cuda" in item.detail
    assert "[slurm] setup" in item.remedy


def test_a_root_that_is_not_shared_is_told(ask: Ask) -> None:
    item = ask(as_if="s#/token#/nothing#")
    assert item.state == "failure"
    assert "does not see" in item.detail
    assert "file system that all nodes share" in item.remedy


def test_a_root_that_is_mounted_for_reading_is_told(ask: Ask) -> None:
    item = ask(as_if="s#[^ ]*/answer.tmp#/no/answer.tmp#")
    assert item.state == "failure"
    assert "may not write" in item.detail


def test_what_comes_not_back_is_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_cluster, "ANSWER_WITHIN_SEC", 8.0)
    item = ask(as_if="/^mv/d")
    assert item.state == "failure"
    assert "is not seen here" in item.detail


@pytest.mark.parametrize(("shift", "told"), [("1 hour", "ahead of ours"), ("1 hour ago", "behind ours")])
def test_clocks_that_differ_are_told(ask: Ask, shift: str, told: str) -> None:
    item = ask(as_if=f's#date +%s#date -d "{shift}" +%s#')
    assert item.state == "warning"
    assert told in item.detail
    seconds = int(item.detail.split("at least ")[1].split()[0])
    assert 3500 < seconds <= 3600
    assert "NTP" in item.remedy


def test_what_the_cluster_refuses_is_told(ask: Ask) -> None:
    item = ask('constraint = "unheard-of"')
    assert item.state == "failure"
    assert item.detail.startswith("sbatch: ")
    assert "[slurm]" in item.remedy


def test_one_that_waits_is_taken_back(
    ask: Ask, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_cluster, "ANSWER_WITHIN_SEC", 4.0)
    script = tmp_path / "long.sh"
    script.write_text("#!/bin/sh\nsleep 600\n")
    cluster.run("sbatch", "--exclusive", "--nodes=1", "--nodelist=n2", "--output=/dev/null", script)
    cluster.wait_for(lambda: cluster.node_state("n2") == "allocated")
    item = ask('partition = "small"')
    assert item.state == "warning"
    assert "it waited in the queue still after 4 s" in item.detail


def test_one_that_takes_too_long_is_ended(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_cluster, "ANSWER_WITHIN_SEC", 4.0)
    item = ask("setup = 'sleep 60'")
    assert item.state == "warning"
    assert "had not answered after 4 s" in item.detail


def test_a_cluster_that_is_silent_is_told_once(own_cluster: Cluster, tmp_path: Path) -> None:
    own_cluster.kill_controller()
    (item,) = examine_cluster(tmp_path, submit=False)
    assert (item.name, item.state) == ("cluster", "warning")
    assert "Unable to contact slurm controller" in item.detail
    (item,) = examine_cluster(tmp_path, submit=True)
    assert item.state == "failure"
