"""Mistakes in what a graph says of its built-in nodes and of its containers: found before anything runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.components.builtin_checks import builtin_problems
from engine.components.builtin_configs import field_problems, fields_of
from engine.execution.builtins.history_log import HistoryLog
from engine.execution.builtins.llm_call import LLMCall
from engine.execution.builtins.text_parse import TextParse
from engine.graph.model import Problem
from engine.graph.read import parse_graph

STATES = {"messages": {"type": "accumulator"}, "plan": {"type": "lastWrite"}}


def graph(
    kind: str, config: dict[str, Any], states: dict[str, Any] | None = None, nested: bool = False
) -> dict[str, Any]:
    """One node with an input ``wired``; ``states``: of the ``graph_state`` that it is granted."""
    found: dict[str, Any] = {
        "nodes": [{"id": "in", "type": "nullSource"}, {"id": "a", "type": kind, "config": config}],
        "edges": [
            {"id": "e", "source": "in", "sourceHandle": "value", "target": "a", "targetHandle": "wired"}
        ],
    }
    if states is not None:
        found["containers"] = [{"id": "graph_state", "states": states}]
        found["access_grants"] = [{"id": "g", "node_id": "a", "container_id": "graph_state"}]
    if nested:
        return {"nodes": [{"id": "box", "type": "compositeNode", "subgraph": found}]}
    return found


def problems(*args: Any, **more: Any) -> list[Problem]:
    return builtin_problems(parse_graph({"name": "g", **graph(*args, **more)}))


MISTAKES = [
    ("llmCall", {"n": "abc"}, "config.n is 'abc', not a whole number from 1 to 128"),
    ("llmCall", {"n": -4}, "config.n is -4, not a whole number"),
    ("llmCall", {"n": 2.7}, "config.n is 2.7, not a whole number"),
    ("llmCall", {"n": 10**30}, "not a whole number from 1 to 128"),
    ("llmCall", {"n": True}, "config.n is True, not a whole number"),
    ("llmCall", {"temperature": "hot"}, "config.temperature is 'hot', not a number from 0 on"),
    ("llmCall", {"max_tokens": -1.5}, "config.max_tokens is -1.5, not a whole number from 1 on"),
    ("llmCall", {"mode": "chatty"}, "config.mode is 'chatty', not one of single_turn, conversation"),
    ("llmCall", {"stop": 5}, "config.stop is 5, not text, or a list of texts"),
    ("llmCall", {"schema": "{}"}, "config.schema is '{}', not a JSON schema, as an object"),
    ("llmCall", {"image_detail": "ultra"}, "config.image_detail is 'ultra', not one of low, high, auto"),
    ("llmCall", {"system_prompt": {}}, "config.system_prompt is {}, not text"),
    ("llmCall", {"template": ["x"]}, "config.template is ['x'], not text"),
    ("llmCall", {"profile": 3}, "config.profile is 3, not text"),
    ("llmCall", {"template": "say {txt}"}, "config.template: {txt} is no input port and no state"),
    ("llmCall", {"mode": "conversation"}, "it is granted no graph_state with an accumulator 'messages'"),
    ("llmCall", {"write_to_state": "plan"}, "config.write_to_state is 'plan', which is no state"),
    ("textParse", {"mode": "zzz"}, "config.mode is 'zzz', not one of choice, regex, json_field"),
    ("textParse", {"mode": "regex", "pattern": "("}, "config.pattern is '(', not a regular expression"),
    ("textParse", {"choices": ["LEFT", "RIGHT"]}, "config.choices is ['LEFT', 'RIGHT'], not text such as"),
    ("textParse", {"scan": "backwards"}, "config.scan is 'backwards', not one of"),
    ("historyLog", {"max_entries": 0}, "config.max_entries is 0, not a whole number from 1 on"),
]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("kind", "config", "told"), MISTAKES)
def test_a_mistake_names_the_node_and_the_field(
    kind: str, config: dict[str, Any], told: str, nested: bool
) -> None:
    (problem,) = problems(kind, config, nested=nested)
    assert told in problem.message
    assert problem.severity == "error"
    assert problem.where == ("node 'box > a'" if nested else "node 'a'")


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("llmCall", {"n": "", "temperature": None, "max_tokens": "", "mode": "", "stop": None}),
        ("llmCall", {"n": "2", "temperature": "0.5", "max_tokens": 20.0, "stop": ["a", "b"], "schema": {}}),
        ("llmCall", {"template": "{step} {pos} {heading} {wired} {scene} {plan} { x } {}"}),
        ("llmCall", {"mode": "conversation", "write_to_state": "plan", "position_in_drawing": 3}),
        ("textParse", {"mode": "json_field", "json_key": "a.b", "default": 3}),
        ("historyLog", {"max_entries": "5"}),
        ("note", {"n": "abc"}),
    ],
)
def test_what_can_be_used_is_no_problem(kind: str, config: dict[str, Any], nested: bool) -> None:
    assert problems(kind, config, STATES, nested=nested) == []


def test_states_of_a_nodeset_s_container_are_its_own_to_say() -> None:
    found = graph("llmCall", {"mode": "conversation", "template": "{memory}"})
    found["access_grants"] = [{"id": "g", "node_id": "a", "container_id": "owned"}]
    assert builtin_problems(parse_graph({"name": "g", **found})) == []


@pytest.mark.parametrize(
    ("kind", "config", "told"),
    [
        ("llmCall", {"temprature": 1}, "config.temprature is read by nothing"),
        ("llmCall", {"maxTokens": 1}, "config.maxTokens is read by nothing"),
        ("textParse", {"choice": "A,B"}, "config.choice is read by nothing"),
        ("textParse", {"mode": "regex"}, "config.pattern is empty: its value is always the default"),
    ],
)
def test_what_has_no_effect_is_a_warning(kind: str, config: dict[str, Any], told: str) -> None:
    (problem,) = problems(kind, config)
    assert told in problem.message
    assert problem.severity == "warning"


@pytest.mark.parametrize(
    ("state", "told", "severity"),
    [
        ({"type": "counter", "config": {"initial_value": "x"}}, "must be a number, not 'x'", "error"),
        ({"type": "accumulator", "config": {"max_size": 0}}, "a positive integer, not 0", "error"),
        ({"type": "accumulator", "config": {"initial_value": 3}}, "must be a list, not 3", "error"),
        ({"lifetime": "custom"}, "has the lifetime custom and no reset_on", "warning"),
        ({"config": {"initial": 3}}, "state 's': config.initial is read by nothing", "warning"),
    ],
)
def test_a_state_s_mistake_names_container_and_state(state: dict[str, Any], told: str, severity: str) -> None:
    (problem,) = problems("note", {}, {"s": state})
    assert (problem.where, problem.severity) == ("container 'graph_state'", severity)
    assert told in problem.message
    assert "'s'" in problem.message


class Silent:
    async def ask(self, profile: str, model: str, call: Any) -> Any:
        raise AssertionError("nobody asks")


NODES = {"llmCall": lambda: LLMCall(Silent()), "textParse": TextParse, "historyLog": HistoryLog}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("1"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


@given(st.sampled_from(sorted(NODES)).flatmap(lambda kind: st.tuples(st.just(kind), configs(kind))))
async def test_a_config_that_check_passes_is_one_that_the_node_takes(drawn: tuple[str, Any]) -> None:
    kind, config = drawn
    node: Any = NODES[kind]()
    node.node_id, node.config = "a", config
    if list(field_problems(kind, config)):
        with pytest.raises(ValueError, match="config"):
            await node.initialize()
    else:
        await node.initialize()


def configs(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    names = sorted(set(fields_of(kind)) - {"ports", "hooks"})
    return st.dictionaries(st.sampled_from(names), VALUES, max_size=4)


def test_what_is_shown_of_a_value_is_short() -> None:
    (told,) = field_problems("llmCall", {"n": json.dumps("x" * 10_000)})
    assert len(told) < 200
