"""Games of three engines. Each has ``instruction``, ``walkthrough`` (the engine's own solution) and
``max_score``, and by the names of ports ``observation``, ``commands``, ``score``, ``won`` and ``done``."""

from __future__ import annotations

import argparse
import json
import os
import random
import string
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from engine.components import Program, one_of

JAVA = Program(("java",), "apt-get install --no-install-recommends default-jre-headless", "ScienceWorld")
_USUAL_OPTIONS = {
    "simple": "--rewards dense --goal detailed",
    "coin_collector": "--level 5",
    "treasure_hunter": "--level 5",
    "cooking": "--recipe 1 --take 1 --open --cook",
}
_READ = ("admissible_commands", "score", "max_score", "won", "lost", "objective")
_ALFWORLD = "alfworld.agents.environment.alfred_tw_env"


class _OptionParser(argparse.ArgumentParser):
    """Of a command line that is a selector, as ``description`` says: it ends nothing when it is wrong."""

    def error(self, message: str) -> NoReturn:
        takes = " ".join(self.format_usage().split()[3:])
        raise ValueError(f"{self.description}: {message} ({self.prog} takes {takes})")


class TextWorldGame:
    """What TextWorld's engine has loaded: its own games, and ALFWorld's."""

    def __init__(self, env: Any) -> None:
        self._env, self.close = env, env.close
        state = env.reset()
        self.instruction = (state.get("objective") or state.feedback.rpartition("task is to: ")[2]).strip()
        self.walkthrough: list[str] = list(state.get("extra.walkthrough") or [])
        self.max_score = float(state.get("max_score") or 1)
        self._read(state)

    def act(self, command: str) -> None:
        self._read(self._env.step(command)[0])

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

    one_of("selector task_id: TextWorld's game", name, _USUAL_OPTIONS)
    _, make, add_arguments = CHALLENGES[f"tw-{name}"]
    parser = _OptionParser(f"tw-make tw-{name}", None, f"selector options is {options!r}", add_help=False)
    add_arguments(parser)
    settings = vars(parser.parse_args((options or _USUAL_OPTIONS[name]).split()))
    with tempfile.TemporaryDirectory() as folder:
        how = GameOptions()
        how.seeds, how.path = seed, str(Path(folder) / "game.z8")
        return from_file(compile_game(make(settings, how), how))


def from_file(path: str) -> TextWorldGame:
    """A .z8 of TextWorld, or a .tw-pddl of ALFWorld's data."""
    import textworld

    wrappers = [import_module(_ALFWORLD).AlfredDemangler] if path.endswith(".tw-pddl") else []
    if not Path(path).is_file():
        raise ValueError(f"there is no file {path}")
    infos = textworld.EnvInfos(**dict.fromkeys(_READ, True), extras=["walkthrough"])
    return TextWorldGame(textworld.start(path, infos, wrappers))


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
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kitchen.tw-pddl"
        path.write_text(json.dumps({"pddl_domain": domain, "grammar": task, "pddl_problem": problem}))
        return from_file(str(path))


class Experiment:
    """A task of ScienceWorld, in its Java child. The score goes up to 100; below 0 all is lost."""

    max_score = 100.0

    def __init__(self, laboratory: Any, task: str, simplifications: str, seed: int) -> None:
        self._env = laboratory
        one_of("selector task_id: ScienceWorld's task", task, laboratory.get_task_names())
        for wanted in filter(None, simplifications.split(",")):
            one_of("selector options:", wanted, ["easy", *laboratory.get_possible_simplifications()])
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
    """ScienceWorld's Java child."""
    from scienceworld import ScienceWorldEnv

    JAVA.path()
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-Xmx768m -XX:+UseSerialGC")  # else a quarter of the machine
    return ScienceWorldEnv(envStepLimit=1_000_000)
