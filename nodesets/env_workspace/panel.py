"""Choosing the case, and what graders do in its folder while the episode is held for them."""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import Any

from engine.components import BaseEnvPanel, EnvPanelAction, EnvPanelField, refusal

from .baseline import GitError
from .cases import choose_case, read_splits
from .fields import is_seconds
from .stage import Stage

EXEC_SEC = 600.0
_TEXTS = ("command", "cwd", "path")


class WorkspacePanel(BaseEnvPanel):
    """``cases``, ``split`` and ``episode_index`` say which case; ``command`` and ``model`` which harness.

    Fields are gathered as they come and judged at ``play``; the first change after that begins a new form, so
    that nothing selected for one episode is left over for the next. The other actions answer
    ``{"ok": true, …}`` or ``{"ok": false, "error": …}``, and work in the folder that was played last:
    ``exec`` {command, cwd, timeout_sec, env} gives exit_code, stdout, stderr (of each the last MiB) and
    timed_out; ``read_file`` {path} gives data, in bytes; ``write_file`` takes {path, data}; ``snapshot``
    gives what :meth:`Baseline.snapshot` does, with the case's ``expected``.
    """

    name = "env_workspace"
    display_name = "Workspace"
    only_fields = True
    fields = [
        EnvPanelField(
            "cases", "text", "Cases (folder, JSON or JSONL)", placeholder="empty: the built-in ones"
        ),
        EnvPanelField("split", "text", "Split"),
        EnvPanelField("episode_index", "number", "Episode", min=0, step=1),
        EnvPanelField("command", "text", "Harness", placeholder="agent --model {{model}} {{task}}"),
        EnvPanelField("model", "text", "Model"),
    ]
    actions = [
        EnvPanelAction("play", "Play", side_effect="reset"),
        EnvPanelAction("exec", "Run a command in the folder"),
        EnvPanelAction("read_file", "Read a file of the folder"),
        EnvPanelAction("write_file", "Write a file of the folder"),
        EnvPanelAction("snapshot", "What has changed in the folder"),
    ]

    def __init__(self) -> None:
        self._played = False

    @property
    def _stage(self) -> Stage:
        stage: Stage = self._context["nodeset"].stage
        return stage

    async def on_load(self) -> dict[str, Any]:
        case = self._stage.case
        current = {} if case is None else {"episode_id": case.case_id, "instruction": case.instruction}
        return {"current_episode": current, "step_budget": None, **self._stage.chosen}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        if self._played:
            self._stage.chosen, self._played = {}, False
        if any(field.name == name for field in self.fields):
            self._stage.chosen[name] = value
        return await self.on_load()

    async def get_options(self, field: str) -> list[dict[str, Any]]:
        if field != "split":
            return []
        return [{"value": split, "label": split} for split in read_splits(self._text("cases"))]

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        if not any(action.name == name for action in self.actions):
            names = ", ".join(action.name for action in self.actions)
            return {"ok": False, "error": f"env_workspace has no action {name!r}; it has {names}"}
        act = getattr(self, "_" + name)
        try:
            signature(act).bind(**params)
            for given, value in params.items():
                if given in _TEXTS and not isinstance(value, str):
                    raise TypeError(f"{given} is {value!r:.80}, not text")
        except TypeError as error:
            return {"ok": False, "error": f"{name}: {error}"}
        try:
            return {"ok": True, **(await act(**params))}
        except GitError as error:
            return {"ok": False, "error": str(error)}
        except Exception as error:
            if name != "play" and isinstance(error, (ValueError, RuntimeError, OSError)):
                return {"ok": False, "error": str(error)}
            return refusal(error, self.name)

    async def _play(self) -> dict[str, Any]:
        self._played = True
        index = _whole(self._stage.chosen.get("episode_index", 0))
        await self._stage.begin(choose_case(self._text("cases"), self._text("split"), index))
        return {"side_effect": "reset"}

    async def _exec(
        self, command: str, cwd: str = "", timeout_sec: Any = EXEC_SEC, env: Any = None
    ) -> dict[str, Any]:
        if not is_seconds(timeout_sec):
            raise ValueError(f"exec: timeout_sec is {timeout_sec!r}; it takes seconds above 0")
        if not isinstance(env or {}, dict):
            raise ValueError(f"exec: env is {env!r:.80}, not an object of texts by name")
        variables = {str(name): str(value) for name, value in (env or {}).items()}
        work = partial(self._stage.workspace.shell, command, timeout_sec, cwd, variables)
        done = await self._stage.work(work)
        return {
            "exit_code": done.exit_code,
            "stdout": done.stdout,
            "stderr": done.stderr,
            "timed_out": done.timed_out,
        }

    async def _read_file(self, path: str) -> dict[str, Any]:
        return {"data": await self._stage.work(self._stage.workspace.read_file, path)}

    async def _write_file(self, path: str, data: Any) -> dict[str, Any]:
        if not isinstance(data, (bytes, str)):
            raise ValueError(f"write_file: data is {data!r:.80}, not bytes or text")
        content = data.encode("utf-8") if isinstance(data, str) else data
        await self._stage.work(self._stage.workspace.write_file, path, content)
        return {}

    async def _snapshot(self) -> dict[str, Any]:
        workspace = self._stage.workspace
        snapshot = await self._stage.work(workspace.snapshot)
        return {"snapshot": dict(snapshot, expected=workspace.case.expected)}

    def _text(self, name: str) -> str:
        return str(self._stage.chosen.get(name) or "")


def _whole(value: Any) -> int:
    """From a number or its text, as a command line gives it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"episode_index {value!r} is not a number") from None
    if not number.is_integer():
        raise ValueError(f"episode_index {number:g} is not a whole number")
    return int(number)
