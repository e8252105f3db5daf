"""What must hold of every environment: see ``environments.py`` for whom, and ``growth.py`` for the table."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import psutil
import pytest

from engine.components.seeds import episode_seed
from engine.control.reports import StartRequest
from engine.store.rundir import RunDir
from tests.fakes.live_backend import live
from tests.nodesets.gym_player import NODESETS
from tests.simulators.conformance.environments import ENVIRONMENTS, NOT_HERE, Environment, by_graph
from tests.simulators.conformance.growth import record
from tests.simulators.conformance.playing import Played, manifest_of, playing

RUN_SEC = 600.0
REBUILDS = 50
LEAST_OF_A_PROCESS = 10
"""Episodes, of an environment that leaks."""
SETTLED_AFTER = 3
"""Episodes after which libraries are loaded and pools filled."""
UNDECLARED_GROWTH_MB = 1.0
SLACK = 1.3
"""What a process may take more than it declares: another version of a library, another allocator's mood."""

pytestmark = [pytest.mark.simulator, pytest.mark.timeout(RUN_SEC)]
every_environment = pytest.mark.parametrize(
    "environment",
    [
        pytest.param(one, marks=pytest.mark.skipif(bool(one.missing), reason=one.missing), id=one.name)
        for one in ENVIRONMENTS
    ],
)


def test_every_environment_has_a_row_or_a_reason_why_not() -> None:
    rows = {one.nodeset for one in ENVIRONMENTS}
    assert {folder.name for folder in NODESETS.glob("env_*")} == rows | NOT_HERE.keys()
    assert not rows & NOT_HERE.keys()


@every_environment
async def test_many_rebuilds_remember_nothing_and_leave_nothing(
    environment: Environment, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The same seed is the same episode whatever was played before, and each seed is its own; files, threads
    and children do not add up; memory grows no more than the nodeset declares; a kill leaves no orphan."""
    async with playing(environment, tmp_path) as used, playing(environment, tmp_path / "fresh") as fresh:
        digests = [await used.episode(0)]
        first, others = used.memory_mb(), 3
        while len(digests) < REBUILDS - 1:
            digests.append(await used.episode(len(digests) % others))
            if len(digests) == SETTLED_AFTER:
                before, settled = used.handles(), used.memory_mb()
        digests.append(await used.episode(0))
        last, after = used.memory_mb(), used.handles()
        each = (last - settled) / (REBUILDS - SETTLED_AFTER)
        manifest = used.manifest
        limit, declared = manifest.recycle_above_mb, manifest.expected_ram_mb
        record(request, environment.name, REBUILDS, first, last, each, declared, limit)
        again = [await fresh.episode(number) for number in (2, 0)]
        assert await _left_after_a_kill(fresh) == []
    assert digests[-1] == digests[0] == again[1], "what was played before has changed an episode"
    assert again[0] == digests[2], "a fresh process and a used one differ"
    assert len(set(digests[:others])) == others, "two seeds are one episode"
    before["files"] += environment.pooled
    assert {what: after[what] - before[what] for what in after if after[what] > before[what]} == {}
    # What leaks is restarted above its limit (see test_gymnasium.py), after so many episodes at least.
    grown = settled + LEAST_OF_A_PROCESS * each if environment.leaks else last
    assert each < UNDECLARED_GROWTH_MB or (limit is not None and grown < limit), "it grows, undeclared"
    assert declared is None or settled < SLACK * declared


@every_environment
async def test_another_seed_of_the_run_is_another_episode_of_an_index(
    environment: Environment, tmp_path: Path
) -> None:
    async with playing(environment, tmp_path) as played:
        digests = [await played.episode(episode_seed(run_seed, 0), index=0) for run_seed in range(3)]
    assert len(set(digests)) == (1 if environment.unseeded else 3), environment.unseeded or digests


async def _left_after_a_kill(played: Played) -> list[psutil.Process]:
    """Those of a host's processes that are still there when it was killed from outside."""
    family = played.family()
    family[0].kill()
    _, alive = await asyncio.to_thread(psutil.wait_procs, family, timeout=20)
    return alive


@pytest.mark.parametrize("graph", by_graph())
def test_one_digest_at_1_2_and_8_workers(graph: str, tmp_path: Path) -> None:
    """At one worker, one process plays every environment of the graph; at eight, most have played nothing."""
    environments = by_graph()[graph]
    each = 3 if len(environments) == 1 else 2
    request = StartRequest(
        graph_name=graph,
        episode_indices=[*range(each)] * len(environments),
        episode_selectors=[dict(one.selectors) for one in environments for _ in range(each)],
        step_budget=max(one.steps for one in environments),
    )
    with live(tmp_path) as control:

        def watch(run: str) -> None:
            deadline = time.monotonic() + RUN_SEC
            while not control.show(run).is_over:
                assert time.monotonic() < deadline
                time.sleep(0.05)

        report = control.verify(request, [1, 2, 8], watch)
    assert report.verdict == "same", report
    assert len({run.result_digest for run in report.runs}) == 1
    assert report.determinism == manifest_of(environments[0].nodeset, tmp_path / "manifests").determinism
    rows = RunDir(tmp_path / "outputs" / "eval_runs" / report.runs[0].run_id).read_summary().episodes
    assert [row.error for row in rows] == [None] * len(rows)
    assert len({row.trajectory_digest for row in rows}) == len(rows) == each * len(environments)
