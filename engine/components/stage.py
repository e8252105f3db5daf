"""The usual shape of an environment: one stage a process, that its panel sets up and its tools play.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import Any, ClassVar, Iterable, Iterator

from engine.components.bases import BaseCanvasNode, BaseNodeSet, PortDef
from engine.components.env_panel import BaseEnvPanel, EnvPanelAction, EnvPanelField
from engine.components.errors import HostFailure, SimulatorFailed, WrongChoice

logger = logging.getLogger(__name__)

TRIGGER = PortDef("trigger", "ANY", "anything; only its arrival counts", optional=True)
ASKED = PortDef("trigger", "ANY", "wire the observation, so that each step asks for an action")
_NOT_THERE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
_MOST = 2**32 - 1
"""Of a seed: that is what numpy takes."""
_EPISODE = EnvPanelField("episode_index", "number", "Episode", min=0, step=1)


class Stage(ABC):
    """``form`` holds what was selected for the episode, by field; nothing of the episode before. ``env`` is
    what plays it, and has a ``close``; None where nothing is open. ``scenes_are_tasks``: as the nodeset's."""

    env: Any = None
    scenes_are_tasks: ClassVar[bool] = False

    def __init__(self) -> None:
        self.form: dict[str, Any] = {}

    @abstractmethod
    def set_up(self) -> None:
        """Begin the episode that ``form`` says. ValueError: a selector is not what it must be, and which."""

    @abstractmethod
    def restart(self) -> None:
        """Put the episode that was set up back at its start."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """``episode_id``, ``scene_id``, ``instruction`` and the like; empty before the first episode."""

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Of the episode so far."""

    def seen(self) -> dict[str, Any]:
        """What can be observed now, by the names of output ports."""
        return {}

    def step_budget(self) -> int | None:
        """Steps that the episode may take; None: it has no opinion."""
        return None

    def options(self, field: str) -> list[str]:
        """What a field may be; empty where that is not known, or anything. The first is the default."""
        return []

    def episode_counts(self) -> dict[str, int]:
        """By split; of those that can be told. It may look at the form."""
        return {}

    def close(self) -> None:
        """Release what the episode holds."""
        if self.env is not None:
            self.env.close()
        self.env = None

    def number(self, field: str, default: int = 0) -> int:
        """A field of the form as a whole number that can be a seed; ValueError names it."""
        value = self.form.get(field)
        return default if value is None or value == "" else _whole(f"selector {field}", value, 0, _MOST)

    def index(self, count: int) -> int:
        """The field ``episode_index``, of ``count`` episodes; ValueError where there are not so many."""
        index = self.number("episode_index")
        if index >= count:
            raise ValueError(f"selector episode_index is {index}; it takes 0 to {count - 1}")
        return index

    def text(self, field: str) -> str:
        """A field of the form as text, empty where nothing was selected."""
        value = self.form.get(field)
        return "" if value is None else str(value).strip()

    def choice(self, field: str) -> str:
        """A field of the form that is one of its ``options``, by default the first; ValueError names them."""
        known = self.options(field)
        return one_of(f"selector {field}", self.text(field) or known[0], known)


