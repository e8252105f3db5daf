from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import numpy as np
import pytest

from engine.components.bases import ContainerDef, StateDef
from engine.components.containers import ContainerStore
from engine.components.errors import (
    HostCrashed,
    HostTimeout,
    NodeRaised,
    OutsideFailure,
    StopExecution,
    WrongChoice,
)
from engine.components.firing import FiringRequest
from engine.evaluation.slots import post_mortem
from engine.hosting.remote import RemoteHandler
from tests.hosting.helpers import Host

Start = Callable[..., Awaitable[Host]]


def memory() -> ContainerStore:
    states = {
        "count": StateDef("counter"),
        "last": StateDef(),
        "scratch": StateDef("counter", lifetime="custom", reset_on=["reset_all"]),
    }
    return ContainerStore([ContainerDef("memory", states=states)])


def request(inputs: Mapping[str, Any], containers: ContainerStore | None = None) -> FiringRequest:
    return FiringRequest(
        node_id="n1",
        node_type="zoo__do",
        config={},
        inputs=dict(inputs),
        step=3,
        execution_id="e1",
        key=7,
        episode={"seed": 1},
        containers=containers or memory(),
        granted=("memory",),
    )


async def test_a_firing_is_measured(start: Start) -> None:
    handler = RemoteHandler((await start()).client, lambda _: 20)
    frame = np.zeros((64, 64, 3), np.uint8)
    result = await handler.fire(request({"what": "echo", "value": frame}))
    np.testing.assert_array_equal(result.outputs["value"], frame)
    assert 2 * frame.nbytes < result.transfer_bytes < 2 * frame.nbytes + 2000
    assert result.transport_ms > 0
    assert result.compute_ms > 0
    assert result.queue_wait_ms == 0


async def test_log_and_events_come_along(start: Start) -> None:
    result = await RemoteHandler((await start()).client, lambda _: 20).fire(
        request({"what": "logs", "value": 1})
    )
    assert result.inner_log == [{"key": "seen", "value": 1}]
    assert result.events == [{"kind": "note", "text": "a trace event"}]


async def test_writes_and_signals_reach_the_store_in_order(start: Start) -> None:
    handler = RemoteHandler((await start()).client, lambda _: 20)
    store = memory()
    store.access("memory").write("scratch", 9)
    for total in (2, 4):
        result = await handler.fire(request({"what": "uses containers"}, store))
        assert result.outputs == {"value": total}
        assert store.snapshot()["memory"]["values"] == {"count": total, "last": total, "scratch": 0}


async def test_a_node_may_say_that_what_it_relies_on_failed_and_its_process_goes_on(start: Start) -> None:
    handler = RemoteHandler((await start()).client, lambda _: 20)
    with pytest.raises(OutsideFailure, match=r"^the server of it is away$") as caught:
        await handler.fire(request({"what": "lost its server"}))
    assert caught.value.termination == "exception"
    known = post_mortem(caught.value, None)
    assert (known["nodeset"], known["cause"]) == ("zoo", "exit code 3")
    assert known["call"].startswith("zoo__")
    assert (await handler.fire(request({"what": "echo", "value": 1}))).outputs == {"value": 1}


async def test_a_node_may_say_that_it_cannot_play_what_was_selected(start: Start) -> None:
    handler = RemoteHandler((await start()).client, lambda _: 20)
    with pytest.raises(WrongChoice, match=r"^colour is 'x'; it takes red or blue$"):
        await handler.fire(request({"what": "cannot play that"}))
    assert (await handler.fire(request({"what": "echo", "value": 1}))).outputs == {"value": 1}


@pytest.mark.parametrize(("ending", "kind"), [("raise", NodeRaised), ("stop", StopExecution)])
async def test_what_a_node_wrote_before_it_raised_is_kept(
    start: Start, ending: str, kind: type[Exception]
) -> None:
    store = memory()
    with pytest.raises(kind, match="after writing"):
        await RemoteHandler((await start()).client, lambda _: 20).fire(
            request({"what": "uses containers", "value": ending}, store)
        )
    assert store.access("memory").read("count") == 2


async def test_an_exception_keeps_its_name_its_trace_and_its_log(start: Start) -> None:
    with pytest.raises(NodeRaised, match=r"^ValueError: broken") as caught:
        await RemoteHandler((await start()).client, lambda _: 20).fire(request({"what": "raises"}))
    assert "in raises" in caught.value.trace
    assert caught.value.inner_log == [{"key": "before", "value": 1}]


async def test_the_deadline_is_the_firing_s_and_a_dead_host_is_not_asked_again(
    start: Start, tmp_path: Any
) -> None:
    host = await start()
    limits = {"hangs": 0.5, "nothing": 20.0}
    handler = RemoteHandler(host.client, lambda asked: limits[asked.inputs["what"]])
    await handler.fire(request({"what": "nothing"}))
    with pytest.raises(HostTimeout, match=r"no answer within 0\.5 s"):
        await handler.fire(request({"what": "hangs", "value": str(tmp_path / "pids")}))
    with pytest.raises(HostCrashed, match="failed before"):
        await handler.fire(request({"what": "nothing"}))
