"""What is submitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.scheduling.launchers.slurm.script import JobScript, test_options
from engine.scheduling.starts import JobAsk
from engine.store.attempts import Attempt
from engine.store.slurm_settings import SlurmSettings

test_options.__test__ = False  # type: ignore[attr-defined]


def options(root: str = "/shared", partition: str = "", ask: JobAsk | None = None, **slurm: Any) -> list[str]:
    return [
        line.removeprefix("#SBATCH ") for line in text(root, partition, ask, **slurm) if "#SBATCH" in line
    ]


def text(root: str = "/shared", partition: str = "", ask: JobAsk | None = None, **slurm: Any) -> list[str]:
    script = JobScript(
        attempt=Attempt.of(Path(root, "run"), 2),
        name="run",
        comment="evaltower:abc",
        mark="run/2/secret",
        partition=partition,
        ask=ask or JobAsk(mem_mb=100.2, workers=2),
        root=Path(root),
        command=["-m", "engine.evaluation"],
        grace_sec=30.0,
        after=["5", "6"],
    )
    return script.text(SlurmSettings(**slurm)).splitlines()


def test_what_is_asked_for() -> None:
    asked = options()
    assert asked[0] == "--no-requeue"
    for option in (
        "--job-name=run",
        "--comment=evaltower:abc",
        "--chdir=/shared",
        "--output=/shared/run/attempts/2/stdout.log",
        "--error=/shared/run/attempts/2/stderr.log",
        "--open-mode=append",
        "--cpus-per-task=3",
        "--mem=101M",
        "--signal=B:TERM@60",
        "--dependency=after:5,after:6",
    ):
        assert option in asked
    assert not [option for option in asked if "gres" in option or "partition" in option]


@pytest.mark.parametrize(
    ("slurm", "option"),
    [
        ({"partition": "big"}, "--partition=big"),
        ({"account": "mine"}, "--account=mine"),
        ({"qos": "low"}, "--qos=low"),
        ({"constraint": "a100|h100"}, "--constraint=a100|h100"),
        ({"time": "1-00:00:00"}, "--time=1-00:00:00"),
        ({"cpus_per_worker": 1.6}, "--cpus-per-task=5"),
        ({"mem_mb": 7.0}, "--mem=7M"),
        ({"gres": "gpu:h100:2"}, "--gres=gpu:h100:2"),
        ({"extra": ["--exclusive"]}, "--exclusive"),
    ],
)
def test_settings(slurm: dict[str, Any], option: str) -> None:
    ask = JobAsk(mem_mb=100, gpus=1, workers=2)
    assert option in options(ask=ask, **slurm)
    assert option in test_options(ask, "", SlurmSettings(**slurm))


def test_what_a_run_says_goes_before_the_settings() -> None:
    assert "--partition=small" in options(partition="small")
    asked = test_options(JobAsk(mem_mb=1, gpus=2), "small", SlurmSettings(partition="big"))
    assert "--partition=small" in asked
    assert "--gres=gpu:2" in asked
    without = test_options(JobAsk(mem_mb=1), "", SlurmSettings(gres="gpu:h100:2"))
    assert not [option for option in without if "gres" in option]


@pytest.mark.parametrize(
    ("root", "chdir"),
    [
        ("/a b", '"/a b"'),
        ("/a%j", "/a%j"),
        ("/it's", '"/it\'s"'),
        ('/"x"', '"/\\"x\\""'),
        ("/a\\b", '"/a\\\\b"'),
        ("/#1", '"/#1"'),
    ],
)
def test_a_root_of_any_name(root: str, chdir: str) -> None:
    asked = options(root)
    assert f"--chdir={chdir}" in asked
    output = next(option for option in asked if option.startswith("--output="))
    assert ("%%j" in output) == ("%" in root)


def test_the_shell_sees_what_was_meant() -> None:
    lines = text("/it's $HOME", setup="module load cuda")
    assert lines[0] == "#!/bin/sh"
    assert "export EVALTOWER_ATTEMPT=run/2/secret" in lines
    assert lines.index("module load cuda") < len(lines) - 1
    assert lines[-1].startswith("exec ")
    assert lines[-1].endswith(" '/it'\"'\"'s $HOME/run/attempts/2' '' 30 0 -- "
                              + lines[-1].split()[1] + " -m engine.evaluation")  # fmt: skip
    other = text(python="/opt/node/python")[-1]
    assert other.startswith("exec /opt/node/python -S -E -P ")
    assert " -- /opt/node/python -m engine.evaluation" in other
