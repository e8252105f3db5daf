"""Every source of chance comes from (run seed, episode): never from worker, order or clock.

Hashed with BLAKE2b, so that the numbers are the same under every interpreter and numpy version.
Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

from hashlib import blake2b


def derive(*parts: object) -> int:
    """A number in [0, 2**63) from the parts' texts; parts cannot run into one another."""
    digest = blake2b(digest_size=8)
    for part in parts:
        text = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(text).to_bytes(4, "big") + text)
    return int.from_bytes(digest.digest(), "big") >> 1


def episode_seed(run_seed: int, episode_index: int, repeat: int = 1) -> int:
    """The environment's seed for an episode, in [0, 2**31): what every simulator accepts."""
    repeats = () if repeat == 1 else (repeat,)
    return derive("episode", run_seed, episode_index, *repeats) % (1 << 31)


def firing_key(seed: int, node_id: str, firing: int) -> int:
    """The random key of one firing of one node, from the episode's seed; in [0, 2**63)."""
    return derive("firing", seed, node_id, firing)