class SeededStage(Stage):
    """One whose episodes are of a task, and made from their seeds, so that there is no end to them: 1000 are
    what ``--all`` means here. ``set_up`` ends in ``begin``.

    ``task``: of the episode, which is its scene too; empty where none is set up. ``reward``: of the last
    step; ``total``: the sum so far.
    """

    task = ""
    scenes_are_tasks = True

    def close(self) -> None:
        super().close()
        self.task = ""

    def begin(self, task: str, seed: int, instruction: str = "") -> None:
        """The episode stands at its start."""
        self.task, self.seed, self.instruction = task, seed, instruction
        self.steps, self.reward, self.total = 0, 0.0, 0.0
        self.success = self.terminated = self.truncated = False

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated

    @abstractmethod
    def act(self, action: Any) -> float:
        """Take an action; its reward. ValueError where it is no action."""

    def step(self, action: Any) -> None:
        """Take an action; RuntimeError once the episode has ended."""
        if self.done:
            end = "wire its end to the loop's `stop`, or reset it"
            raise RuntimeError(f"{self.task} ended at step {self.steps}: {end}")
        self.reward = self.act(action)
        self.steps, self.total = self.steps + 1, self.total + self.reward

    def seen(self) -> dict[str, Any]:
        ends = {"terminated": self.terminated, "truncated": self.truncated, "done": self.done}
        return {"task": self.task, "reward": self.reward, "success": self.success, **ends}

    def restart(self) -> None:
        if self.steps:
            self.set_up()

    def facts(self) -> dict[str, Any]:
        """``scene_id`` is the task: intervals over many tasks are by task."""
        if not self.task:
            return {}
        name = f"{self.task}#{self.seed}"
        return {"episode_id": name, "scene_id": self.task, "instruction": self.instruction}

    def options(self, field: str) -> list[str]:
        return ["default"] if field == "split" else []

    def episode_counts(self) -> dict[str, int]:
        return {"default": 1000}


def one_of(what: str, value: str, known: Iterable[str]) -> str:
    """``value``, where it is ``known``; ValueError names those that are."""
    names = list(known)
    if value not in names:
        raise ValueError(f"{what} is {value!r}; it takes {', '.join(names)}")
    return value


@contextmanager
def blaming(whom: str, blamed: bool = True) -> Iterator[None]:
    """Around what a library does with a choice of the operator's, if one is to be ``blamed``: whatever it
    raises becomes a ValueError that says what was chosen, as ``whom`` does. What is not installed, or not
    to be had of the machine, is raised on as it is."""
    try:
        yield
    except (ImportError, OSError, MemoryError, HostFailure, WrongChoice):
        raise
    except Exception as error:
        if not blamed:
            raise
        told = " ".join(str(error).split())
        raise ValueError(f"{whom}: {type(error).__name__}: {told}") from error


def _whole(name: str, value: Any, least: int, most: float = math.inf) -> int:
    try:
        whole = int(value)
        good = not isinstance(value, bool) and whole == float(value) and least <= whole <= most
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        wanted = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
        raise ValueError(f"{name} is {value!r}; it takes a whole number {wanted}")
    return whole


def refusal(error: Exception, panel: str) -> dict[str, Any]:
    """What the panel answers to "play" where that raised ``error``. ValueError, ImportError, WrongChoice, and
    what says that a file is not there, are of what was selected or is not installed. Anything else is the
    simulator's, and raised on as SimulatorFailed."""
    if isinstance(error, (ValueError, ImportError, WrongChoice)):
        return {"ok": False, "error": str(error)}
    if isinstance(error, _NOT_THERE):
        missing = isinstance(error, FileNotFoundError) and error.filename
        told = f"there is no {error.filename}" if missing else str(error)
        return {"ok": False, "error": f"{told}: `evaltower doctor` says what {panel} needs"}
    if isinstance(error, HostFailure):
        raise error
    logger.warning("%s: setting up an episode failed", panel, exc_info=error)
    told = " ".join(str(error).split())
    raise SimulatorFailed(f"the simulator failed: {type(error).__name__}: {told}") from error


class StagePanel(BaseEnvPanel):
    """Gathers the fields in the stage's form, and sets the stage up at "play"."""

    actions: ClassVar[list[EnvPanelAction]] = [EnvPanelAction("play", "Play", side_effect="reset")]

    def __init__(self) -> None:
        self._played = False

    @property
    def _stage(self) -> Stage:
        stage: Stage = self._context["nodeset"].stage
        return stage

    async def on_load(self) -> dict[str, Any]:
        stage = self._stage
        facts = stage.facts()
        return {"current_episode": facts, "step_budget": stage.step_budget() if facts else None}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        if self._played:
            self._stage.form, self._played = {}, False
        self._stage.form[name] = value
        return await self.on_load()

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        if name != "play":
            return {"ok": False, "error": f"{self.name} has no action {name!r}; it has play"}
        self._played = True
        try:
            self._stage.set_up()
        except Exception as error:
            return refusal(error, self.name)
        return {"ok": True, "side_effect": "reset"}

    async def get_options(self, field: str) -> list[dict[str, Any]]:
        return [{"value": option, "label": option} for option in self._stage.options(field)]


