"""vlm_openai against a real server: what is asked, what comes of the answer, and whose fault it is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.components import NodeContext
from engine.models.errors import ChatRefused, ChatUnavailable, KeyMissing
from tests.fakes.chat_server import ChatServer, chat_server, fails, says
from tests.fakes.real_runs import finished, make_root
from tests.nodesets.gym_player import NODESETS, nodeset_class

FRAME = np.zeros((4, 6, 3), np.uint8)
CHOICES = ["stop", "forward", "turn_left", "turn_right"]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


class Asker:
    """The node, with a config; ``inner_log`` and ``events`` of its last firing."""

    def __init__(self, url: str) -> None:
        self.nodeset: Any = nodeset_class("vlm_openai")()
        self.url = url

    async def ask(self, config: dict[str, Any] | None = None, key: int = 7, **inputs: Any) -> dict[str, Any]:
        (node,) = self.nodeset.get_tools()
        node.node_id = "see"
        server = {"base_url": self.url, "model": "tiny", "retries": 0}
        node.config = {**node.default_config, **server, **(config or {})}
        context = NodeContext({}, 3, "run/ep0000", key)
        await node.initialize()
        try:
            outputs: dict[str, Any] = await node.forward(inputs, context)
        finally:
            self.inner_log = {entry["key"]: entry["value"] for entry in node.take_inner_log()}
            self.events = context.events
        return outputs


@pytest.fixture
async def asker(server: ChatServer) -> AsyncIterator[Asker]:
    found = Asker(server.url)
    yield found
    await found.nodeset.shutdown()


async def test_prompt_and_images_go_to_the_model_and_its_words_come_back(
    asker: Asker, server: ChatServer
) -> None:
    config = {"system_prompt": "Look well.", "temperature": 0, "image_detail": "high"}
    outputs = await asker.ask(config, prompt="What is it?", images=[FRAME, FRAME])
    assert outputs == {"text": "ok", "value": None, "action": -1}
    (body,) = server.bodies
    system, user = body["messages"]
    assert system == {"role": "system", "content": "Look well."}
    assert [part["type"] for part in user["content"]] == ["text", "image_url", "image_url"]
    assert user["content"][1]["image_url"]["detail"] == "high"
    assert body["temperature"] == 0
    assert not {"max_tokens", "response_format"} & set(body)


async def test_an_answer_is_held_to_a_schema_and_read(asker: Asker, server: ChatServer) -> None:
    schema = {"type": "object", "properties": {"cups": {"type": "integer"}}}
    server.acts.append(says('{"cups": 3}'))
    outputs = await asker.ask({"schema": schema, "prompt": "How many cups?"}, images=FRAME)
    assert (outputs["value"], outputs["action"]) == ({"cups": 3}, -1)
    asked = server.bodies[0]["response_format"]
    assert (asked["type"], asked["json_schema"]["schema"]) == ("json_schema", schema)
    assert server.bodies[0]["messages"][0]["content"][0]["text"] == "How many cups?"


async def test_one_of_some_choices_is_an_action(asker: Asker, server: ChatServer) -> None:
    server.acts.append(says('{"choice": "turn_left"}'))
    outputs = await asker.ask({"choices": CHOICES}, images=FRAME)
    assert (outputs["value"], outputs["action"]) == ("turn_left", 2)
    schema = server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["choice"]["enum"] == CHOICES


@pytest.mark.parametrize(
    ("answer", "config", "error"),
    [
        (
            "left, I think",
            {"schema": {"type": "object"}},
            "the answer is no JSON, which was asked for: 'left,",
        ),
        ('{"choice": "fly"}', {"choices": CHOICES}, "the answer is none of the choices: "),
        ("[]", {"choices": CHOICES}, "the answer is none of the choices: "),
    ],
)
async def test_an_answer_of_another_form_is_the_node_s_error(
    asker: Asker, server: ChatServer, answer: str, config: dict[str, Any], error: str
) -> None:
    server.acts.append(says(answer))
    with pytest.raises(ValueError, match=error):
        await asker.ask(config, prompt="p")
    assert asker.inner_log["usage"]["requests"] == 1


async def test_tries_tokens_and_cost_are_on_record(asker: Asker, server: ChatServer) -> None:
    server.acts.append(fails(429, Retry_After="0"))
    price = {"input": 1.0, "output": 10.0}
    await asker.ask({"retries": 1, "price": price}, prompt="p")
    usage = asker.inner_log["usage"]
    assert (usage["requests"], usage["prompt_tokens"], usage["usd"]) == (2, 10, 30e-6)
    assert [event["kind"] for event in asker.events] == ["message", "llm_call", "message"]
    await asker.ask({"retries": 1, "price": price}, prompt="p")
    assert asker.inner_log["usage"]["from_cache"]
    await asker.ask({"retries": 1, "price": price}, key=8, prompt="p")
    assert len(server.asked) == 3


async def test_answers_are_kept_in_a_file_where_one_is_named(
    asker: Asker, server: ChatServer, tmp_path: Path
) -> None:
    config = {"cache": str(tmp_path / "answers.jsonl")}
    await asker.ask(config, prompt="p")
    await asker.nodeset.shutdown()
    asker.nodeset = nodeset_class("vlm_openai")()
    await asker.ask(config, prompt="p")
    assert len(server.asked) == 1


async def test_whose_fault_it_is(asker: Asker, server: ChatServer) -> None:
    server.acts.extend([fails(503), fails(404)])
    with pytest.raises(ChatUnavailable, match=r"^see at step 3: profile 'vlm_openai' \(tiny\): HTTP 503 "):
        await asker.ask(prompt="p")
    with pytest.raises(ChatRefused, match="HTTP 404 Not Found: no luck"):
        await asker.ask(prompt="p")


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"model": ""}, "config model is empty"),
        ({"base_url": "here"}, "config: base_url must be http"),
        ({"retries": -1}, r"config: Expected `int` >= 0 - at `\$.retries`"),
        ({"choices": "a,b"}, "config choices is 'a,b'; it is a list of words"),
        ({"choices": ["a"], "schema": {"type": "object"}}, "config has both schema and choices"),
        ({"schema": "{}"}, "config schema is '{}'; it is a JSON schema"),
        ({"cache": "answers.jsonl"}, "config cache is 'answers.jsonl'; it is an absolute path"),
        ({"api_key_env": "NOT_SET_HERE"}, "the environment variable NOT_SET_HERE is not set"),
    ],
)
async def test_a_config_that_cannot_be_used_is_named(
    asker: Asker, config: dict[str, Any], error: str
) -> None:
    with pytest.raises((ValueError, KeyMissing), match=error):
        await asker.ask(config, prompt="p")


async def test_what_is_no_image_is_refused(asker: Asker, server: ChatServer) -> None:
    with pytest.raises(ValueError, match=r"wired to images is none: 0: an array of shape \(2, 2\)"):
        await asker.ask(prompt="p", images=[np.zeros((2, 2), np.uint8)])
    assert not server.asked


@pytest.mark.slow
def test_a_run_of_its_graph_loses_the_episode_whose_server_stayed_away(
    tmp_path: Path, server: ChatServer
) -> None:
    graph = json.loads((NODESETS / "vlm_openai" / "graphs" / "gridhouse_vlm.json").read_text("utf-8"))
    agent = next(node for node in graph["nodes"] if node["id"] == "agent")
    agent["config"].update(base_url=server.url, model="tiny", retries=0)
    server.answer = lambda body: '{"choice": "forward"}'
    server.acts.append(fails(503))
    summary = finished(make_root(tmp_path), graph, episode_count=2, step_budget=3).read_summary()
    lost, kept = summary.episodes
    assert (lost.status, lost.termination, lost.error_class) == ("error", "exception", "infra")
    assert lost.error == (
        "agent at step 0: profile 'vlm_openai' (tiny): HTTP 503 Service Unavailable: no luck (tries: 1)"
    )
    assert (kept.status, kept.step_count) == ("completed", 3)
    assert len(server.asked) == 4
