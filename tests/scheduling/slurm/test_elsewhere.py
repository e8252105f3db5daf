"""Who goes to the cluster, and when: nothing of this machine keeps him, but what keeps everybody."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scheduling.making import NOW, Box


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "no card"),
        ({"paused": True}, "queue_paused"),
        ({"playing": "somebody"}, "no card"),
        ({"ledger_busy": "busy"}, "no card"),
    ],
)
def test_what_keeps_it(more: dict[str, Any], told: str) -> None:
    assert Box(more=more).job("away", gb=100, on="slurm").told() == {"away": told}


def test_a_full_disk_keeps_it() -> None:
    assert Box(disk_gb=0.1).job("away", gb=1, on="slurm").told() == {"away": "disk_low"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"held": True}, "held"),
        ({"depends_on": ("absent",)}, "dependency_failed"),
        ({"not_before": NOW + 60}, "backoff"),
    ],
)
def test_its_own_reasons_keep_it(more: dict[str, Any], told: str) -> None:
    assert Box().job("away", gb=1, on="slurm", **more).told() == {"away": told}


def test_it_goes_past_those_that_wait_for_this_machine_and_takes_nothing_of_it() -> None:
    box = (
        Box(cards=(24,)).job("first", gb=20).job("second", gb=20).job("away", gb=20, on="slurm:big", nodes=2)
    )
    box.job("third", gb=4)
    told = box.told()
    assert told["away"] == "no card"
    assert (told["first"], told["second"]) == ("0", "gpu_memory")
    start = next(start for start in box.decide().starts if start.run_id == "away")
    assert start.ask is not None
    assert (start.ask.on, start.ask.partition, start.ask.nodes, start.ask.run.gpus) == (
        "slurm:big",
        "big",
        2,
        1,
    )
    assert start.run.claims == {}
