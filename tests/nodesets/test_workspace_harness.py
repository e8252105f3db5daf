"""run_harness of env_workspace: what the command is told, and what is told of it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scoring.correlation import trace_id
from tests.nodesets.workspace_player import RUN_ID, Desk, desk, nodeset_class

CASE = {"files": {"a.txt": "1\n"}, "params": {"colour": "red", "words": ["one", "two three"]}}


@pytest.fixture
async def player(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk() as opened:
        await opened.play(tmp_path, CASE)
        yield opened


async def test_the_command_is_filled_each_value_one_word(player: Desk) -> None:
    show = f"""{sys.executable} -c 'import sys; print(sys.argv[1:])'"""
    task = 'mend it\'s $HOME `x`\n{{model}} "now"'
    out = await player.harness(
        show + " {{task}} {{ model }} {{run_id}} {{colour}} {{words}} {{n}}",
        task,
        model="m 1",
        params={"colour": "blue", "n": 3},
    )
    assert out["response"] == f"{[task, 'm 1', RUN_ID, 'blue', 'one', 'two three', '3']}\n"


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_no_text_is_more_than_a_word(text: str) -> None:
    import shlex

    fill = sys.modules[nodeset_class().__module__ + ".template"].fill
    assert shlex.split(fill("a {{task}} {{x}}", text, "", "r", {"x": text})) == ["a", text, text]


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"command": " "}, "config.command is empty: set it, or pass --select command="),
        (
            {"command": "a {{tsak}}"},
            "command has {{tsak}}, which nothing gives; there are colour, words, task",
        ),
        ({"command": "a {{model}}"}, "command has {{model}}, but no model is set: pass --select model="),
        ({"command": "a", "params": {"task": "x", "run_id": 1}}, "params may not be called run_id, task"),
        ({"command": "a {{x}}", "params": {"x": {}}}, "parameter x is {}; a command takes text"),
        ({"command": "a", "params": "x"}, "config.params must be an object, not 'x'"),
        ({"command": "a", "timeout_sec": -1}, "timeout_sec is -1; it takes seconds above 0, up to 14400"),
        ({"command": "a", "timeout_sec": 1e9}, "it takes seconds above 0, up to 14400"),
        ({"command": "a", "trace_kind": "zipkin"}, "config.trace_kind is 'zipkin'; it takes none, otel"),
        ({"command": "a", "trace_kind": "file", "trace_file": "../x"}, "leads out of the episode's folder"),
    ],
)
async def test_what_cannot_be_run_is_said_with_the_remedy(
    player: Desk, config: dict[str, Any], error: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(error)):
        await player.fire("run_harness", config, task="x")


async def test_the_operators_selectors_win_over_the_graphs_config(player: Desk, tmp_path: Path) -> None:
    await player.play(tmp_path, CASE, command="echo theirs {{model}}", model="big")
    assert (await player.harness("echo ours", model="small"))["response"] == "theirs big\n"


async def test_without_a_trace_stdout_is_the_answer(player: Desk) -> None:
    out = await player.harness("echo answer; echo why >&2", "the task")
    assert out == {"response": "answer\n", "exit_code": 0, "timed_out": False}
    assert [event["kind"] for event in player.events] == ["message", "message", "log", "env_action"]
    assert player.told("message") == [
        {"role": "user", "text": "the task"},
        {"role": "assistant", "text": "answer\n"},
    ]
    assert player.told("log") == [{"stream": "stderr", "text": "why\n"}]
    (ended,) = player.told("env_action")
    assert ended == {
        "action": "command.exit",
        "detail": {"exit_code": 0, "timed_out": False},
        "run_id": RUN_ID,
        "trace_id": trace_id(RUN_ID),
    }


async def test_with_a_trace_stdout_is_a_log(player: Desk) -> None:
    out = await player.harness("echo noise", trace_kind="otel")
    assert out["response"] == ""
    assert player.told("log") == [{"stream": "stdout", "text": "noise\n"}]
    assert [message["role"] for message in player.told("message")] == ["user"]


async def test_of_long_output_the_end_is_told(player: Desk) -> None:
    out = await player.harness("seq 100000; seq 100000 >&2")
    assert (len(out["response"]), out["response"][-7:]) == (32 << 10, "100000\n")
    (log,) = player.told("log")
    assert (len(log["text"]), log["text"][-7:]) == (16 << 10, "100000\n")


async def test_a_harness_that_fails_is_an_error_event_and_no_error_of_the_node(player: Desk) -> None:
    out = await player.harness("echo half; echo 'no such model' >&2; exit 7")
    assert out == {"response": "half\n", "exit_code": 7, "timed_out": False}
    assert player.told("error") == [{"message": "the harness exited 7: no such model"}]
    assert player.events[-1]["detail"]["exit_code"] == 7
    await player.harness("exit 7")
    assert player.told("error") == [{"message": "the harness exited 7"}]


async def test_a_harness_at_its_time_limit_is_an_error_of_the_node_with_all_that_it_did(player: Desk) -> None:
    out = await player.harness("echo begun; echo 2 > a.txt; sleep 1000", timeout_sec=0.5)
    assert (out["response"], out["timed_out"]) == ("begun\n", True)
    assert out["error"].startswith(
        "the harness was still running after 0.5 s, and was ended; raise timeout_sec"
    )
    assert player.told("error") == [{"message": out["error"]}]
    assert player.events[-1]["detail"]["timed_out"] is True
    assert (await player.fire("evaluate"))["metrics"] == {"files_changed": 1}


async def test_the_cases_time_limit_holds_where_the_node_says_nothing(player: Desk, tmp_path: Path) -> None:
    await player.play(tmp_path, {**CASE, "timeout_sec": 0.3})
    assert (await player.harness("sleep 1000"))["timed_out"]
    assert not (await player.harness("sleep 0.4", timeout_sec=60))["timed_out"]


async def variables(player: Desk, **config: Any) -> dict[str, str]:
    out = await player.harness("env", **config)
    text = out["response"] or player.told("log")[0]["text"]
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


async def test_it_knows_its_episode(player: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine,evaltower.run_id=old")
    plain = await variables(player)
    assert plain["EVALTOWER_RUN_ID"] == RUN_ID
    assert plain["OTEL_RESOURCE_ATTRIBUTES"] == "service.name=mine,evaltower.run_id=old"
    assert re.fullmatch(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01", plain["TRACEPARENT"])
    assert plain["TRACEPARENT"].split("-")[1] == trace_id(RUN_ID)
    traced = await variables(player, trace_kind="mlflow")
    assert traced["OTEL_RESOURCE_ATTRIBUTES"] == f"service.name=mine,evaltower.run_id={RUN_ID}"
    assert traced["TRACEPARENT"] == plain["TRACEPARENT"]
    monkeypatch.delenv("OTEL_RESOURCE_ATTRIBUTES")
    assert (await variables(player, trace_kind="phoenix"))[
        "OTEL_RESOURCE_ATTRIBUTES"
    ] == f"evaltower.run_id={RUN_ID}"


EVENTS = [
    {"kind": "llm_call", "t": 10, "model": "m", "cost": {"inputTokens": 3, "usd": 0.1}},
    {"kind": "tool_call", "id": "1", "name": "edit", "args": {}},
    {"kind": "tool_result", "id": "1", "ok": True, "output": "done"},
    {"kind": "message", "role": "assistant", "text": "the answer"},
]
BAD = ["{", "3", '{"kind": "dance"}', '{"kind": "message", "role": "user"}', '{"kind": "tool_call", "id": 3}']


def lines(*events: Any) -> str:
    return "\n".join(event if isinstance(event, str) else json.dumps(event) for event in events)


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        (lines(*EVENTS), 0),
        (lines(BAD[0], EVENTS[0], *BAD[1:], "", *EVENTS[1:]), 5),
        (json.dumps(EVENTS, indent=1), 0),
        (json.dumps({"events": [*EVENTS, 3]}), 1),
    ],
)
async def test_a_harness_may_leave_its_trace_in_a_file(player: Desk, text: str, dropped: int) -> None:
    await player.act("write_file", path="prepared", data=text)
    out = await player.harness("cat prepared > $EVALTOWER_TRACE_FILE; echo noise", trace_kind="file")
    assert out["response"] == "the answer"
    kinds = [event["kind"] for event in player.events]
    assert [kind for kind in kinds if kind not in ("log", "env_action")] == [
        "message",
        *(e["kind"] for e in EVENTS),
    ]
    (call,) = player.told("llm_call")
    assert call == {"model": "m", "cost": {"inputTokens": 3, "usd": 0.1}}
    left_out = [log["text"] for log in player.told("log") if log["stream"] == "trace"]
    assert [int(told.split()[0]) for told in left_out] == ([dropped] if dropped else [])
    times = [event["timestamp"] for event in player.events]
    assert times[0] < next(e["timestamp"] for e in player.events if e["kind"] == "llm_call")
    assert (await player.fire("evaluate"))["metrics"] == {"files_changed": 1}


async def test_a_trace_file_that_stays_empty_or_goes_is_an_error_event(player: Desk) -> None:
    await player.harness("true", trace_kind="file")
    told = (
        "the harness left no event in .evaltower/trace.jsonl, which $EVALTOWER_TRACE_FILE names; 0 bad lines"
    )
    assert player.told("error") == [{"message": told}]
    await player.harness("rm -rf .evaltower", trace_kind="file")
    assert "the harness's trace cannot be read: path '.evaltower" in player.told("error")[0]["message"]


async def test_where_the_folder_lies_is_in_nothing_that_is_kept(player: Desk) -> None:
    out = await player.harness("pwd; echo $TMPDIR/x; pwd >&2; exit 1")
    assert out["response"] == "$EVALTOWER_WORKSPACE\n$TMPDIR/x\n"
    assert str(player.folder.parent) not in json.dumps(player.events)
