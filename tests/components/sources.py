"""Nodeset files for tests."""

from pathlib import Path
from textwrap import dedent, indent

HEAD = """\
from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, ContainerDef, PortDef, StateDef
"""


def tool(node_type: str, class_name: str = "Tool", body: str = "") -> str:
    text = f"""
class {class_name}(BaseCanvasNode):
    node_type = {node_type!r}
    input_ports = [PortDef("action", "DISCRETE_ACTION"), PortDef("hint", "TEXT", "a hint", optional=True)]
    output_ports = [PortDef("rgb", "IMAGE")]

    async def forward(self, inputs, ctx):
        return {{}}
"""
    return text + indent(dedent(body), "    ")


def nodeset(name: str, class_name: str = "Env", tools: str = "Tool()", body: str = "") -> str:
    text = f"""
class {class_name}(BaseNodeSet):
    name = {name!r}

    def get_tools(self):
        return [{tools}]
"""
    return text + indent(dedent(body), "    ")


def whole(name: str, body: str = "") -> str:
    """A complete nodeset file with one tool, ``<name>__step``."""
    return HEAD + tool(f"{name}__step") + nodeset(name, body=body)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
