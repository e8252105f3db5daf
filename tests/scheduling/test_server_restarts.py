"""What a scheduler makes of a shared server that was killed, is leased, or is not to be had any more."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.scheduling.launching import NotNowError, ServerState
from engine.scheduling.need import Need, server_key
from engine.scheduling.reaper import MOST_RESTARTS
from engine.scheduling.simulation_file import SimulatedCard, Simulation
from engine.scheduling.starts import Seated
from tests.scheduling.making import GB, job, need, shared
from tests.scheduling.world import Backend, Life, World

KEY = server_key(shared("m"))
CARD = "GPU-simulated-0"


@dataclass
class Rough(World):
    """``kill`` ends a server from outside; while it is ``leased``, those of other roots use it."""

    killed: set[str] = field(default_factory=set)
    leased: bool = False
    gone: bool = False
    starts: list[Seated] = field(default_factory=list)

    def start_server(self, server: Seated) -> None:
        if self.gone:
            raise NotNowError("its owner has unloaded it")
        self.starts.append(server)
        super().start_server(server)

    def kill(self, key: str) -> None:
        self.killed.add(key)
        del self.roots[key]
        self.ended[key] = "it was killed"

    def _server(self, key: str) -> ServerState:
        state = super()._server(key)
        if key not in self.roots and key in self.killed:
            self.killed.remove(key)
            return msgspec.structs.replace(state, killed=True)
        return msgspec.structs.replace(state, leased=self.leased and state.ended is None)


def asked() -> Need:
    return need("small", nodesets=[shared("m", expected_vram_mb=GB, expected_ram_mb=GB)], marginal_vram_mb=GB)


def using(folder: Path, run: str = "a") -> tuple[Backend, Rough]:
    """A backend with a run that steps, on a server that is ready."""
    world = Rough(Simulation(gpus=(SimulatedCard(total_mb=24 * GB),)), server_ready_after=3)
    world.default_life = Life(10_000)
    of = Backend(world, folder)
    of.submit(job(run, need=asked()))
    of.run_for(6)
    assert run in of.running()
    return of, world


def test_killed_under_its_runs_it_is_started_again_on_its_cards(tmp_path: Path) -> None:
    of, world = using(tmp_path)
    world.kill(KEY)
    of.tick()
    first, again = world.starts
    assert (again.owner, again.cards, again.visible) == (KEY, first.cards, first.visible)
    assert again.cards == (CARD,)
    of.submit(job("b", need=asked()))
    of.tick()
    assert of.waiting() == {"b": "server_loading"}
    of.run_for(4)
    assert set(of.running()) == {"a", "b"}


def test_killed_again_and_again_it_is_left_at_that(tmp_path: Path) -> None:
    of, world = using(tmp_path)
    for _ in range(MOST_RESTARTS):
        world.kill(KEY)
        of.tick()
        assert KEY in world.roots
    world.kill(KEY)
    of.tick()
    assert KEY not in world.roots
    assert not of.queue.servers
    assert "a" in of.running()


def test_one_that_ended_by_itself_is_not_started_again(tmp_path: Path) -> None:
    of, world = using(tmp_path)
    world.stopping[KEY] = "it came back in another regime"
    of.run_for(3)
    assert KEY not in world.roots
    assert len(world.starts) == 1


def test_leased_by_others_it_stays_after_the_last_run_here(tmp_path: Path) -> None:
    of, world = using(tmp_path)
    world.leased = True
    of.tick()
    of.scheduler.cancel("a")
    of.run_for(5)
    assert not of.running()
    assert KEY in world.roots
    world.kill(KEY)
    of.run_for(2)
    assert KEY in world.roots
    world.leased = False
    of.run_for(3)
    assert KEY not in world.roots


def test_a_lease_that_came_before_its_unloading_keeps_it(tmp_path: Path) -> None:
    of, world = using(tmp_path)
    server = of.scheduler.tenants.servers[KEY]
    server.ending = True
    world.leased = True
    of.tick()
    assert not server.ending


def test_a_run_waits_again_where_the_server_it_was_to_use_is_gone(tmp_path: Path) -> None:
    world = Rough(Simulation(gpus=(SimulatedCard(total_mb=24 * GB),)), server_ready_after=3)
    of = Backend(world, tmp_path)
    world.gone = True
    of.submit(job("a", need=asked()))
    of.tick()
    assert [(entry.run_id, entry.failures) for entry in of.queue.jobs] == [("a", 0)]
    assert not of.queue.servers
    world.gone = False
    of.run_for(6)
    assert "a" in of.running()
