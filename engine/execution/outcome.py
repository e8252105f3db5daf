"""What goes into an episode's execution, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from engine.components.errors import HostFailure, WrongChoice

Termination = Literal["stopped", "budget", "drained"]


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """The episode as its nodes may know it. ``seed``: seeds.episode_seed of this episode."""

    execution_id: str
    seed: int
    episode_index: int = 0
    selectors: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """``{episode_index, seed, selectors}``: what a firing request carries."""
        return {
            "episode_index": self.episode_index,
            "seed": self.seed,
            "selectors": dict(self.selectors),
        }


class NodeError(NamedTuple):
    """A firing that failed; the episode went on. ``node_id``: of a node out of composites, the path to it."""

    node_id: str
    step: int
    message: str


@dataclass(slots=True)
class Outcome:
    """What an execution came to; filled while it runs, so that a cancelled one can be read too.

    ``outputs``: the last value of each graph-level ``graphOut``, by port name. ``steps``: iterations of the
    root loops, summed; 1 for a graph without a loop. ``termination``: how the last root loop ended; of no
    meaning where ``failure`` or ``stop_reason`` is set. ``failure``: the host failure, or a
    node's word that it cannot play what was selected, that ended it all.
    ``stop_reason``: what the ``stop`` callback answered. ``node_stop``: the reason of a node's StopExecution.
    """

    outputs: dict[str, Any] = field(default_factory=dict)
    steps: int = 0
    termination: Termination = "stopped"
    node_errors: list[NodeError] = field(default_factory=list)
    failure: HostFailure | WrongChoice | None = None
    stop_reason: str | None = None
    node_stop: str | None = None
