"""What holds of every decision, whatever the machine, its tenants and the queue."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.scheduling.accounts import Pool
from engine.scheduling.holds import Hold
from engine.scheduling.seating import SPARE_MB
from tests.scheduling.making import GB, Box

sizes = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 24.0])


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    cards = draw(st.lists(st.sampled_from([12.0, 24.0, 48.0]), min_size=1, max_size=3))
    ages = {index: draw(st.sampled_from([0.0, 0.0, 9.0])) for index in range(len(cards))}
    box = Box(cards, ram=draw(st.sampled_from([40.0, 132.0])), ages=ages)
    for number in range(draw(st.integers(0, 5))):
        gpu = draw(st.integers(0, len(cards) - 1))
        claim = draw(sizes)
        holds = min(claim * draw(st.sampled_from([0.0, 0.5, 1.0])), box.left(gpu))
        settled, exclusive = draw(st.booleans()), draw(st.integers(0, 7)) == 0
        box.runs(f"r{number}", gpu, claim, holds, margin=claim / 10, settled=settled, exclusive=exclusive)
    for number in range(draw(st.integers(0, 2))):
        gpu = draw(st.integers(0, len(cards) - 1))
        box.stranger(gpu, min(draw(sizes), box.left(gpu)), pid=900 + number)
    for number in range(draw(st.integers(1, 6))):
        need = draw(st.one_of(st.none(), sizes))
        servers = {"m": draw(sizes)} if draw(st.integers(0, 4)) == 0 else {}
        box.job(
            f"j{number}",
            need,
            ram=draw(st.sampled_from([0.0, 1.0, 20.0])),
            margin=(need or 0.0) / 10,
            servers=servers,
            waited=draw(st.sampled_from([0.0, 700.0])),
            exclusive_gpu=draw(st.integers(0, 5)) == 0,
        )
    return box


@settings(max_examples=300, deadline=None)
@given(boxes())
def test_every_decision_keeps_the_rules(box: Box) -> None:
    decided = box.decide()
    accounts = decided.accounts
    assert accounts is not None
    started = [start.run_id for start in decided.starts]
    told = [*started, *decided.waiting, *decided.refused]
    assert sorted(told) == sorted(job.run_id for job in box.queue)  # each job is told once
    assert started == sorted(started, key=lambda run: int(run[1:]))  # in the queue's order
    before = {tenant.owner for tenant in box.tenants}
    for card in accounts.cards.values():
        new = {owner for owner in card.owners if owner not in before}
        if not new:
            continue
        assert card.fresh
        if len(card.owners) > 1:  # nobody counts on the same memory as another
            assert card.pool.available_mb >= -1e-6
        elif card.pool.foreign_mb > SPARE_MB:
            assert card.pool.available_mb >= -SPARE_MB
        for tenant in card.owners.values():
            if tenant.exclusive:
                assert tenant.owner in new
                others = [other for other in card.owners.values() if other is not tenant]
                assert all(set(other.users) <= {tenant.owner} for other in others)
                assert all(other.owner.startswith("server:") for other in others)
    if accounts.ram and started and len(accounts.tenants) > 1:
        assert accounts.ram.available_mb >= -1e-6
    colds = [start for start in decided.starts if start.cold]
    assert len(colds) <= 1
    assert not colds or decided.starts[-1].cold  # nothing starts after one of which nothing is known


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 6.0, 9.0]), max_size=6),
    st.sampled_from([0.0, 1.0, 3.0, 5.0, 8.0, 12.0]),
    st.sampled_from([0.0, 1.0, 2.0, 5.0]),
)
def test_a_candidate_delays_when_some_could_stay_without_it_and_not_with_it(
    there: list[float], limit: float, taking: float
) -> None:
    box = Box([100])
    for number, mb in enumerate(there):
        box.runs(f"r{number}", 0, claim=mb)
    accounts = box.decide().accounts
    assert accounts is not None
    hold = Hold("h", 700.0, ("GPU-0",), {"GPU-0": limit * GB}, alone=False)
    expected = any(
        sum(left) <= limit < sum(left) + taking
        for count in range(len(there) + 1)
        for left in combinations(there, count)
    )
    assert hold.is_delayed_by(accounts, {"GPU-0": taking * GB}, ["GPU-0"]) is expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 50), st.floats(0, 50)), max_size=12))
def test_an_account_adds_up(entries: list[tuple[str, float, float]]) -> None:
    pool = Pool("GPU-0", "GPU 0", 100.0, 60.0, 100.0, 0.0)
    standing = dict.fromkeys("abc", 0.0)
    shown = dict.fromkeys("abc", 0.0)
    for owner, more, seen in entries:
        pool.book(owner, more, seen)
        standing[owner] += more
        shown[owner] += seen
    reserved = sum(max(0.0, standing[owner] - shown[owner]) for owner in "abc")
    assert abs(pool.reserved_mb - reserved) < 1e-6
    assert abs(pool.available_mb - min(60.0 - reserved, 100.0 - sum(standing.values()))) < 1e-6
