"""The nodes beside the harness: the episode's task, a shell for step agents, and what has changed."""

from __future__ import annotations

from functools import partial
from typing import Any

from engine.components import BaseCanvasNode, PortDef

from .fields import is_seconds
from .stage import Stage
from .workspace import Workspace

TRIGGER = PortDef("trigger", "ANY", "anything; only its arrival counts", optional=True)
METRICS = ("files_changed",)
OUTPUT_BYTES = 16 << 10


class WorkspaceTool(BaseCanvasNode):
    """A tool that works in the one folder of this process."""

    category = "environment"

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage


class Episode(WorkspaceTool):
    """The task of the episode, whose folder the panel has laid out. The folder goes when the episode ends."""

    node_type = "env_workspace__episode"
    display_name = "Workspace: Episode"
    description = "Begins the episode"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("instruction", "TEXT", "what is to be done in the folder"),
        PortDef("case_id", "TEXT", "the case that it was made from"),
    ]

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._begun: Workspace | None = None

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self._begun = self._stage.workspace
        return {"instruction": self._begun.case.instruction, "case_id": self._begun.case.case_id}

    async def shutdown(self) -> None:
        if self._begun is not None:
            await self._stage.end(self._begun)


class Shell(WorkspaceTool):
    """One command line of an agent. Each has a shell of its own, and nothing that it starts outlives it."""

    node_type = "env_workspace__shell"
    display_name = "Workspace: Shell"
    description = "Runs one command line in the episode's folder; config.submit ends the episode instead"
    input_ports = [PortDef("command", "TEXT", "a command line of the POSIX shell")]
    output_ports = [
        PortDef("output", "TEXT", "stdout, then stderr: the end of each, and how it ended"),
        PortDef("exit_code", "ANY", "int; 128 + n for signal n"),
        PortDef("done", "BOOL", "the agent has submitted; wire it to the loop's stop"),
    ]
    default_config = {"timeout_sec": 120.0, "submit": "submit"}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        workspace, command = self._stage.workspace, str(inputs["command"])
        timeout_sec = self.config["timeout_sec"]
        if not is_seconds(timeout_sec):
            raise ValueError(f"config.timeout_sec is {timeout_sec!r}; it takes seconds above 0")
        if command.strip() == self.config["submit"]:
            return {"output": "", "exit_code": 0, "done": True}
        call = f"{self.node_id or 'shell'}:{ctx.step}"
        ctx.trace("tool_call", id=call, name="shell", args={"command": command})
        done = await self._stage.work(partial(workspace.shell, command, timeout_sec, keep_bytes=OUTPUT_BYTES))
        output = workspace.nameless(done.stdout + done.stderr)
        if done.timed_out:
            output += f"\n(killed: it was still running after {timeout_sec:g} s)"
        ctx.trace("tool_result", id=call, ok=done.exit_code == 0 and not done.timed_out, output=output)
        return {"output": output, "exit_code": done.exit_code, "done": False}


class Evaluate(WorkspaceTool):
    """What has changed in the folder so far."""

    node_type = "env_workspace__evaluate"
    display_name = "Workspace: Evaluate"
    description = "The git diff since the episode began, and how many files it touches"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("metrics", "METRICS", "files_changed"),
        PortDef("diff", "TEXT", "since the episode began; of one above 4 MiB its beginning"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        snapshot = await self._stage.work(self._stage.workspace.snapshot)
        return {"metrics": {"files_changed": len(snapshot["changed_files"])}, "diff": snapshot["diff"]}
