"""The faults that a graph may have, by code: what it is, a graph with that fault alone, and where it is."""

from __future__ import annotations

from dataclasses import replace

from engine.graph.model import Container, Edge, Grant, Graph, Node, State
from tests.graph.drawing import Config, draw, episode, loop, port_in, port_out

Cases = dict[str, tuple[Graph, str]]


def pair(iter_in: Config | None = None, iter_out: Config | None = None) -> Graph:
    """A loop of ``a`` and ``b``, and nothing else."""
    return draw(
        {
            "a": ("iterIn", {"pairedWith": "b", **(iter_in or {})}),
            "b": ("iterOut", {"pairedWith": "a", "ports": [{"name": "x"}], **(iter_out or {})}),
        }
    )


def looking(edge: str) -> Graph:
    """A whole episode, and one more edge, to or from the node ``look``."""
    return episode(edge, look="tool__pass")


def output(name: str, edge: str) -> Graph:
    """A whole episode, and one more output ``out``."""
    return episode(edge, out=("graphOut", {"portName": name}))


def remembering(**state: str) -> Graph:
    return draw({}, containers=(Container("c", states={"s": State(**state)}),))


def doubling(depth: int) -> Graph:
    """Composites in composites, each of which joins its input to its output by two edges."""
    inner: Graph = draw({"i": port_in("x"), "o": port_out("x")}, "i.value > o.value", "i.value > o.value")
    for _ in range(depth):
        twice = ("i.value > box.x", "i.value > box.x", "box.x > o.value", "box.x > o.value")
        inner = draw({"i": port_in("x"), "box": inner, "o": port_out("x")}, *twice)
    return draw({"n": "tool__pass", "box": inner, "m": "tool__pass"}, "n.value > box.x", "box.x > m.value")


BAD_PORTS: tuple[object, ...] = (
    3,
    {},
    {"name": ""},
    {"name": "stop"},
    {"name": "x", "wire_type": "PICTURE"},
    {"name": "x", "wire_type": 1},
    {"name": "x", "required": "yes"},
    {"name": "x", "persist": 1},
)
TWO_LOOPS = {**loop("a"), **loop("b"), "s": "env__reset", "n": "tool__any", "m": "tool__any"}

