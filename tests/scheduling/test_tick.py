"""The whole scheduler on a simulated machine: what starts when, and what happens when things go wrong."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from engine.scheduling.estimates import estimate
from engine.scheduling.forecast import MOST_WORKERS, _most
from engine.scheduling.machine import Root
from engine.scheduling.need import Need, server_key
from engine.scheduling.policy import Policy
from engine.scheduling.queue import QueueError
from engine.scheduling.simulation_file import Fault, ForeignLoad, Load, SimulatedCard, Simulation
from engine.scheduling.watch import COLD_SETTLE_SEC, SETTLE_SEC
from tests.scheduling.making import GB, job, need, shared
from tests.scheduling.world import Backend, Life, World

CARD0, CARD1 = "GPU-simulated-0", "GPU-simulated-1"

LOADS = (
    Load(match="small", vram_mb=4 * GB, ram_mb=2 * GB, steps=((0, 0), (5, 1))),
    Load(match="big", vram_mb=20 * GB, ram_mb=2 * GB, steps=((0, 0), (5, 1))),
    Load(match="late", vram_mb=10 * GB, ram_mb=2 * GB, steps=((0, 0), (20, 0.5), (60, 1))),
    Load(match="m", vram_mb=12 * GB, ram_mb=2 * GB, steps=((0, 0), (5, 1))),
    Load(match="*", vram_mb=1 * GB, ram_mb=1 * GB),
)


def world(cards: int = 1, **more: Any) -> World:
    gpus = (SimulatedCard(total_mb=24 * GB),) * cards
    return World(Simulation(gpus=gpus, loads=LOADS, **more))


def backend(folder: Path, cards: int = 1, policy: Policy | None = None, **more: Any) -> Backend:
    return Backend(world(cards, **more), folder, policy or Policy())


def teach(of: Backend, *graphs: str, **more: Any) -> None:
    """Let the kinds be known, by runs that completed."""
    for graph in graphs:
        of.submit(job(f"teach {graph}", need=need(graph, **more)))
        of.drain()


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def known(of: Backend, asked: Need) -> str | None:
    vram = estimate(asked, of.calibration).run.vram
    return vram and vram.basis


def why(of: Backend, run_id: str) -> str:
    return str(of.scheduler.decisions.waiting[run_id])


def test_the_first_of_its_kind_runs_alone_until_it_is_known_what_it_takes(tmp_path: Path) -> None:
    of = backend(tmp_path, cards=2)
    teach(of, "small")
    of.world.life = {"first": Life(300, works_after=10)}
    of.submit(job("first", graph="late"), job("other", graph="small"), job("second", graph="late"))
    of.tick()
    assert set(of.running()) == {"first"}
    assert of.waiting() == {"other": "cold_start_wait", "second": "cold_start_wait"}
    of.run_for(60 + COLD_SETTLE_SEC - 2)  # all of its memory shows at 60 s
    assert set(of.running()) == {"first"}
    of.run_for(4)
    assert set(of.running()) == {"first", "other", "second"}  # the second by what the first holds
    of.drain()
    assert known(of, need("late")) == "measured"
    assert of.world.failures == []


def test_a_cold_start_that_never_settles_holds_others_back_for_a_bounded_time(tmp_path: Path) -> None:
    of = backend(tmp_path, cards=2, policy=Policy(cold_longest_sec=100))
    of.world.life = {"first": Life(300, works_after=250)}
    of.submit(job("first", graph="late"), job("other", graph="x", marginal_vram_mb=GB))
    of.run_for(99)
    assert set(of.running()) == {"first"}
    of.run_for(3)
    assert set(of.running()) == {"first", "other"}


@pytest.mark.parametrize(
    ("life", "expected"),
    [
        (Life(60), "measured"),
        (Life(60, teaches=False), None),  # its episodes were refused: what they take was not seen
        (Life(60, outcome="failed"), None),
        (Life(60, outcome="infra"), None),
        (Life(4), None),
    ],
    ids=["completed", "refused", "failed", "the box's fault", "too short"],
)
def test_what_calibrates(tmp_path: Path, life: Life, expected: str | None) -> None:
    of = backend(tmp_path)
    of.world.life = {"a": life}
    of.submit(job("a", graph="late"))
    of.drain()
    assert known(of, need("late")) == expected


def test_a_cancelled_run_does_not_calibrate(tmp_path: Path) -> None:
    of = backend(tmp_path)
    of.submit(job("a", graph="late"))
    of.run_for(40)
    assert of.scheduler.cancel("a") == "cancelling"
    of.drain()
    assert (of.world.ended["a"], known(of, need("late"))) == ("cancelled", None)


def test_what_is_yet_to_be_taken_is_reserved_and_its_margin_goes_in_the_end(tmp_path: Path) -> None:
    of = backend(tmp_path)
    teach(of, "late", "small")
    of.world.default_life = Life(1000, works_after=10)
    of.submit(*(job(f"late{number}", graph="late") for number in range(2)))
    of.tick()
    assert set(of.running()) == {"late0", "late1"}  # 10 GB and a tenth each, of 24
    of.submit(job("small", graph="x", marginal_vram_mb=3.5 * GB))
    of.run_for(60)
    assert of.waiting() == {"small": "gpu_memory"}  # 4 GB are free, and the margins are in the way
    of.run_for(SETTLE_SEC + 5)
    assert "small" in of.running()


def stream(of: Backend, seconds: float, until: str) -> float:
    """Let small jobs of 100 s come for ever, two at a time; how long it takes until the other one starts."""
    began, number = of.world.clock.now, 0
    of.world.life[until] = Life(50)
    while until not in of.running():
        assert of.world.clock.now - began < seconds, of.waiting()
        while sum(entry.run_id.startswith("s") for entry in of.queue.jobs) < 2:
            number += 1
            of.submit(job(f"s{number}", graph="small", sequence=number))
        of.tick()
    return of.world.clock.now - began


@pytest.mark.parametrize(
    "asked", [{"graph": "big"}, {"graph": "small", "exclusive_gpu": True}, {"graph": "new"}]
)
def test_nothing_starves_under_a_stream_of_small_ones(tmp_path: Path, asked: dict[str, Any]) -> None:
    """A big one, an exclusive one, and an unknown one: fair wait, then the life of a small one."""
    of = backend(tmp_path, policy=Policy(fair_wait_sec=600))
    teach(of, "small", "big")
    of.submit(*(job(f"s0{number}", graph="small") for number in range(6)))
    of.tick()
    of.submit(job("other", **asked))
    took = stream(of, 2000, "other")
    assert 100 < took <= 600 + 100 + 5
    assert of.world.failures == []


def test_a_stream_of_urgent_ones_does_not_starve_a_low_one(tmp_path: Path) -> None:
    of = backend(tmp_path, policy=Policy(fair_wait_sec=600))
    teach(of, "big")
    of.submit(job("low", graph="big", priority="low"))
    began, number = of.world.clock.now, 0
    of.submit(job("h0", graph="big", priority="high"))
    while "low" not in of.running():
        assert of.world.clock.now - began < 6 * 3600, of.waiting()
        if not any(entry.run_id.startswith("h") for entry in of.queue.jobs):
            number += 1
            of.submit(job(f"h{number}", graph="big", priority="high"))
        of.tick(10)
    assert of.world.clock.now - began > 2 * 3600  # urgent ones went first for long


def test_a_stranger_is_seen_and_named(tmp_path: Path) -> None:
    stranger = ForeignLoad(gpu=0, at_sec=1, for_sec=3000, vram_mb=21 * GB, name="vllm")
    of = backend(tmp_path, foreign=(stranger,))
    of.submit(job("a", graph="small", marginal_vram_mb=4 * GB))
    of.tick(2)
    assert why(of, "a") == (
        "gpu_memory: needs 4.0 GB; GPU 0 has 3.0 free, 21.0 taken by process 4194304 (vllm),"
        " which is not ours"
    )
    of.run_for(3000, every=50)
    assert "a" in of.running()


@pytest.mark.parametrize("kind", ["card_unreadable", "driver_failing", "memory_unread", "disk_full"])
def test_what_cannot_be_read_admits_nothing_until_it_can(tmp_path: Path, kind: Any) -> None:
    of = backend(tmp_path, faults=(Fault(kind=kind, at_sec=5, for_sec=100),))
    of.tick()
    of.run_for(10)
    of.submit(job("a", graph="small", marginal_vram_mb=GB))
    of.run_for(90)
    assert of.waiting() == {"a": "disk_low" if kind == "disk_full" else "sampler_stale"}
    assert not of.running()
    of.run_for(10)
    assert set(of.running()) == {"a"}


def test_hidden_processes_make_it_careful_and_teach_nothing(tmp_path: Path) -> None:
    of = backend(tmp_path, faults=(Fault(kind="processes_hidden", for_sec=1e9),))
    of.submit(
        job("a", graph="late", marginal_vram_mb=10 * GB), job("b", graph="small", marginal_vram_mb=5 * GB)
    )
    of.run_for(1)
    assert set(of.running()) == {"a", "b"}
    of.run_for(70)
    of.submit(job("c", graph="small", marginal_vram_mb=5 * GB))
    of.run_for(5)
    # 14 GB are used, and may be anyone's: the 15 that are claimed are counted beside them.
    assert of.waiting() == {"c": "gpu_memory"}
    of.drain()
    assert known(of, need("late")) is None


def test_the_impossible_is_refused_at_once(tmp_path: Path) -> None:
    of = backend(tmp_path)
    of.submit(job("a", graph="small", marginal_vram_mb=25 * GB))
    of.tick()
    assert of.world.ended["a"].startswith("error: infeasible: needs 25.0 GB on one GPU")
    assert not of.queue.jobs


def test_dependencies(tmp_path: Path) -> None:
    of = backend(tmp_path)
    teach(of, "small")
    of.statuses["old"] = "completed"
    of.submit(
        job("a", graph="small"),
        job("b", graph="small", depends_on=("a", "old")),
        job("c", graph="small", depends_on=("b",)),
    )
    of.run_for(50)
    assert set(of.running()) == {"a"}
    assert why(of, "c") == "dependency: waits for b to complete"
    of.statuses["a"] = "completed"
    of.run_for(60)
    assert set(of.running()) == {"b"}
    of.run_for(100)
    of.statuses["b"] = "error"
    of.run_for(20)
    assert of.waiting() == {"c": "dependency_failed"}
    of.submit(job("b", graph="small"))  # it is resumed
    of.tick()
    assert of.waiting() == {"c": "dependency"}
    of.statuses["b"] = "completed"
    of.drain()


def test_the_time_limit_cancels(tmp_path: Path) -> None:
    of = backend(tmp_path)
    of.world.default_life = Life(10_000)
    of.submit(job("a", graph="small", timeout_sec=120.0))
    of.run_for(119)
    assert set(of.running()) == {"a"}
    of.run_for(5)
    assert of.world.ended["a"] == "cancelled"
    assert not of.queue.admitted


def test_what_the_box_failed_is_tried_again_as_often_as_was_asked(tmp_path: Path) -> None:
    of = backend(tmp_path)
    of.world.default_life = Life(20, outcome="infra")
    of.submit(job("a", graph="small", retries=2))
    of.run_for(22)
    assert why(of, "a").startswith("backoff: so it was meant; failure 1, tried again in ")
    of.run_for(12)
    assert set(of.running()) == {"a"}
    of.run_for(50)
    of.drain()
    assert of.world.ended["a"] == "infra"


def test_what_cannot_be_started_waits_and_is_tried_again(tmp_path: Path) -> None:
    of = backend(tmp_path)
    of.world.refuse["a"] = "too many open files"
    of.submit(job("a", graph="small", marginal_vram_mb=GB))
    of.run_for(2)
    assert why(of, "a").startswith("backoff: too many open files; failure 1, tried again in ")
    assert not of.queue.admitted
    of.world.refuse.clear()
    of.run_for(15)
    assert set(of.running()) == {"a"}


def test_cancelling_what_waits(tmp_path: Path) -> None:
    of = backend(tmp_path)
    of.submit(job("a", graph="small"), job("b", graph="small"))
    assert of.scheduler.cancel("b") == "cancelled"
    assert of.world.ended["b"] == "cancelled: cancelled before it was started"
    assert [entry.run_id for entry in of.queue.jobs] == ["a"]
    with pytest.raises(QueueError, match="b is not queued"):
        of.scheduler.cancel("b")


def test_a_cancelled_one_that_cannot_be_taken_out_yet_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = backend(tmp_path)
    of.submit(job("a", graph="small"))
    with monkeypatch.context() as patched:
        patched.setattr("engine.scheduling.queue.write_json", full_disk)
        with pytest.raises(OSError, match="No space left"):
            of.scheduler.cancel("a")
        of.run_for(2)
    assert of.world.ended["a"].startswith("cancelled")
    of.run_for(2)
    assert (of.running(), of.queue.jobs) == ({}, [])


def test_paused_held_and_played(tmp_path: Path) -> None:
    of = backend(tmp_path)
    of.submit(job("a", graph="small", marginal_vram_mb=GB), job("b", graph="small", marginal_vram_mb=GB))
    of.queue.pause()
    of.tick()
    assert of.waiting() == {"a": "queue_paused", "b": "queue_paused"}
    of.queue.resume()
    of.queue.hold("a")
    of.scheduler.playing = "play1"
    of.tick()
    assert of.waiting() == {"a": "held", "b": "interactive"}
    of.scheduler.playing = None
    of.scheduler.admitting = False
    of.tick()
    assert not of.running()
    of.scheduler.admitting = True
    of.tick()
    assert set(of.running()) == {"b"}
    of.queue.release("a")
    of.tick()
    assert set(of.running()) == {"a", "b"}


class TestServers:
    """One server for all who use it, from the first to the last."""

    KEY = server_key(shared("m"))

    def asked(self, graph: str = "small", name: str = "m") -> Need:
        return need(graph, nodesets=[shared(name)])

    def taught(self, folder: Path, cards: int = 1) -> Backend:
        of = backend(folder, cards)
        of.submit(job("teach", need=self.asked()))
        of.drain()
        of.run_for(2)
        return of

    def test_it_is_measured_loaded_once_and_unloaded_after_its_last_user(self, tmp_path: Path) -> None:
        of = self.taught(tmp_path)
        assert self.KEY not in of.world.roots
        server = estimate(self.asked(), of.calibration).parts[1].vram
        assert server is not None
        assert (server.mb, server.basis) == (12 * GB, "measured")
        of.world.life = {"a": Life(100), "b": Life(200)}
        of.submit(job("a", need=self.asked()), job("b", need=self.asked()))
        of.tick()
        assert set(of.world.roots) == {self.KEY}
        assert [entry.job.run_id for entry in of.queue.admitted] == ["a", "b"]
        of.run_for(29)
        assert not of.running()
        assert why(of, "a") == "server_loading: it starts when the server m can be used"
        of.run_for(3)
        assert set(of.running()) == {"a", "b"}
        of.run_for(110)
        assert set(of.world.roots) == {self.KEY, "b"}
        of.drain()
        of.run_for(2)
        assert self.KEY not in of.world.roots
        assert not of.queue.servers

    def test_a_waiting_user_takes_it_over(self, tmp_path: Path) -> None:
        of = self.taught(tmp_path)
        exclusive = need("small", nodesets=[shared("m")], exclusive_gpu=True)
        of.submit(job("a", need=exclusive), job("b", need=exclusive))
        of.run_for(40)
        pid = of.world.roots[self.KEY].pid
        assert set(of.running()) == {"a"}
        of.run_for(100)
        assert set(of.running()) == {"b"}
        assert of.world.roots[self.KEY].pid == pid

    def test_one_that_the_operator_keeps_stays(self, tmp_path: Path) -> None:
        of = self.taught(tmp_path)
        assert of.scheduler.keep_server(shared("m")) is None
        of.run_for(100)
        assert of.world.roots[self.KEY].gpus == (CARD0,)
        of.submit(job("a", need=self.asked()))
        of.tick()
        assert set(of.running()) == {"a"}
        of.drain()
        of.run_for(5)
        assert self.KEY in of.world.roots
        of.restart()
        of.run_for(5)
        assert self.KEY in of.world.roots
        of.scheduler.release_server(self.KEY)
        of.run_for(2)
        assert self.KEY not in of.world.roots
        with pytest.raises(QueueError, match="is not loaded"):
            of.scheduler.release_server(self.KEY)

    def test_one_for_which_there_is_no_room_is_not_kept(self, tmp_path: Path) -> None:
        of = self.taught(tmp_path)
        teach(of, "big")
        of.submit(job("big", graph="big"))
        of.tick()
        reason = of.scheduler.keep_server(shared("m"))
        assert reason is not None
        assert reason.code == "gpu_memory"
        assert self.KEY not in of.world.roots

    def test_one_that_does_not_start_frees_what_it_took(self, tmp_path: Path) -> None:
        of = self.taught(tmp_path)
        of.world.refuse[self.KEY] = "no such file: weights.pt"
        of.submit(job("a", need=self.asked()), job("b", need=self.asked(), retries=1))
        of.tick()
        assert of.world.ended["a"] == "error: the server m did not start: no such file: weights.pt"
        of.tick()
        assert why(of, "b").startswith("backoff: the server m did not start: no such file: weights.pt")
        assert (list(of.queue.admitted), list(of.queue.servers)) == ([], [])
        of.world.refuse.clear()
        of.run_for(60)
        assert set(of.running()) == {"b"}

    def test_one_that_dies_while_it_loads_is_one_that_did_not_start(self, tmp_path: Path) -> None:
        of = self.taught(tmp_path)
        of.submit(job("a", need=self.asked()))
        of.run_for(3)
        of.world.stopping[self.KEY] = "signal SIGKILL (9)"
        of.run_for(2)
        assert of.world.ended["a"] == "error: the server m did not start: signal SIGKILL (9)"
        assert not of.queue.admitted

    def test_a_run_that_waits_for_its_server_can_be_cancelled(self, tmp_path: Path) -> None:
        of = self.taught(tmp_path)
        of.submit(job("a", need=self.asked()))
        of.run_for(3)
        assert of.scheduler.cancel("a") == "cancelled"
        of.run_for(2)
        assert of.world.roots == {}
        assert not of.queue.servers

    def test_another_source_is_another_server(self, tmp_path: Path) -> None:
        of = self.taught(tmp_path, cards=2)
        changed = need("small", nodesets=[shared("m", source="bb")], marginal_vram_mb=12 * GB)
        of.submit(job("a", need=self.asked()), job("b", need=changed))
        of.run_for(3)
        assert len([owner for owner in of.world.roots if owner.startswith("server:m@")]) == 2


class TestRestart:
    """A scheduler that ends at any moment loses and doubles nothing."""

    def test_what_runs_is_taken_up_and_what_waits_waits(self, tmp_path: Path) -> None:
        of = backend(tmp_path)
        teach(of, "small")
        of.submit(*(job(f"r{number}", graph="small") for number in range(8)))
        of.tick()
        running = set(of.running())
        assert 0 < len(running) < 8
        of.restart()
        of.tick()
        assert set(of.running()) == running
        of.drain()
        assert {run: how for run, how in of.world.ended.items() if run.startswith("r")} == {
            f"r{number}": "completed" for number in range(8)
        }

    def test_one_that_was_let_in_but_never_began_is_queued_again(self, tmp_path: Path) -> None:
        of = backend(tmp_path)
        teach(of, "small")
        of.submit(job("a", graph="small"), job("b", graph="small"))

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        of.world.start_run, start = crash, of.world.start_run  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            of.tick()
        of.world.start_run = start  # type: ignore[method-assign]
        assert len(of.queue.admitted) == 2
        of.restart()
        assert [entry.run_id for entry in of.queue.jobs] == ["a", "b"]
        of.tick()
        assert set(of.running()) == {"a", "b"}

    def test_what_ended_meanwhile_is_found_out(self, tmp_path: Path) -> None:
        of = backend(tmp_path)
        of.submit(job("a", graph="small"))
        of.run_for(20)
        of.world.clock.now += 5000
        of.restart()
        of.tick()
        assert of.world.ended["a"] == "completed"
        assert not of.queue.admitted
        assert known(of, need("small")) is None  # it was not seen from its start

    def test_a_run_of_an_earlier_boot_is_for_the_launcher_to_tell(self, tmp_path: Path) -> None:
        of = backend(tmp_path)
        of.submit(job("a", graph="small"))
        of.tick()
        path = tmp_path / "queue.json"
        path.write_text(path.read_text().replace('"boot_id": "', '"boot_id": "x'))
        of.world.roots.clear()
        of.world.ended["a"] = "aborted"
        of.restart()
        of.tick()
        assert not of.queue.admitted

    def test_servers_are_taken_up_too(self, tmp_path: Path) -> None:
        of = TestServers().taught(tmp_path)
        of.submit(job("a", need=TestServers().asked()))
        of.run_for(40)
        key = TestServers.KEY
        pid = of.world.roots[key].pid
        of.restart()
        of.run_for(3)
        assert of.world.roots[key].pid == pid
        of.drain()
        of.run_for(2)
        assert key not in of.world.roots


def test_what_cannot_be_written_is_not_done_and_done_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    of = backend(tmp_path)
    teach(of, "small")
    of.world.life = {"a": Life(10)}
    of.submit(job("a", graph="small"))
    of.tick()
    of.submit(job("b", graph="small", marginal_vram_mb=4 * GB))

    with monkeypatch.context() as patched:
        patched.setattr("engine.scheduling.queue.write_json", full_disk)
        of.run_for(30)
        assert of.world.ended["a"] == "completed"
        assert of.running() == {}
        assert [entry.job.run_id for entry in of.queue.admitted] == ["a"]
        assert "No space left on device" in caplog.text
    of.run_for(2)
    assert set(of.running()) == {"b"}
    assert [entry.job.run_id for entry in of.queue.admitted] == ["b"]


class TestForecast:
    def test_what_it_would_take(self, tmp_path: Path) -> None:
        of = backend(tmp_path)
        teach(of, "small", workers=1)
        of.tick()
        found = of.scheduler.forecast(need("small", workers=1))
        assert (found.refused, found.waits, found.estimate.uncalibrated) == (None, None, [])
        assert found.estimate.run.vram is not None
        assert found.estimate.run.vram.mb == 4 * GB
        assert found.max_workers == 6  # 4 GB each; alone, it needs no margin

    @pytest.mark.parametrize("most", [0, 1, 2, 3, 6, 255, 256])
    def test_the_most_workers_are_found(self, most: int) -> None:
        asked: list[int] = []
        assert _most(lambda workers: not asked.append(workers) and workers <= most) == most
        assert len(asked) <= 18

    def test_no_number_of_workers_is_unbounded(self) -> None:
        assert _most(lambda workers: True) == MOST_WORKERS

    def test_while_others_run(self, tmp_path: Path) -> None:
        of = backend(tmp_path)
        teach(of, "small", "big")
        of.submit(job("big", graph="big"))
        of.run_for(20)
        found = of.scheduler.forecast(need("small"))
        assert found.waits is not None
        assert (found.waits.code, found.max_workers, found.refused) == ("gpu_memory", 0, None)

    def test_what_can_never_be(self, tmp_path: Path) -> None:
        of = backend(tmp_path)
        assert of.scheduler.forecast(need()).waits is not None  # before the first tick nothing is known
        of.tick()
        found = of.scheduler.forecast(need(marginal_vram_mb=25 * GB))
        assert found.refused is not None
        assert found.refused.code == "infeasible"

    def test_of_the_unknown_one_worker_starts(self, tmp_path: Path) -> None:
        of = backend(tmp_path)
        of.tick()
        found = of.scheduler.forecast(need(workers=3))
        assert (found.waits, found.max_workers, found.estimate.run.vram) == (None, 1, None)
        assert found.estimate.uncalibrated == ["run"]


def test_every_run_gets_the_cards_that_it_was_given(tmp_path: Path) -> None:
    of = backend(tmp_path, cards=2)
    teach(of, "big")
    of.submit(job("a", graph="big"), job("b", graph="big"), job("c", graph="x", marginal_vram_mb=0.0))
    of.tick()
    assert of.running() == {"a": (CARD0,), "b": (CARD1,), "c": ()}
    root: Root = of.world.roots["a"]
    assert of.world.machine.peak_mb(root, CARD0) == 20 * GB


def test_the_memory_of_one_that_has_just_ended_is_on_its_way_back(tmp_path: Path) -> None:
    """A sample from before its end still shows it. It is no stranger, whose memory would not come back."""
    of = backend(tmp_path)
    teach(of, "big", "small")
    of.world.default_life = Life(1000)
    of.world.life = {"a": Life(100)}
    of.submit(job("a", graph="small"), job("b", graph="small"))
    of.run_for(60)
    of.submit(job("big", graph="big", eligible_since=of.world.clock.now - 700), job("late", graph="small"))
    last = of.world.observe([])
    of.scheduler._observe = lambda roots: last
    of.run_for(2)
    del of.world.roots["a"]
    of.world.ended["a"] = "completed"
    of.run_for(2)
    assert "a" not in of.scheduler.tenants.runs
    assert why(of, "late").startswith("fair_wait: GPU 0 is kept for big")
    assert [root.owner for root in of.scheduler.tenants.roots()] == ["b", "a"]
    of.scheduler._observe = of.world.observe
    of.run_for(1)
    assert [root.owner for root in of.scheduler.tenants.roots()] == ["b"]


def test_one_that_has_ended_is_not_told_as_one_that_others_wait_to_know(tmp_path: Path) -> None:
    of = backend(tmp_path)
    of.submit(job("first"), job("second"))
    of.run_for(3)
    assert why(of, "second").startswith("cold_start_wait: first is the first of its kind")
    of.statuses["first"] = "completed"  # by its files: its shim is still there
    of.tick()
    assert why(of, "second") == "cold_start_wait: first is completed, and its last processes are ending"
