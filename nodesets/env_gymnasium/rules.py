"""Rules of one line that play a control task: known ones, none of them tuned here."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from engine.components import PortDef, WrongChoice

from .agents import TRIGGER
from .session import Episode
from .tools import SessionTool


def _cartpole(episode: Episode) -> int:
    """Push to the side that the pole falls to, and a little against the cart's drift."""
    position, speed, angle, turning = episode.observation
    return int(0.1 * position + 0.3 * speed + 3 * angle + turning > 0)


def _acrobot(episode: Episode) -> int:
    """Torque against the first link's turning, which pumps the second up."""
    return 2 if episode.observation[4] < 0 else 0


def _mountain_car(episode: Episode) -> int:
    """Push the way that the car goes."""
    return 0 if episode.observation[1] < 0 else 2


def _lunar_lander(episode: Episode) -> Any:
    """The heuristic that Gymnasium ships, for discrete and continuous actions."""
    from gymnasium.envs.box2d.lunar_lander import heuristic

    return heuristic(episode.adapter.env, episode.observation)


RULES: Mapping[str, Callable[[Episode], Any]] = {
    "Acrobot": _acrobot,
    "CartPole": _cartpole,
    "LunarLander": _lunar_lander,
    "LunarLanderContinuous": _lunar_lander,
    "MountainCar": _mountain_car,
}


class RuleAction(SessionTool):
    """What a known rule does now: ``rule`` of the config, else the one of the environment's id."""

    node_type = "env_gymnasium__rule_action"
    display_name = "Gym: Rule"
    description = "A known rule for CartPole, Acrobot, MountainCar or LunarLander (Gymnasium's heuristic)"
    category = "policy"
    input_ports = [TRIGGER]
    output_ports = [PortDef("action", "ANY", "int, or an array in the shape of the action space")]
    default_config = {"rule": ""}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        episode = self.session.current()
        env_id, chosen = episode.choice.env_id, self.config.get("rule")
        name = str(chosen or env_id.rpartition("-")[0])
        if name not in RULES:
            known = ", ".join(RULES)
            raise WrongChoice(
                f"config rule is {chosen!r}; it takes {known}"
                if chosen
                else f"env_id is {env_id!r}, for which there is no rule; there is one for {known}"
            )
        return {"action": RULES[name](episode)}
