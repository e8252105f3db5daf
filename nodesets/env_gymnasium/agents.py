"""Agents that look inside the environment: random, the BabyAI bot, optimal play of a tabular one."""

from __future__ import annotations

from typing import Any

from engine.components import PortDef, WrongChoice

from .planning import Planner
from .session import Episode
from .tools import SessionTool
from .values import draw

TRIGGER = PortDef("trigger", "ANY", "any value; wire the observation, so that each step asks for an action")


class RandomAction(SessionTool):
    """A random action from the environment's action space, drawn from the node's own generator."""

    node_type = "env_gymnasium__random_action"
    display_name = "Gym: Random action"
    description = "Uniform over a Discrete or bounded Box action space"
    category = "policy"
    input_ports = [TRIGGER]
    output_ports = [PortDef("action", "ANY", "int, or an array in the shape of the action space")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": draw(getattr(self.session.current().adapter.env, "action_space", None), ctx.rng)}


class BabyAIBotAction(SessionTool):
    """The action of minigrid's BabyAI bot, one fresh bot an episode.

    The bot is told what was done since, so another agent may act in between. It is an expert that sees the
    whole mission; on some levels it raises, and on BabyAI-UnlockToUnlock-v0 with environment seed 4 it never
    returns: that is for the framework's deadline.
    """

    node_type = "env_gymnasium__babyai_bot_action"
    display_name = "BabyAI: Bot"
    description = "What the BabyAI bot would do now"
    category = "policy"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("action", "DISCRETE_ACTION", "0 left, 1 right, 2 forward, 3 pickup, 4 drop, 5 toggle, 6 done")
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        episode = self.session.current()
        bot, advised = episode.agents.get("babyai") or (_babyai_bot(episode), None)
        other = None if episode.last_action == advised else episode.last_action
        try:
            advised = int(bot.replan(other))
        except Exception as error:
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            raise RuntimeError(f"the BabyAI bot failed on {episode.choice.env_id}: {what}") from error
        episode.agents["babyai"] = (bot, advised)
        return {"action": advised}


class OptimalAction(SessionTool):
    """Optimal play of a tabular environment (FrozenLake, Taxi, CliffWalking) by backward induction.

    Exact within the environment's step limit; without one, ``horizon`` steps are always thought to be left.
    """

    node_type = "env_gymnasium__optimal_action"
    display_name = "Gym: Optimal action"
    description = "The action with the greatest expected return in the steps that are left"
    category = "policy"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("action", "DISCRETE_ACTION"),
        PortDef("value", "ANY", "float, the expected return from here on"),
    ]
    default_config = {"horizon": 1000}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        episode = self.session.current()
        horizon = episode.step_limit or int(self.config.get("horizon", 1000))
        planner = episode.agents.get("optimal")
        if planner is None:
            planner = episode.agents["optimal"] = Planner(_table(episode), horizon)
        left = horizon - episode.steps if episode.step_limit else horizon
        state = int(episode.adapter.bare.s)
        return {"action": planner.action(state, left), "value": planner.value(state, left)}


def _babyai_bot(episode: Episode) -> Any:
    env_id = episode.choice.env_id
    try:
        from minigrid.utils.baby_ai_bot import BabyAIBot
    except ImportError:
        raise WrongChoice("the BabyAI bot needs minigrid: pip install 'evaltower[gym]'") from None
    if not hasattr(episode.adapter.bare, "instrs"):
        raise WrongChoice(
            f"env_id is {env_id!r}, which is not a BabyAI level: the BabyAI bot plays those alone"
        )
    return BabyAIBot(episode.adapter.env)


def _table(episode: Episode) -> Any:
    bare = episode.adapter.bare
    if not hasattr(bare, "P") or not hasattr(bare, "s"):
        raise WrongChoice(
            f"env_id is {episode.choice.env_id!r}, which has no transition table (env.unwrapped.P and .s), as"
            " optimal play needs one"
        )
    return bare.P
