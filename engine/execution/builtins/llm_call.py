"""``llmCall``: fill a template, ask a chat model, put out what it says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Any

from engine.components.bases import BaseCanvasNode
from engine.components.builtin_checks import ALWAYS_KNOWN, MESSAGES
from engine.components.builtin_configs import MODES, number, require_fields
from engine.components.builtin_ports import resolve_builtin
from engine.components.context import ContainerAccess, NodeContext
from engine.execution.builtins.template import fill, pose_values
from engine.graph.model import Node
from engine.models.call import Chat, ChatCall, Reply, schema_format
from engine.models.errors import ChatUnavailable
from engine.models.images import image_parts
from engine.models.profiles import asked_for

_NOT_IN_TEMPLATE = frozenset({"prompt", "rgb", "image_labels", "system_prompt", "pose"})


class LLMCall(BaseCanvasNode):
    """Config: ``template`` (or a ``prompt`` input in its place), ``system_prompt`` (its input wins),
    ``profile``, ``temperature``, ``max_tokens``, ``stop``, ``schema`` (the answer is JSON of it, where the
    server can hold its model to that), ``n``, ``mode``, ``image_detail``, ``image_mime`` (of images that come
    as base64), ``write_to_state``.

    ``conversation``: the turns are the state ``messages`` (an accumulator) of ``graph_state``, as text;
    images go with the current turn only, and ``n`` is 1. Outputs: ``response``, and ``responses``, which
    holds no empty one. Raises what :class:`engine.models.call.Chat` raises, and ValueError for a config or
    template that cannot be used. ``wired``: inputs that have an edge, whose names a template may hold beside
    those of declared ports.
    """

    node_type = "llmCall"

    def __init__(self, chat: Chat, wired: Collection[str] = ()) -> None:
        super().__init__()
        self._chat = chat
        self._wired = wired

    async def initialize(self) -> None:
        config = self.config
        self._profile, self._model = asked_for(config)
        require_fields(self.node_type, config)
        self._mode = config.get("mode") or MODES[0]
        self._n = int(number(config.get("n")) or 1) if self._mode == MODES[0] else 1
        self._parameters = self._set_parameters()
        ports = resolve_builtin(Node(self.node_id, self.node_type, config=config))
        assert ports is not None
        self._known = ALWAYS_KNOWN.union(self._wired, (port.name for port in ports.inputs))

    async def forward(self, inputs: dict[str, Any], ctx: NodeContext) -> dict[str, Any]:
        prompt = self._prompt(inputs, ctx)
        self._self_log("rendered_prompt", prompt)
        system = str(inputs.get("system_prompt") or self.config.get("system_prompt") or "")
        if system:
            self._self_log("system_prompt", system)
        parts = await self._image_parts(inputs)
        earlier = self._earlier_turns(prompt, ctx)
        content = [{"type": "text", "text": prompt}, *parts] if parts else prompt
        messages = [*earlier, {"role": "user", "content": content}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        began = time.perf_counter()
        reply = await self._asked(ChatCall(messages, ctx.key, self._parameters, self._n), ctx)
        for key, value in reply.told().items():
            self._self_log(key, value)
        for event in reply.events(prompt, (time.perf_counter() - began) * 1000):
            ctx.trace(**event)
        responses = [text for text in reply.answer.texts if text]
        if responses:
            self._remember(responses[0], ctx)
        return {"response": responses[0] if responses else "", "responses": responses}

    async def _asked(self, call: ChatCall, ctx: NodeContext) -> Reply:
        try:
            return await self._chat.ask(self._profile, self._model, call)
        except ChatUnavailable as failure:  # it ends the episode, whose row is to say where
            raise ChatUnavailable(
                f"{self.node_id} at step {ctx.step}: {failure}", call=failure.call
            ) from None

    def _set_parameters(self) -> dict[str, Any]:
        """Those that are set: one that is not is not sent, so that the server's own default holds."""
        stop = self.config.get("stop")
        max_tokens = number(self.config.get("max_tokens"))
        every = {
            "temperature": number(self.config.get("temperature")),
            "max_tokens": None if max_tokens is None else int(max_tokens),
            "stop": [stop] if isinstance(stop, str) and stop else stop or None,
            "response_format": schema_format(self.config.get("schema")),
        }
        return {name: value for name, value in every.items() if value is not None}

    def _prompt(self, inputs: Mapping[str, Any], ctx: NodeContext) -> str:
        if inputs.get("prompt"):
            return str(inputs["prompt"])
        values = {name: value for name, value in inputs.items() if name not in _NOT_IN_TEMPLATE}
        values = {"step": ctx.step, **values, **pose_values(inputs.get("pose"))}
        return fill(str(self.config.get("template") or ""), values, ctx.graph_state, self._known)

    async def _image_parts(self, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        images = _listed(inputs.get("rgb"))
        if not images:
            return []
        labels = [str(label) for label in _listed(inputs.get("image_labels"))]
        detail = str(self.config.get("image_detail") or "low")
        mime = str(self.config.get("image_mime") or "image/png")
        parts, passed_over = await asyncio.to_thread(image_parts, images, labels, detail, mime)
        self._self_log("image_count", len(images) - len(passed_over))
        if passed_over:
            self._self_log("images_passed_over", passed_over)
        return parts

    def _earlier_turns(self, prompt: str, ctx: NodeContext) -> list[dict[str, Any]]:
        if self._mode != "conversation":
            return []
        state = self._granted_state(ctx, "config.mode is conversation")
        state.write(MESSAGES, {"role": "user", "content": prompt})
        turns = state.read(MESSAGES)
        if not isinstance(turns, list):
            raise ValueError(f"the state {MESSAGES!r} of graph_state must be an accumulator")
        return turns[:-1]

    def _remember(self, response: str, ctx: NodeContext) -> None:
        if self._mode == "conversation":
            state = self._granted_state(ctx, "config.mode is conversation")
            state.write(MESSAGES, {"role": "assistant", "content": response})
        if name := self.config.get("write_to_state"):
            self._granted_state(ctx, "config.write_to_state is set").write(str(name), response)

    def _granted_state(self, ctx: NodeContext, because: str) -> ContainerAccess:
        if ctx.graph_state is None:
            raise ValueError(f"{because}, but the container graph_state is not granted to this node")
        return ctx.graph_state


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
