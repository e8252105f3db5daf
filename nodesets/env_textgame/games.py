"""Games of three engines. Each has ``instruction``, ``walkthrough`` (the engine's own solution) and
``max_score``, and by the names of ports ``observation``, ``commands``, ``score``, ``won`` and ``done``."""

from __future__ import annotations

import argparse
import json
import os
import random
import string
import tempfile
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any, Iterator, NoReturn

from engine.components import OutsideFailure, Program, blaming, how_it_ended, one_of

OF_SCIENCEWORLD = {"task_id": r"scienceworld/.*"}
_JRE = "apt-get install --no-install-recommends default-jre-headless"
JAVA = Program(("java",), _JRE, OF_SCIENCEWORLD, "ScienceWorld")
_IN_ORDER = "-XX:+UnlockExperimentalVMOptions -XX:hashCode=2"
"""For Java: a gold path goes by the order of identity hashes, which else are others at each load."""
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
        with blaming(f"selector options is {options!r}", bool(options)):
            game = make(settings, how)
        return _start(compile_game(game, how))


def from_file(path: str) -> TextWorldGame:
    """A .z8 of TextWorld, or a .tw-pddl of ALFWorld's data. ValueError where it is none."""
    if not Path(path).is_file():
        raise ValueError(f"selector task_id: there is no file {path}")
    if path.endswith(".z8"):
        if not _is_story(Path(path).read_bytes()):
            raise ValueError(f"selector task_id: {path} is no Z-code file of version 8, or not all of one")
        if not Path(path).with_suffix(".json").is_file():
            raise ValueError(f"selector task_id: beside {path} lies no .json, which tw-make writes with it")
    with blaming(f"selector task_id: {path} cannot be played"):
        return _start(path)


def _is_story(data: bytes) -> bool:
    """Whether length and checksum are those of its header: the interpreter ends the process of any other."""
    length, checksum = (int.from_bytes(data[place : place + 2], "big") for place in (26, 28))
    whole = data[:1] == b"\x08" and 64 < 8 * length <= len(data)
    return whole and sum(data[64 : 8 * length]) % 65536 == checksum


def _start(path: str) -> TextWorldGame:
    import textworld

    wrappers = [import_module(_ALFWORLD).AlfredDemangler] if path.endswith(".tw-pddl") else []
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
        return _start(str(path))


class Experiment:
    """A task of ScienceWorld, in its Java child. The score goes up to 100; below 0 all is lost."""

    max_score = 100.0

    def __init__(self, laboratory: Any, task: str, simplifications: str, seed: int) -> None:
        self._env = laboratory
        one_of("selector task_id: ScienceWorld's task", task, laboratory.get_task_names())
        for wanted in filter(None, simplifications.split(",")):
            one_of("selector options", wanted, ["easy", *laboratory.get_possible_simplifications()])
        self._chosen = task, seed % laboratory.get_max_variations(task), simplifications
        self._said: list[str] = []
        self._begin(gold=False)

    @cached_property
    def walkthrough(self) -> list[str]:
        """The gold path. Making one takes as long as all else, and an experiment that begins anew."""
        said, self._said = self._said, []
        self._begin(gold=True)
        for command in said:
            self.act(command)
        return list(self._env.get_gold_action_sequence())

    def act(self, command: str) -> None:
        with _java(self._env):
            self.observation, _, done, info = self._env.step(command)
        self._said.append(command)
        self._read(done, info)

    def _begin(self, gold: bool) -> None:
        options = self._chosen[2]
        with blaming(f"selector options is {options!r}", bool(options)), _java(self._env):
            self._env.load(*self._chosen, generateGoldPath=gold)
            self.observation, info = self._env.reset()
        self.instruction = info["taskDesc"].partition("\n")[2].strip()
        self._read(False, info)

    def close(self) -> None:
        """The child stays."""

    def _read(self, done: bool, info: Any) -> None:
        self.commands: list[str] = sorted(set(info["valid"]))
        self.score, self.won, self.done = float(info["score"]), info["score"] >= self.max_score, done


def laboratory(kept: Any) -> Any:
    """ScienceWorld's Java child: the one that was ``kept``, unless it has ended."""
    if kept is not None and kept._gateway.java_process.poll() is None:
        return kept
    from scienceworld import ScienceWorldEnv

    JAVA.path()
    little = "-Xmx768m -XX:+UseSerialGC"  # else it takes a quarter of the machine
    options = os.environ.get("JAVA_TOOL_OPTIONS", little)
    if _IN_ORDER not in options:
        os.environ["JAVA_TOOL_OPTIONS"] = f"{options} {_IN_ORDER}"
    return ScienceWorldEnv(envStepLimit=1_000_000)


@contextmanager
def _java(laboratory: Any) -> Iterator[None]:
    """Around what the child is asked: OutsideFailure where it has ended: the connection breaks before."""
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        with suppress(TimeoutExpired):
            cause = how_it_ended(laboratory._gateway.java_process.wait(2.0))
            told = f"ScienceWorld's Java ended in an episode, {cause}"
            raise OutsideFailure(told, cause=cause) from error
        raise
