"""The simulated machine and its file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.scheduling.attribution import attribute
from engine.scheduling.machine import RAM, Root, Sample
from engine.scheduling.simulated import SimulatedMachine
from engine.scheduling.simulation_file import Simulation, SimulationError, read_simulation
from tests.scheduling.making import GB
from tests.scheduling.world import Clock

FILE = """
ram_mb = 32768
seed = 3

[[gpus]]
total_mb = 24576
used_mb = 500
[[gpus]]
name = "Another"
total_mb = 12288

[[loads]]
match = "grid*"
vram_mb = 6000
vram_per_worker_mb = 300
ram_mb = 2000
steps = [[10, 0.5], [40, 1.0]]
[[loads]]
match = "greedy"
vram_mb = 20000
spread = 0.05

[[foreign]]
gpu = 0
at_sec = 100
for_sec = 50
vram_mb = 21000
ram_mb = 1000
name = "someone's server"

[[faults]]
kind = "card_unreadable"
gpu = 1
at_sec = 200
for_sec = 10
"""


class Simulated:
    def __init__(self, simulation: Simulation) -> None:
        self.clock = Clock()
        self.machine = SimulatedMachine(simulation, self.clock)
        self.roots: list[Root] = []

    def begin(self, owner: str, name: str, gpu: int, workers: int = 1) -> None:
        card = self.machine.uuids[gpu]
        self.roots.append(
            Root(
                owner=owner,
                pid=1000 + len(self.roots),
                name=name,
                workers=workers,
                started_at=self.clock.now,
                gpus=(card,),
            )
        )

    def after(self, seconds: float) -> Sample:
        self.clock.now += seconds
        return self.machine.sample(self.roots)

    def shown(self, seconds: float, owner: str) -> dict[str, float]:
        return dict(attribute(self.after(seconds), self.roots).shown[owner])


@pytest.fixture
def simulated(tmp_path: Path) -> Simulated:
    path = tmp_path / "simulation.toml"
    path.write_text(FILE)
    return Simulated(read_simulation(path))


def test_memory_shows_when_it_is_taken_and_goes_with_the_run(simulated: Simulated) -> None:
    simulated.begin("run", "gridhouse", 0, workers=4)
    card = simulated.machine.uuids[0]
    assert simulated.shown(9, "run").get(card, 0) == 0
    assert simulated.shown(1, "run")[card] == 3600
    assert simulated.shown(30, "run") == {card: 7200, RAM: 2000}
    simulated.roots.clear()
    assert [gpu.used_mb for gpu in simulated.after(1).gpus] == [500, 0]


def test_a_stranger_takes_what_is_left_and_goes(simulated: Simulated) -> None:
    simulated.begin("run", "gridhouse", 0)
    simulated.after(99)
    sample = simulated.after(1)
    (stranger,) = attribute(sample, simulated.roots).foreign[simulated.machine.uuids[0]]
    assert stranger.mb == 24576 - 500 - 6300
    assert stranger.name == "someone's server"
    assert sample.gpus[0].used_mb == 24576
    assert simulated.after(50).gpus[0].used_mb == 500 + 6300


def test_an_allocation_that_finds_no_room_fails(simulated: Simulated) -> None:
    simulated.begin("a", "greedy", 0)
    simulated.begin("b", "greedy", 0)
    simulated.after(1)
    assert [(failure.owner, failure.pool) for failure in simulated.machine.failures] == [
        ("b", simulated.machine.uuids[0])
    ]
    simulated.after(5)
    assert len(simulated.machine.failures) == 1
    assert (
        0.95 * 20000
        <= simulated.machine.peak_mb(simulated.roots[0], simulated.machine.uuids[0])
        <= 1.05 * 20000
    )
    peaks = {simulated.machine.peak_mb(root, simulated.machine.uuids[0]) for root in simulated.roots}
    assert len(peaks) == 2  # each run its own


def test_a_fault_lasts_its_time(simulated: Simulated) -> None:
    began = simulated.clock.now
    simulated.after(199)
    sample = simulated.after(5)
    assert [gpu.sampled_at - began for gpu in sample.gpus] == [204, 199]
    assert sample.problems == ("card_unreadable is simulated",)
    assert simulated.after(10).problems == ()


def test_without_cards_there_is_no_driver() -> None:
    sample = Simulated(Simulation()).after(1)
    assert (sample.driver, sample.gpus) == ("absent", ())
    assert sample.memory is not None
    assert sample.memory.total_mb == 64 * GB


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ram_mb = ", "Invalid value"),
        ("ram_mb = -1", "`$.ram_mb`"),
        ("rum_mb = 1", "unknown field `rum_mb`"),
        ("[[gpus]]\nname = 'x'", "missing required field `total_mb` - at `$.gpus[0]`"),
        ("[[loads]]\nsteps = [[1, 2.0]]", "`$.loads[0].steps[0][1]`"),
        ("[[faults]]\nkind = 'rain'", "'rain' - at `$.faults[0].kind`"),
        ("[[foreign]]\ngpu = 0", "foreign names gpu 0 of 0"),
    ],
)
def test_what_is_no_simulation(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(SimulationError, match=re.escape(problem)) as refused:
        read_simulation(path)
    assert str(refused.value).startswith(f"{path}: ")


def test_the_readme_holds_one_with_everything_there_is(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    text = (
        readme.partition("### A machine that is only thought")[2].partition("```toml")[2].partition("```")[0]
    )
    path = tmp_path / "machine.toml"
    path.write_text(text)
    found = read_simulation(path)
    assert all((found.gpus, found.loads, found.foreign, found.faults))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="No such file"):
        read_simulation(tmp_path / "none.toml")
