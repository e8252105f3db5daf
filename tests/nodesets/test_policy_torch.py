"""policy_torch: what it loads, what rides the row, and the policy that comes with it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.nodesets.gym_player import NODESETS, nodeset_class

torch: Any = pytest.importorskip("torch")
package = nodeset_class("policy_torch").__module__
model: Any = importlib.import_module(package + ".model")
training: Any = importlib.import_module(package + ".train_cartpole")


async def make(**config: Any) -> Any:
    """The tool with a config, as the host sets it up."""
    (tool,) = nodeset_class("policy_torch")().get_tools()
    tool.config = {**tool.default_config, **config}
    await tool.initialize()
    return tool


async def act(tool: Any, *samples: dict[str, Any]) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = (await tool.forward({"_samples": list(samples)}, None))["_outputs"]
    return outputs


def row(key: int = 0, hidden: Any = None, observation: Any = (0.0, 0.0, 0.01, 0.0)) -> dict[str, Any]:
    sample = {"observation": list(observation), "_key": key}
    return sample if hidden is None else dict(sample, hidden_in=hidden)


async def balance(tool: Any, episodes: int, keep_state: bool = True) -> np.ndarray:
    """Steps that the pole stays up, at most 500, by the tool alone; (episodes,)."""
    rng = np.random.default_rng(1)
    poles = training.CartPoles(episodes, rng)
    hidden: list[Any] = [None] * episodes
    lengths = np.full(episodes, 500)
    for step in range(1, 501):
        keys = rng.integers(2**62, size=episodes)
        samples = [row(int(k), h, s) for k, h, s in zip(keys, hidden, poles.states, strict=True)]
        outputs = await act(tool, *samples)
        if keep_state:
            hidden = [output["hidden_out"] for output in outputs]
        fell = poles.step(np.array([output["action"] for output in outputs]))
        lengths[fell & (lengths == 500)] = step
    return lengths


async def test_the_policy_that_comes_with_it_balances_and_needs_its_state() -> None:
    tool = await make(temperature=0)
    assert (await balance(tool, 20)).mean() > 475
    assert (await balance(tool, 20, keep_state=False)).mean() < 100


async def test_noise_grows_with_temperature() -> None:
    cold, hot = await make(temperature=1.0), await make(temperature=3.0)
    assert (await balance(cold, 20)).mean() > (await balance(hot, 20)).mean() + 100


async def test_sampling_follows_the_softmax_and_comes_from_the_rows_key_alone() -> None:
    tool = await make(temperature=4.0)
    outputs = await act(tool, *(row(key) for key in range(4000)))
    logits = outputs[0]["scores"].astype(float) / 4
    chance = 1 / (1 + np.exp(logits[0] - logits[1]))
    assert 0.02 < chance < 0.98
    share = np.mean([output["action"] for output in outputs])
    assert abs(share - chance) < 4 * np.sqrt(chance * (1 - chance) / 4000)
    again = await act(tool, *(row(key) for key in reversed(range(4000))))
    assert [o["action"] for o in again[::-1]] == [o["action"] for o in outputs]


async def test_nothing_is_kept_between_calls() -> None:
    tool = await make()
    first = (await act(tool, row(5)))[0]
    state = first["hidden_out"]
    assert (state.shape, state.dtype) == ((24,), np.float32)
    second = (await act(tool, row(6, state)))[0]
    assert not np.array_equal(second["scores"], first["scores"])
    assert np.array_equal((await act(tool, row(5)))[0]["scores"], first["scores"])
    assert np.array_equal((await act(tool, row(6, state.tolist())))[0]["scores"], second["scores"])


async def test_rows_for_the_self_check_have_the_policys_shape_and_first_steps_among_them() -> None:
    tool = await make()
    rows = tool.sample_rows(16, np.random.default_rng(0))
    assert len(rows) == 16
    assert {r["observation"].shape for r in rows} == {(4,)}
    assert [("hidden_in" in r) for r in rows[:5]] == [False, True, True, True, False]
    assert len(await act(tool, *(dict(r, _key=0) for r in rows))) == 16


@pytest.mark.filterwarnings("ignore:.*torch.jit.*deprecated:DeprecationWarning")
async def test_torchscript_with_and_without_state(tmp_path: Path) -> None:
    plain, recurrent = tmp_path / "plain.pt", tmp_path / "recurrent.pt"
    torch.jit.trace(torch.nn.Linear(3, 2), torch.zeros(1, 3)).save(str(plain))
    mlp_gru = model.MlpGru(inputs=3, outputs=2, layers=[], gru=5)
    torch.jit.trace(mlp_gru, (torch.zeros(2, 3), torch.zeros(2, 5))).save(str(recurrent))

    tool = await make(path=str(plain))
    assert tool.sample_rows is None
    output = (await act(tool, row(observation=[1, 2, 3])))[0]
    assert output["hidden_out"].shape == (0,)

    tool = await make(path=str(recurrent), state_size=5, observation_shape=[3])
    assert len(tool.sample_rows(2, np.random.default_rng(0))) == 2
    output = (await act(tool, row(observation=[1, 2, 3])))[0]
    expected, state = mlp_gru(torch.tensor([[1.0, 2.0, 3.0]]), torch.zeros(1, 5))
    assert output["scores"] == pytest.approx(expected[0].detach().numpy())
    assert output["hidden_out"] == pytest.approx(state[0].detach().numpy())


async def test_a_bare_state_dict_takes_its_architecture_from_the_config(tmp_path: Path) -> None:
    architecture = {"inputs": 3, "outputs": 2, "layers": [4]}
    torch.save(model.MlpGru(**architecture).state_dict(), tmp_path / "bare.pt")
    tool = await make(path=str(tmp_path / "bare.pt"), architecture=architecture)
    assert len((await act(tool, row(observation=[1, 2, 3])))[0]["scores"]) == 2
    with pytest.raises(model.PolicyFileError, match=r"bare.pt holds weights alone: give .* an architecture"):
        await make(path=str(tmp_path / "bare.pt"))
    with pytest.raises(model.PolicyFileError, match=r"bare.pt: RuntimeError: .*size mismatch"):
        await make(path=str(tmp_path / "bare.pt"), architecture=dict(architecture, inputs=7))


async def test_a_gaussian_head_adds_noise_from_the_key_to_the_mean(tmp_path: Path) -> None:
    torch.save(
        {
            "architecture": {"inputs": 2, "outputs": 3, "layers": []},
            "state_dict": model.MlpGru(inputs=2, outputs=3, layers=[]).state_dict(),
        },
        tmp_path / "mean.pt",
    )
    exact = await make(path=str(tmp_path / "mean.pt"), head="gaussian", observation_key="state")
    noisy = await make(path=str(tmp_path / "mean.pt"), head="gaussian", observation_key="state", noise=0.5)
    samples = [{"observation": {"state": [1, 2], "text": "x"}, "_key": key} for key in range(2000)]
    mean = (await act(exact, *samples))[0]
    assert mean["action"].dtype == np.float32
    assert np.array_equal(mean["action"], mean["scores"])
    drawn = np.stack([output["action"] for output in await act(noisy, *samples)])
    assert drawn.mean(0) == pytest.approx(mean["action"], abs=4 * 0.5 / np.sqrt(2000))
    assert drawn.std(0) == pytest.approx([0.5] * 3, rel=0.1)


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"path": "absent.pt"}, "absent.pt: there is no such policy file"),
        ({"path": "model.py"}, "model.py: "),
        ({"head": "best"}, "config head is 'best'"),
        ({"temperature": -1}, "config temperature is -1"),
        ({"temperature": "warm"}, "config temperature is 'warm'"),
        ({"noise": float("nan")}, "config noise is nan"),
    ],
)
async def test_a_config_that_cannot_be_used_is_named(config: dict[str, Any], error: str) -> None:
    with pytest.raises((ValueError, model.PolicyFileError), match=error):
        await make(**config)


async def test_an_observation_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"an observation has shape \(3,\); the policy takes \[4\]"):
        await act(await make(), row(observation=[1, 2, 3]))


async def test_rows_of_nan_raise_nothing() -> None:
    outputs = await act(await make(), row(observation=[float("nan")] * 4), row())
    assert np.isfinite(outputs[1]["scores"]).all()


async def test_missing_torch_is_said_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ImportError, match=r"policy_torch needs torch, which .* lacks: pip install 'evaltower\[torch\]'"
    ):
        await nodeset_class("policy_torch")().initialize()


@pytest.mark.slow
async def test_the_training_script_gives_the_same_policy_twice_and_a_good_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        training.main(tmp_path / name / "cartpole.pt")
    one, two = (tmp_path / name / "cartpole.pt" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert (await balance(await make(path=str(one), temperature=0), 50)).mean() > 475


def test_the_policys_file_is_what_the_training_script_writes() -> None:
    saved = torch.load(NODESETS / "policy_torch" / "cartpole.pt", weights_only=True)
    assert saved["architecture"] == training.ARCHITECTURE
