"""Setting up an episode in an environment, by its panel (contract nodesets.md)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.evaluation.verdict import SetupRefused
from engine.hosting.client import HostClient


@dataclass(frozen=True, slots=True)
class EpisodeFacts:
    """What the environment says of the episode. ``step_budget`` None: it has no opinion."""

    episode_id: str = ""
    scene_id: str = ""
    instruction: str = ""
    step_budget: int | None = None


async def set_up(
    client: HostClient, selectors: Mapping[str, Any], seed: int, index: int, deadline_sec: float
) -> EpisodeFacts:
    """Choose and commit the episode; every call together within ``deadline_sec``.

    Raises SetupRefused where the environment says no, and the client's HostFailures.
    """
    ends = time.monotonic() + deadline_sec

    def left() -> float:
        return max(ends - time.monotonic(), 0.001)

    for name, value in {**selectors, "seed": seed, "episode_index": index}.items():
        await client.panel_field(name, value, left())
    answer = await client.panel_action("play", {}, left())
    if not isinstance(answer, Mapping) or answer.get("ok") is not True:
        raise SetupRefused(f"the environment refused episode {index}: {_reason(answer)}")
    return read_facts(await client.panel_state(left()))


def read_facts(state: Any) -> EpisodeFacts:
    """The facts in an ``on_load`` answer; raises SetupRefused for a step budget below 1."""
    if not isinstance(state, Mapping):
        raise SetupRefused(f"the panel's on_load answered {type(state).__name__}, not a dict")
    current = state.get("current_episode")
    episode: Mapping[str, Any] = current if isinstance(current, Mapping) else {}
    return EpisodeFacts(
        episode_id=_first_text(episode, "episode_id", "instr_id"),
        scene_id=_first_text(episode, "scene_id", "scan"),
        instruction=_first_text(episode, "instruction"),
        step_budget=step_budget_of(state.get("step_budget")),
    )


def step_budget_of(value: Any) -> int | None:
    """An environment's step budget as a whole number; raises SetupRefused where it is none, or below 1."""
    if value is None:
        return None
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not whole or isinstance(value, bool) or value < 1:
        raise SetupRefused(f"the environment's step_budget is {value!r}, not a whole number of at least 1")
    return int(value)


def _first_text(episode: Mapping[str, Any], *names: str) -> str:
    return next((str(episode[n]) for n in names if episode.get(n) is not None), "")


def _reason(answer: Any) -> str:
    if isinstance(answer, Mapping) and answer.get("error"):
        return str(answer["error"])
    return f'its panel answered {answer!r} to "play", not {{"ok": true}}'
