"""Several callers, one model: who shares a forward, and what each of them gets back."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.components.errors import StopExecution
from engine.hosting.batching import Batcher
from engine.hosting.departure import LONGEST_WAIT
from engine.hosting.forward import BadOutput, ForwardThread
from engine.hosting.numerics import pin_torch
from tests.hosting.models import WIDTH, Custom, Matmul, Model, WithoutSamples

Make = Callable[..., Awaitable[Batcher]]
DEADLINE = 30.0


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes loaded batchers, unchecked unless told otherwise; they are closed after the test."""
    batchers: list[Batcher] = []

    async def begin(tool: Any, **settings: Any) -> Batcher:
        batcher = Batcher(tool, {}, **{"max_batch": 8, "unchecked": True, **settings})
        batchers.append(batcher)
        await batcher.load()
        return batcher

    yield begin
    for batcher in batchers:
        await batcher.close()


class Gate:
    """A model that waits in ``forward`` until it is let go, and then doubles ``n``."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.batches: list[list[int]] = []
        self.tool = Custom(self._reply)

    def _reply(self, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.batches.append([sample["n"] for sample in samples])
        self.entered.release()
        assert self.go.acquire(timeout=DEADLINE)
        return [{"n": 2 * sample["n"]} for sample in samples]

    async def busy(self) -> None:
        """Return once a forward is under way."""
        assert await asyncio.to_thread(self.entered.acquire, timeout=DEADLINE)


def submit(batcher: Batcher, n: int, caller: str | None = None) -> asyncio.Task[Any]:
    return asyncio.create_task(asyncio.wait_for(batcher.submit({"n": n, "_key": n}, caller), DEADLINE))


async def outputs_of(tasks: list[asyncio.Task[Any]]) -> list[int]:
    return [outputs["n"] for outputs, _, _ in await asyncio.gather(*tasks)]


async def turn() -> None:
    """Let everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_arrives_during_a_forward_leaves_together_after_it(make: Make):
    gate = Gate()
    batcher = await make(gate.tool)
    tasks = [submit(batcher, 0)]
    await gate.busy()
    tasks += [submit(batcher, n) for n in range(1, 5)]
    await turn()
    assert gate.batches == [[0]]
    gate.go.release(2)
    assert await outputs_of(tasks) == [0, 2, 4, 6, 8]
    assert gate.batches == [[0], [1, 2, 3, 4]]


async def test_no_more_rows_leave_than_a_batch_may_have(make: Make):
    gate = Gate()
    batcher = await make(gate.tool, max_batch=3)
    tasks = [submit(batcher, 0)]
    await gate.busy()
    tasks += [submit(batcher, n) for n in range(1, 6)]
    await turn()
    gate.go.release(3)
    await outputs_of(tasks)
    assert gate.batches == [[0], [1, 2, 3], [4, 5]]


@pytest.mark.parametrize("missing", ["sends", "leaves", "stays away"])
async def test_the_live_are_waited_for(make: Make, monkeypatch: pytest.MonkeyPatch, missing: str):
    """On a clock that stands still but for the forward, which takes 40 ms, and for the end of the wait."""
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr("engine.hosting.batching.time", clock)
    gate = Gate()
    batcher = await make(gate.tool)
    first = submit(batcher, 1, "run/0")
    await gate.busy()
    clock.now += 0.04
    gate.go.release(2)
    await first
    for caller in ("run/0", "run/1"):
        batcher.caller(caller, True)
    tasks = [submit(batcher, 2, "run/0")]
    await turn()
    assert gate.batches == [[1]]
    if missing == "sends":
        tasks.append(submit(batcher, 3, "run/1"))
    elif missing == "leaves":
        batcher.caller("run/1", False)
    else:
        clock.now += LONGEST_WAIT
    await outputs_of(tasks)
    assert gate.batches == ([[1], [2, 3]] if missing == "sends" else [[1], [2]])


async def test_a_live_caller_that_never_sends_holds_nobody_up_for_good(make: Make):
    batcher = await make(Model())
    batcher.caller("run/1", True)
    for _ in range(3):
        row = {"x": np.ones(WIDTH, np.float32), "_key": 0}
        outputs, queue_wait_ms, compute_ms = await asyncio.wait_for(batcher.submit(row, "run/0"), DEADLINE)
        assert outputs["y"].tolist() == [3.0] * WIDTH
        assert queue_wait_ms >= 0.0
        assert compute_ms > 0.0


async def test_a_cancelled_row_is_taken_out_of_the_queue(make: Make):
    gate = Gate()
    batcher = await make(gate.tool)
    tasks = [submit(batcher, n) for n in (0,)]
    await gate.busy()
    gone, kept = submit(batcher, 1), submit(batcher, 2)
    await turn()
    gone.cancel()
    await turn()
    gate.go.release(2)
    assert await outputs_of([*tasks, kept]) == [0, 4]
    assert gone.cancelled()
    assert gate.batches == [[0], [2]]


