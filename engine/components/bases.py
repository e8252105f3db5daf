"""What an author subclasses: nodes and nodesets. Names and attributes are AgentCanvas's public ones.

Runs under foreign interpreters (Python 3.8+): keep to 3.8 syntax and the standard library.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from engine.components.requirements import (
    Condition,
    Package,
    Program,
    Requirement,
    needs_condition,
    needs_package,
    needs_program,
)


@dataclass
class PortDef:
    """A typed input or output of a node. A node waits for every input that is not ``optional``."""

    name: str
    wire_type: str
    description: str = ""
    optional: bool = False


@dataclass
class ConfigField:
    """A widget of the canvas for one config key. Kept so that nodesets import; nothing here draws it."""

    name: str
    field_type: str
    label: str = ""
    default: Any = None
    min: float | None = None
    max: float | None = None
    step: float | None = None
    options: list[dict[str, Any]] | None = None
    placeholder: str = ""
    show_persist_toggle: bool = False
    section: str = ""
    on_card: bool = True
    unset_label: str = ""


@dataclass
class DisplayField:
    """A display of the canvas for one output. Kept so that saved nodesets import."""

    name: str
    display_type: str
    label: str = ""
    data_key: str = ""
    max_visible: int = 10
    accumulate: bool = False


@dataclass
class NodeUIConfig:
    """How the canvas draws a node. Kept so that saved nodesets import."""

    color: str = ""
    layout: str = "block"
    width: str = ""
    min_height: str = ""
    rounding: str = ""
    min_width: str = ""
    max_width: str = ""
    config_fields: list[ConfigField] = field(default_factory=list)
    display_fields: list[DisplayField] = field(default_factory=list)


@dataclass
class StateDef:
    """One declared state of a container: its reducer (``type``), lifetime and initial value."""

    type: str = "lastWrite"
    value_type: str = "ANY"
    config: dict[str, Any] = field(default_factory=dict)
    lifetime: str = "forever"
    reset_on: list[str] = field(default_factory=list)


@dataclass
class ContainerDef:
    """A container that a nodeset owns: it lives in the nodeset's process, and its nodes reach it by id."""

    id: str
    label: str = ""
    states: dict[str, StateDef] = field(default_factory=dict)


class BaseCanvasNode(ABC):
    """A node type. ``config`` and ``node_id`` are set before it fires; an instance lasts for one episode.

    A tool with ``batched = True`` is called once for several callers: ``forward`` gets
    ``{"_samples": [inputs, ...]}`` and returns ``{"_outputs": [outputs, ...]}``, same length and order. Each
    sample carries ``"_key"``, an int in [0, 2**63) drawn from (run seed, episode, node id, firing): the only
    randomness it may use. ``sample_rows(n, rng) -> list[inputs]``, if defined, feeds the load-time check.

    ``required_config``: keys of ``config`` that it cannot do without. Where a graph leaves one empty, the run
    must select a value (``--select KEY=…``), which the nodeset's panel takes as its field of that name.
    """

    node_type: ClassVar[str]
    display_name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    category: ClassVar[str] = "custom"
    icon: ClassVar[str] = ""
    kind: ClassVar[str] = "block"
    input_ports: ClassVar[list[PortDef]] = []
    output_ports: ClassVar[list[PortDef]] = []
    config_schema: ClassVar[dict[str, Any]] = {}
    default_config: ClassVar[dict[str, Any]] = {}
    required_config: ClassVar[tuple[str, ...]] = ()
    ui_config: ClassVar[NodeUIConfig] = NodeUIConfig()
    batched: ClassVar[bool] = False
    batch_dim: ClassVar[str] = ""

    config: dict[str, Any]
    node_id: str

    def __init__(self) -> None:
        self.config = {}
        self.node_id = ""

    def _self_log(self, key: str, value: Any) -> None:
        """Add an entry to this firing's inner log."""
        self.__dict__.setdefault("_inner_log", []).append({"key": key, "value": value})

    def log(self) -> list[dict[str, Any]]:
        """This firing's inner log; override to summarize it."""
        return self.__dict__.get("_inner_log") or []

    def take_inner_log(self) -> list[dict[str, Any]]:
        """The inner log since the last call; the framework calls it after each firing."""
        taken = self.log()
        self.__dict__.pop("_inner_log", None)
        return taken

    @abstractmethod
    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        """Outputs by port name. ``ctx`` is a :class:`engine.components.context.NodeContext`."""

    @classmethod
    def _resolve_ports(cls, config: dict[str, Any]) -> tuple[list[PortDef], list[PortDef]]:
        """(inputs, outputs) under ``config``; override where ports depend on it."""
        return list(cls.input_ports), list(cls.output_ports)

    async def initialize(self) -> None:
        """Called once before the first firing of an instance."""

    async def shutdown(self) -> None:
        """Called when the episode ends."""


