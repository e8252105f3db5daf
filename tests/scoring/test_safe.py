from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scoring.context import Compute, ComputeUnsupported, Evidence
from engine.scoring.safe import grade_all, merge_in_order, partition
from engine.store.scores import Invalid, Measured, Score, Unmeasured
from engine.store.strict_json import encode
from tests.scoring.compute import FolderCompute
from tests.scoring.making import Made, evidence, gives, measured, passes


class Held:
    """An environment that is held while it is graded in, and counts its releases."""

    def __init__(self, folder: Path) -> None:
        self.compute = FolderCompute(folder)
        self.released = 0

    async def __aenter__(self) -> FolderCompute:
        return self.compute

    async def __aexit__(self, *_: object) -> None:
        self.released += 1


async def raises(evidence: Evidence, compute: Compute | None) -> list[Score]:
    raise ValueError("no such thing")


async def hangs(evidence: Evidence, compute: Compute | None) -> list[Score]:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.case(1)
async def test_who_needs_the_environment_is_graded_while_it_is_held_and_scores_keep_the_order(
    tmp_path: Path,
) -> None:
    held, seen = Held(tmp_path), []

    async def look(evidence: Evidence, compute: Compute | None) -> list[Score]:
        seen.append((compute, held.released))
        return [measured("m", len(seen))]

    graders = [Made(look, "observes"), Made(look, "works", needs_compute=True), Made(look, "observes_too")]
    working, observing = partition(graders)
    async with held as compute:
        first = await grade_all(working, evidence(), compute, 10)
    second = await grade_all(observing, evidence(), None, 10)
    assert seen == [(held.compute, 0), (None, 1), (None, 1)]
    merged = merge_in_order(first, second)
    assert [score.grader_id for score in merged] == ["observes", "works", "observes_too"]
    assert merge_in_order(first) == first[1]


@pytest.mark.case(5)
async def test_a_grader_that_raises_is_told_in_its_place_and_the_environment_is_released_once(
    tmp_path: Path,
) -> None:
    held = Held(tmp_path)
    graders = [Made(raises, "bad", True, ("a", "b")), gives(passes("m"), name="good", needs_compute=True)]
    async with held as compute:
        scores = merge_in_order(await grade_all(dict(enumerate(graders)), evidence(), compute, 10))
    assert held.released == 1
    assert scores[0] == Unmeasured(
        grader_id="bad", metric="a", reason="grader_error", detail="ValueError: no such thing"
    )
    assert [(score.grader_id, score.metric) for score in scores] == [
        ("bad", "a"),
        ("bad", "b"),
        ("good", "m"),
    ]
    assert isinstance(scores[2], Measured)


@pytest.mark.case(8)
@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (Made(raises), ("unmeasured", "grader_error")),
        (Made(hangs), ("unmeasured", "grader_timeout")),
        (gives(measured("m", math.nan)), ("invalid", "contract_violation")),
        (gives(measured("m", math.inf)), ("invalid", "contract_violation")),
        (gives(measured("m", 10**400)), ("invalid", "contract_violation")),
        (gives(measured("", 1)), ("invalid", "contract_violation")),
        (gives(measured("judge:mine", 1)), ("invalid", "contract_violation")),
        (gives(measured("pass", 1)), ("invalid", "contract_violation")),
        (gives(measured("tests_pass", 1)), ("invalid", "contract_violation")),
        (gives("no score"), ("invalid", "contract_violation")),
        (gives(), ("unmeasured", "grader_error")),
    ],
)
async def test_what_is_no_measurement_is_shown_as_none_and_its_siblings_are_kept(
    bad: Made, told: tuple[str, str]
) -> None:
    graders = {0: gives(measured("before", 2)), 1: bad, 2: gives(measured("after", 3))}
    deadline_sec = 0.3 if told[1] == "grader_timeout" else 10.0
    scores = await grade_all(graders, evidence(), None, deadline_sec)
    (score,) = scores[1]
    assert (score.__struct_config__.tag, score.reason) == told  # type: ignore[union-attr]
    assert score.metric
    assert scores[0] == [measured("before", 2, grader_id="made")]
    if told[1] != "grader_timeout":
        assert scores[2] == [measured("after", 3, grader_id="made")]


