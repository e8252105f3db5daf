"""What is warned of and not refused, by code: as in tests.graph.faults."""

from __future__ import annotations

from typing import Any

from engine.graph.model import Container, Grant, Graph, Hook, Node
from engine.graph.read import parse_graph
from tests.graph.drawing import draw, episode, loop
from tests.graph.faults import TWO_LOOPS, Cases, output


def _with(**keys: Any) -> Graph:
    """A file of these keys."""
    return parse_graph({"eval_graph": False, **keys})


WARNED: dict[str, Cases] = {
    "old-name": {"maxIterations": (parse_graph({"maxIterations": 9, "eval_graph": False}), "graph")},
    "output-unnamed": {"no portName": (episode("judge.success > out.value", out="graphOut"), "node 'out'")},
    "output-twice": {"metrics": (output("metrics", "judge.metrics > out.value"), "node 'out'")},
    "output-unwired": {"graphOut": (episode(out=("graphOut", {"portName": "more"})), "node 'out'")},
    "idle-hook": {
        "of a composite": (draw({"box": draw({}, hooks=(Hook("GraphStart", "true"),))}), "node 'box'"),
        "for a composite": (
            Graph(
                "drawn",
                (Node("box", "compositeNode", config={"hooks": [{}]}, subgraph=draw({})),),
                eval_graph=False,
            ),
            "node 'box'",
        ),
    },
    "unknown-event": {"misspelt": (draw({}, hooks=(Hook("GraphStarts", "true"),)), "hook on 'GraphStarts'")},
    "unknown-key": {
        "graph": (parse_graph({"step_buget": 9, "eval_graph": False}), "graph"),
        "node": (_with(nodes=[{"id": "n", "type": "tool__pass", "cofnig": {}}]), "node 'n'"),
        "edge": (
            _with(
                nodes=[{"id": "a", "type": "env__reset"}, {"id": "b", "type": "tool__pass"}],
                edges=[
                    {"id": "e", "source": "a", "sourceHandel": "obs", "target": "b", "targetHandle": "value"}
                ],
            ),
            "edge 'e'",
        ),
        "container": (_with(containers=[{"id": "c", "state": {}}]), "container 'c'"),
        "state": (_with(containers=[{"id": "c", "states": {"s": {"lifetim": "run"}}}]), "container 'c'"),
        "hook": (
            _with(hooks=[{"event": "PreNodeExecute", "command": "true", "match_node_typ": "x"}]),
            "hook on 'PreNodeExecute'",
        ),
        "a node's hook": (
            _with(
                nodes=[
                    {
                        "id": "n",
                        "type": "tool__pass",
                        "config": {"hooks": [{"event": "PreNodeExecute", "command": "x", "enable": False}]},
                    }
                ]
            ),
            "hook on 'PreNodeExecute'",
        ),
    },
    "idle-grant": {
        "to a composite": (
            draw({"a": draw({})}, containers=(Container("c"),), grants=(Grant("g", "a", "c"),)),
            "grant 'g'",
        ),
        "to nobody": (
            draw({}, containers=(Container("c"),), grants=(Grant("g", "n", "c"),)),
            "grant 'g'",
        ),
        "of nothing": (draw({"n": "tool__pass"}, grants=(Grant("g", "n", "c"),)), "grant 'g'"),
    },
    "nothing-starts": {"a circle": (draw({"a": "tool__pass"}, "a.value > a.value"), "graph")},
    "loop-never-starts": {
        "iterIn": (draw({**TWO_LOOPS}, "s.obs > a_out.x", "s.obs > b_in.x"), "node 'a_in'")
    },
    "loop-never-steps": {
        "only stop": (
            draw({**loop("a"), "s": "env__reset"}, "s.obs > a_in.x", "a_in.x > a_out.stop"),
            "node 'a_out'",
        )
    },
    "ignored-budget": {
        "root loop": (
            draw({**loop("a", budget=3), "s": "env__reset"}, "s.obs > a_in.x", "a_in.x > a_out.x"),
            "node 'a_in'",
        )
    },
    "undeclared-input": {
        "mistyped": (
            episode("reset.instruction > look.texd", look="viewer"),
            "edge 'e8'",
        )
    },
    "undeclared-slot": {"mistyped": (episode("reset.obs > walk_in.init_obz"), "edge 'e8'")},
    "enters-loop": {
        "past the iterIn": (episode("reset.instruction > act.instruction"), "edge 'e8'"),
        "from the end of an earlier loop": (
            draw(
                TWO_LOOPS,
                "s.obs > a_in.x",
                "a_in.x > a_out.x",
                "s.obs > b_in.x",
                "b_in.x > n.x",
                "a_out.final_x > n.y",
                "n.x > b_out.x",
            ),
            "edge 'e4'",
        ),
    },
    "leaves-loop": {
        "past the iterOut": (
            draw(
                TWO_LOOPS,
                "s.obs > a_in.x",
                "a_in.x > b_in.x",
                "b_in.x > n.x",
                "n.x > b_out.x",
                "n.x > a_out.x",
            ),
            "edge 'e4'",
        )
    },
}
