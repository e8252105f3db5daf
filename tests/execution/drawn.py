"""Graphs made up by hypothesis: loops in loops, composites around them, fan-in, memory, values that fail to
come, nodes that raise. Each is drawn flat; ``nested`` puts it into its composites, by other means than ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from engine.components.errors import HostCrashed, StopExecution
from engine.graph.model import Container, State
from tests.execution.sketch import Box, Builtin, Spec, emits, into, loop, out, step

BUDGET = 3
MOODS = ("steady", "steady", "steady", "mute", "moody", "raises", "halts", "crashes")
MEMORY = Container(
    "memory",
    states={
        "steps": State("counter", lifetime="step"),
        "all": State("counter"),
        "last": State(config={"initial_value": "none"}, lifetime="custom", reset_on=("forget",)),
    },
)


@dataclass
class Drawn:
    """Node ids hold the composites that they are to be in: ``c0__c1__n2``. ``granted``: to the memory."""

    moods: dict[str, tuple[str, str]] = field(default_factory=dict)
    loops: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    granted: list[str] = field(default_factory=list)
    composites: int = 0

    def specs(self) -> dict[str, Spec]:
        """The nodes by id, composites left out; new ones, that have not fired."""
        made: dict[str, Spec] = {"reset": emits(v=1), "verdict": step("x? y?", "v"), "o": out("score")}
        for name in self.ids:
            if name in self.loops:
                carried, budget = self.loops[name]
                made |= loop(name, init="go+", carry=carried, budget=budget)
            else:
                made[name] = _node(*self.moods[name])
        return made

    def flat(self) -> Box:
        """Without composites: the edges that end in a composite come after those that end around it."""
        specs = self.specs()
        levels = list(dict.fromkeys(prefix for name in specs for prefix in _prefixes(name)))
        levels.sort(key=lambda prefix: [list(specs).index(_first(specs, part)) for part in _prefixes(prefix)])
        edges = sorted(self.edges, key=lambda edge: levels.index(_prefix(edge.split(" -> ")[1])))
        return Box(specs, edges, (MEMORY,), tuple((name, "memory") for name in self.granted))

    def nested(self) -> Box:
        """With them, and an input for each source from around one, an output for each from inside it."""
        inner = _nest(self.specs(), self.edges, self.granted)
        return replace(inner, containers=(MEMORY,))


@st.composite
def graphs(draw: Callable[..., Any]) -> Drawn:
    """A chain of blocks from ``reset`` to ``verdict``: plain nodes with fan-in, and loops of more blocks."""
    drawn = Drawn()

    def block(source: str, depth: int, path: str) -> str:
        """Add nodes fed by ``source`` (a handle); the handle that the next block may take."""
        if path.count("__") < 3 and draw(st.integers(0, 3)) == 0:
            drawn.composites += 1
            return block(source, depth, f"{path}c{drawn.composites}__")
        if depth < 3 and draw(st.booleans()):
            return a_loop(source, depth, path)
        return some_nodes(source, path)

    def a_loop(source: str, depth: int, path: str) -> str:
        name = f"{path}l{len(drawn.loops)}"
        carried, budget = draw(st.sampled_from(["v", "v-", "v?"])), draw(st.none() | st.integers(1, 2))
        drawn.loops[name] = carried, budget
        drawn.ids.append(name)
        drawn.edges.append(f"{source} -> {name}_in.init_go")
        inside = f"{name}_in.{draw(st.sampled_from(['init_go', 'init_go', 'step']))}"
        for _ in range(draw(st.integers(1, 2))):
            inside = block(inside, depth + 1, path)
        drawn.edges.append(f"{inside} -> {name}_out.v")
        if inside.endswith(".v") and draw(st.booleans()):
            drawn.edges.append(f"{inside.removesuffix('.v')}.stop -> {name}_out.stop")
        return f"{name}_out.final_v"

    def some_nodes(source: str, path: str) -> str:
        made: list[str] = []
        for _ in range(draw(st.integers(1, 3))):
            name = f"{path}n{len(drawn.moods)}"
            inputs = draw(st.sampled_from(["x y?", "x? y?", "x y:LIST[ANY]?", "x:LIST[ANY]"]))
            drawn.moods[name] = draw(st.sampled_from(MOODS)), inputs
            drawn.ids.append(name)
            drawn.edges.append(f"{source} -> {name}.x")
            if made and "y" in inputs:
                drawn.edges.append(f"{draw(st.sampled_from(made))}.v -> {name}.y")
            if draw(st.booleans()):
                drawn.granted.append(name)
            made.append(name)
        last = made[-1]
        drawn.edges += [f"{name}.v -> {last}.x" for name in made[:-1] if draw(st.booleans())]
        return f"{last}.v"

    handle = "reset.v"
    for _ in range(draw(st.integers(1, 3))):
        handle = block(handle, 0, "")
    drawn.edges += [f"{handle} -> verdict.x", "reset.v -> verdict.y", "verdict.v -> o.value"]
    return drawn


def _node(mood: str, inputs: str) -> Spec:
    fired = 0

    def do(given: dict[str, Any], ctx: Any) -> dict[str, Any]:
        nonlocal fired
        fired += 1
        seen = _remember(ctx) if "memory" in ctx.containers else ""
        if mood == "raises" and fired % 2 == 0:
            raise RuntimeError("now and then")
        if mood == "halts" and fired == 3:
            raise StopExecution("third time")
        if mood == "crashes" and fired == 4:
            raise HostCrashed("fourth time")
        if mood == "mute" or (mood == "moody" and ctx.rng.random() < 0.3):
            return {}
        return {"v": f"{fired} {seen}", "stop": bool(ctx.rng.random() < 0.2)}

    return step(inputs, "v stop", do)


def _remember(ctx: Any) -> str:
    memory = ctx.containers["memory"]
    for state in ("steps", "all"):
        memory.write(state, 1)
    seen = [memory.read(state) for state in ("steps", "all", "last")]
    memory.write("last", seen[1])
    if seen[1] % 5 == 0:
        ctx.emit("forget")
    return str(seen)


def _prefix(name: str) -> str:
    return name.rpartition("__")[0]


def _prefixes(name: str) -> Iterable[str]:
    """Of ``a__b__n``: "", "a", "a__b"."""
    parts = name.split("__")[:-1]
    return ["__".join(parts[:count]) for count in range(len(parts) + 1)]


def _first(names: Iterable[str], prefix: str) -> str:
    return next(name for name in names if not prefix or name.startswith(f"{prefix}__"))


class _Inside:
    """A composite in the making."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.specs: dict[str, Spec] = {}
        self.edges: list[str] = []
        self._ports: dict[str, str] = {}

    def output(self, source: str) -> str:
        """The port by which ``source``, a handle inside, leaves it."""
        if source not in self._ports:
            port = self._port(source, "out", out)
            self.edges.append(f"{_cut(source)} -> {port}.value")
        return f"{self.name}.{self._ports[source]}"

    def input(self, source: str, target: str) -> str:
        """The port by which ``source``, a handle around it, comes to ``target``, a handle inside."""
        port = self._ports.get(source) or self._port(source, "in", into)
        self.edges.append(f"{port}.value -> {_cut(target)}")
        return f"{self.name}.{port}"

    def _port(self, source: str, kind: str, made: Callable[[str], Spec]) -> str:
        port = self._ports[source] = f"{kind}{len(self._ports)}"
        self.specs[port] = made(port)
        return port


