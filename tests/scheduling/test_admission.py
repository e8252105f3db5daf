"""Tables of a machine, its tenants and a queue: who starts where, and why the others wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.scheduling.accounts import Waiting
from engine.scheduling.admission import decide
from engine.scheduling.attribution import attribute
from engine.scheduling.estimates import RUN, Estimate, Figure, Part
from engine.scheduling.policy import Policy
from engine.store.settings import Admission
from tests.scheduling.making import GB, NOW, Box, neighbours

TABLE = {
    # Two cards are never added up.
    "10 + 12 free, 15 needed": (
        Box([24, 24]).stranger(0, 14).stranger(1, 12).job("a", 15),
        {"a": "gpu_memory"},
    ),
    "fits the one that has room": (Box([24, 24]).stranger(0, 14).job("a", 15), {"a": "1"}),
    "two fit beside each other": (Box([24]).job("a", 10).job("b", 12), {"a": "0", "b": "0"}),
    "the second does not": (Box([24]).job("a", 10).job("b", 15), {"a": "0", "b": "gpu_memory"}),
    "a smaller one passes it": (
        Box([24]).job("a", 10).job("b", 15).job("c", 12),
        {"a": "0", "b": "gpu_memory", "c": "0"},
    ),
    "one that needs no GPU gets none": (Box([24]).stranger(0, 24).job("a", 0), {"a": "no card"}),
    # Reservations.
    "what is claimed and not yet held is reserved": (
        Box([24]).runs("r", 0, claim=20, holds=5).job("a", 6),
        {"a": "gpu_memory"},
    ),
    "what is held is not counted twice": (Box([24]).runs("r", 0, claim=20, holds=20).job("a", 4), {"a": "0"}),
    "a margin is reserved until it has settled": (
        Box([24]).runs("r", 0, claim=18, holds=18, margin=2).job("a", 5),
        {"a": "gpu_memory"},
    ),
    "and goes with it": (
        Box([24]).runs("r", 0, claim=18, holds=18, margin=2, settled=True).job("a", 5),
        {"a": "0"},
    ),
    "what it once held may come back": (
        Box([24]).runs("r", 0, claim=10, holds=10, peaks={"GPU-0": 14 * GB}, settled=True).job("a", 12),
        {"a": "gpu_memory"},
    ),
    # A margin protects others: alone on a card it asks for none.
    "nearly as large as its card": (Box([24]).job("a", 23, margin=2), {"a": "0"}),
    "the same beside another": (Box([24]).runs("r", 0, 1, 1).job("a", 22, margin=2), {"a": "gpu_memory"}),
    # Main memory.
    "RAM gates too": (Box([24], ram=40).job("a", 1, ram=20).job("b", 1, ram=20), {"a": "0", "b": "ram"}),
    "reserved RAM": (
        Box([24], ram=40).runs("r", None, ram=30, ram_holds=2).job("a", 1, ram=8),
        {"a": "ram"},
    ),
    # Infeasible.
    "more than any card": (Box([24, 40]).job("a", 41).job("b", 40), {"a": "infeasible!", "b": "1"}),
    "more than the RAM": (Box([24], ram=40).job("a", 1, ram=37), {"a": "infeasible!"}),
    "more than may be used": (
        Box([24], usable_gb=16).job("a", 17).job("b", 16),
        {"a": "infeasible!", "b": "0"},
    ),
    "two parts that fit only apart": (Box([24]).job("a", 14, servers={"m": 14}), {"a": "infeasible!"}),
    "no such card": (Box([24]).job("a", 1, gpus=("3",)), {"a": "infeasible!"}),
    "declared, on a machine without GPU": (
        Box([]).job("a", 8, marginal_vram_mb=8192),
        {"a": "infeasible!"},
    ),
    "declared, where neither a driver nor the operator says what there is": (
        Box([], driver="absent").job("a", 8, marginal_vram_mb=8192).job("b", 8, marginal_vram_mb=8192),
        {"a": "no card", "b": "no card"},
    ),
    # Cards that are asked for.
    "pinned": (Box([24, 24]).job("a", 1, gpus=("1",)), {"a": "1"}),
    "pinned by UUID": (Box([24, 24]).job("a", 1, gpus=("GPU-1",)), {"a": "1"}),
    "pinned to two": (Box([24, 24]).job("a", 20, gpus=("0", "1")), {"a": "0+1"}),
    "pinned to two, one full": (
        Box([24, 24]).stranger(1, 10).job("a", 20, gpus=("0", "1")),
        {"a": "gpu_memory"},
    ),
    # Exclusive.
    "exclusive waits for an empty card": (
        Box([24, 24]).runs("r", 0, 1, 1).runs("s", 1, 1, 1).job("a", 4, exclusive_gpu=True),
        {"a": "exclusive_wait"},
    ),
    "and has it alone": (
        Box([24]).job("a", 4, exclusive_gpu=True).job("b", 1).job("c", 0),
        {"a": "0", "b": "exclusive_held", "c": "no card"},
    ),
    "others take the other card": (
        Box([24, 24]).runs("r", 0, 4, 4, exclusive=True).job("b", 1),
        {"b": "1"},
    ),
    "a stranger has the memory that it needs": (
        Box([24]).stranger(0, 21).job("a", 8, exclusive_gpu=True),
        {"a": "gpu_unmanaged_process"},
    ),
    "one of which nothing is known takes an empty card": (
        Box([24, 24]).runs("r", 0, 1, 1).job("a", None, exclusive_gpu=True).job("b", 4),
        {"a": "1", "b": "0"},
    ),
    # Cold start.
    "unknown starts alone on a card, and holds others back": (
        Box([24]).job("a", None).job("b", 1),
        {"a": "0", "b": "cold_start_wait"},
    ),
    "unknown waits for an empty card": (
        Box([24]).runs("r", 0, 1, 1).job("a", None),
        {"a": "cold_start_wait"},
    ),
    "others wait while it has not settled": (
        Box([24, 24]).runs("r", 0, cold=True).job("a", 1),
        {"a": "cold_start_wait"},
    ),
    "what is only scored takes next to nothing, and waits for none": (
        Box([24]).runs("r", 0, cold=True).job("a", 0, ram=1, kind="score").job("b", 1),
        {"a": "no card", "b": "cold_start_wait"},
    ),
    "and for the queue as others do": (
        Box([24], more={"paused": True}).job("a", 0, ram=1, kind="score"),
        {"a": "queue_paused"},
    ),
    "and start beside it then, with room for its growth": (
        Box([24])
        .runs("r", 0, holds=8, peaks={"GPU-0": 8 * GB}, cold=True, settled=True)
        .job("a", 14)
        .job("b", 13),
        {"a": "gpu_memory", "b": "0"},
    ),
    "a card that strangers half fill is too small for it": (
        Box([24]).stranger(0, 13).job("a", None),
        {"a": "gpu_unmanaged_process"},
    ),
    "without GPU it has the machine alone": (
        Box([], driver="absent").runs("r", None).job("a", 0, marginal_vram_mb=0),
        {"a": "no card"},
    ),
    # What was not measured admits nothing.
    "stale cards": (
        Box([24, 24], ages={0: 9, 1: 9}).job("a", 1).job("b", 0),
        {"a": "sampler_stale", "b": "no card"},
    ),
    "one stale card": (Box([24, 24], ages={0: 9}).job("a", 1), {"a": "1"}),
    "everything stale": (
        Box([24], age=9).job("a", 1).job("b", 0),
        {"a": "sampler_stale", "b": "sampler_stale"},
    ),
    "no card was ever read": (Box([], driver="failing").job("a", 1), {"a": "sampler_stale"}),
    "more than any card, when not every card was read": (
        Box([24], problems=("GPU 1: Unknown Error",)).job("a", 41),
        {"a": "gpu_memory"},
    ),
    "pinned to one that was not read": (
        Box([24], problems=("GPU 1: Unknown Error",)).job("a", 1, gpus=("1",)),
        {"a": "sampler_stale"},
    ),
    "RAM not read": (Box([24], unread=True).job("a", 1), {"a": "sampler_stale"}),
    # Nothing at all starts.
    "paused": (Box([24], more={"paused": True}).job("a", 1), {"a": "queue_paused"}),
    "played by hand": (Box([24], more={"playing": "p"}).job("a", 1), {"a": "interactive"}),
    "disk": (Box([24], disk_gb=1.5).job("a", 1), {"a": "disk_low"}),
    "ledger": (Box([24], more={"ledger_busy": "x"}).job("a", 1), {"a": "ledger_busy"}),
    # The job itself.
    "held": (Box([24]).job("a", 1, held=True).job("b", 1), {"a": "held", "b": "0"}),
    "backoff": (
        Box([24]).job("a", 1, not_before=NOW + 5).job("b", 1, not_before=NOW),
        {"a": "backoff", "b": "0"},
    ),
    "dependency": (
        Box([24], more={"outcomes": {"x": "running", "y": "completed", "z": "aborted"}})
        .job("a", 1, depends_on=("y",))
        .job("b", 1, depends_on=("y", "x"))
        .job("c", 1, depends_on=("x", "z"))
        .job("d", 1, depends_on=("gone",)),
        {"a": "0", "b": "dependency", "c": "dependency_failed", "d": "dependency_failed"},
    ),
    # Without a driver what is declared counts.
    "declared ledger": (
        Box([], driver="absent", usable_gb=16)
        .job("a", 10, marginal_vram_mb=10240)
        .job("b", 8, marginal_vram_mb=8192)
        .job("c", 6, marginal_vram_mb=6144),
        {"a": "declared", "b": "gpu_memory", "c": "declared"},
    ),
    # Shared servers.
    "a server that runs costs nothing": (
        Box([24]).serves("m", 0, claim=12, holds=12).job("a", 8, servers={"m": 12}),
        {"a": "0"},
    ),
    "one that does not goes where it fits": (
        Box([24, 24]).stranger(0, 14).job("a", 8, servers={"m": 20}),
        {"a": "0"},
    ),
    "it is loaded once": (
        Box([24]).job("a", 4, servers={"m": 12}).job("b", 4, servers={"m": 12}),
        {"a": "0", "b": "0"},
    ),
    "it grows with its users": (
        Box([24]).serves("m", 0, claim=12, holds=12).stranger(0, 8).job("a", 0, servers={"m": 17}),
        {"a": "gpu_memory"},
    ),
    "it is on its way out": (
        Box([24]).serves("m", 0, 12, 12, ending=True).job("a", 1, servers={"m": 12}),
        {"a": "server_ending"},
    ),
    "an unknown one makes a cold start": (
        Box([24]).runs("r", 0, 1, 1).job("a", 1, servers={"m": None}),
        {"a": "cold_start_wait"},
    ),
    # Other backends.
    "what others are yet to take": (
        Box([24], more=neighbours(pending={"GPU-0": 20 * GB})).job("a", 5),
        {"a": "gpu_memory"},
    ),
    "their exclusive card": (
        Box([24, 24], more=neighbours(exclusive=frozenset({"GPU-0"}))).job("a", 5),
        {"a": "1"},
    ),
    "their cold start": (Box([24], more=neighbours(cold="x of /y")).job("a", 5), {"a": "cold_start_wait"}),
    "theirs has waited longer to start alone": (
        Box([24], more=neighbours(waiting=(Waiting("/y", NOW - 9, NOW - 1),))).job("a", None, waited=5),
        {"a": "cold_start_wait"},
    ),
    "theirs has waited for less": (
        Box([24], more=neighbours(waiting=(Waiting("/y", NOW - 9, NOW - 1),))).job("a", None, waited=12),
        {"a": "0"},
    ),
    "whoever has stopped telling is not waited for": (
        Box([24], more=neighbours(waiting=(Waiting("/y", NOW - 99, NOW - 9),))).job("a", None, waited=5),
        {"a": "0"},
    ),
    "what is known does not wait for them": (
        Box([24], more=neighbours(waiting=(Waiting("/y", NOW - 9, NOW - 1),))).job("a", 5, waited=5),
        {"a": "0"},
    ),
    "a card of theirs is not empty": (
        Box([24], more=neighbours(occupied=frozenset({"GPU-0"}))).job("a", 5, exclusive_gpu=True),
        {"a": "exclusive_wait"},
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_table(name: str) -> None:
    box, expected = TABLE[name]
    assert box.told() == expected


FAIR = {
    "passed over while it has not waited long": (599, {"big": "gpu_memory", "small": "0"}),
    "then nothing starts that would delay it": (600, {"big": "gpu_memory", "small": "fair_wait"}),
}


@pytest.mark.parametrize("name", FAIR)
def test_fair_wait(name: str) -> None:
    waited, expected = FAIR[name]
    box = Box([24]).runs("r", 0, 6, 6).job("big", 20, waited=waited).job("small", 5)
    assert box.told() == expected


HOLDS = {
    # 20 of 24 GB can be had when r ends; 4 beside it delay nobody.
    "what fits beside the holder": (
        Box([24]).runs("r", 0, 12, 12).job("big", 20, waited=999).job("s", 4),
        "0",
    ),
    "what does not": (Box([24]).runs("r", 0, 12, 12).job("big", 20, waited=999).job("s", 5), "fair_wait"),
    # big could start when r1 ends, though r2 stays; with s it could not.
    "whoever ends first": (
        Box([24]).runs("r1", 0, 6, 6).runs("r2", 0, 6, 6).job("big", 17, waited=999).job("s", 3),
        "fair_wait",
    ),
    "another card": (
        Box([24, 24]).runs("r1", 0, 9, 9).runs("r2", 1, 12, 12).job("big", 20, waited=999).job("s", 5),
        "1",
    ),
    "the card that was kept before": (
        Box([24, 24], more={"held_cards": {"big": ("GPU-1",)}})
        .runs("r1", 0, 9, 9)
        .runs("r2", 1, 12, 12)
        .job("big", 20, waited=999)
        .job("s", 5),
        "0",
    ),
    "RAM is kept too": (
        Box([24, 24], ram=36)
        .runs("r", 0, 20, 20, ram=20)
        .job("big", 1, ram=28, waited=999)
        .job("s", 1, ram=6),
        "fair_wait",
    ),
    "RAM that is enough for both": (
        Box([24, 24], ram=36)
        .runs("r", 0, 20, 20, ram=20)
        .job("big", 1, ram=28, waited=999)
        .job("s", 1, ram=4),
        "1",
    ),
    "an exclusive one keeps its card whole": (
        Box([24]).runs("r", 0, 1, 1).job("big", 4, waited=999, exclusive_gpu=True).job("s", 1),
        "fair_wait",
    ),
    "one of which nothing is known as well": (
        Box([24]).runs("r", 0, 1, 1).job("big", None, waited=999).job("s", 1),
        "fair_wait",
    ),
    "but no other card": (
        Box([24, 24])
        .runs("r", 0, 1, 1)
        .runs("q", 1, 1, 1)
        .job("big", 4, waited=999, exclusive_gpu=True)
        .job("s", 1),
        "1",
    ),
    "a server on its card would stay": (
        Box([24, 24])
        .serves("m", 0, 8, 8, users=["r"])
        .runs("r", 1, 9, 9)
        .stranger(1, 1)
        .job("big", 24, waited=999)
        .job("s", 1, servers={"m": 8}),
        "fair_wait",
    ),
    "waiting does not make a stranger go": (
        Box([24]).stranger(0, 8).job("big", 20, waited=999).job("s", 4),
        "0",
    ),
    "nor a server that the operator keeps": (
        Box([24]).serves("m", 0, 8, 8, lasting=True).job("big", 20, waited=999).job("s", 4),
        "0",
    ),
}


@pytest.mark.parametrize("name", HOLDS)
def test_what_a_hold_lets_through(name: str) -> None:
    box, expected = HOLDS[name]
    told = box.told()
    assert told.pop("s") == expected
    assert "0" not in told.values()  # big itself waits


def test_two_that_have_waited_keep_two_cards() -> None:
    box = Box([24, 24]).runs("r", 0, 8, 8).runs("q", 1, 8, 8)
    box.job("one", 20, waited=999).job("two", 20, waited=999).job("s", 6)
    assert box.decide().held_cards == {"one": ("GPU-0",), "two": ("GPU-1",)}
    assert box.told()["s"] == "fair_wait"


def test_the_sentence_for_memory() -> None:
    box = Box([24, 6]).runs("20260518_143052", 0, claim=18.9, holds=16.9).job("a", 9.5)
    box.stranger(1, 2, pid=77, name="vllm")
    assert str(box.why("a")) == (
        "gpu_memory: needs 9.5 GB; GPU 0 has 7.1 free, 2.0 of it reserved by 20260518_143052;"
        " GPU 1 has 4.0 free, 2.0 taken by process 77 (vllm), which is not ours"
    )


def test_what_another_backends_run_takes_is_told_as_that() -> None:
    box = Box([24]).stranger(0, 21).job("a", 8)
    usage = attribute(box.sample(), [], {4242: "x of /b"})
    state = replace(box.state(), usage=usage)
    assert str(decide(state, box.sample(), NOW).waiting["a"]) == (
        "gpu_memory: needs 8.0 GB; GPU 0 has 3.0 free, 21.0 taken by process 4242 (python) of x of /b"
    )


def test_a_stranger_that_takes_21_gb_is_seen_and_named() -> None:
    box = Box([24]).job("a", 8)
    assert box.told() == {"a": "0"}
    assert str(box.stranger(0, 21).why("a")) == (
        "gpu_memory: needs 8.0 GB; GPU 0 has 3.0 free, 21.0 taken by process 4242 (python), which is not ours"
    )


SENTENCES: dict[str, Box] = {
    "infeasible: needs 25.0 GB on one GPU; the most that one can give is 24.0 GB, GPU 0": Box([24, 12]).job(
        "a", 25
    ),
    "infeasible: needs 40.0 GB of RAM; this machine can give 36.0 GB": Box([24], ram=40).job("a", 1, ram=40),
    "infeasible: asks for GPU 3; this machine has GPU 0 and GPU 1": Box([24, 24]).job("a", 1, gpus=("3",)),
    "infeasible: needs 8.0 GB of GPU memory, and this machine shows no GPU; where it has one without NVIDIA"
    " driver, say how much may be used: usable_vram_mb under [admission] in evaltower.toml": Box([]).job(
        "a", 8, marginal_vram_mb=8192
    ),
    "sampler_stale: the memory of GPU 0 was last read 12 s ago (GPU 0: GPU is lost)": Box(
        [24], ages={0: 12}, problems=("GPU 0: GPU is lost",)
    ).job("a", 1),
    "sampler_stale: not every GPU can be read (NVML: Unknown Error)": Box(
        [], driver="failing", problems=("NVML: Unknown Error",)
    ).job("a", 1),
    "ram: needs 12.0 GB of RAM; 16.0 are free, 10.0 of it reserved by r, 18.0 taken by process 7 (java),"
    " which is not ours": Box([24], ram=40)
    .runs("r", None, ram=12, ram_holds=2)
    .process(7, "java", 18)
    .job("a", 1, ram=12),
    "exclusive_wait: it needs a GPU to itself; GPU 0 is used by r": Box([24])
    .runs("r", 0, 1, 1)
    .job("a", 1, exclusive_gpu=True),
    "exclusive_held: GPU 0 is held exclusively by r": Box([24])
    .runs("r", 0, 1, 1, exclusive=True)
    .job("a", 1),
    "cold_start_wait: nothing is known yet of what it takes, so it starts alone on a GPU; GPU 0 is used by"
    " the server m": Box([24]).serves("m", 0, 1, 1).job("a", None),
    "cold_start_wait: r is the first of its kind; others wait until it is known what that takes, 10 min at"
    " most": (Box([24]).runs("r", 0, cold=True).job("a", 1)),
    "cold_start_wait: r is completed, and its last processes are ending": Box(
        [24], more={"over": {"r": "completed"}}
    )
    .runs("r", 0, cold=True)
    .job("a", 1),
    "ram: needs 12.0 GB of RAM; 8.0 are free, while 10.0 are reserved by r, 26.0 taken by process 7 (java),"
    " which is not ours": Box([24], ram=40)
    .runs("r", None, ram=12, ram_holds=2)
    .process(7, "java", 26)
    .job("a", 1, ram=12),
    "disk_low: 1.5 GB are free where runs are written, 2.0 are needed": Box([24], disk_gb=1.5).job("a", 1),
    "dependency: waits for x and y to complete": Box(
        [24], more={"outcomes": {"x": "running", "y": "pending"}}
    ).job("a", 1, depends_on=("x", "y")),
    "dependency_failed: x is error, not completed; resume that one, or cancel this one": Box(
        [24], more={"outcomes": {"x": "error"}}
    ).job("a", 1, depends_on=("x",)),
    "backoff: the disk was full; failure 2, tried again in 5 s": Box([24]).job(
        "a", 1, not_before=NOW + 5, failures=2, failure="the disk was full"
    ),
    "gpu_memory: the server m would need 5.0 GB more; GPU 0 has 4.0 free, 8.0 taken by process 4242 (python),"
    " which is not ours": Box([24]).serves("m", 0, 12, 12).stranger(0, 8).job("a", 0, servers={"m": 17}),
    "gpu_memory: needs 20.0 GB for the server m; GPU 0 has 19.0 free": Box([24])
    .runs("r", 0, 5, 5)
    .job("a", 1, servers={"m": 20}),
    "gpu_memory: needs 12.0 GB; GPU 0 has 14.0 free (up to 16.0 may be used)": Box([24], usable_gb=16)
    .runs("r", 0, 10, 10)
    .job("a", 12),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_sentences(sentence: str) -> None:
    assert str(SENTENCES[sentence].why("a")) == sentence


def test_the_sentence_for_a_hold() -> None:
    box = Box([24]).runs("r", 0, 6, 6).job("big", 20, waited=660).job("a", 5)
    assert str(box.why("a")) == "fair_wait: GPU 0 is kept for big, which has waited 11 min"


def test_without_a_sample_nothing_starts() -> None:
    box = Box([24]).job("a", 1)
    decided = decide(box.state(), None, NOW)
    assert not decided.starts
    assert decided.waiting["a"].code == "sampler_stale"


def test_what_is_started_carries_its_claims_and_what_it_may_see() -> None:
    box = Box([24, 24]).stranger(0, 14).job("a", 8, ram=4, margin=1, servers={"m": 20}, workers=3)
    (start,) = box.decide().starts
    assert (start.run.cards, start.run.visible, start.workers) == (("GPU-0",), ("GPU-0",), 3)
    assert {key: claim.mb for key, claim in start.run.claims.items()} == {"GPU-0": 8 * GB, "ram": 4 * GB}
    assert start.run.claims["GPU-0"].margin_mb == 1 * GB
    (server,) = start.servers
    assert (server.load, server.cards, server.claims["GPU-1"].mb) == (True, ("GPU-1",), 20 * GB)


def test_a_run_without_gpu_sees_none_and_one_without_driver_sees_what_there_is() -> None:
    (start,) = Box([24]).job("a", 0).decide().starts
    assert start.run.visible == ()
    (start,) = Box([], driver="absent").job("a", 0, marginal_vram_mb=0).decide().starts
    assert start.run.visible is None


def test_the_policy_is_what_the_settings_say() -> None:
    settings = Admission(fair_wait=60, usable_vram_mb=20000, disk_low=100)
    assert Policy.of(settings) == Policy(fair_wait_sec=60, usable_vram_mb=20000, disk_low_mb=100)
    assert Policy.of(Admission()) == Policy()


def test_a_server_on_an_exclusive_card_serves_that_run_alone() -> None:
    box = Box([24, 24]).serves("m", 0, 8, 8, users=["r"]).runs("r", 0, 1, 1, exclusive=True)
    box.job("a", 1, servers={"m": 8}).job("b", 1)
    assert box.told() == {"a": "exclusive_held", "b": "1"}
    assert str(box.why("a")) == "exclusive_held: the server m is on GPU 0, which r has to itself"


@pytest.mark.parametrize(
    ("stranger", "expected"),
    [(0.5, "0"), (0.9, "0"), (2, "gpu_memory")],
    ids=["a desktop", "more of it", "a program"],
)
def test_the_margin_of_a_job_almost_as_large_as_its_card(stranger: float, expected: str) -> None:
    """Alone it can have no more than the card; beside a program it waits for what can be had."""
    assert Box([24]).stranger(0, stranger).job("a", 22, margin=2).told() == {"a": expected}


def test_the_card_is_chosen_that_leaves_room_for_those_behind() -> None:
    box = Box([24, 24]).runs("r", 0, 4, 4).job("a", 4)
    assert box.told() == {"a": "1"}  # the least crowded
    assert box.job("b", 24).told() == {
        "a": "0",
        "b": "1",
    }  # b could start on card 1, and has room there still
    assert box.job("c", 20, held=True).told() == {"a": "0", "b": "1", "c": "held"}


def test_those_behind_one_that_waits_long_keep_no_second_place_on_its_card() -> None:
    """Each has its turn: the first keeps the card, and what fits beside it may start."""
    box = Box([24]).runs("r", 0, 12, 12)
    box.job("one", 20, waited=999).job("two", 23, waited=998).job("s", 4)
    assert box.decide().held_cards == {"one": ("GPU-0",)}
    assert box.told() == {"one": "gpu_memory", "two": "gpu_memory", "s": "0"}


def test_a_server_that_another_has_just_begun_to_use_is_not_ones_own() -> None:
    box = Box([24]).serves("m", 0, 8, 8).job("a", 0, servers={"m": 8})
    box.job("b", 1, servers={"m": 8}, exclusive_gpu=True)
    assert box.told() == {"a": "no card", "b": "exclusive_wait"}
    alone = Box([24]).serves("m", 0, 8, 8).job("b", 1, servers={"m": 8}, exclusive_gpu=True)
    assert alone.told() == {"b": "0"}


def test_where_a_card_has_no_memory_of_its_own_main_memory_counts_for_both() -> None:
    box = Box([0], ram=68, unified=True).job("a", 30, ram=10).job("b", 20, ram=6).job("c", 15, ram=4)
    assert box.told() == {"a": "0", "b": "ram", "c": "0"}
    (start, _) = box.decide().starts
    assert {key: claim.mb for key, claim in start.run.claims.items()} == {"ram": 40 * GB}
    assert start.run.visible == ("GPU-0",)
    never = Box([0], ram=68, unified=True).job("a", 60, ram=10)
    assert str(never.why("a")) == "infeasible: needs 70.0 GB of RAM; this machine can give 64.0 GB"
    # What it holds on the card is part of what it holds.
    held = Box([0], ram=68, unified=True).runs("r", 0, ram=40, ram_holds=10, holds=30).job("a", 10, ram=14)
    assert held.told() == {"a": "0"}


def test_the_margin_is_left_out_only_where_no_card_could_grant_it() -> None:
    """On the smaller card the job would have less than its margin, on the larger one it has all of it."""
    assert Box([24, 40]).job("a", 23, margin=2).told() == {"a": "1"}
    assert Box([24, 40]).stranger(1, 30).job("a", 23, margin=2).told() == {"a": "gpu_memory"}
    assert Box([24, 24]).job("a", 23, margin=2).told() == {"a": "0"}
    assert Box([24, 40]).job("a", 23, margin=2, gpus=("0",)).told() == {"a": "0"}


def test_what_is_kept_stays_kept_while_nothing_may_start() -> None:
    kept = {"big": ("GPU-1",)}
    box = Box([24, 24], more={"held_cards": kept, "paused": True}).job("big", 20, waited=999)
    assert box.decide().held_cards == kept


@pytest.mark.parametrize(("aside", "goes"), [(True, "no card"), (False, "cold_start_wait")])
def test_an_unknown_run_is_not_kept_by_one_that_is_only_scored(aside: bool, goes: str) -> None:
    box = Box([], driver="absent").runs("r", None, ram=1, aside=aside).job("a", 0)
    box.estimates["a"] = Estimate((Part(owner=RUN, vram=None, ram=Figure(GB, 0.0, "assumed")),))
    assert box.told() == {"a": goes}
