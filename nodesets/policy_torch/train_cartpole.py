"""Train cartpole.pt: a GRU that balances a pole from positions alone. About 8 s on one core.

    python -m nodesets.policy_torch.train_cartpole [OUT.pt]

Imitation with corrections (DAgger; Ross, Gordon and Bagnell 2011): the policy plays, a linear rule that sees
the speeds too says what it would have done, and the policy learns from all rounds.

Seeded and single-threaded: run twice on one machine, it gives the same file, byte for byte. Another processor
or torch (here 2.13.0, AVX-512) adds floats in another order: the policy is then as good, its bits are others.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from .model import MlpGru

ARCHITECTURE = {
    "inputs": 4,
    "outputs": 2,
    "layers": [24],
    "gru": 24,
    "select": [0, 2],
    "scale": [2.4, 0.21],
}
SEED, ROUNDS, POLES, STEPS, SEGMENT, EPOCHS, RATE = 0, 5, 64, 200, 50, 6, 4e-3


class CartPoles:
    """Many cart-poles at once: Barto, Sutton and Anderson 1983, with Gymnasium's CartPole-v1 constants.

    States (N, 4) are position m, speed m/s, angle rad, angular speed rad/s; one step is 0.02 s.
    """

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self.states = rng.uniform(-0.05, 0.05, (count, 4))

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Push left (0) or right (1); which poles fell, (N,) bool. Those start anew."""
        _, v, angle, spin = self.states.T
        push = np.where(actions == 1, 10.0, -10.0)
        common = (push + 0.05 * spin**2 * np.sin(angle)) / 1.1
        inertia = 0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)
        turn = (9.8 * np.sin(angle) - np.cos(angle) * common) / inertia
        speed_up = common - 0.05 * turn * np.cos(angle) / 1.1
        change = np.stack([v, speed_up, spin, turn], axis=1)
        self.states = self.states + 0.02 * change
        fell = (np.abs(self.states[:, 0]) > 2.4) | (np.abs(self.states[:, 2]) > 12 * np.pi / 180)
        self.states[fell] = self._rng.uniform(-0.05, 0.05, (int(fell.sum()), 4))
        return fell


def rule(states: np.ndarray) -> np.ndarray:
    """The expert: push to the side to which a weighted sum of positions and speeds leans."""
    return (states @ np.array([0.1, 0.3, 2.0, 0.6]) > 0).astype(np.int64)


class Round:
    """What one round saw: observations (T, N, 4), labels (T, N), and 0 where an episode began, (T, N, 1)."""

    def __init__(self, policy: MlpGru | None, rng: np.random.Generator) -> None:
        poles = CartPoles(POLES, rng)
        seen, labels, going_on = [], [], []
        states, alive = torch.zeros(POLES, ARCHITECTURE["gru"]), np.zeros(POLES, dtype=bool)
        for _ in range(STEPS):
            observations = torch.from_numpy(poles.states.astype(np.float32))
            expert = rule(poles.states)
            keep = torch.from_numpy(alive[:, None].astype(np.float32))
            if policy is None:
                actions = np.where(rng.random(POLES) < 0.3, rng.integers(0, 2, POLES), expert)
            else:
                with torch.no_grad():
                    scores, states = policy(observations, states * keep)
                actions = (rng.random(POLES) < torch.softmax(scores, 1)[:, 1].numpy()).astype(np.int64)
            seen.append(observations)
            labels.append(torch.from_numpy(expert))
            going_on.append(keep)
            alive = ~poles.step(actions)
        self.seen, self.labels, self.going_on = map(torch.stack, (seen, labels, going_on))

    def learn(self, policy: MlpGru, optimizer: torch.optim.Optimizer) -> float:
        """One pass, with gradients cut every ``SEGMENT`` steps; the mean loss."""
        states = torch.zeros(POLES, ARCHITECTURE["gru"])
        losses = []
        for start in range(0, STEPS, SEGMENT):
            part = slice(start, start + SEGMENT)
            states = states.detach()
            scores = []
            for observations, keep in zip(self.seen[part], self.going_on[part]):
                row, states = policy(observations, states * keep)
                scores.append(row)
            loss = cross_entropy(torch.cat(scores), self.labels[part].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            losses.append(float(loss.detach()))
        return float(np.mean(losses))


def train(report: Callable[[str], None]) -> MlpGru:
    """The policy of cartpole.pt."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    policy = MlpGru(**ARCHITECTURE)
    optimizer = torch.optim.Adam(policy.parameters(), RATE)
    rounds: list[Round] = []
    for number in range(ROUNDS):
        rounds.append(Round(policy if number else None, rng))
        for _ in range(EPOCHS):
            loss = float(np.mean([rounds[i].learn(policy, optimizer) for i in rng.permutation(len(rounds))]))
        report(f"round {number + 1} of {ROUNDS}: loss {loss:.3f}")
    return policy


def main(out: Path) -> None:
    policy = train(lambda line: print(line, flush=True))
    torch.save({"architecture": ARCHITECTURE, "state_dict": policy.state_dict()}, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "cartpole.pt")
