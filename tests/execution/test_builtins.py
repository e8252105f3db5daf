"""The built-in nodes, each fired by hand."""

from __future__ import annotations

import pytest

from engine.components.builtin_ports import BUILTIN_TYPES, SINKS, resolve_builtin
from engine.components.context import NodeContext
from engine.execution.builtins.history_log import HistoryLog
from engine.execution.builtins.text_parse import TextParse
from engine.execution.executor import EpisodeContext
from engine.execution.handlers import builtin_handler
from engine.graph.model import Node, Port
from engine.patterns import PatternTimeout
from tests.execution.sketch import SILENT, Builtin, run, step


async def parse(text, **config):
    node = TextParse()
    node.config = config
    await node.initialize()
    outputs = await node.forward({"text": text}, NodeContext({}, 0, "x", 1))
    return outputs["value"], outputs["index"], outputs["rest"]


ANSWER = "I could turn LEFT here.\nBut it is best to go\nforward"


@pytest.mark.parametrize(
    ("text", "config", "expected"),
    [
        (ANSWER, {}, ("FORWARD", 1, "I could turn LEFT here.\nBut it is best to go")),
        (ANSWER, {"scan": "full_text"}, ("FORWARD", 1, "I could turn LEFT here.\nBut it is best to go")),
        ("turn LEFT\nplease", {}, ("LEFT", 2, "turn \nplease")),
        ("no idea", {}, ("", -1, "no idea")),
        ("no idea", {"default": "STOP"}, ("STOP", 0, "no idea")),
        ("no idea", {"default": "WAIT"}, ("WAIT", -1, "no idea")),
        ("c", {"choices": "a, b ,c,"}, ("c", 2, "")),
        ("Straße left", {}, ("LEFT", 2, "Straße")),
        (None, {}, ("", -1, "")),
        ("Mark: 4 of 5", {"mode": "regex", "pattern": r"mark:\s*(\d)"}, ("4", -1, "of 5")),
        ("Mark: 4", {"mode": "regex", "pattern": r"\d"}, ("4", -1, "Mark:")),
        ("none", {"mode": "regex", "pattern": r"\d", "default": "0"}, ("0", -1, "none")),
        ("x", {"mode": "regex"}, ("", -1, "x")),
        ('{"plan": {"next": "go"}}', {"mode": "json_field", "json_key": "plan.next"}, ("go", -1, None)),
        ('Sure: {"a": 1}.', {"mode": "json_field", "json_key": "a"}, ("1", -1, None)),
        ('{"a": 1}', {"mode": "json_field", "json_key": "b.c", "default": "-"}, ("-", -1, None)),
        ("{broken", {"mode": "json_field", "json_key": "b"}, ("", -1, None)),
    ],
)
async def test_text_parse(text, config, expected):
    value, index, rest = expected
    assert await parse(text, **config) == (value, index, text if rest is None else rest)


async def test_text_parse_ends_a_pattern_without_end(monkeypatch):
    monkeypatch.setattr("engine.patterns.DEADLINE_SEC", 0.2)
    with pytest.raises(PatternTimeout, match=r"has found nothing within 0\.2 s, over 5000 characters"):
        await parse("x" * 5000, mode="regex", pattern="(x+x+)+y")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"mode": "guess"}, "config.mode is 'guess', not one of choice, regex, json_field"),
        ({"mode": "regex", "pattern": "("}, "config.pattern is '\\(', not a regular expression"),
    ],
)
async def test_text_parse_says_what_is_wrong_with_its_config(config, message):
    with pytest.raises(ValueError, match=message):
        await parse("x", **config)


async def history(entries, **config):
    node = HistoryLog()
    node.config = config
    await node.initialize()
    for at, entry in enumerate(entries):
        outputs = await node.forward({"entry": entry}, NodeContext({}, at, "x", 1))
    return outputs["history"]


async def test_history_log():
    assert await history(["left", " go "]) == "Step 0: left\nStep 1: go"
    assert await history(["", None]) == "(no history yet)"
    assert await history(["a", "", "b"], template="{entry}@{step} {other}") == "a@0 {other}\nb@2 {other}"
    assert await history("abcd", max_entries=2) == "(...2 earlier steps omitted)\nStep 2: c\nStep 3: d"


@pytest.mark.parametrize("wrong", [0, "many", 2.5])
async def test_history_log_refuses_a_size_that_is_none(wrong):
    with pytest.raises(ValueError, match="max_entries"):
        await history(["a"], max_entries=wrong)


async def test_sources_fire_once_at_the_start():
    ran = await run(
        {
            "nothing": Builtin("nullSource", {"wire_type": "IMAGE"}),
            "episode": Builtin("episodeSource"),
            "see": step("nothing index seed split selectors", "v"),
        },
        [
            "nothing.value -> see.nothing",
            "episode.episode_index -> see.index",
            "episode.seed -> see.seed",
            "episode.selectors -> see.selectors",
            "episode.split -> see.split",
        ],
        episode=EpisodeContext("run/ep0003", 99, 3, {"split": "val"}),
    )
    assert ran.inputs("see") == [
        {"nothing": None, "index": 3, "seed": 99, "selectors": {"split": "val"}, "split": "val"}
    ]


def ports(node_type, **config):
    return resolve_builtin(Node("n", node_type, config=config))


def test_every_built_in_type_has_ports_but_the_ends_of_loops():
    assert {kind for kind in BUILTIN_TYPES if ports(kind) is None} == {"iterIn", "iterOut"}
    assert ports("env_x__step") is None


def test_types_that_need_a_handler_have_one():
    handled = {kind for kind in BUILTIN_TYPES if builtin_handler(Node("n", kind), SILENT) is not None}
    assert handled == {"textParse", "historyLog", "nullSource", "episodeSource", "llmCall"}
    assert not handled & SINKS


def test_a_verdict_may_come_as_json_text():
    verdict = ports("graphOut", wireType="METRICS")
    assert (verdict.inputs[0].wire_type, verdict.outputs[0].wire_type) == ("ANY", "METRICS")


def test_ports_that_follow_from_the_config():
    assert ports("nullSource", wire_type="IMAGE").outputs == (Port("value", "IMAGE"),)
    assert ports("graphOut", wireType="BOOL").inputs == (Port("value", "BOOL", optional=True),)
    declared = [{"name": "a", "wire_type": "DEPTH"}, {"name": "b", "required": True}]
    assert ports("imageViewer", ports=declared).inputs == (
        Port("a", "DEPTH", optional=True),
        Port("b", "IMAGE"),
    )
    assert ports("llmCall", ports=declared).inputs[1] == Port("b", "TEXT")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"ports": "rgb"}, "config.ports is str"),
        ({"ports": [{"wire_type": "IMAGE"}]}, r"config.ports\[0\] is no object with a name"),
        ({"ports": [{"name": "a", "wire_type": 3}]}, "wire_type is 3"),
    ],
)
def test_a_declaration_that_cannot_be_read_is_refused(config, message):
    with pytest.raises(ValueError, match=message):
        ports("imageViewer", **config)
