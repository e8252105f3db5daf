"""The check that a server makes of its model at load: which regime does each kind of model end in?"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.hosting.bits import prints_of
from engine.hosting.forward import BadOutput
from engine.hosting.selfcheck import ROWS, SelfCheckError, check
from tests.hosting.models import Custom, Matmul, Model, WithoutSamples


async def test_rows_that_do_not_know_their_neighbours_go_free():
    model = Model()
    verdict = await check(model, 8)
    assert (verdict.regime, verdict.label, verdict.why, verdict.shape) == ("free", "exact", "", None)
    assert verdict.rows == ROWS
    assert verdict.elements > 8 * ROWS * 8
    assert verdict.fixed is not None
    assert set(model.sizes) == set(range(1, 9))


async def test_a_model_whose_bits_depend_on_the_number_of_rows_is_padded():
    model = Matmul()
    if not model.depends_on_batch():
        pytest.skip("this BLAS gives the same bits at every batch size")
    verdict = await check(model, 8)
    assert (verdict.regime, verdict.label) == ("padded", "exact")
    assert verdict.shape in {8, 32}
    assert "free: output 'y' of a row has other bits" in verdict.why


@pytest.mark.parametrize("odd", range(2, 9))
async def test_every_batch_size_is_tried(odd: int):
    verdict = await check(Model(lambda x: x + (len(x) == odd) * np.float32(1e-3)), 8)
    assert (verdict.regime, verdict.shape) == ("padded", 8)
    assert f"of a batch of {odd}" in verdict.why


@pytest.mark.parametrize("slot", range(1, 8))
async def test_every_slot_is_tried(slot: int):
    def compute(x: np.ndarray) -> np.ndarray:
        return x + (np.arange(len(x)) == slot)[:, None].astype(np.float32) * 1e-3

    verdict = await check(Model(compute), 8)
    assert verdict.regime == "rows"
    assert f"in slot {slot} of a batch of {slot + 1}" in verdict.why


async def test_a_slot_that_is_wrong_for_few_rows_only_is_found():
    def compute(x: np.ndarray) -> np.ndarray:
        last = (np.arange(len(x)) == 7)[:, None] & (x > 1.5)
        return x + last.astype(np.float32) * 1e-3

    assert (await check(Model(compute), 8)).regime == "rows"


async def test_a_slot_that_only_the_largest_batch_has_is_avoided_by_a_larger_shape():
    verdict = await check(Model(lambda x: x + (np.arange(len(x)) == 7)[:, None] * np.float32(len(x) == 8)), 8)
    assert (verdict.regime, verdict.shape) == ("padded", 32)


@pytest.mark.parametrize(
    ("compute", "why"),
    [
        (lambda x: x - x.mean(axis=0), "in slot"),
        (lambda x: x * np.float32(1 + np.isnan(x).any()), "beside NaN"),
        (lambda x: x * np.float32(1 + (x == 0).all(axis=1).any()), "beside zeros"),
        (lambda x: x * np.float32(1 + (np.abs(x) > 1e9).any()), "beside extreme numbers"),
        (lambda x: x + np.roll(np.isnan(x), 1, axis=0), "beside NaN"),
    ],
)
async def test_a_model_that_looks_at_its_neighbours_runs_row_by_row(
    compute: Callable[[np.ndarray], np.ndarray], why: str
):
    verdict = await check(Model(compute), 8)
    assert (verdict.regime, verdict.label) == ("rows", "exact")
    assert why in verdict.why


async def test_a_model_that_remembers_is_labelled():
    calls = itertools.count()
    verdict = await check(Model(lambda x: x + np.float32(next(calls))), 8)
    assert (verdict.regime, verdict.label) == ("rows", "unrepeatable")
    assert "keeps state between calls" in verdict.why


async def test_a_model_that_draws_from_a_global_generator_is_labelled():
    chance = np.random.default_rng()
    verdict = await check(Model(lambda x: x + chance.standard_normal(x.shape, dtype=np.float32)), 8)
    assert (verdict.regime, verdict.label) == ("rows", "unrepeatable")


async def test_noise_from_the_row_s_own_key_is_fine():
    def noisy(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"y": np.random.default_rng(sample["_key"]).standard_normal(3)} for sample in samples]

    assert (await check(Custom(noisy), 8)).regime == "free"


async def test_rows_in_another_order_are_an_error():
    model = Custom(lambda samples: [{"y": sample["x"]} for sample in reversed(samples)])
    with pytest.raises(BadOutput, match="models__run: _outputs of 2 rows are not in the order"):
        await check(model, 8)


async def test_a_missing_row_is_an_error_at_load():
    model = Custom(lambda samples: [{"y": sample["x"]} for sample in samples[:3]])
    with pytest.raises(BadOutput, match="models__run: forward returned 3 _outputs for 4 _samples"):
        await check(model, 8)


async def test_an_output_that_cannot_be_sent_is_named():
    model = Custom(lambda samples: [{"y": [1.0, {"deep": object()}]} for _ in samples])
    with pytest.raises(BadOutput, match=r"models__run: output 'y'\[1\]\['deep'\] is a object"):
        await check(model, 8)


async def test_a_model_that_cannot_take_two_rows_runs_row_by_row():
    def single(x: np.ndarray) -> np.ndarray:
        if len(x) > 1:
            raise ValueError("one row, please")
        return x

    verdict = await check(Model(single), 8)
    assert (verdict.regime, verdict.label) == ("rows", "exact")
    assert "forward raised on a batch of 2 (ValueError: one row, please)" in verdict.why


async def test_a_model_that_refuses_nan_stays_free():
    def finite(x: np.ndarray) -> np.ndarray:
        if np.isnan(x).any():
            raise ValueError("NaN")
        return x

    assert (await check(Model(finite), 8)).regime == "free"


async def test_without_sample_rows_it_runs_row_by_row():
    model = WithoutSamples()
    verdict = await check(model, 8)
    assert (verdict.regime, verdict.label, verdict.digest, verdict.elements) == ("rows", "exact", None, 0)
    assert model.sizes == []


async def test_unchecked_is_labelled_and_not_run():
    model = Model()
    verdict = await check(model, 8, unchecked=True)
    assert (verdict.regime, verdict.label, verdict.digest) == ("unchecked", "unchecked", None)
    assert model.sizes == []


@pytest.mark.parametrize(
    "reply",
    [
        lambda samples: [{"y": sample["x"].astype(np.float16)} for sample in samples],
        lambda samples: [{"action": int(sample["x"].argmax())} for sample in samples],
    ],
)
async def test_outputs_too_coarse_to_tell_are_padded_and_labelled(reply: Callable[..., Any]):
    verdict = await check(Custom(reply), 8)
    assert (verdict.regime, verdict.label, verdict.shape) == ("padded", "rare", 8)
    assert verdict.elements > 8 * ROWS


async def test_a_batch_of_one_needs_no_other_regime():
    verdict = await check(Matmul(), 1)
    assert (verdict.regime, verdict.label) == ("rows", "exact")


async def test_rows_that_it_cannot_run_alone_are_an_error():
    model = Model(lambda x: x.reshape(0))
    with pytest.raises(
        SelfCheckError, match=r"models__run: forward raised on a batch of 1 .* of its own sample_rows"
    ):
        await check(model, 8)


@pytest.mark.parametrize("rows", [[], [{}] * (ROWS - 1), [None] * ROWS, {}])
async def test_bad_sample_rows_are_an_error(rows: Any):
    model = Model()
    model.sample_rows = lambda n, rng: rows  # type: ignore[method-assign]
    with pytest.raises(SelfCheckError, match=r"models__run: sample_rows\(64, rng\) must return a list of 64"):
        await check(model, 8)


async def test_the_digest_tells_models_apart_and_repeats():
    digests = [(await check(Matmul(seed), 4)).digest for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (1.0, 1),
        (1, True),
        ("1", 1),
        (np.float32(1), np.float64(1)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.float32([1, np.nan]), np.float32([1, -np.nan])),
        ([[1], [2]], [[1, 2]]),
        ({"a": [1, 2]}, {"a": [1], "b": 2}),
        (1.0, np.nextafter(1.0, 2.0)),
    ],
)
def test_bits_are_told_apart(one: Any, other: Any):
    assert prints_of({"y": one}, "t").ports != prints_of({"y": other}, "t").ports
    assert prints_of({"y": one}, "t") == prints_of({"y": one}, "t")


def test_the_memory_layout_of_an_array_is_no_difference():
    array = np.arange(6.0).reshape(2, 3)
    assert prints_of({"y": array}, "t") == prints_of({"y": np.asfortranarray(array)}, "t")


class TestTorch:
    """The same for models of torch; they bring state and noise with each row."""

    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    @staticmethod
    def policy(torch: Any, module: Any, nodeset: Any = None) -> Model:
        def compute(x: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                output = module(torch.from_numpy(x))
            return (output[0] if isinstance(output, tuple) else output).float().numpy()

        model = Model(compute)
        holder = model if nodeset is None else nodeset
        holder.module = module
        model.nodeset = nodeset  # type: ignore[attr-defined]
        return model

    async def test_a_gru_gets_a_regime_that_keeps_the_promise(self, torch: Any):
        torch.manual_seed(0)
        cell = torch.nn.GRUCell(8, 64)
        model = self.policy(torch, cell)
        verdict = await check(model, 8)
        assert verdict.label == "exact"
        assert verdict.regime in {"free", "padded"}
        x = np.stack([row["x"] for row in model.sample_rows(8, np.random.default_rng(5))])
        fill = (verdict.shape or 1) - 1
        alone = [model.compute(np.stack([row] + [row] * fill))[0] for row in x]
        together = model.compute(np.concatenate([x, np.repeat(x[:1], (verdict.shape or 8) - 8, axis=0)]))[:8]
        assert np.stack(alone).tobytes() == together.tobytes()

    @pytest.mark.parametrize("in_nodeset", [False, True])
    @pytest.mark.parametrize("layer", ["Dropout", "BatchNorm1d"])
    async def test_train_mode_is_refused(self, torch: Any, layer: str, in_nodeset: bool):
        module = torch.nn.Sequential(
            torch.nn.Linear(8, 8), getattr(torch.nn, layer)(8 if "Norm" in layer else 0.1)
        )
        model = self.policy(torch, module, type("Nodeset", (), {})() if in_nodeset else None)
        with pytest.raises(SelfCheckError, match=rf"models__run: 1 \({layer}\) is in train mode.*\.eval\(\)"):
            await check(model, 4)
        module.eval()
        assert (await check(model, 4)).label == "exact"

    async def test_a_gru_with_dropout_in_train_mode_is_refused(self, torch: Any):
        model = self.policy(torch, torch.nn.GRU(8, 8, num_layers=2, dropout=0.2))
        with pytest.raises(SelfCheckError, match=r"model \(GRU\) is in train mode"):
            await check(model, 4)

    async def test_parameters_of_16_bits_are_labelled(self, torch: Any):
        half = torch.nn.Linear(8, 8).to(torch.bfloat16).eval()
        model = self.policy(torch, half)
        model.compute = lambda x: half(torch.from_numpy(x).bfloat16()).detach().float().numpy()
        verdict = await check(model, 4)
        assert verdict.label == "rare"
        assert verdict.regime == "padded"