class BaseNodeSet(ABC):
    """A deployable group of node types with one life cycle. See contract ``nodesets.md``.

    ``parallelism`` undeclared means ``replicated`` where there is an ``env_panel``, ``shared`` otherwise.
    ``packages``: what its interpreter has to have beside numpy. ``programs``: what it starts. ``conditions``:
    what else has to be there. ``evaltower check`` looks for them without importing any, and a run that needs
    one which is not there is refused.
    ``scenes_are_tasks``: an episode's ``scene_id`` names what is to be done, so that a scene that is met once
    is worth a line, too.
    """

    name: ClassVar[str]
    description: ClassVar[str] = ""
    server_python: ClassVar[str | None] = None
    server_image: ClassVar[str | None] = None
    parallelism: ClassVar[str | None] = None
    expected_vram_mb: ClassVar[int | None] = None
    expected_ram_mb: ClassVar[int | None] = None
    env_panel: ClassVar[type[Any] | None] = None
    default_per_step_budget_sec: ClassVar[float] = 30.0

    # Ours, all optional.
    recycle_after: ClassVar[int | None] = None
    recycle_above_mb: ClassVar[int | None] = None
    determinism: ClassVar[str] = "exact"
    env: ClassVar[dict[str, str]] = {}
    unchecked: ClassVar[bool] = False
    scenes_are_tasks: ClassVar[bool] = False
    max_batch: ClassVar[int] = 16
    packages: ClassVar[tuple[Package, ...]] = ()
    programs: ClassVar[tuple[Program, ...]] = ()
    conditions: ClassVar[tuple[Condition, ...]] = ()
    start_deadline_sec: ClassVar[float] = 300.0
    first_reset_deadline_sec: ClassVar[float] = 300.0
    reset_deadline_sec: ClassVar[float] = 120.0

    @abstractmethod
    def get_tools(self) -> list[BaseCanvasNode]:
        """One prototype instance per node type; the host copies it for each (episode, node)."""

    def get_containers(self) -> list[ContainerDef]:
        """Containers that live in this nodeset's process."""
        return []

    def requirements(self) -> list[Requirement]:
        """What it needs of the machine, and whether that is there: packages, programs, conditions, what a
        subclass adds.

        ``evaltower doctor`` asks, in a process under ``server_python``, so that it may import what it likes.
        """
        conditions = [one for one in self.conditions if one.wanted_in()]
        return [
            *map(needs_package, self.packages),
            *map(needs_program, self.programs),
            *map(needs_condition, conditions),
        ]

    async def initialize(self, **kwargs: Any) -> None:
        """Load what is heavy. Runs in the host, before its address is reported.

        If not overridden: ImportError, in one sentence, where a package is missing that is always needed.
        """
        for package in self.packages:
            if not package.when and not any(map(find_spec, package.modules)):
                raise ImportError(
                    f"{self.name} needs {package.name}, which {sys.executable} lacks: {package.remedy}"
                )

    async def shutdown(self) -> None:
        """Release it."""

    async def get_eval_metadata(self) -> dict[str, Any]:
        """``{env_name, splits[], episode_counts{}, metrics[], supports_set_episode, step_budget}``."""
        return {}


def parallelism_of(nodeset: BaseNodeSet) -> str:
    """As declared; else ``replicated`` for an environment, ``shared`` for anything else."""
    return nodeset.parallelism or ("shared" if nodeset.env_panel is None else "replicated")


def conda_env_python(env_name: str, env_var: str) -> str | None:
    """The interpreter of a conda environment for ``server_python``.

    ``$env_var`` wins; else ``<conda root>/envs/<env_name>/bin/python`` beside the running interpreter; else
    None, which means the interpreter that runs Evaltower.
    """
    explicit = os.environ.get(env_var)
    if explicit:
        return explicit
    candidate = conda_envs() / env_name / "bin" / "python"
    return str(candidate) if candidate.exists() else None


def conda_envs() -> Path:
    """The folder of conda's environments, as seen from the running interpreter."""
    prefix = Path(sys.prefix)
    return prefix.parent if prefix.parent.name == "envs" else prefix / "envs"