async def test_a_row_cancelled_during_its_forward_disturbs_nobody(make: Make):
    gate = Gate()
    batcher = await make(gate.tool)
    gone = submit(batcher, 0)
    await gate.busy()
    gone.cancel()
    await turn()
    kept = submit(batcher, 1)
    gate.go.release(2)
    assert await outputs_of([kept]) == [2]


async def test_a_row_that_raises_fails_alone(make: Make, caplog: pytest.LogCaptureFixture):
    gate = threading.Event()

    def reply(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        assert gate.wait(DEADLINE)
        for sample in samples:
            if sample["n"] == 2:
                raise ValueError("no twos")
            if sample["n"] == 3:
                raise StopExecution("enough")
        return [{"n": 2 * sample["n"]} for sample in samples]

    batcher = await make(Custom(reply))
    tasks = [submit(batcher, n) for n in range(5)]
    await turn()
    gate.set()
    with caplog.at_level(logging.WARNING):
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [result[0]["n"] for result in (results[0], results[1], results[4])] == [0, 2, 8]
    assert isinstance(results[2], ValueError)
    assert str(results[2]) == "no twos"
    assert isinstance(results[3], StopExecution)
    assert "models__run: ValueError: no twos in a batch of 4; its rows run one by one" in caplog.text


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (lambda samples: [], "models__run: forward returned 0 _outputs for 1 _samples"),
        (lambda samples: [{}, {}], "models__run: forward returned 2 _outputs for 1 _samples"),
        (lambda samples: None, 'models__run: forward of a batched tool must return {"_outputs": .* NoneType'),
        (lambda samples: [3], r"models__run: _outputs\[0\] must be a dict of outputs by port name, not int"),
    ],
)
async def test_outputs_that_break_the_contract_name_the_tool(
    make: Make, reply: Callable[..., Any], message: str
):
    with pytest.raises(BadOutput, match=message):
        await submit(await make(Custom(reply)), 1)


async def test_a_reply_that_is_no_dict_names_the_tool(make: Make):
    tool = Model()

    async def forward(inputs: dict[str, Any], ctx: Any) -> Any:
        return [1]

    tool.forward = forward  # type: ignore[method-assign]
    with pytest.raises(BadOutput, match=r"models__run: .* but returned a list"):
        await submit(await make(tool), 1)


async def test_padded_runs_one_shape_and_pads_with_a_real_row(make: Make):
    model = Model(lambda x: x + (len(x) != 8) * np.float32(0.5))
    batcher = await make(model, unchecked=False)
    assert (batcher.record["regime"], batcher.record["shape"]) == ("padded", 8)
    model.sizes.clear()
    seen: list[np.ndarray] = []
    batcher._tool.compute = lambda x: seen.append(x) or x  # type: ignore[attr-defined]
    x = np.arange(WIDTH, dtype=np.float32)
    outputs, _, _ = await batcher.submit({"x": x, "_key": 0}, None)
    assert outputs["y"].tolist() == x.tolist()
    assert [batch.tolist() for batch in seen] == [[x.tolist()] * 8]


async def test_rows_run_one_a_forward_and_a_bad_one_fails_alone(make: Make):
    model = WithoutSamples(lambda x: 1 / x if (x != 0).all() else int("zero"))
    batcher = await make(model, unchecked=False)
    assert batcher.record["regime"] == "rows"
    rows = [{"x": np.full(WIDTH, n, np.float32), "_key": n} for n in (1, 0, 2, 4)]
    results = await asyncio.gather(*(batcher.submit(row, None) for row in rows), return_exceptions=True)
    assert set(model.sizes) == {1}
    assert isinstance(results[1], ValueError)
    assert [results[i][0]["y"][0] for i in (0, 2, 3)] == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("model", [Matmul, Model, WithoutSamples])
async def test_the_outputs_do_not_know_how_many_callers_there_were(make: Make, model: type[Model]):
    width = getattr(model, "width", WIDTH)
    episodes = np.random.default_rng(3).standard_normal((12, width), dtype=np.float32)

    async def episode(batcher: Batcher, caller: str, x: np.ndarray) -> list[bytes]:
        """A rollout: each output is the next input."""
        outputs = []
        for step in range(6):
            reply, _, _ = await batcher.submit({"x": x, "_key": step}, caller)
            x = reply["y"]
            outputs.append(x.tobytes())
        return outputs

    async def run(callers: int) -> list[list[bytes]]:
        batcher = await make(model(), unchecked=False)
        results: dict[int, list[bytes]] = {}

        async def worker(number: int) -> None:
            name = f"run/{number}"
            for index in range(number, len(episodes), callers):
                batcher.caller(name, True)
                results[index] = await episode(batcher, name, episodes[index])
                batcher.caller(name, False)

        await asyncio.wait_for(asyncio.gather(*map(worker, range(callers))), DEADLINE)
        return [results[index] for index in range(len(episodes))]

    alone = await run(1)
    for callers in (3, 8):
        assert await run(callers) == alone


