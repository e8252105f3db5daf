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
    Requirement,
    foreign_imports,
    needs_module,
    needs_path,
    needs_program,
)
from engine.components.stage import (
    TRIGGER,
    EvaluateTool,
    ResetTool,
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
    "PortDef",
    "Requirement",
    "ResetTool",
    "Stage",
    "StageNodeSet",
    "StagePanel",
    "StageTool",
    "StateDef",
    "StopExecution",
    "WrongChoice",
    "conda_env_python",
    "foreign_imports",
    "needs_module",
    "needs_path",
    "needs_program",
]
