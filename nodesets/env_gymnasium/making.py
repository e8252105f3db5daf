"""Make an environment from an id or an entry string, and say in which places a seed can be handed to it."""

from __future__ import annotations

import inspect
import re
import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Callable, Iterator, Mapping

from engine.components import WrongChoice
from engine.components.drawing import draw_without_screen, drawing_explained

from .drawing import frame_size, prepare

_ENTRY = re.compile(r"[\w.]+:[A-Za-z_][\w.]*")
_MISFITS = (TypeError, AssertionError, LookupError, AttributeError)
_REGISTERED_BY = {"BabyAI-": "minigrid", "MiniGrid-": "minigrid", "ALE/": "ale_py", "MiniWorld-": "miniworld"}


class Maker:
    """Makes one kind of environment, as often as asked.

    ``env_id`` is a registered id ("FrozenLake-v1"), one with the module that registers it
    ("my_package:MyEnv-v0"), or an entry string to a class or function ("my_package.envs:MyEnv").
    Raises ImportError, in one sentence, where a package or name is missing; else what the library raises.
    """

    def __init__(self, env_id: str, env_kwargs: Mapping[str, Any], frames: str) -> None:
        self.env_id = env_id
        self._kwargs, self._asked = dict(env_kwargs), bool(env_kwargs)
        self._draws = frames == "render"
        draw_without_screen(self._draws)
        with drawing_explained(self._draws):
            if _ENTRY.fullmatch(env_id):
                self._make = self._creator = _load(env_id)
            else:
                self._make, self._creator = _registered(env_id)
        if self._draws and offers(self._creator, "render_mode"):
            self._kwargs = {"render_mode": "rgb_array", **frame_size(self._creator), **self._kwargs}

    @property
    def takes_seed(self) -> bool:
        """Whether the constructor has a ``seed`` that the operator left free."""
        return "seed" not in self._kwargs and offers(self._creator, "seed")

    def make(self, seed: int | None = None) -> Any:
        """A new environment; ``seed`` is for its constructor, where ``takes_seed``."""
        own = {} if seed is None else {"seed": seed}
        with _choices_blamed(self.env_id, self._asked), drawing_explained(self._draws):
            env = self._make(**self._kwargs, **own)
        if self._draws:
            prepare(env, self._kwargs)
        return env


def offers(function: Any, parameter: str) -> bool:
    """Whether a callable names ``parameter``; a class's ``**kwargs`` lead to its bases' ``__init__``."""
    if not inspect.isclass(function):
        return parameter in _parameters(function)
    for owner in function.__mro__:
        if "__init__" in vars(owner):
            names = _parameters(owner.__init__)
            if parameter in names:
                return True
            if not _open(names):
                return False
    return False


def reset_takes_seed(env: Any) -> bool:
    """Whether ``env.reset(seed=…)`` is understood. A wrapper's ``**kwargs`` are followed to what it wraps."""
    for owner in type(env).__mro__:
        if "reset" in vars(owner):
            names = _parameters(owner.reset)
            if "seed" in names:
                return True
            if not _open(names):
                return False
            if getattr(env, "env", None) is not None:
                return reset_takes_seed(env.env)
    return False


def seed_method(env: Any) -> Callable[[int], Any] | None:
    """The old API's ``seed(n)``, of the environment or of what it wraps."""
    for owner in (env, getattr(env, "unwrapped", None)):
        method = getattr(owner, "seed", None)
        if callable(method):
            return method  # type: ignore[no-any-return]
    return None


def _registered(env_id: str) -> tuple[Callable[..., Any], Any]:
    """(make(**kwargs), the class or function behind the id) of Gymnasium, else of old Gym."""
    library = _library(env_id)
    module, _, name = env_id.rpartition(":")
    for prefix, package in _REGISTERED_BY.items():
        if not module and name.startswith(prefix):
            module = package
    if module:
        _imported(module, env_id)
    with _choices_blamed(env_id):
        entry = library.spec(name).entry_point

    def make(**kwargs: Any) -> Any:
        return library.make(name, **kwargs)

    return make, _load(entry) if isinstance(entry, str) else entry


@contextmanager
def _choices_blamed(env_id: str, arguments: bool = False) -> Iterator[None]:
    """WrongChoice for what the library says of an id, and, where the operator gave ``arguments``, for what
    comes of those that do not fit. Whatever else is raised is the environment's own."""
    try:
        yield
    except Exception as error:
        of_the_library = type(error).__module__ in ("gymnasium.error", "gym.error")
        if not (of_the_library or (arguments and isinstance(error, _MISFITS))):
            raise
        blamed = "" if of_the_library else "selector env_kwargs: "
        raise WrongChoice(f"{blamed}{env_id}: {type(error).__name__}: {error}") from error


def _library(env_id: str) -> Any:
    for name in ("gymnasium", "gym"):
        if find_spec(name) is not None:
            return import_module(name)
    raise _lacking(env_id, "gymnasium")


def _imported(module: str, env_id: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise _lacking(env_id, error.name or module) from None


def _lacking(env_id: str, package: str) -> ImportError:
    return ImportError(
        f"{env_id} needs {package}, which {sys.executable} lacks: pip install it there "
        "('evaltower[gym]' brings gymnasium and minigrid, 'evaltower[simulators]' more), "
        "or set EVALTOWER_GYM_PYTHON to one that has it"
    )


def _load(entry: str) -> Callable[..., Any]:
    module, _, path = entry.partition(":")
    found = _imported(module, entry)
    for part in path.split("."):
        if not hasattr(found, part):
            raise ImportError(f"{entry}: {found.__name__} has no {part!r}")
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _open(names: Mapping[str, inspect.Parameter]) -> bool:
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in names.values())