async def test_forward_has_a_loop_of_its_own_and_no_generator(make: Make):
    class Looper(Model):
        async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="draw from each sample's"):
                _ = ctx.rng
            return {"_outputs": [{"loop": asyncio.get_running_loop(), "thread": threading.get_ident()}]}

    batcher = await make(Looper())
    first, second = [(await batcher.submit({"_key": 0}, None))[0] for _ in range(2)]
    assert first == second
    assert first["loop"] is not asyncio.get_running_loop()
    assert first["thread"] != threading.get_ident()


async def test_batchers_that_share_a_thread_take_turns(make: Make):
    thread = ForwardThread()
    running = threading.Lock()

    def reply(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        assert running.acquire(blocking=False)
        sum(range(20_000))
        running.release()
        return [{"n": sample["n"]} for sample in samples]

    first, second = [await make(Custom(reply), thread=thread) for _ in range(2)]
    await outputs_of([submit(batcher, n) for n in range(20) for batcher in (first, second)])
    await first.close()
    assert await outputs_of([submit(second, 7)]) == [7]


async def test_the_tool_is_set_up_once_and_shut_down_once(make: Make):
    class Counting(Model):
        calls: list[str]

        async def initialize(self) -> None:
            self.calls.append(f"initialize {self.config['size']}")

        async def shutdown(self) -> None:
            self.calls.append("shutdown")

    prototype = Counting()
    prototype.calls = []
    batcher = Batcher(prototype, {"size": 3}, max_batch=4, unchecked=False)
    await asyncio.gather(batcher.load(), batcher.load())
    await batcher.close()
    assert prototype.calls == ["initialize 3", "shutdown"]
    assert prototype.config == {}


async def test_rows_are_refused_before_load_and_after_close():
    batcher = Batcher(Model(), {}, max_batch=4, unchecked=True)
    with pytest.raises(RuntimeError, match=r"models__run: load\(\) comes first"):
        await batcher.submit({}, None)
    await batcher.load()
    await batcher.close()
    with pytest.raises(RuntimeError, match="models__run: closed"):
        await batcher.submit({}, None)


async def test_closing_fails_what_waits_and_lets_the_forward_finish():
    gate = Gate()
    batcher = Batcher(gate.tool, {}, max_batch=4, unchecked=True)
    await batcher.load()
    running = submit(batcher, 1)
    await gate.busy()
    waiting = submit(batcher, 2)
    await turn()
    closing = asyncio.create_task(batcher.close())
    with pytest.raises(RuntimeError, match="models__run: closed while the row waited"):
        await waiting
    gate.go.release()
    assert await outputs_of([running]) == [2]
    await closing


async def test_what_a_forward_logs_does_not_pile_up(make: Make):
    class Chatty(Model):
        async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
            self._self_log("said", 1)
            return {"_outputs": [{} for _ in inputs["_samples"]]}

    batcher = await make(Chatty())
    for _ in range(3):
        await batcher.submit({"_key": 0}, None)
    assert batcher._tool.log() == []


def test_a_batch_of_no_rows_is_refused():
    with pytest.raises(ValueError, match="models__run: max_batch must be at least 1, not 0"):
        Batcher(Model(), {}, max_batch=0, unchecked=False)


async def test_the_record_says_what_the_bits_depend_on(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MKL_CBWR", "AUTO,STRICT")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    record = (await make(Model(), unchecked=False)).record
    assert record["regime"] == "free"
    assert record["label"] == "exact"
    assert len(record["digest"]) == 32
    assert record["elements"] > 0
    assert record["check_ms"] > 0
    assert record["threads"]["blas"] == 1
    assert record["mkl_cbwr"] == "AUTO,STRICT"
    assert record["cpu"]
    assert record["versions"]["numpy"] == np.__version__
    assert record["versions"]["python"]


async def test_torch_computes_in_one_thread_whatever_the_process_is_set_to():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(2)
    thread = ForwardThread()

    async def settings() -> tuple[int, bool, bool]:
        cudnn = torch.backends.cudnn
        return torch.get_num_threads(), cudnn.allow_tf32, torch.are_deterministic_algorithms_enabled()

    try:
        assert await thread.run(settings) == (1, False, True)
    finally:
        await thread.close()
        torch.use_deterministic_algorithms(False)


def test_torch_is_left_alone_where_nobody_loaded_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert pin_torch() is False
