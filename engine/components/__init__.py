"""What a nodeset's author subclasses: ``from engine.components import BaseCanvasNode, BaseNodeSet``."""

from engine.components.bases import (
    BaseCanvasNode,
    BaseNodeSet,
    ConfigField,
    ContainerDef,
    DisplayField,
    NodeUIConfig,
    PortDef,
    StateDef,
    conda_env_python,
)
from engine.components.context import NodeContext
from engine.components.env_panel import BaseEnvPanel, EnvPanelAction, EnvPanelField
from engine.components.errors import OutsideFailure, StopExecution, WrongChoice
from engine.components.firelist import DynamicFireListNode, FireList, FireSpec
from engine.components.requirements import (
    Package,
    Requirement,
    below,
    extra,
    foreign_imports,
    needs_module,
    needs_path,
    needs_program,
)
from engine.components.stage import (
    TRIGGER,
    EvaluateTool,
    ResetTool,
    SeededStage,
    Stage,
    StageNodeSet,
    StagePanel,
    StageTool,
)

__all__ = [
    "TRIGGER",
    "BaseCanvasNode",
    "BaseEnvPanel",
    "BaseNodeSet",
    "ConfigField",
    "ContainerDef",
    "DisplayField",
    "DynamicFireListNode",
    "EnvPanelAction",
    "EnvPanelField",
    "EvaluateTool",
    "FireList",
    "FireSpec",
    "NodeContext",
    "NodeUIConfig",
    "OutsideFailure",
    "Package",
    "PortDef",
    "Requirement",
    "ResetTool",
    "SeededStage",
    "Stage",
    "StageNodeSet",
    "StagePanel",
    "StageTool",
    "StateDef",
    "StopExecution",
    "WrongChoice",
    "below",
    "conda_env_python",
    "extra",
    "foreign_imports",
    "needs_module",
    "needs_path",
    "needs_program",
]
