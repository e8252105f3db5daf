"""Exact optimal play of a tabular environment within its step limit, by backward induction."""

from __future__ import annotations

from typing import List, Mapping, Tuple

import numpy as np

Transitions = Mapping[int, Mapping[int, List[Tuple[float, int, float, bool]]]]


class Planner:
    """Values and actions for every state and number of steps left.

    ``transitions[state][action]`` lists (probability, next state, reward, done), as toy-text environments do.
    With V_0 = 0, V_h(s) = max_a sum p (r + (1 - done) V_{h-1}(s')): the exact undiscounted optimum for an
    episode that ends after h steps (Puterman, Markov Decision Processes, 1994, section 4.3). Memory and time
    grow as horizon x states x actions.
    """

    def __init__(self, transitions: Transitions, horizon: int) -> None:
        states, actions = len(transitions), max(len(transitions[state]) for state in transitions)
        fan = max(len(outcomes) for moves in transitions.values() for outcomes in moves.values())
        chance, reward = np.zeros((2, states, actions, fan))
        after = np.zeros((states, actions, fan), dtype=np.intp)
        goes_on = np.zeros((states, actions, fan))
        absent = np.ones((states, actions), dtype=bool)
        for state, moves in transitions.items():
            for action, outcomes in moves.items():
                absent[state, action] = False
                for slot, (probability, following, gain, done) in enumerate(outcomes):
                    chance[state, action, slot] = probability
                    reward[state, action, slot] = gain
                    after[state, action, slot] = following
                    goes_on[state, action, slot] = not done
        self._values = np.zeros((horizon + 1, states))
        self._actions = np.zeros((horizon + 1, states), dtype=np.intp)
        for left in range(1, horizon + 1):
            worth = (chance * (reward + goes_on * self._values[left - 1][after])).sum(axis=2)
            worth[absent] = -np.inf
            # Ties go to the lowest action; rounding keeps the last bit of a sum from deciding them.
            self._actions[left] = worth.round(12).argmax(axis=1)
            self._values[left] = worth.max(axis=1)

    def value(self, state: int, left: int) -> float:
        """Expected return of optimal play from ``state`` with ``left`` steps to go."""
        return float(self._values[left, state])

    def action(self, state: int, left: int) -> int:
        """The optimal action there; the lowest of several."""
        return int(self._actions[left, state])
