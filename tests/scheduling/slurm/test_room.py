from __future__ import annotations

import pytest

from engine.scheduling.launchers.slurm.room import lacks_room
from engine.scheduling.starts import ClusterAsk, JobAsk
from engine.store.slurm_settings import SlurmSettings

NODE = (4, 8000, "gpu:2")


def ask(
    workers: int = 1, gpus: int = 0, nodes: int = 1, server_gpus: int = 0, mb: float = 500.0
) -> ClusterAsk:
    return ClusterAsk(
        on="slurm:small",
        nodes=nodes,
        run=JobAsk(mem_mb=mb, gpus=gpus, workers=workers),
        servers={"policy": JobAsk(mem_mb=500.0, gpus=server_gpus)},
    )


@pytest.mark.parametrize(
    ("asked", "nodes", "fits"),
    [
        (ask(workers=2), [NODE], True),
        (ask(workers=3), [NODE], False),  # the server has the last CPU
        (ask(workers=3), [NODE, NODE], True),
        (ask(gpus=1, server_gpus=1), [NODE], True),
        (ask(gpus=1, server_gpus=1), [(8, 8000, "gpu:a100:1(S:0)")], False),
        (ask(gpus=1, server_gpus=1), [(8, 8000, "gpu:1"), (8, 8000, "gpu:1")], True),
        (ask(gpus=1), [(8, 8000, "(null)")], False),
        (ask(workers=2, nodes=2), [NODE, NODE], True),
        (ask(workers=3, nodes=2), [NODE, NODE], False),
        (ask(mb=7800.0), [NODE], False),
        (ask(mb=7800.0), [(4, 1, "gpu:2")], True),  # a cluster that does not count memory
        (ask(), [], False),
    ],
)
def test_a_run_and_what_it_waits_for_need_room_together(
    asked: ClusterAsk, nodes: list[tuple[int, int, str]], fits: bool
) -> None:
    assert (lacks_room(asked, SlurmSettings(), nodes) == "") is fits


def test_what_is_missing_is_told_in_numbers() -> None:
    assert lacks_room(ask(workers=3, gpus=1), SlurmSettings(), [NODE]) == (
        "the run needs 4 CPUs, 1 GPU, 500 MB, policy 1 CPU, 500 MB beside it, and partition small has never"
        " room for all of it: its nodes have 4 CPUs, 2 GPUs, 8000 MB"
    )


def test_the_settings_count() -> None:
    assert lacks_room(ask(workers=4), SlurmSettings(cpus_per_worker=0.25), [NODE]) == ""
    asked = ask(gpus=1, server_gpus=1)
    assert lacks_room(asked, SlurmSettings(gres="gpu:2"), [NODE])
