"""A causal language model that chooses: the likeliest of given continuations of a prompt."""

from __future__ import annotations

import re
from typing import Any, Tuple

import numpy as np

from engine.components import PortDef, WrongChoice

from .tool import SHARED_CONFIG, HFTool

Tokens = Tuple[int, ...]

_PLACE = re.compile(r"\{(prompt|instruction)\}")
_WORDS = ("you", "see", "a", "red", "ball", "green", "key", "two", "steps", "ahead", "go", "left", "wall")


class Choose(HFTool):
    """Choose by the chance that a causal language model gives each continuation. Config, beside the shared:

    - ``template``: what the model reads, with {prompt} and {instruction} in their places.
    - ``choices``: the continuations, as they are, so that most begin with a space.
    - ``chat``: put the prompt into the model's chat template, as what the user says.
    - ``per_token``: score the mean of a continuation's tokens, not their sum, which favours short ones.
    - ``length``: tokens that the model sees. A longer prompt loses its beginning; a shorter one is filled up,
      so that a row's sums are the same beside whichever neighbours.
    """

    node_type = "policy_hf__choose"
    display_name = "HF: Choose"
    description = "Choose the continuation that a causal language model finds likeliest"
    input_ports = [PortDef("prompt", "TEXT"), PortDef("instruction", "TEXT", optional=True)]
    output_ports = [
        PortDef("action", "DISCRETE_ACTION", "the index of the choice"),
        PortDef("choice", "TEXT"),
        PortDef("scores", "ANY", "(choices,) float32, log-probabilities"),
    ]
    default_config = {
        **SHARED_CONFIG,
        "template": "{prompt}",
        "choices": [" left", " right", " forward"],
        "chat": False,
        "per_token": True,
        "length": 128,
    }

    async def initialize(self) -> None:
        """Load the model. WrongChoice says what is wrong with the config."""
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from .loading import load

        choices = self.config["choices"]
        if not isinstance(choices, list) or not choices or not all(isinstance(c, str) and c for c in choices):
            raise WrongChoice(f"config choices is {choices!r}; it is a list of texts")
        self.model, self._tokenizer = load(AutoModelForCausalLM, AutoTokenizer, self.config)
        self._choices: list[Tokens] = [self._tokens(choice, special=False) for choice in choices]
        # Continuations of one token all follow the prompt alone: the model sees it once for all of them.
        self._begun = sorted({choice[:-1] for choice in self._choices})
        length, longest = self.config["length"], max(map(len, self._choices))
        if not isinstance(length, int) or length <= longest:
            raise WrongChoice(f"config length is {length!r}; the longest choice alone is {longest} tokens")

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        samples = inputs["_samples"]
        scores = self._scores([self._prompt(sample) for sample in samples])
        return {"_outputs": self.acts(samples, scores, "choice", self.config["choices"])}

    def sample_rows(self, count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Prompts of one to sixty words."""
        return [{"prompt": " ".join(rng.choice(_WORDS, int(rng.integers(1, 61))))} for _ in range(count)]

    def _tokens(self, text: str, special: bool) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=special)["input_ids"])

    def _prompt(self, sample: dict[str, Any]) -> Tokens:
        values = {"prompt": sample["prompt"], "instruction": sample.get("instruction") or ""}
        text = _PLACE.sub(lambda place: str(values[place.group(1)]), self.config["template"])
        if self.config["chat"]:
            turn = [{"role": "user", "content": text}]
            text = self._tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        tokens = self._tokens(text, special=not self.config["chat"])
        room = self.config["length"] - max(map(len, self._choices)) + 1
        if not tokens:
            raise ValueError("the prompt has no tokens: there is nothing to go on from")
        return tokens[-room:]

    def _scores(self, prompts: list[Tokens]) -> np.ndarray:
        """(B, choices) float32."""
        logs = self._log_chances([prompt + begun for prompt in prompts for begun in self._begun])
        scores = np.zeros((len(prompts), len(self._choices)), np.float32)
        for row, prompt in enumerate(prompts):
            for column, choice in enumerate(self._choices):
                line = logs[row * len(self._begun) + self._begun.index(choice[:-1])]
                told = [line[place, token] for place, token in enumerate(choice, len(prompt) - 1)]
                scores[row, column] = np.mean(told) if self.config["per_token"] else np.sum(told)
        return scores

    def _log_chances(self, lines: list[Tokens]) -> np.ndarray:
        """(lines, length, tokens known) float32: of each token after each beginning."""
        import torch

        length, device = self.config["length"], self.config["device"]
        tokens = torch.tensor([[*line, *[0] * (length - len(line))] for line in lines], device=device)
        seen = torch.tensor([[1] * len(line) + [0] * (length - len(line)) for line in lines], device=device)
        with torch.inference_mode():
            logits = self.model(input_ids=tokens, attention_mask=seen).logits
            return torch.log_softmax(logits.float(), -1).cpu().numpy()