def _nest(specs: dict[str, Spec], edges: Iterable[str], granted: Iterable[str]) -> Box:
    """Put what begins with ``<composite>__`` into that composite, and ports where edges cross its border."""
    nodes: dict[str, Spec] = {}
    inside: dict[str, _Inside] = {}
    for name, spec in specs.items():
        if composite := _composite(name):
            nodes.setdefault(composite, Box({}))
            inside.setdefault(composite, _Inside(composite)).specs[_cut(name)] = _unpaired(spec)
        else:
            nodes[name] = spec
    around: dict[str, None] = {}
    for edge in edges:
        source, target = edge.split(" -> ")
        left, entered = _composite(source), _composite(target)
        if left and left == entered:
            inside[left].edges.append(f"{_cut(source)} -> {_cut(target)}")
            continue
        source = inside[left].output(source) if left else source
        target = inside[entered].input(source, target) if entered else target
        around[f"{source} -> {target}"] = None
    for composite, made in inside.items():
        own = [_cut(name) for name in granted if _composite(name) == composite]
        nodes[composite] = _nest(made.specs, made.edges, own)
    grants = tuple((name, "memory") for name in granted if not _composite(name))
    return Box(nodes, list(around), grants=grants)


def _composite(name: str) -> str:
    return name.partition("__")[0] if "__" in name else ""


def _cut(name: str) -> str:
    return name.partition("__")[2]


def _unpaired(spec: Spec) -> Spec:
    if isinstance(spec, Builtin) and "pairedWith" in spec.config:
        return Builtin(spec.type, {**spec.config, "pairedWith": _cut(spec.config["pairedWith"])})
    return spec