async def test_all_graders_share_one_deadline_and_who_had_no_turn_has_not_tried() -> None:
    clock = [0.0]

    async def slow(evidence: Evidence, compute: Compute | None) -> list[Score]:
        clock[0] += 4
        return [passes("m")]

    scores = await grade_all({i: Made(slow) for i in range(4)}, evidence(), None, 10, now=lambda: clock[0])
    assert [type(scores[i][0]) for i in range(4)] == [Measured, Measured, Measured, Unmeasured]
    (last,) = scores[3]
    assert isinstance(last, Unmeasured)
    assert (last.reason, last.retryable, last.attempts) == ("grader_timeout", True, 0)


async def test_a_grader_that_hangs_is_cancelled() -> None:
    ended = asyncio.Event()

    async def hang(evidence: Evidence, compute: Compute | None) -> list[Score]:
        try:
            return await hangs(evidence, compute)
        finally:
            ended.set()

    await grade_all({0: Made(hang)}, evidence(), None, 0.05)
    assert ended.is_set()


async def test_cancelling_the_grading_cancels_the_grader_at_work() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hang(evidence: Evidence, compute: Compute | None) -> list[Score]:
        began.set()
        try:
            return await hangs(evidence, compute)
        finally:
            ended.set()

    task = asyncio.create_task(grade_all({0: Made(hang)}, evidence(), None, 60))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_one_that_cancels_itself_is_an_error_of_its_own() -> None:
    async def cancelled(evidence: Evidence, compute: Compute | None) -> list[Score]:
        raise asyncio.CancelledError

    ((score,),) = (await grade_all({0: Made(cancelled)}, evidence(), None, 10)).values()
    assert isinstance(score, Unmeasured)
    assert score.reason == "grader_error"


async def test_what_an_environment_does_not_offer_is_unsupported() -> None:
    async def ask(evidence: Evidence, compute: Compute | None) -> list[Score]:
        raise ComputeUnsupported("its panel has no exec")

    ((score,),) = (await grade_all({0: Made(ask)}, evidence(), None, 10)).values()
    assert score == Unmeasured(
        grader_id="made", metric="m", reason="unsupported", detail="its panel has no exec"
    )


async def test_a_grader_cannot_speak_for_another_and_its_detail_can_be_written() -> None:
    foreign = Measured(grader_id="another", metric="m", value=1, detail={"when": math.nan, "what": {1}})
    odd = Measured(grader_id="x", metric="o", value=0, detail=object)
    long = Measured(grader_id="x", metric="n", value=True, detail="ü" * 100_000)
    ((one, strange, two),) = (await grade_all({0: gives(foreign, odd, long)}, evidence(), None, 10)).values()
    assert (one.grader_id, two.grader_id) == ("made", "made")
    assert (one.detail, strange.detail) == ({"when": None, "what": [1]}, repr(object))
    assert isinstance(two, Measured)
    assert (type(two.value), len(two.detail) < 3000) == (float, True)
    assert encode([one, strange, two])


@given(
    st.dictionaries(st.integers(0, 20), st.integers(1, 3), max_size=12),
    st.sets(st.integers(0, 20)),
)
def test_scores_are_merged_in_the_order_of_their_graders(sizes: dict[int, int], early: set[int]) -> None:
    scores: dict[int, list[Score]] = {
        place: [measured(f"m{i}", i, grader_id=str(place)) for i in range(size)]
        for place, size in sizes.items()
    }
    first = {place: found for place, found in scores.items() if place in early}
    second = {place: found for place, found in scores.items() if place not in early}
    in_order = [score for place in sorted(scores) for score in scores[place]]
    assert merge_in_order(first, second) == merge_in_order(second, first) == in_order


def test_a_later_phase_replaces_what_it_grades_again() -> None:
    before: dict[int, list[Score]] = {
        0: [passes("a")],
        1: [Invalid(grader_id="g", metric="b", reason="contract_violation")],
    }
    assert merge_in_order(before, {1: [passes("b")]}) == [passes("a"), passes("b")]
