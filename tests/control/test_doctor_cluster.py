"""What ``evaltower doctor`` makes of a cluster's words, told by stand-ins of its commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.control.doctor_cluster import COMMANDS, examine_cluster
from engine.control.reader import Reader
from engine.control.reports import DoctorItem


@pytest.fixture
def no_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is where commands are looked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def examined(root: Path, folder: Path, sinfo: str, settings: str = "") -> dict[str, DoctorItem]:
    for name in COMMANDS:
        (folder / name).write_text(f"#!/bin/sh\n{sinfo if name == 'sinfo' else 'exit 1'}\n")
        (folder / name).chmod(0o755)
    (root / "evaltower.toml").write_text(f'[slurm]\nbin = "{folder}"\n{settings}')
    return {item.name: item for item in examine_cluster(root, submit=False)}


def sinfo(partitions: str = "main*|up|gpu:2", nodes: str = "n1|idle") -> str:
    return (
        f"case \"$*\" in *version) echo slurm 22.05.8;; *%P*) printf '%s\\n' '{partitions}';;"
        f" *) printf '%s\\n' '{nodes}';; esac"
    )


def test_without_a_cluster_there_is_no_word_of_one(reader: Reader, no_commands: Path) -> None:
    assert [item for item in reader.doctor() if item.name.startswith("cluster")] == []


def test_where_one_is_wanted_its_commands_are_missed(tmp_path: Path, no_commands: Path) -> None:
    (item,) = examine_cluster(tmp_path, submit=True)
    assert (item.name, item.state) == ("cluster", "failure")
    assert "not in PATH: sbatch, squeue, scancel, scontrol, sinfo" in item.detail
    assert "[slurm] bin" in item.remedy
    (tmp_path / "evaltower.toml").write_text('[slurm]\npartition = "gpu"')
    (item,) = examine_cluster(tmp_path, submit=False)
    assert item.state == "failure"


def test_some_of_its_commands_are_missed(tmp_path: Path, no_commands: Path) -> None:
    (no_commands / "sbatch").write_text("")
    (no_commands / "sbatch").chmod(0o755)
    (item,) = examine_cluster(tmp_path, submit=False)
    assert (item.state, item.detail) == ("warning", "not in PATH: squeue, scancel, scontrol, sinfo")


def test_settings_that_cannot_be_read_are_told_once(reader: Reader) -> None:
    (reader.root / "evaltower.toml").write_text('[slurm]\npartitions = "gpu"')
    told = [item for item in reader.doctor() if "partitions" in item.detail]
    assert [(item.name, item.state) for item in told] == [("evaltower.toml", "failure")]


@pytest.mark.parametrize(
    ("partitions", "settings", "state", "told"),
    [
        ("main*|up|gpu:2\nmain*|up|gpu:2", "", "ok", "main (default): up, gpu:2"),
        ("a|up|(null)\nb*|up|gpu:a100:8", "", "ok", "a: up; b (default): up, gpu:a100:8"),
        ("a|up|(null)\nb|up|(null)", "", "warning", "none is the default one; there are a: up; b: up"),
        ("a|up|(null)", 'partition = "a"', "ok", "a: up"),
        ("a|up|(null)\nb|up|(null)", 'partition = "a,b"', "ok", "a: up; b: up"),
        ("a*|up|(null)", 'partition = "gpu"', "failure", "there is no gpu; there are a (default): up"),
        ("a*|drain|(null)", "", "warning", "a is not up, so that jobs wait in it"),
        ("a*|up|(null)\nb|down|(null)", "", "ok", "a (default): up; b: down"),
    ],
)
def test_partitions(
    tmp_path: Path, no_commands: Path, partitions: str, settings: str, state: str, told: str
) -> None:
    item = examined(tmp_path, no_commands, sinfo(partitions=partitions), settings)["cluster's partitions"]
    assert item.state == state
    assert item.detail.startswith(told)
    assert bool(item.remedy) == (state != "ok")


@pytest.mark.parametrize(
    ("nodes", "state", "told"),
    [
        ("n1|idle\nn2|mixed\nn3|idle", "ok", "2 idle, 1 mixed"),
        ("n1|idle\nn2|down*", "warning", "1 idle, 1 down*: not n2"),
        ("n1|idle*\nn2|idle", "warning", "1 idle*, 1 idle: not n1"),
        ("n1|drained\nn2|down", "failure", "none can be used: 1 drained, 1 down"),
        ("n0|idle\n" + "\n".join(f"n{k}|down" for k in range(1, 9)), "warning", "8 down, 1 idle: not n1, n2"),
    ],
)
def test_nodes(tmp_path: Path, no_commands: Path, nodes: str, state: str, told: str) -> None:
    item = examined(tmp_path, no_commands, sinfo(nodes=nodes))["cluster's nodes"]
    assert item.state == state
    assert item.detail.startswith(told)
    assert len(item.detail) < 80


def test_what_a_cluster_says_last_is_what_it_comes_to(tmp_path: Path, no_commands: Path) -> None:
    says = "echo 'sinfo: error: no server' >&2; echo 'sinfo: fatal: no configuration' >&2; exit 1"
    items = examined(tmp_path, no_commands, says)
    assert items["cluster"].detail == "sinfo: fatal: no configuration"
    assert items["cluster"].state == "failure"
