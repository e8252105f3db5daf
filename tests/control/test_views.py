"""The machine, the queue's memory and the servers as they are told, on a simulated machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.control.reports import ControlError, NotFoundError, RefusedError
from engine.scheduling.simulated import SimulatedMachine
from engine.scheduling.simulation_file import Fault, ForeignLoad, Load, SimulatedCard, Simulation
from tests.control.test_backend import request
from tests.control.waiting import wait_for, wait_until_running
from tests.fakes.live_backend import LiveControl, live
from tests.fakes.workspace import NODESET, toy_graph

GB = 1024.0
TWO_CARDS = Simulation(
    ram_mb=64 * GB,
    gpus=(SimulatedCard(total_mb=24 * GB), SimulatedCard(total_mb=12 * GB)),
    loads=(Load(match="toy", vram_mb=3 * GB, ram_mb=1 * GB),),
    foreign=(ForeignLoad(gpu=0, vram_mb=14 * GB, name="somebody"),),
)


@pytest.fixture
def cards(root: Path) -> Iterator[LiveControl]:
    with live(root, SimulatedMachine(TWO_CARDS)) as control:
        wait_for(lambda: not control.resources().problems, "the first sample")
        yield control


def test_who_holds_what(cards: LiveControl) -> None:
    run = cards.start(request("hang", marginal_vram_mb=8 * GB, gpus=["1"]))
    wait_until_running(cards, run)
    wait_for(lambda: cards.resources().gpus[1].runs_mb == {run: 3 * GB}, "its memory to be seen")
    report = cards.resources()
    assert (report.driver, report.simulated) == ("present", True)
    first, second = report.gpus
    assert [(p.name, p.mb) for p in first.foreign] == [("somebody", 14 * GB)]
    assert (first.foreign_mb, first.used_mb, first.runs_mb) == (14 * GB, 14 * GB, {})
    assert second.used_mb == 3 * GB
    assert second.reserved_mb[run] >= 5 * GB
    assert report.host.runs_mb == {run: 1 * GB}
    queue = cards.queue()
    assert queue.usable_vram_mb == 36 * GB
    assert queue.measured_free_mb[second.uuid] == 9 * GB
    assert queue.attribution[second.uuid]["jobs_mb"] == {run: 3 * GB}
    assert queue.attribution[first.uuid]["external_mb"] == 14 * GB
    (running,) = queue.running
    assert (running.gpus, running.admit_charges["vram"]) == ([second.uuid], 8 * GB)
    environment = Path(cards.show(run).path, "job.json").read_text()
    assert second.uuid in environment


def test_a_job_that_fits_no_single_card_waits_with_numbers(cards: LiveControl) -> None:
    run = cards.start(request(marginal_vram_mb=15 * GB))
    wait_for(lambda: bool(cards.queue().queued) and bool(cards.queue().queued[0].code), "its reason")
    (queued,) = cards.queue().queued
    assert queued.code in ("gpu_memory", "gpu_unmanaged_process")
    assert "15.0 GB" in queued.reason
    assert queued.estimate_mb["vram"] == 15 * GB
    wait_for(
        lambda: "15.0 GB" in Path(cards.show(run).path, "job.json").read_text(), "the reason in job.json"
    )
    assert cards.cancel(run).status == "cancelled"


def test_one_that_fits_no_card_at_all_is_refused_with_numbers(cards: LiveControl) -> None:
    with pytest.raises(
        RefusedError, match=r"needs 40\.0 GB on one GPU; the most that one can give is 2\d\.\d GB"
    ):
        cards.start(request(marginal_vram_mb=40 * GB))
    assert cards.runs() == []


def test_an_estimate_of_what_nobody_knows(cards: LiveControl) -> None:
    report = cards.estimate("toy", 1)
    vram = report.resources["vram"]
    assert (vram.estimate_mb, vram.uncalibrated, vram.basis) == (None, ["run"], {"run": "unknown"})
    assert vram.measured_free_mb == 12 * GB
    assert report.max_workers == 1
    assert len(report.gpus) == 1
    assert cards.estimate(toy_graph(), 1).graph_name == "A toy"


def test_what_cannot_be_read_is_told(root: Path) -> None:
    blind = Simulation(gpus=TWO_CARDS.gpus, faults=(Fault(kind="memory_unread"),))
    with live(root, SimulatedMachine(blind)) as control:
        wait_for(lambda: control.resources().problems == ["memory_unread is simulated"], "the problem")
        assert control.resources().host.ram_total_mb is None
        control.start(request())
        wait_for(lambda: [run.code for run in control.queue().queued] == ["sampler_stale"], "its reason")


PANEL = NODESET.replace(
    '    name = "env_toy"\n\n    async def on_load',
    '    name = "env_toy"\n    fields = [EnvPanelField("house", "select", "House")]\n\n'
    '    async def get_options(self, field):\n        return [{"value": "a"}, {"value": "b"}]\n\n'
    "    async def on_load",
).replace("BaseEnvPanel, ", "BaseEnvPanel, EnvPanelField, ")


@pytest.mark.slow
def test_an_environment_is_asked_once_for_each_source(control: LiveControl) -> None:
    path = control.root / "workspace" / "nodesets" / "env_toy.py"
    asked = control.root / "asked"

    def answer(line: str) -> None:
        body = f"        open({str(asked)!r}, 'a').write('x')\n        {line}\n"
        path.write_text(f"{PANEL}\n    async def get_eval_metadata(self):\n{body}")

    answer("return {'splits': ['val']}")
    report = control.introspect("toy")
    assert report.split == "val"
    assert (report.env_nodeset, report.loaded, report.metadata) == ("env_toy", True, {"splits": ["val"]})
    assert report.panel is not None
    assert report.panel["fields"][0]["options"] == [{"value": "a"}, {"value": "b"}]
    assert control.introspect("toy") == report
    assert asked.read_text() == "x"
    answer("return {'splits': ['test']}")
    assert control.introspect("toy").metadata == {"splits": ["test"]}
    answer("raise ValueError('no data')")
    with pytest.raises(ControlError, match="no data"):
        control.introspect("toy")
    with pytest.raises(NotFoundError, match="no graph is called"):
        control.introspect("nope")


def test_saved_graphs(control: LiveControl) -> None:
    found = {entry.name: entry for entry in control.graphs()}
    assert found["toy"].origin == "workspace"
    assert found["gridhouse_expert"].origin == "env_gridhouse"
    assert control.graph("toy")["name"] == "A toy"
    for tricky in ("../toy", str(control.root / "workspace/graphs/toy.json"), "nope"):
        with pytest.raises(NotFoundError):
            control.graph(tricky)
    assert not control.validate(toy_graph(edges=[])).ok
    assert not control.validate({"nodes": 3}).ok
    with pytest.raises(RefusedError):
        control.estimate({"nodes": 3}, 1)
