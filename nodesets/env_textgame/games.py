"""Games of three engines. Each has ``instruction``, ``walkthrough`` (the engine's own solution) and
``max_score``, and after each command ``observation``, ``commands``, ``score``, ``won`` and ``done``."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import string
import tempfile
from pathlib import Path
from typing import Any, NoReturn

_USUAL_OPTIONS = {
    "simple": "--rewards dense --goal detailed",
    "coin_collector": "--level 5",
    "treasure_hunter": "--level 5",
    "cooking": "--recipe 1 --take 1 --open --cook",
}
_READ = ("admissible_commands", "score", "max_score", "won", "lost", "objective")
_JAVA_OPTIONS = "-Xmx768m -XX:+UseSerialGC"  # it takes a quarter of the machine else


class _OptionParser(argparse.ArgumentParser):
    """Of a command line that is a selector here: says what is wrong, and ends nothing."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} ({self.prog} takes {' '.join(self.format_usage().split()[3:])})")


class TextWorldGame:
    """What TextWorld's engine has loaded: its own games, and ALFWorld's."""

    def __init__(self, env: Any) -> None:
        self._env = env
        state = env.reset()
        self.instruction = (state.get("objective") or state.feedback.rpartition("task is to: ")[2]).strip()
        self.walkthrough: list[str] = list(state.get("extra.walkthrough") or [])
        self.max_score = float(state.get("max_score") or 1)
        self._read(state)

    def act(self, command: str) -> None:
        self._read(self._env.step(command)[0])

    def close(self) -> None:
        self._env.close()

    def _read(self, state: Any) -> None:
        self.observation = str(state.feedback)
        self.commands: list[str] = sorted(set(state.admissible_commands))
        self.score, self.won = float(state.get("score") or 0), bool(state.won)
        self.done = self.won or bool(state.lost)


def generated(name: str, options: str, seed: int) -> TextWorldGame:
    """One of ``tw-make``'s challenges, made from ``seed``; ``options`` are its command line's."""
    from textworld import GameOptions
    from textworld.challenges import CHALLENGES
    from textworld.generator import compile_game

    if name not in _USUAL_OPTIONS:
        raise ValueError(f"textworld has no game {name!r}; it has {', '.join(_USUAL_OPTIONS)}")
    _, make, add_arguments = CHALLENGES[f"tw-{name}"]
    parser = _OptionParser(prog=f"tw-make tw-{name}", add_help=False)
    add_arguments(parser)
    try:
        settings = vars(parser.parse_args((options or _USUAL_OPTIONS[name]).split()))
    except ValueError as error:
        raise ValueError(f"selector options is {options!r}: {error}") from None
    with tempfile.TemporaryDirectory() as folder:
        how = GameOptions()
        how.seeds, how.path = seed, str(Path(folder) / "game.z8")
        return from_file(compile_game(make(settings, how), how))


def from_file(path: str) -> TextWorldGame:
    """A .z8 of TextWorld, or a .tw-pddl of ALFWorld's data."""
    import textworld

    if not Path(path).is_file():
        raise OSError(f"there is no file {path}")
    return TextWorldGame(_alfworld(path) if path.endswith(".tw-pddl") else textworld.start(path, _wanted()))


def kitchen(seed: int) -> TextWorldGame:
    """ALFWorld's domain and grammar on a kitchen of ours, since its houses have to be downloaded: clean, cool
    or heat one thing and put it somewhere."""
    import alfworld

    data = Path(alfworld.__file__).parent / "data"
    plan = json.loads(Path(__file__).with_name("games").joinpath("kitchen.json").read_text("utf-8"))
    rng = random.Random(seed)
    thing, state, target = (rng.choice(sorted(plan[kind])) for kind in ("things", "states", "targets"))
    places, starts = plan["places"], sorted(set(plan["places"]) - {target})
    chosen = {f"{one}_starts_in": places[rng.choice(starts)] for one in plan["things"]}
    chosen.update(thing=plan["things"][thing], state=plan["states"][state], target=places[target])
    domain, grammar = ((data / name).read_text("utf-8") for name in ("alfred.pddl", "alfred.twl2"))
    task = grammar.replace("UNKNOWN GOAL", f"put a {state} {thing} in {target}")
    problem = string.Template("\n".join(plan["pddl_problem"])).substitute(chosen)
    return TextWorldGame(_alfworld({"pddl_domain": domain, "grammar": task, "pddl_problem": problem}))


def _alfworld(game: Any) -> Any:
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld.envs import PddlEnv

    env = AlfredDemangler(PddlEnv(_wanted()))
    env.load(game)
    return env


def _wanted() -> Any:
    from textworld import EnvInfos

    return EnvInfos(**dict.fromkeys(_READ, True), extras=["walkthrough"])


class Experiment:
    """A task of ScienceWorld, in its Java child. The score goes up to 100; below 0 all is lost."""

    max_score = 100.0

    def __init__(self, laboratory: Any, task: str, simplifications: str, seed: int) -> None:
        self._env = laboratory
        known = laboratory.get_task_names()
        if task not in known:
            raise ValueError(f"scienceworld has no task {task!r}; it has {', '.join(known)}")
        allowed = ["easy", *laboratory.get_possible_simplifications()]
        for wanted in filter(None, simplifications.split(",")):
            if wanted not in allowed:
                raise ValueError(f"selector options is {simplifications!r}; it takes {', '.join(allowed)}")
        variation = seed % laboratory.get_max_variations(task)
        laboratory.load(task, variation, simplifications, generateGoldPath=True)
        self.walkthrough: list[str] = laboratory.get_gold_action_sequence()
        self.observation, info = laboratory.reset()
        self.instruction = info["taskDesc"].partition("\n")[2].strip()
        self._read(False, info)

    def act(self, command: str) -> None:
        self.observation, _, done, info = self._env.step(command)
        self._read(done, info)

    def close(self) -> None:
        """The child stays."""

    def _read(self, done: bool, info: Any) -> None:
        self.commands: list[str] = sorted(set(info["valid"]))
        self.score, self.won, self.done = float(info["score"]), info["score"] >= self.max_score, done


def laboratory() -> Any:
    """ScienceWorld's Java child; OSError without Java."""
    from scienceworld import ScienceWorldEnv

    if shutil.which("java") is None:
        raise OSError("scienceworld needs Java: there is no `java` on PATH")
    os.environ.setdefault("JAVA_TOOL_OPTIONS", _JAVA_OPTIONS)
    return ScienceWorldEnv(envStepLimit=1_000_000)
