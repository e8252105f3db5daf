"""Train the policy's eye: what is on the cells ahead, from single frames of houses of the split ``train``.

    python -m nodesets.policy_gridhouse.train

from the repository's root, with torch installed; about 8 minutes on a free core. Supervised by the simulator,
which knows what is where. All seeds are fixed and one thread computes, so one machine gives the same weights
each time.
"""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path

import numpy as np
import torch

from nodesets.env_gridhouse import optics
from nodesets.env_gridhouse.episodes import SEEN_HOUSES, draw_episode
from nodesets.env_gridhouse.eye import Eye
from nodesets.env_gridhouse.house import Cell, House, ahead_and_aside

from . import network
from .network import ACROSS, AHEAD, COLOURS, SHAPES, SURFACES

log = logging.getLogger("train")

BATCH, UPDATES = 256, 4000
LEARNING_RATE, LAST_SHARE = 2e-3, 0.02
FACING, NEAR = 0.6, 5
OBJECT_WEIGHT = 2.0
LOSS_WEIGHTS = (8.0, 1.0, 1.0)
WEIGHTS = Path(__file__).with_name("weights.npz")

_RAYS = optics.cast_rays()
_PASSED = optics.map_offsets(_RAYS.forward, _RAYS.right)
_ORDER = np.arange(_RAYS.depth.shape[1])
_AHEAD, _ASIDE = np.indices((AHEAD, ACROSS))
_GLIMPSE = optics.map_offsets(_AHEAD, _ASIDE - ACROSS // 2)
_NOTHING = -100
"""The class that cross_entropy leaves out."""


class Place:
    """A house of the split ``train``, to be looked at from anywhere."""

    def __init__(self, number: int) -> None:
        house = draw_episode("train", number).house
        self._eye = Eye(house)
        surfaces = [SURFACES.index(name) for name in ("wall", *network.ROOMS, "door")]
        surface = np.array(surfaces)[house.material]
        colour, shape = np.full_like(surface, _NOTHING), np.full_like(surface, _NOTHING)
        for thing in house.things:
            x, y = thing.cell
            surface[y, x] = SURFACES.index("object")
            colour[y, x], shape[y, x] = COLOURS.index(thing.colour), SHAPES.index(thing.kind)
        fills = (SURFACES.index("wall"), _NOTHING, _NOTHING)
        self._classes = np.stack(
            [
                np.pad(layer, optics.REACH, constant_values=fill).ravel()
                for layer, fill in zip((surface, colour, shape), fills)
            ]
        )
        self._wall = self._classes[0] == SURFACES.index("wall")
        cells = sorted(house.walkable)
        self._poses = [(cell, heading) for cell in cells for heading in range(4)]
        self._facing = [(cell, heading) for cell, heading in self._poses if _faces_any(house, cell, heading)]

    def look(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A frame from a random place, and the classes (3, AHEAD, ACROSS) of surface, colour and shape."""
        poses = self._facing if rng.random() < FACING else self._poses
        (x, y), heading = poses[rng.integers(len(poses))]
        here = (y + optics.REACH) * optics.STRIDE + x + optics.REACH
        passed = _PASSED[heading] + here
        met = self._wall[passed].argmax(axis=1)
        seen = np.zeros(self._wall.shape, bool)
        seen[passed[met[:, None] >= _ORDER]] = True
        ahead = _GLIMPSE[heading] + here
        unseen = np.array([SURFACES.index("unseen"), _NOTHING, _NOTHING])[:, None, None]
        return self._eye.frame(x, y, heading), np.where(seen[ahead], self._classes[:, ahead], unseen)


def train(updates: int, houses: int = SEEN_HOUSES) -> dict[str, np.ndarray]:
    """Weights after so many batches, from so many houses."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    places = [Place(number) for number in range(houses)]
    weights = {}
    for name, shape in network.LAYERS.items():
        weights[name] = (torch.randn(shape) * shape[0] ** -0.5).requires_grad_()
        weights[name + "_bias"] = torch.zeros(shape[1]).requires_grad_()
    optimizer = torch.optim.Adam(list(weights.values()), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: max(LAST_SHARE, 1 - n / updates))
    began, lost = time.monotonic(), np.zeros(3)
    for update in range(1, updates + 1):
        frames, classes = zip(*(places[n].look(rng) for n in rng.integers(len(places), size=BATCH)))
        losses = _losses(weights, np.stack(frames), np.stack(classes))
        optimizer.zero_grad()
        (losses @ torch.tensor(LOSS_WEIGHTS)).backward()
        optimizer.step()
        schedule.step()
        lost += losses.detach().numpy()
        if update % 200 == 0:
            seconds = time.monotonic() - began
            log.info(
                "%d updates, %.0f s: surface %.4f, colour %.3f, shape %.3f", update, seconds, *lost / 200
            )
            lost[:] = 0
    return {name: value.detach().numpy() for name, value in weights.items()}


def _losses(weights: dict[str, torch.Tensor], frames: np.ndarray, classes: np.ndarray) -> torch.Tensor:
    """(3,) mean cross-entropies of surface, colour and shape."""
    rarity = torch.tensor([OBJECT_WEIGHT if name == "object" else 1.0 for name in SURFACES])
    logits = network.glimpse(weights, torch.from_numpy(frames) / 255.0 - 0.5)
    losses = []
    for part, wanted, weight in zip(logits, torch.from_numpy(classes).unbind(1), (rarity, None, None)):
        flat = part.reshape(-1, part.shape[-1])
        losses.append(torch.nn.functional.cross_entropy(flat, wanted.reshape(-1), weight=weight))
    return torch.stack(losses)


def _faces_any(house: House, cell: Cell, heading: int) -> bool:
    places = (ahead_and_aside(thing.cell, cell, heading) for thing in house.things)
    return any(0 < ahead <= NEAR and abs(aside) <= ahead for ahead, aside in places)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train the weights of policy_gridhouse.")
    parser.add_argument("--updates", type=int, default=UPDATES, help="batches to train on")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where to write the weights (npz)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    np.savez_compressed(options.out, **train(options.updates))


if __name__ == "__main__":
    main()
