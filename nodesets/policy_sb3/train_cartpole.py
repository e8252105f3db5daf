"""Train cartpole.zip: PPO on Gymnasium's CartPole-v1. About 40 s on one core.

    python -m nodesets.policy_sb3.train_cartpole [OUT.zip]

Seeded and single-threaded: run twice on one machine, it gives the same weights. Another processor or torch
(here 2.13.0, stable-baselines3 2.9.2) adds floats in another order: the policy is then as good, its bits are
others. What tells of the machine and the moment is left out of the file.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import torch
from stable_baselines3 import PPO

STEPS, SEED = 60_000, 0
_OF_THE_MOMENT = ["ep_info_buffer", "ep_success_buffer", "start_time", "_last_obs", "_last_episode_starts"]
_OF_THE_MACHINE = "system_info.txt"


def train(steps: int = STEPS) -> PPO:
    """The policy of cartpole.zip after ``steps`` steps of its environment."""
    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy",
        "CartPole-v1",
        n_steps=256,
        batch_size=256,
        n_epochs=10,
        gae_lambda=0.8,
        gamma=0.98,
        learning_rate=1e-3,
        seed=SEED,
        device="cpu",
    )
    return model.learn(steps)


def save(model: PPO, out: Path) -> None:
    """Write what the policy is, and no more, as a zip with no dates."""
    whole = out.with_suffix(".whole.zip")
    model.save(whole, exclude=_OF_THE_MOMENT)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            if name != _OF_THE_MACHINE:
                target.writestr(zipfile.ZipInfo(name), source.read(name), zipfile.ZIP_DEFLATED)
    whole.unlink()


if __name__ == "__main__":
    save(train(), Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "cartpole.zip")
