"""``llmCall``, fired by hand and in graphs, with a chat client that keeps what it was asked."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from engine.components.containers import ContainerStore
from engine.components.context import NodeContext
from engine.execution.builtins.llm_call import LLMCall
from engine.graph.model import Container, State
from engine.models.answer import Answer, Usage
from engine.models.call import ChatCall, Reply
from engine.models.errors import ChatRefused, ChatUnavailable
from tests.execution.sketch import Builtin, emits, out, run, step

IMAGE = numpy.zeros((2, 3, 3), numpy.uint8)


class Parrot:
    """Answers with ``texts``, or raises them; ``asked``: (profile, model, call)."""

    def __init__(self, *texts: Any) -> None:
        self.texts = list(texts)
        self.asked: list[tuple[str, str, ChatCall]] = []

    async def ask(self, profile: str, model: str, call: ChatCall) -> Reply:
        self.asked.append((profile, model, call))
        text = self.texts.pop(0) if self.texts else "yes"
        if isinstance(text, Exception):
            raise text
        texts = [text] if isinstance(text, str) else text
        answer = Answer(texts, ["stop"] * len(texts), "m-1", Usage(5, 2, 1))
        return Reply(answer, profile or "active", {"model": "m", **call.parameters}, 1, 0.25)

    @property
    def messages(self) -> list[Any]:
        return list(self.asked[-1][2].messages)


def memory(**states: str) -> ContainerStore:
    """``graph_state`` with states of these reducers."""
    return ContainerStore([{"id": "graph_state", "states": {n: {"type": t} for n, t in states.items()}}])


class Fired:
    """One firing: its outputs, and what it left."""

    def __init__(self, chat: Parrot, store: ContainerStore | None = None, **config: Any) -> None:
        self.chat = chat
        self.store = store
        self.node = LLMCall(chat)
        self.node.config, self.node.node_id = config, "planner"
        self.ctx: NodeContext

    async def forward(self, **inputs: Any) -> dict[str, Any]:
        granted = self.store.granted(["graph_state"]) if self.store else {}
        self.ctx = NodeContext(granted, 3, "run/ep0000", 77)
        await self.node.initialize()
        return await self.node.forward(inputs, self.ctx)


async def prompt_of(
    template: str, store: ContainerStore | None = None, config: Any = None, **inputs: Any
) -> Any:
    chat = Parrot()
    await Fired(chat, store, template=template, **(config or {})).forward(**inputs)
    return chat.messages[-1]["content"]


QUARTER_TURN = {"position": [1.0, -2.5, 3.456], "orientation": [0.0, 0.70710678, 0.0, 0.70710678]}


class TestTemplate:
    @pytest.mark.parametrize(
        ("template", "inputs", "expected"),
        [
            ("Go to {instruction}!", {"instruction": "bed"}, "Go to bed!"),
            ("{scene} at {step}", {"scene": 4.0}, "4.0 at 3"),
            (
                "{pos} / {position} / {heading}",
                {"pose": QUARTER_TURN},
                "1.00, -2.50, 3.46 / 1.00, -2.50, 3.46 / 90.0",
            ),
            ("{pos} {heading} {plan}", {}, "(no pos) (no heading) (no plan)"),
            ("{plan}", {"plan": None}, "(no plan)"),
            ("{heading}", {"pose": {"position": [0, 0, 0]}}, "0.0"),
            ('{"a": {b c}, {}} {plan}', {"plan": "p"}, '{"a": {b c}, {}} p'),
            ("", {}, ""),
            ("ignored", {"prompt": "{as} it is"}, "{as} it is"),
        ],
    )
    async def test_filled(self, template: str, inputs: dict[str, Any], expected: str) -> None:
        assert await prompt_of(template, **inputs) == expected

    async def test_what_a_value_holds_is_no_template(self) -> None:
        filled = await prompt_of("{plan} {scene}", plan="{scene} {nope}", scene="{plan}")
        assert filled == "{scene} {nope} {plan}"

    async def test_the_granted_state_comes_after_the_inputs(self) -> None:
        store = memory(history="accumulator", plan="lastWrite", empty="lastWrite")
        state = store.access("graph_state")
        for entry in ("one", "two"):
            state.write("history", entry)
        state.write("plan", "of the state")
        template = "{history}\n{plan}\n{empty}"
        assert await prompt_of(template, store, plan="mine") == "one\ntwo\nmine\n(no empty)"
        assert await prompt_of(template, store, plan=None) == "one\ntwo\nof the state\n(no empty)"

    async def test_names_that_nothing_can_fill_are_all_told(self) -> None:
        with pytest.raises(ValueError, match=r"\{nope\}, \{nor\} is no input port and no state"):
            await prompt_of("{nope} {plan} {nor} {nope}")

    async def test_declared_ports_are_the_ones_that_may_be_empty(self) -> None:
        config = {"ports": [{"name": "question", "wire_type": "TEXT"}]}
        assert await prompt_of("{question}", config=config) == "(no question)"
        with pytest.raises(ValueError, match=r"\{plan\} is no input port"):
            await prompt_of("{plan}", config=config)


class TestRequest:
    async def test_only_what_is_set_is_asked(self) -> None:
        chat = Parrot()
        await Fired(chat, temperature=None, max_tokens="", stop=None, model=None, n=None).forward(prompt="p")
        profile, model, call = chat.asked[0]
        assert (profile, model, call.n, call.draw, dict(call.parameters)) == ("", "", 1, 77, {})
        assert call.messages == [{"role": "user", "content": "p"}]

    async def test_what_is_set(self) -> None:
        chat = Parrot()
        config = {"temperature": 0, "max_tokens": 20.0, "stop": "\n", "n": "2", "profile": "gpt"}
        await Fired(chat, **config).forward(prompt="p")
        profile, _, call = chat.asked[0]
        assert (profile, call.n) == ("gpt", 2)
        assert call.parameters == {"temperature": 0.0, "max_tokens": 20, "stop": ["\n"]}

    async def test_an_answer_is_held_to_a_schema(self) -> None:
        chat = Parrot()
        schema = {"type": "object", "properties": {"action": {"enum": ["left", "right"]}}}
        await Fired(chat, schema=schema).forward(prompt="p")
        asked = chat.asked[0][2].parameters["response_format"]
        assert asked == {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }

    async def test_a_pinned_model(self) -> None:
        chat = Parrot()
        await Fired(chat, profile="__direct__", provider="openai", model="big").forward(prompt="p")
        assert chat.asked[0][:2] == ("openai", "big")

    async def test_the_system_prompt_s_input_wins_and_neither_is_a_template(self) -> None:
        chat = Parrot()
        node = Fired(chat, system_prompt="{mine}")
        await node.forward(prompt="p")
        assert chat.messages[0] == {"role": "system", "content": "{mine}"}
        await node.forward(prompt="p", system_prompt="theirs")
        assert chat.messages[0] == {"role": "system", "content": "theirs"}

    async def test_images_make_it_a_vision_call(self) -> None:
        chat = Parrot()
        node = Fired(chat, image_detail="high")
        await node.forward(prompt="what?", rgb=[IMAGE, "junk", IMAGE], image_labels=["left", "", "right"])
        content = chat.messages[0]["content"]
        assert [part.get("text", "image") for part in content] == ["what?", "left", "image", "right", "image"]
        assert content[2]["image_url"]["detail"] == "high"
        logged = {entry["key"]: entry["value"] for entry in node.node.take_inner_log()}
        assert logged["image_count"] == 2
        assert logged["images_passed_over"] == ["1: a text of 4 characters"]

    @pytest.mark.parametrize(("rgb", "kind"), [(IMAGE, list), ([], str), (["junk"], str), (None, str)])
    async def test_one_image_none_or_no_image_at_all(self, rgb: Any, kind: type) -> None:
        chat = Parrot()
        await Fired(chat).forward(prompt="what?", rgb=rgb, image_labels="label")
        assert isinstance(chat.messages[0]["content"], kind)

    @pytest.mark.parametrize(
        ("config", "told"),
        [
            ({"mode": "chat"}, "config.mode is 'chat', not one of single_turn, conversation"),
            ({"temperature": "hot"}, "config.temperature is 'hot', not a number"),
            ({"n": []}, r"config.n is \[\], not a whole number"),
        ],
    )
    async def test_a_config_that_cannot_be_used(self, config: dict[str, Any], told: str) -> None:
        with pytest.raises(ValueError, match=told):
            await Fired(Parrot(), **config).forward(prompt="p")


class TestAnswer:
    async def test_one(self) -> None:
        assert await Fired(Parrot("left")).forward(prompt="p") == {"response": "left", "responses": ["left"]}

    async def test_several_of_which_one_is_empty(self) -> None:
        outputs = await Fired(Parrot(["", "a", "b"]), n=3).forward(prompt="p")
        assert outputs == {"response": "a", "responses": ["a", "b"]}

    async def test_an_empty_one_is_written_nowhere(self) -> None:
        store = memory(plan="lastWrite")
        outputs = await Fired(Parrot(""), store, write_to_state="plan").forward(prompt="p")
        assert outputs == {"response": "", "responses": []}
        assert store.access("graph_state").read("plan") is None

    async def test_it_is_written_to_a_state(self) -> None:
        store = memory(plan="lastWrite")
        await Fired(Parrot("left"), store, write_to_state="plan").forward(prompt="p")
        assert store.access("graph_state").read("plan") == "left"

    async def test_tokens_and_cost_are_in_the_log_and_the_trace(self) -> None:
        fired = Fired(Parrot("left"), profile="gpt", temperature=1)
        await fired.forward(prompt="where?", system_prompt="be brief")
        logged = {entry["key"]: entry["value"] for entry in fired.node.take_inner_log()}
        cost = {"prompt_tokens": 5, "completion_tokens": 2, "cached_tokens": 1, "usd": 0.25}
        assert logged == {
            "rendered_prompt": "where?",
            "system_prompt": "be brief",
            "profile": "gpt",
            "model": "m-1",
            "parameters": {"model": "m", "temperature": 1.0},
            "finish_reasons": ["stop"],
            "usage": {"requests": 1, "from_cache": False, **cost},
        }
        events = [dict(event) for event in fired.ctx.events]
        assert events[1].pop("latency_ms") >= 0
        assert events == [
            {"kind": "message", "role": "user", "text": "where?"},
            {"kind": "llm_call", "profile": "gpt", "model": "m-1", "cost": cost, "from_cache": False},
            {"kind": "message", "role": "assistant", "text": "left"},
        ]


class TestConversation:
    async def test_the_turns_are_kept_as_text(self) -> None:
        store = memory(messages="accumulator")
        chat = Parrot("hello", "", "bye")
        node = Fired(chat, store, mode="conversation", system_prompt="s", n=5)
        await node.forward(prompt="one")
        await node.forward(prompt="two", rgb=[IMAGE])
        assert [message["role"] for message in chat.messages] == ["system", "user", "assistant", "user"]
        assert chat.messages[3]["content"][0] == {"type": "text", "text": "two"}
        assert chat.asked[-1][2].n == 1
        await node.forward(prompt="three")
        turns = store.access("graph_state").read("messages")
        assert [turn["content"] for turn in turns] == ["one", "hello", "two", "three", "bye"]

    @pytest.mark.parametrize(
        ("store", "error", "told"),
        [
            (None, ValueError, "config.mode is conversation, but the container graph_state is not granted"),
            (memory(plan="lastWrite"), KeyError, "declares no state 'messages'; it has 'plan'"),
            (memory(messages="lastWrite"), ValueError, "the state 'messages' .* must be an accumulator"),
        ],
    )
    async def test_without_a_place_for_them(self, store: Any, error: type[Exception], told: str) -> None:
        with pytest.raises(error, match=told):
            await Fired(Parrot(), store, mode="conversation").forward(prompt="p")

    async def test_nor_is_a_state_written_that_is_not_granted(self) -> None:
        with pytest.raises(ValueError, match=r"config\.write_to_state is set, but the container"):
            await Fired(Parrot(), write_to_state="plan").forward(prompt="p")


NODES = {
    "source": emits(text="bed"),
    "ask": Builtin("llmCall", {"template": "{instruction}"}),
    "parse": Builtin("textParse", {"choices": "LEFT,RIGHT"}),
    "result": out("value"),
}
EDGES = ["source.text -> ask.instruction", "ask.response -> parse.text", "parse.value -> result.value"]


class TestInAGraph:
    async def test_it_feeds_what_comes_after_it(self) -> None:
        chat = Parrot("I turn\nleft")
        ran = await run(NODES, EDGES, chat=chat)
        assert ran.outcome.outputs == {"value": "LEFT"}
        assert chat.messages == [{"role": "user", "content": "bed"}]

    async def test_a_refusal_is_the_node_s_error_and_the_rest_goes_on(self) -> None:
        nodes = {**NODES, "other": step("x")}
        told = "profile 'gpt' (m): HTTP 401 Unauthorized: no"
        ran = await run(nodes, [*EDGES, "source.text -> other.x"], chat=Parrot(ChatRefused(told, 401)))
        assert [(e.node_id, e.message) for e in ran.outcome.node_errors] == [("ask", f"ChatRefused: {told}")]
        assert ran.outcome.failure is None
        assert len(ran.of("other")) == 1

    async def test_a_server_that_is_away_ends_the_episode_as_the_box_s_fault(self) -> None:
        ran = await run(
            NODES, EDGES, chat=Parrot(ChatUnavailable("profile 'gpt' (m): HTTP 503, after 5 tries"))
        )
        assert str(ran.outcome.failure) == "ask at step 0: profile 'gpt' (m): HTTP 503, after 5 tries"
        assert ran.outcome.node_errors == []

    async def test_each_firing_has_a_draw_of_its_own(self) -> None:
        def draws(chat: Parrot) -> list[int]:
            return [call.draw for _, _, call in chat.asked]

        nodes = {
            **NODES,
            "again": Builtin("llmCall", {"template": "{context}"}),
        }
        edges = [*EDGES, "ask.response -> again.context"]
        first, same, other = Parrot(), Parrot(), Parrot()
        await run(nodes, edges, chat=first, seed=1)
        await run(nodes, edges, chat=same, seed=1)
        await run(nodes, edges, chat=other, seed=2)
        assert draws(first) == draws(same)
        assert len({*draws(first), *draws(other)}) == 4

    async def test_it_reads_the_granted_container_alone(self) -> None:
        containers = (Container("graph_state", states={"plan": State(config={"initial_value": "hide"})}),)
        nodes = {
            **NODES,
            "ask": Builtin("llmCall", {"template": "{plan}", "ports": [{"name": "instruction"}]}),
        }
        chat = Parrot()
        await run(nodes, EDGES, chat=chat, containers=containers, grants=(("ask", "graph_state"),))
        assert chat.messages[0]["content"] == "hide"
        ran = await run(nodes, EDGES, chat=chat, containers=containers)
        assert "{plan} is no input port" in ran.outcome.node_errors[0].message
