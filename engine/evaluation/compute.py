"""An episode's environment, as its graders use it: by four actions of its panel.

``exec`` {command, cwd, timeout_sec, env} answers {ok, exit_code, stdout, stderr, timed_out}; ``read_file``
{path} answers {ok, data}; ``write_file`` {path, data} answers {ok}; ``snapshot`` {} answers {ok, snapshot}.
Only what the panel lists is asked for: some do at any other name what they do at a reset.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from engine.components.errors import HostFailure, NodeRaised, StopExecution
from engine.hosting.client import HostClient
from engine.scoring.context import ComputeError, ComputeUnsupported, Executed

ANSWER_SEC = 30.0
"""For an action's own work, beside that of the command."""


class PanelCompute:
    """:class:`engine.scoring.context.Compute` by the environment's panel. ``actions``: those it lists."""

    def __init__(self, client: HostClient, actions: Collection[str]) -> None:
        self._client = client
        self._actions = actions

    async def exec(
        self, command: str, *, cwd: str = "", timeout_sec: float, env: Mapping[str, str] | None = None
    ) -> Executed:
        params = {"command": command, "cwd": cwd, "timeout_sec": timeout_sec, "env": dict(env or {})}
        answer = await self._asked("exec", params, "exit_code", timeout_sec + ANSWER_SEC)
        code = answer["exit_code"]
        if not isinstance(code, int):
            raise ComputeError(f"its panel's exec gave the exit code {code!r:.80}")
        return Executed(
            exit_code=code,
            stdout=str(answer.get("stdout") or ""),
            stderr=str(answer.get("stderr") or ""),
            timed_out=bool(answer.get("timed_out")),
        )

    async def read_file(self, path: str) -> bytes:
        data = (await self._asked("read_file", {"path": path}, "data"))["data"]
        if not isinstance(data, bytes):
            raise ComputeError(f"its panel's read_file gave {type(data).__name__}, not bytes")
        return data

    async def write_file(self, path: str, data: bytes) -> None:
        await self._asked("write_file", {"path": path, "data": data}, "ok")

    async def snapshot(self) -> dict[str, Any] | None:
        found = (await self._asked("snapshot", {}, "snapshot"))["snapshot"]
        return dict(found) if isinstance(found, Mapping) else None

    async def _asked(
        self, action: str, params: Mapping[str, Any], gives: str, timeout_sec: float = ANSWER_SEC
    ) -> Mapping[str, Any]:
        """The answer, which has what the action ``gives``."""
        if action not in self._actions:
            raise ComputeUnsupported(f"the environment's panel has no action {action!r}")
        try:
            answer = await self._client.panel_action(action, params, timeout_sec)
        except HostFailure as failure:
            raise ComputeError(str(failure)) from None
        except (NodeRaised, StopExecution) as raised:
            raise ComputeError(f"its panel's {action} raised: {raised}") from None
        if not isinstance(answer, Mapping):
            raise ComputeError(f"its panel's {action} answered a {type(answer).__name__}, not an object")
        if answer.get("ok") is False:
            raise ComputeError(str(answer.get("error") or f"its panel refused {action!r}"))
        if gives not in answer:
            raise ComputeError(f"its panel's {action} answered without {gives!r}")
        return answer


class NoCompute:
    """There is no environment that could do anything."""

    async def exec(
        self, command: str, *, cwd: str = "", timeout_sec: float, env: Mapping[str, str] | None = None
    ) -> Executed:
        raise ComputeUnsupported(_NONE)

    async def read_file(self, path: str) -> bytes:
        raise ComputeUnsupported(_NONE)

    async def write_file(self, path: str, data: bytes) -> None:
        raise ComputeUnsupported(_NONE)

    async def snapshot(self) -> dict[str, Any] | None:
        return None


_NONE = "the graph has no environment of its own with a panel"
