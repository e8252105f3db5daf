"""The queue's pane: where each run is, and the whole reason of the one under the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.control.queue_reports import QueueReport
from engine.store.cluster_note import ClusterNote
from tests.fakes.fake_control import admitted
from tests.tui.scenes import clustered
from tests.tui.screen import centre, settled, text_of, until_seen
from tui.panes.queue import queue_rows


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_where_a_cluster_run_is_and_all_of_why_one_waits_there(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = centre(clustered(tmp_path))
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await until_seen(pilot, "slurm:gpu job 12 on n1, 2 GPUs")
        assert not any("(Slurm: Priority)" in line for line in text_of(app))
        await pilot.press("G")
        await until_seen(pilot, "(Slurm: Priority)")
        assert any("Slurm job 13 waits in partition gpu: jobs of a" in line for line in text_of(app))


async def test_a_reason_takes_no_line_of_a_run(tmp_path: Path) -> None:
    app = centre(clustered(tmp_path))
    async with app.run_test(size=(80, 9)) as pilot:
        await settled(pilot)
        await pilot.press("2", "G")
        await until_seen(pilot, "navT")
        assert not any("(Slurm: Priority)" in line for line in text_of(app))
        assert sum("0518_14" in line for line in text_of(app)) == 5


async def test_the_workers_say_where_they_are(tmp_path: Path) -> None:
    app = centre(clustered(tmp_path))
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        await pilot.press("2", "j")
        await until_seen(pilot, "1/6 errored  slurm:gpu job 12 on n1, 2 GPUs ─")


def test_what_is_to_be_said_of_a_cluster_run_hides_not_where_it_is() -> None:
    note = ClusterNote(on="slurm", job_id="12", node="n1", why="the cluster does not answer")
    [row] = queue_rows(QueueReport(running=[admitted("r", cluster=note)]))
    assert row.why == "the cluster does not answer; slurm job 12 on n1"
