from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from engine.scoring.streams import BoundedStream, StreamStats

SOON = 5.0


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not holds():
            await asyncio.sleep(0)


class Doors:
    """Work that stays at an item's door until it is opened; ``inside``: who is there now."""

    def __init__(self, *open_from_the_start: object) -> None:
        self._open = {item: asyncio.Event() for item in range(100)}
        for item in open_from_the_start:
            self.open(item)
        self.began: list[object] = []
        self.inside: set[object] = set()
        self.most = 0

    def open(self, *items: object) -> None:
        for item in items:
            self._open[item].set()  # type: ignore[index]

    async def work(self, item: int) -> None:
        self.began.append(item)
        self.inside.add(item)
        self.most = max(self.most, len(self.inside))
        await self._open[item].wait()
        self.inside.discard(item)


def raising(*errors: Exception | None) -> Callable[[int], Awaitable[None]]:
    """Work on item k raises ``errors[k]``."""

    async def work(item: int) -> None:
        await asyncio.sleep(0)
        error = errors[item]
        if error is not None:
            raise error

    return work


class TestPush:
    async def test_starts_at_once_and_does_not_wait_for_settle(self) -> None:
        doors = Doors()
        stream = BoundedStream(2, doors.work)
        stream.push(0)
        await until(lambda: doors.inside == {0})
        assert stream.stats == StreamStats(pushed=1, running=1)
        doors.open(0)
        await stream.settle()
        assert stream.stats == StreamStats(pushed=1, finished=1)

    async def test_no_more_at_once_than_the_limit_and_first_come_first_served(self) -> None:
        doors = Doors()
        stream = BoundedStream(3, doors.work)
        handles = [stream.push(item) for item in range(20)]
        await until(lambda: len(doors.inside) == 3)
        assert stream.stats == StreamStats(pushed=20, waiting=17, running=3)
        order = list(range(20))
        random.Random(5).shuffle(order)
        doors.open(*order)
        await stream.settle()
        assert doors.most == 3
        assert doors.began == list(range(20))
        assert {await handle.done() for handle in handles} == {"finished"}

    async def test_a_handle_never_raises(self) -> None:
        stream = BoundedStream(1, raising(ValueError("no"), None))
        failed, fine = stream.push(0), stream.push(1)
        assert await failed.done() == "failed"
        assert str(failed.error) == "no"
        assert await fine.done() == "finished"
        assert fine.error is None

    async def test_work_that_is_no_coroutine_fails_its_item_only(self) -> None:
        def work(item: int) -> Awaitable[None]:
            raise OSError("at once")

        stream = BoundedStream(1, work)
        assert await stream.push(0).done() == "failed"

    async def test_who_waits_for_an_item_may_go_away_without_harm(self) -> None:
        doors = Doors()
        stream = BoundedStream(1, doors.work)
        handle = stream.push(0)
        waiter = asyncio.create_task(handle.done())
        await until(lambda: doors.inside == {0})
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        doors.open(0)
        assert await handle.done() == "finished"

    def test_a_limit_below_one_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least, not on 0"):
            BoundedStream(0, raising())


class TestAfter:
    """An item of one stream that follows its own of another: an export its judges."""

    async def test_it_follows_also_what_failed(self) -> None:
        judges = BoundedStream(2, raising(ValueError("a judge broke"), None))
        doors = Doors(0, 1)
        exports = BoundedStream(1, doors.work)
        followers = [exports.push(item, after=judges.push(item)) for item in (0, 1)]
        assert [await handle.done() for handle in followers] == ["finished"] * 2
        assert doors.began == [0, 1]

    async def test_it_takes_no_place_while_it_waits(self) -> None:
        gate, doors = Doors(), Doors(0, 1)
        exports = BoundedStream(1, doors.work)
        waiting = exports.push(0, after=BoundedStream(1, gate.work).push(0))
        assert await exports.push(1).done() == "finished"
        gate.open(0)
        assert await waiting.done() == "finished"
        assert doors.began == [1, 0]

    async def test_not_where_the_stream_was_closed_meanwhile(self) -> None:
        gate, doors = Doors(), Doors(0)
        judged = BoundedStream(1, gate.work).push(0)
        exports = BoundedStream(1, doors.work)
        follower = exports.push(0, after=judged)
        await until(lambda: gate.inside == {0})
        exports.close()
        gate.open(0)
        assert await follower.done() == "unlaunched"
        assert doors.began == []


class TestSettle:
    @pytest.mark.case(17)
    @pytest.mark.case(20)
    async def test_all_end_and_then_the_first_error_in_time_is_raised(self) -> None:
        doors = Doors(0, 2, 3)

        async def work(item: int) -> None:
            await doors.work(item)
            if item in (1, 2):
                raise ValueError(f"item {item}")

        stream = BoundedStream(4, work)
        handles = [stream.push(item) for item in range(4)]
        await handles[2].done()
        doors.open(1)
        with pytest.raises(ValueError, match="item 2"):
            await stream.settle()
        assert stream.stats == StreamStats(pushed=4, finished=2, failed=2)

    async def test_what_is_pushed_meanwhile_is_waited_for_too(self) -> None:
        doors = Doors(1)
        stream = BoundedStream(1, doors.work)
        stream.push(0)
        settled = asyncio.create_task(stream.settle())
        await until(lambda: doors.inside == {0})
        late = stream.push(1)
        doors.open(0)
        await settled
        assert late.place == "finished"

    async def test_join_leaves_errors_aside(self) -> None:
        stream = BoundedStream(1, raising(ValueError("no")))
        stream.push(0)
        await stream.join()
        with pytest.raises(ValueError, match="no"):
            await stream.settle()

    async def test_of_nothing(self) -> None:
        stream = BoundedStream(1, raising())
        await stream.settle()
        assert stream.stats == StreamStats()

    async def test_work_that_is_cancelled_from_elsewhere_is_an_error_and_no_cancellation_of_ours(
        self,
    ) -> None:
        doors = Doors()

        async def work(item: int) -> None:
            elsewhere = asyncio.create_task(doors.work(item))
            await until(lambda: doors.inside == {0})
            elsewhere.cancel()
            await elsewhere

        stream = BoundedStream(1, work)
        assert await stream.push(0).done() == "failed"
        with pytest.raises(RuntimeError, match="was cancelled"):
            await stream.settle()


class TestClose:
    async def test_what_runs_ends_and_what_waits_is_left_alone(self) -> None:
        doors = Doors()
        stream = BoundedStream(2, doors.work)
        handles = [stream.push(item) for item in range(5)]
        await until(lambda: doors.inside == {0, 1})
        stream.close()
        handles.append(stream.push(5))
        doors.open(*range(6))
        await stream.settle()
        places = [await handle.done() for handle in handles]
        assert places == ["finished"] * 2 + ["unlaunched"] * 4
        assert doors.began == [0, 1]

    async def test_what_ran_and_failed_is_still_told(self) -> None:
        doors = Doors()

        async def work(item: int) -> None:
            await doors.work(item)
            raise ValueError("late")

        stream = BoundedStream(1, work)
        stream.push(0)
        await until(lambda: doors.inside == {0})
        stream.close()
        doors.open(0)
        with pytest.raises(ValueError, match="late"):
            await stream.settle()
