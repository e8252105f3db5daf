"""The command harness: any command line, told of its episode, its output turned into trace events."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Mapping

from engine.components import PortDef

from . import telemetry
from .baseline import TRACES
from .command import Finished
from .event_file import at, read_events
from .fields import is_seconds
from .stage import Stage
from .template import fill
from .tools import WorkspaceTool
from .workspace import Workspace

ANSWER_BYTES, LOG_BYTES = 32 << 10, 16 << 10
DEFAULT_SEC = 1800.0
LONGEST_SEC = 4 * 3600.0
_TRACE_FILE = "EVALTOWER_TRACE_FILE"


class RunHarness(WorkspaceTool):
    """Runs ``config.command`` in the episode's folder, and yields what it did as trace events.

    The operator's selectors ``command`` and ``model`` win over the config; ``config.params`` over the case's.
    timeout_sec: None is the case's, else half an hour. trace_kind: where the harness sends its own trace;
    of ``none`` its stdout is its answer. trace_file: of kind ``file``, below the folder.
    """

    node_type = "env_workspace__run_harness"
    display_name = "Workspace: Run harness"
    description = "Runs any command with the task; its events go into the episode's trace"
    input_ports = [PortDef("task", "TEXT", "what {{task}} of the command becomes")]
    output_ports = [
        PortDef("response", "TEXT", "its answer: the end of stdout, or the last answer in its trace file"),
        PortDef("exit_code", "ANY", "int; 128 + n for signal n"),
        PortDef("timed_out", "BOOL", "it was killed at its time limit, which is also an error of the node"),
    ]
    default_config = {
        "command": "",
        "model": "",
        "params": {},
        "timeout_sec": None,
        "trace_kind": "none",
        "trace_file": TRACES + "trace.jsonl",
    }
    required_config = ("command",)

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        workspace = self._stage.workspace
        order = _Order.of(self.config, self._stage, str(inputs["task"]), ctx.execution_id)
        self._self_log("command", workspace.nameless(order.line))
        began = time.time()
        done = await self._stage.work(partial(_carry_out, workspace, order))
        return _Report(workspace, order, done, began, ctx).tell()


@dataclass(frozen=True)
class _Order:
    """What is to be run, and how its trace comes."""

    line: str
    task: str
    run_id: str
    timeout_sec: float
    trace_kind: str
    trace_file: str

    @classmethod
    def of(cls, config: Mapping[str, Any], stage: Stage, task: str, run_id: str) -> _Order:
        """Raises ValueError, naming what of the config does not fit."""
        case = stage.workspace.case
        command = str(stage.chosen.get("command") or config["command"] or "")
        if not command.strip():
            raise ValueError("config.command is empty: set it, or pass --select command='…{{task}}…'")
        model = str(stage.chosen.get("model") or config["model"] or "")
        if not isinstance(config["params"], dict):
            raise ValueError(f"config.params must be an object, not {config['params']!r:.80}")
        given = config["timeout_sec"]
        timeout_sec = (case.timeout_sec or DEFAULT_SEC) if given is None else given
        if not is_seconds(timeout_sec) or timeout_sec > LONGEST_SEC:
            raise ValueError(
                f"timeout_sec is {timeout_sec!r}; it takes seconds above 0, up to {LONGEST_SEC:g}"
            )
        kind = config["trace_kind"]
        if kind not in telemetry.TRACE_KINDS:
            raise ValueError(f"config.trace_kind is {kind!r}; it takes {', '.join(telemetry.TRACE_KINDS)}")
        line = fill(command, task, model, run_id, {**case.params, **config["params"]})
        return cls(line, task, run_id, float(timeout_sec), kind, str(config["trace_file"]))


def _carry_out(workspace: Workspace, order: _Order) -> Finished:
    environment = telemetry.variables(order.run_id, order.trace_kind != "none", os.environ)
    if order.trace_kind == "file":
        workspace.write_file(order.trace_file, b"")
        environment[_TRACE_FILE] = str(workspace.folder / order.trace_file)
    return workspace.shell(order.line, order.timeout_sec, environment=environment, keep_bytes=ANSWER_BYTES)


class _Report:
    """What became of it, as trace events and outputs."""

    def __init__(self, workspace: Workspace, order: _Order, done: Finished, began: float, ctx: Any) -> None:
        self._workspace = workspace
        self._order = order
        self._done = done
        self._began = began
        self._ended = at(time.time())
        self._ctx = ctx

    def tell(self) -> dict[str, Any]:
        order, done = self._order, self._done
        stdout, stderr = map(self._workspace.nameless, (done.stdout, done.stderr[-LOG_BYTES:]))
        self._ctx.trace("message", timestamp=at(self._began), role="user", text=order.task)
        answer = stdout
        if order.trace_kind != "none":
            answer = self._from_file() if order.trace_kind == "file" else ""
            self._log("stdout", stdout)
        elif stdout:
            self._event("message", role="assistant", text=stdout)
        self._log("stderr", stderr)
        problem = self._problem(stderr)
        if problem is not None:
            self._event("error", message=problem)
        outcome = {"exit_code": done.exit_code, "timed_out": done.timed_out}
        tied = {"run_id": order.run_id, "trace_id": telemetry.trace_id(order.run_id)}
        self._event("env_action", action="command.exit", detail=outcome, **tied)
        # The wall clock decides no verdict: the episode of a harness that it ended is an error, and counted.
        return {"response": answer, **outcome, **({"error": problem} if done.timed_out else {})}

    def _problem(self, stderr: str) -> str | None:
        if self._done.timed_out:
            return (
                f"the harness was still running after {self._order.timeout_sec:g} s, and was ended;"
                " raise timeout_sec of its node or of the case"
            )
        if self._done.exit_code != 0:
            return f"the harness exited {self._done.exit_code}: {stderr.strip()[-2000:]}".rstrip(" :")
        return None

    def _from_file(self) -> str:
        """Pass on the events of its file; the last answer among them."""
        file = self._order.trace_file
        try:
            events, dropped = read_events(self._workspace.read_file(file), self._began)
        except ValueError as error:
            self._event("error", message=f"the harness's trace cannot be read: {error}")
            return ""
        if not events:
            told = f"the harness left no event in {file}, which ${_TRACE_FILE} names; {dropped} bad lines"
            self._event("error", message=told)
        elif dropped:
            self._log("trace", f"{dropped} entries of {file} are no trace events, and were left out")
        for event in events:
            self._ctx.trace(**{"timestamp": self._ended, **event})
        return _last_answer(events)

    def _log(self, stream: str, text: str) -> None:
        if text:
            self._event("log", stream=stream, text=text)

    def _event(self, kind: str, **fields: Any) -> None:
        self._ctx.trace(kind, timestamp=self._ended, **fields)


def _last_answer(events: list[dict[str, Any]]) -> str:
    said = [e["text"] for e in events if e["kind"] == "message" and e["role"] == "assistant"]
    return said[-1] if said else ""
