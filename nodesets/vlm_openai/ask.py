"""The tool: a prompt and images to text, or to JSON of a schema, or to one of some choices."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from engine.components import BaseCanvasNode, PortDef

from .servers import NAME, Servers


class Ask(BaseCanvasNode):
    """Ask a model about images. Config, beside what a profile of ``evaltower.toml`` has (``base_url``,
    ``model``, ``api_key_env``, ``price``, ``params``, ``max_tokens_field``, ``timeout_sec``, ``retries``,
    ``concurrency``):

    - ``system_prompt``, and ``prompt``, which holds where none is wired.
    - ``schema``: a JSON schema that the answer is held to, by servers that can.
    - ``choices``: words of which the answer is one; in place of a schema.
    - ``temperature``, ``max_tokens``: sent where they are set.
    - ``image_detail``: low, high or auto.
    - ``cache``: a .jsonl file that keeps answers; else they are kept while the process lives.

    A server that stays away ends the episode as class ``infra``; what it refuses, and an answer that is no
    JSON where that was asked for, is the node's error.
    """

    node_type = "vlm_openai__ask"
    display_name = "VLM: Ask"
    description = "Ask a vision-language model about images"
    category = "model"
    input_ports = [
        PortDef("prompt", "TEXT", optional=True),
        PortDef("images", "LIST[IMAGE]", "(H, W, 3) uint8 each", optional=True),
    ]
    output_ports = [
        PortDef("text", "TEXT", "the answer as it came"),
        PortDef("value", "ANY", "the answer's JSON, where schema or choices are set; else null"),
        PortDef("action", "DISCRETE_ACTION", "the place of the answer among the choices; else -1"),
    ]
    default_config = {
        "base_url": "http://127.0.0.1:8000/v1",
        "model": "",
        "api_key_env": "",
        "system_prompt": "",
        "prompt": "",
        "schema": None,
        "choices": [],
        "temperature": None,
        "max_tokens": None,
        "image_detail": "low",
        "cache": "",
    }

    def __init__(self, servers: Servers) -> None:
        super().__init__()
        self._servers = servers

    async def initialize(self) -> None:
        """ValueError or ProfileError, in one sentence, where the config cannot be used."""
        config = self.config
        if not config["model"]:
            raise ValueError("config model is empty: name the model as its server does")
        choices = config["choices"]
        if not isinstance(choices, list) or not all(isinstance(choice, str) and choice for choice in choices):
            raise ValueError(f"config choices is {choices!r}; it is a list of words")
        if choices and config["schema"]:
            raise ValueError("config has both schema and choices; only one of them can be asked for")
        self._schema = _one_of(choices) if choices else config["schema"]
        if self._schema is not None and not isinstance(self._schema, dict):
            raise ValueError(f"config schema is {self._schema!r}; it is a JSON schema, as an object")
        self._chat = self._servers.client(config)

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        from engine.models.call import ChatCall
        from engine.models.errors import ChatUnavailable

        prompt = str(inputs.get("prompt") or self.config["prompt"])
        content = [{"type": "text", "text": prompt}, *await self._images(inputs.get("images"))]
        messages = [{"role": "user", "content": content}]
        if self.config["system_prompt"]:
            messages.insert(0, {"role": "system", "content": self.config["system_prompt"]})
        began = time.perf_counter()
        try:
            reply = await self._chat.ask(NAME, "", ChatCall(messages, ctx.key, self._parameters()))
        except ChatUnavailable as failure:
            raise ChatUnavailable(f"{self.node_id} at step {ctx.step}: {failure}") from None
        for key, value in reply.told().items():
            self._self_log(key, value)
        for event in reply.events(prompt, (time.perf_counter() - began) * 1e3):
            ctx.trace(**event)
        return self._outputs(reply.answer.texts[0])

    def _parameters(self) -> dict[str, Any]:
        from engine.models.call import schema_format

        wanted = {name: self.config[name] for name in ("temperature", "max_tokens")}
        wanted["response_format"] = schema_format(self._schema)
        return {name: value for name, value in wanted.items() if value is not None}

    async def _images(self, given: Any) -> list[dict[str, Any]]:
        from engine.models.images import image_parts

        images = given if isinstance(given, (list, tuple)) else [] if given is None else [given]
        detail = str(self.config["image_detail"])
        parts, passed_over = await asyncio.to_thread(image_parts, images, [], detail, "image/png")
        if passed_over:
            raise ValueError(f"what is wired to images is none: {'; '.join(passed_over)}")
        return parts

    def _outputs(self, text: str) -> dict[str, Any]:
        if self._schema is None:
            return {"text": text, "value": None, "action": -1}
        try:
            value = json.loads(text)
        except ValueError:
            raise ValueError(f"the answer is no JSON, which was asked for: {text[:200]!r}") from None
        if not self.config["choices"]:
            return {"text": text, "value": value, "action": -1}
        chosen = value.get("choice") if isinstance(value, dict) else None
        if chosen not in self.config["choices"]:
            raise ValueError(f"the answer is none of the choices: {text[:200]!r}")
        return {"text": text, "value": chosen, "action": self.config["choices"].index(chosen)}


def _one_of(choices: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": choices}},
        "required": ["choice"],
        "additionalProperties": False,
    }
