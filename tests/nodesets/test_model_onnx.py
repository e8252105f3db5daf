"""model_onnx on the files that silero-vad ships, whose graphs have a batch axis or none."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.components import NodeContext
from tests.nodesets.batched_tool import BatchedTool
from tests.nodesets.gym_player import nodeset_class

package = nodeset_class("model_onnx").__module__
model: Any = importlib.import_module(package + ".model")
sounds: Any = importlib.import_module(nodeset_class("env_sound").__module__ + ".sounds")
DATA = "silero_vad:data/"
VOICE = next(seed for seed in range(20) if sounds.sound(seed)[1])
OTHER = next(seed for seed in range(20) if not sounds.sound(seed)[1])


async def highest(tool: BatchedTool, *seeds: int) -> np.ndarray:
    """The highest score of each sound, all of them heard side by side."""
    windows = [sounds.sound(seed)[0] for seed in seeds]
    hidden: list[dict[str, Any]] = [{} for _ in seeds]
    best = np.zeros(len(seeds))
    for index in range(sounds.WINDOWS):
        samples = [{"value": one[index], **kept} for one, kept in zip(windows, hidden, strict=True)]
        outputs = await tool.act(*samples)
        hidden = [{"hidden_in": output["hidden_out"]} for output in outputs]
        best = np.maximum(best, [float(output["value"][0]) for output in outputs])
    return best


async def test_it_tells_voices_from_hiss_and_tones_and_needs_its_state() -> None:
    tool = await BatchedTool("model_onnx").ready()
    seeds = list(range(30))
    truth = np.array([sounds.sound(seed)[1] for seed in seeds])
    assert ((await highest(tool, *seeds) >= 0.5) == truth).mean() > 0.95
    first = (await tool.act({"value": sounds.sound(VOICE)[0][20]}))[0]
    again = (await tool.act({"value": sounds.sound(VOICE)[0][20], "hidden_in": first["hidden_out"]}))[0]
    assert first["hidden_out"]["state"].shape == (2, 128)
    assert not np.array_equal(first["value"], again["value"])


async def test_a_batch_changes_no_row() -> None:
    tool = await BatchedTool("model_onnx").ready()
    assert tool.tool.model.is_batched
    together = await highest(tool, VOICE, OTHER, VOICE)
    alone = [(await highest(tool, seed))[0] for seed in (VOICE, OTHER)]
    assert together.tolist() == [alone[0], alone[1], alone[0]]
    verdict = await tool.verdict()
    assert (verdict.label, verdict.rows) == ("exact", 64), verdict


@pytest.mark.parametrize(
    ("file", "config", "hidden"),
    [
        ("silero_vad.onnx", {"shape": {"input": [1, 576]}}, {"state": (2, 1, 128)}),
        ("silero_vad_openvino_16k.onnx", {"constants": {}, "shape": {}}, {"state": (2, 1, 128)}),
        (
            "silero_vad_16k_sequence.onnx",
            {"constants": {}, "shape": {}, "state": {"h": "hn", "c": "cn"}},
            {"h": (1, 1, 128), "c": (1, 1, 128)},
        ),
    ],
)
async def test_rows_run_one_by_one_where_not_every_tensor_has_the_axis(
    file: str, config: dict[str, Any], hidden: dict[str, Any]
) -> None:
    tool = await BatchedTool("model_onnx", path=DATA + file, **config).ready()
    assert not tool.tool.model.is_batched
    window = sounds.sound(VOICE)[0][0]
    outputs = await tool.act(*({"value": window[None] * loudness} for loudness in (1, 0.5, 1)))
    assert {name: state.shape for name, state in outputs[0]["hidden_out"].items()} == hidden
    expected = (await (await BatchedTool("model_onnx").ready()).act({"value": window}))[0]["value"]
    scores = [np.asarray(output["value"]).reshape(()) for output in outputs]
    assert scores[0] == scores[2] == pytest.approx(float(expected[0]), abs=1e-3)


async def test_rows_of_different_sizes_run_one_by_one_and_none_can_be_made_up() -> None:
    tool = await BatchedTool("model_onnx", shape={}).ready()
    assert tool.tool.sample_rows is None
    window = sounds.sound(VOICE)[0][0]
    one, other = await tool.act({"value": window}, {"value": {"input": window[:320]}})
    assert not np.array_equal(one["value"], other["value"])


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"path": "absent.onnx"}, "absent.onnx: there is no such model file"),
        ({"path": "no_such_package:x.onnx"}, "no_such_package:x.onnx: there is no such model file"),
        ({"path": "run.py"}, "run.py: InvalidProtobuf: "),
        ({"state": {"h": "stateN"}}, "op15.onnx has no input 'h'; it has input, state, sr"),
        ({"state": {"state": "s"}}, "op15.onnx has no output 's'; it has output, stateN"),
        ({"constants": 16000}, "config constants is 16000; it is a dict"),
        ({"provider": "Abacus"}, "config provider is 'Abacus'; onnxruntime here has .*CPUExecutionProvider"),
    ],
)
async def test_a_config_that_cannot_be_used_is_named(config: dict[str, Any], error: str) -> None:
    with pytest.raises((ValueError, model.ModelFileError), match=error):
        await BatchedTool("model_onnx", **config).ready()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([0.0] * 512, r"input has shape \(512,\); the model takes \(576\)"),
        ({"sound": [0.0]}, "a value has no 'input', which the model takes"),
        ("hm", "could not convert string to float"),
    ],
)
async def test_a_value_that_does_not_fit_is_named(value: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        await (await BatchedTool("model_onnx").ready()).act({"value": value})


async def test_sounds_come_from_the_episode_s_seed_and_end() -> None:
    hear, _ = nodeset_class("env_sound")().get_tools()
    heard = []
    for seed in (VOICE, VOICE, OTHER):
        await hear.initialize()
        context = NodeContext({}, 0, "run/ep0000", 0, {"seed": seed})
        outputs = [await hear.forward({}, context) for _ in range(sounds.WINDOWS)]
        assert [output["done"] for output in outputs] == [False] * (sounds.WINDOWS - 1) + [True]
        heard.append(np.stack([output["window"] for output in outputs]))
    assert np.array_equal(heard[0], heard[1])
    assert not np.array_equal(heard[0], heard[2])
    assert np.array_equal(heard[0][1:, :64], heard[0][:-1, -64:])


async def test_a_missing_library_is_said_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"model_onnx needs onnxruntime, .* 'evaltower\[models\]'"):
        await nodeset_class("model_onnx")().initialize()


def test_the_model_is_found_without_importing_its_package() -> None:
    run = importlib.import_module(package + ".run")
    found = run._located("silero_vad:data/silero_vad_16k_op15.onnx")
    assert isinstance(found, Path)
    assert found.is_file()
    assert "silero_vad" not in sys.modules
