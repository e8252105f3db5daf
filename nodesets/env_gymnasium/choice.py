"""What the operator chose: which environment, how made, which frames, which seed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Mapping

from engine.components import one_of

FRAMES = ("none", "render")


@dataclass(frozen=True)
class Choice:
    """One environment, as chosen. ``env_id`` empty: the graph's reset node names it."""

    env_id: str = ""
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    frames: str = "none"
    reuse: bool = False
    seed: int = 0

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Choice:
        """From the selectors of an episode; ValueError names the selector and what it takes.

        ``env_seed`` wins over ``seed``, which is the episode's own. Unknown selectors are ignored.
        """
        env_seed = form.get("env_seed")
        seeded_by = "seed" if env_seed is None or env_seed == "" else "env_seed"
        return cls(
            env_id=str(form.get("env_id") or "").strip(),
            env_kwargs=_mapping(form.get("env_kwargs")),
            frames=one_of("selector frames", str(form.get("frames") or "none"), FRAMES),
            reuse=_yes_or_no("reuse", form.get("reuse")),
            seed=_whole(seeded_by, form.get(seeded_by, 0)),
        )

    def completed(self, config: Mapping[str, Any]) -> Choice:
        """With the reset node's environment where the operator chose none; ValueError if neither did."""
        env_id = self.env_id or str(config.get("env_id") or "").strip()
        if not env_id:
            raise ValueError(
                "no environment is chosen: pass --select env_id=… or set env_id on the reset node"
            )
        own = {} if self.env_id else _mapping(config.get("env_kwargs"))
        return replace(self, env_id=env_id, env_kwargs={**own, **self.env_kwargs})


def _mapping(value: Any) -> dict[str, Any]:
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"selector env_kwargs is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f'selector env_kwargs must be a JSON object such as {{"size": 8}}, not {value!r}')
    return value


def _yes_or_no(name: str, value: Any) -> bool:
    words = {
        "": False,
        "none": False,
        "no": False,
        "false": False,
        "0": False,
        "yes": True,
        "true": True,
        "1": True,
    }
    word = str(value if value is not None else "").strip().lower()
    if word not in words:
        raise ValueError(f"selector {name} is {value!r}; it takes no, yes")
    return words[word]


def _whole(name: str, value: Any) -> int:
    number: int | None = None
    try:
        number = int(value) if not isinstance(value, float) or value.is_integer() else None
    except (TypeError, ValueError):
        pass
    if number is None or not 0 <= number < 1 << 32:
        raise ValueError(f"selector {name} is {value!r}; it takes a whole number from 0 to 2^32 - 1")
    return number