class StageTool(BaseCanvasNode):
    """A tool that plays the one stage of its process."""

    category = "environment"

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self.stage = stage

    def number(self, name: str, least: int = 0) -> int:
        """A whole number of the node's config; ValueError names it."""
        return _whole(f"config {name}", self.config[name], least)

    def begun(self) -> Any:
        """The stage, with an episode on it; RuntimeError where none was set up."""
        if not self.stage.facts():
            raise RuntimeError("no episode has been set up: choose one on the panel, and play")
        return self.stage

    def outputs(self) -> dict[str, Any]:
        """What the output ports name, of the stage's facts and of what is seen now."""
        told = {**self.stage.facts(), **self.stage.seen()}
        names = [port.name for port in self.output_ports if port.name in told or not port.optional]
        return {name: told[name] for name in names}


class ResetTool(StageTool):
    """The episode at its start. A subclass says which of its facts it puts out, and what of the seen."""

    input_ports: ClassVar[list[PortDef]] = [TRIGGER]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self.begun().restart()
        return self.outputs()


class StepTool(StageTool):
    """One ``action``, and what is seen then. A subclass says what of it is put out."""

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self.begun().step(inputs["action"])
        return self.outputs()


class ExpertTool(StageTool):
    """What the stage's ``expert`` does next. A subclass says what its action is."""

    input_ports: ClassVar[list[PortDef]] = [ASKED]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": self.begun().expert()}


class EvaluateTool(StageTool):
    """The episode's metrics as they stand."""

    input_ports: ClassVar[list[PortDef]] = [TRIGGER]
    output_ports: ClassVar[list[PortDef]] = [
        PortDef("metrics", "METRICS"),
        PortDef("success", "ANY", "as in metrics"),
        PortDef("spl", "ANY", "as in metrics, where it is there", optional=True),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        found = self.begun().metrics()
        return {"metrics": found, **{name: found[name] for name in ("success", "spl") if name in found}}


class StageNodeSet(BaseNodeSet):
    """An environment of one stage a process. ``fields``: what its panel asks for, with ``episode_index`` in
    any case; ``only_fields``: that is all that can be selected; ``title``: the panel's name for people."""

    parallelism = "replicated"
    stage_class: ClassVar[type[Stage]]
    tool_classes: ClassVar[tuple[type[StageTool], ...]]
    metrics: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ""
    fields: ClassVar[tuple[EnvPanelField, ...]] = ()
    only_fields: ClassVar[bool] = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "stage_class" in vars(cls):
            cls.scenes_are_tasks = cls.stage_class.scenes_are_tasks
        if cls.fields and "env_panel" not in vars(cls):
            fields = {field.name: field for field in (_EPISODE, *cls.fields)}
            fields[_EPISODE.name] = fields.pop(_EPISODE.name)  # the last
            own: dict[str, Any] = {
                "name": cls.name,
                "display_name": cls.title,
                "fields": list(fields.values()),
                "only_fields": cls.only_fields,
            }
            cls.env_panel = type(f"{cls.__name__}Panel", (StagePanel,), own)

    def __init__(self) -> None:
        self.stage = self.stage_class()

    async def initialize(self, **kwargs: Any) -> None:
        """Nothing: each episode says what it lacks."""

    def get_tools(self) -> list[BaseCanvasNode]:
        return [tool(self.stage) for tool in self.tool_classes]

    async def shutdown(self) -> None:
        self.stage.close()

    async def get_eval_metadata(self) -> dict[str, Any]:
        """``step_budget`` comes with each episode."""
        return {
            "env_name": self.title or self.name,
            "splits": self.stage.options("split"),
            "episode_counts": self.stage.episode_counts(),
            "metrics": list(self.metrics),
            "supports_set_episode": True,
            "step_budget": None,
        }