REFUSED: dict[str, Cases] = {
    "required-input-unwired": {
        "input": (episode(without=("act.action > step.action",)), "node 'step'"),
        "init port": (pair({"initPorts": [{"name": "x", "required": True}]}), "node 'a'"),
        "carried port": (pair({}, {"ports": [{"name": "x", "required": True}]}), "node 'b'"),
    },
    "loop-unpaired": {
        "no partner": (draw({"a": ("iterIn", {})}), "node 'a'"),
        "no text": (draw({"a": ("iterOut", {"pairedWith": ["b"], "ports": [{"name": "x"}]})}), "node 'a'"),
        "absent": (draw({"a": ("iterIn", {"pairedWith": "b"})}), "node 'a'"),
        "another type": (draw({"a": ("iterIn", {"pairedWith": "b"}), "b": "tool__pass"}), "node 'a'"),
        "itself": (draw({"a": ("iterIn", {"pairedWith": "a"})}), "node 'a'"),
    },
    "loop-claimed-twice": {
        "iterIn": (
            draw({**loop("a"), "b": ("iterOut", {"pairedWith": "a_in", "ports": [{"name": "x"}]})}),
            "node 'a_in'",
        ),
        "iterOut": (draw({**loop("a"), "b": ("iterIn", {"pairedWith": "a_out"})}), "node 'a_out'"),
    },
    "iterout-without-ports": {
        "empty": (pair({}, {"ports": []}), "node 'b'"),
        "absent": (pair({}, {"ports": None}), "node 'b'"),
    },
    "bad-port": {
        **{repr(port): (pair({}, {"ports": [port]}), "node 'b'") for port in BAD_PORTS},
        "twice": (pair({"initPorts": [{"name": "x"}, {"name": "x"}]}), "node 'a'"),
        "no list": (pair({"initPorts": {"x": 1}}), "node 'a'"),
    },
    "unknown-handle": {
        "output": (looking("reset.obz > look.value"), "edge 'e8'"),
        "input": (looking("reset.obs > look.obs"), "edge 'e8'"),
        "slot": (looking("walk_in.init_obz > look.value"), "edge 'e8'"),
        "carried port": (episode("step.obs > walk_out.obz"), "edge 'e8'"),
        "iterOut before its end": (looking("walk_out.obs > look.value"), "edge 'e8'"),
        "whole iterOut": (looking("walk_out.default > look.value"), "edge 'e8'"),
        "the counter": (episode("reset.obs > walk_in.step"), "edge 'e8'"),
        "a composite's input": (
            episode("reset.obs > box.obz", box=draw({"i": port_in("obs")})),
            "edge 'e8'",
        ),
        "a composite's output": (
            episode("box.obz > late.value", box=draw({"o": port_out("obs")}), late="tool__pass"),
            "edge 'e8'",
        ),
        "inside a composite": (
            episode(box=draw({"n": "tool__pass", "m": "tool__pass"}, "n.valu > m.value")),
            "edge 'box > e0'",
        ),
        "a note": (episode("reset.obs > n.text", n="note"), "edge 'e8'"),
    },
    "unknown-node": {
        "source": (looking("rest.obs > look.value"), "edge 'e8'"),
        "target": (looking("reset.obs > lok.value"), "edge 'e8'"),
    },
    "removed": {
        "initialize": (draw({"a": "initialize"}), "node 'a'"),
        "termination": (draw({"a": "termination"}), "node 'a'"),
        "config init_ports": (pair({"init_ports": []}), "node 'a'"),
        "config loop_ports": (pair({"loop_ports": []}), "node 'a'"),
        "config initialize": (pair({"initialize": "n"}), "node 'a'"),
        "config termination": (pair({}, {"termination": "n"}), "node 'b'"),
    },
    "into-after-loop": {
        "body": (
            episode("step.obs > late.value", "walk_out.final_obs > late.value", late="tool__pass"),
            "edge 'e8'",
        ),
        "side branch": (
            episode(
                "act.views > side.images",
                "side.count > late.value",
                "judge.success > late.value",
                side="tool__gather",
                late="tool__pass",
            ),
            "edge 'e9'",
        ),
        "an earlier loop": (
            draw(
                TWO_LOOPS,
                "s.obs > a_in.x",
                "a_in.x > n.x",
                "n.x > a_out.x",
                "a_out.final_x > b_in.x",
                "b_in.x > b_out.x",
                "b_out.final_x > m.x",
                "n.x > m.y",
            ),
            "edge 'e6'",
        ),
        "an earlier loop that leads nowhere": (
            draw(
                {**TWO_LOOPS, "k": "tool__any"},
                "s.obs > a_in.x",
                "a_in.x > n.x",
                "n.x > a_out.x",
                "s.obs > b_in.x",
                "b_in.x > b_out.x",
                "b_out.final_x > m.x",
                "n.x > m.y",
                "m.x > k.x",
            ),
            "edge 'e6'",
        ),
    },
    "verdict-in-loop": {
        "metrics": (output("metrics", "step.done > out.value"), "edge 'e8'"),
        "success": (output("success", "step.done > out.value"), "edge 'e8'"),
        "side branch": (
            episode(
                "act.views > side.images",
                "side.count > out.value",
                side="tool__gather",
                out=("graphOut", {"portName": "success"}),
            ),
            "edge 'e9'",
        ),
    },
    "no-output": {"evaluation graph": (draw({"a": "tool__pass"}, eval_graph=True), "graph")},
    "too-many-edges": {"doubled thirty times": (doubling(30), "graph")},
    "wire-type": {
        "into a composite's port": (
            episode(
                "reset.instruction > box.obs",
                box=draw({"i": port_in("obs", "IMAGE"), "n": "tool__pass"}, "i.value > n.value"),
            ),
            "edge 'e8 + box > e0'",
        ),
        "out of a composite's port": (
            episode(
                "box.obs > look.text",
                box=draw({"o": port_out("obs", "IMAGE"), "n": "tool__any"}, "n.x > o.value"),
                look="textViewer",
            ),
            "edge 'box > e0 + e8'",
        ),
        "difference": (episode("reset.instruction > act.obs"), "edge 'e8'"),
        "list into scalar": (episode("act.views > act.obs"), "edge 'e8'"),
        "carried port": (
            draw(
                {
                    "a_in": ("iterIn", {"pairedWith": "a_out"}),
                    "a_out": (
                        "iterOut",
                        {"pairedWith": "a_in", "ports": [{"name": "x", "wire_type": "TEXT"}]},
                    ),
                    "s": "env__reset",
                },
                "s.obs > a_in.x",
                "s.obs > a_out.x",
            ),
            "edge 'e1'",
        ),
    },
    "unknown-node-type": {
        "tool": (episode(look="env__observe"), "node 'look'"),
        "nodeset": (episode(look="robot__move"), "node 'look'"),
        "built-in": (episode(look="imageViewr"), "node 'look'"),
    },
    "bad-config": {"resolver": (episode(look=("tool__pass", {"refused": 1})), "node 'look'")},
    "duplicate-id": {
        "node": (replace(episode(), nodes=(*episode().nodes, Node("act", "tool__pass"))), "node 'act'"),
        "edge": (
            replace(episode(), edges=(*episode().edges, Edge("e0", "reset", "walk_in", "obs", "more"))),
            "edge 'e0'",
        ),
        "container": (draw({}, containers=(Container("c"),) * 2), "container 'c'"),
        "grant": (
            draw({"a": "tool__pass"}, containers=(Container("c"),), grants=(Grant("g", "a", "c"),) * 2),
            "grant 'g'",
        ),
        "composite": (
            replace(draw({}), nodes=(Node("a", "compositeNode", subgraph=draw({})),) * 2),
            "node 'a'",
        ),
        "with what comes out of a composite": (
            draw({"a__b": "tool__pass", "a": draw({"b": "tool__pass"})}),
            "node 'a > b'",
        ),
    },
    "bad-kind": {"banana": (draw({}, kind="banana"), "graph"), "none": (draw({}, kind=""), "graph")},
    "bad-budget": {
        **{repr(found): (draw({}, step_budget=found), "graph") for found in (0, -1, 10**9 + 1, 10**400)},
        **{
            f"loop, {found!r}": (pair({"step_budget": found}), "node 'a'")
            for found in (0, -1, 1.5, "3", True)
        },
    },
    "bad-state": {
        "reducer": (remembering(type="sum"), "container 'c'"),
        "lifetime": (remembering(lifetime="day"), "container 'c'"),
    },
    "wrong-type": {
        "a node's hooks": (
            draw({"n": ("tool__pass", {"hooks": {"event": "GraphStart"}})}),
            "node 'n', config.hooks: graph.hooks",
        )
    },
    "missing-key": {
        "a node's hook": (
            draw({"n": ("tool__pass", {"hooks": [{"event": "PreNodeExecute"}]})}),
            "node 'n', config.hooks: hooks[0]",
        )
    },
    "loops-overlap": {
        "one node in both": (
            draw(
                TWO_LOOPS,
                "s.obs > a_in.x",
                "s.obs > b_in.x",
                "a_in.x > n.x",
                "b_in.x > n.y",
                "n.x > a_out.x",
                "n.y > b_out.x",
            ),
            "node 'n'",
        ),
        "each inside the other": (
            draw(
                {**loop("a"), **loop("b")},
                "a_in.step > b_in.y",
                "b_in.step > a_in.y",
                "b_out.final_x > a_out.x",
                "a_out.final_x > b_out.x",
            ),
            "node 'b_in'",
        ),
        "a ring": (
            draw(
                {**loop("a"), **loop("b"), **loop("c")},
                "a_in.step > c_in.y",
                "c_in.step > b_in.y",
                "b_in.step > a_in.y",
                "a_in.step > b_out.x",
                "b_in.step > c_out.x",
                "c_in.step > a_out.x",
            ),
            "node 'a_in'",
        ),
    },
    "final-leads-back": {
        "own body": (episode("walk_out.final_obs > act.obs"), "node 'walk_out'"),
        "own start": (episode("walk_out.final_obs > walk_in.more"), "node 'walk_out'"),
        "by a graphOut": (
            draw(
                {**TWO_LOOPS, "out": ("graphOut", {"portName": "x"})},
                "s.obs > a_in.x",
                "a_in.x > b_in.x",
                "b_in.x > n.x",
                "n.x > b_out.x",
                "n.x > out.value",
                "out.value > n.y",
                "out.value > a_out.x",
            ),
            "node 'b_out'",
        ),
    },
    "crosses-loops": {
        "into a body": (
            draw(
                TWO_LOOPS,
                "s.obs > a_in.x",
                "s.obs > b_in.x",
                "a_in.x > n.x",
                "n.x > a_out.x",
                "b_in.x > m.x",
                "m.x > b_out.x",
                "n.x > m.y",
            ),
            "edge 'e6'",
        ),
        "a loop beside a loop": (
            draw(TWO_LOOPS, "s.obs > a_in.x", "a_in.x > a_out.x", "a_in.x > b_in.x", "b_in.x > b_out.x"),
            "edge 'e2'",
        ),
    },
}
