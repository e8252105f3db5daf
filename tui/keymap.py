"""Which key does what: the actions' own keys, changed by ``[keys]`` of evaltower.toml.

```toml
[keys]
"runs.cancel" = "d"
"global.leave" = ["q", "ctrl+x"]
"global.mouse" = []        # no key; the command stays
```
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textual.keys import Keys, _character_to_key

from engine.store.settings import FILE
from tui.actions import ACTIONS, SCOPE_TITLES, SCOPES, Action, Scope

_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NAMES = frozenset(key.value for key in Keys)
_SHORTER = {"pageup": "pgup", "pagedown": "pgdn", "escape": "esc"}


class KeymapError(Exception):
    """``[keys]`` cannot be used; ``problems`` holds every reason."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{FILE}: [keys] {problem}" for problem in problems))


@dataclass(frozen=True)
class HelpLine:
    """A line of the help. keys: as they are shown, ``?  f1``; empty where only the command does it."""

    action: Action
    keys: str


class Keymap:
    """keys: the keys of every action, by id, as a person writes them. No scope binds a key twice."""

    def __init__(self, keys: Mapping[str, Sequence[str]], actions: Sequence[Action] = ACTIONS) -> None:
        self._actions = {action.id: action for action in actions}
        self._keys = {action.id: tuple(keys.get(action.id, action.keys)) for action in actions}
        self._bound = {
            (action.scope, textual_key(key)): action for action in actions for key in self._keys[action.id]
        }

    def action(self, key: str, *scopes: Scope) -> Action | None:
        """What ``key`` (Textual's name, ``event.key``) does: in ``scopes`` first, then everywhere."""
        for scope in (*scopes, "global"):
            if found := self._bound.get((scope, key)):
                return found
        return None

    def by_id(self, action_id: str) -> Action:
        return self._actions[action_id]

    def keys(self, action_id: str) -> tuple[str, ...]:
        return self._keys[action_id]

    def shown(self, action_id: str) -> str:
        """The keys as the help shows them."""
        return "  ".join(shown_key(key) for key in self._keys[action_id])

    def footer(self, *scopes: Scope) -> list[HelpLine]:
        """What the footer shows in ``scopes``: their own first, then everywhere's that they do not cover."""
        lines = [line for scope in dict.fromkeys((*scopes, "global")) for line in self._lines(scope)]
        return [line for line in lines if line.action.label and self._reachable(line.action, scopes)]

    def help(self, *scopes: Scope) -> list[tuple[str, list[HelpLine]]]:
        """Sections of (title, lines): ``scopes``, then everywhere, without what a scope covers there."""
        sections = []
        for scope in dict.fromkeys((*scopes, "global")):
            lines = [
                line for line in self._lines(scope) if self._reachable(line.action, scopes) or not line.keys
            ]
            sections.append((SCOPE_TITLES[scope], lines))
        return sections

    def commands(self, typed: str, *scopes: Scope) -> list[Action]:
        """Actions of ``scopes`` and everywhere whose command, label or help has every word of ``typed``,
        those whose command begins with it first."""
        words = typed.lower().split()
        found = [
            action
            for scope in dict.fromkeys((*scopes, "global"))
            for action in self._in(scope)
            if all(word in f"{action.command} {action.label} {action.help}".lower() for word in words)
        ]
        return sorted(found, key=lambda action: not action.command.startswith(typed.lower().strip()))

    def _in(self, scope: str) -> list[Action]:
        return [action for action in self._actions.values() if action.scope == scope]

    def _lines(self, scope: str) -> list[HelpLine]:
        return [HelpLine(action, self.shown(action.id)) for action in self._in(scope)]

    def _reachable(self, action: Action, scopes: Sequence[Scope]) -> bool:
        return any(self.action(textual_key(key), *scopes) is action for key in self._keys[action.id])


def make_keymap(changes: Mapping[str, Any]) -> Keymap:
    """The keymap under ``[keys]``. Raises KeymapError with every problem."""
    problems: list[str] = []
    keys: dict[str, tuple[str, ...]] = {}
    known = [action.id for action in ACTIONS]
    for action_id, wanted in changes.items():
        if action_id not in known:
            problems.append(f"there is no action {action_id!r}{_nearest(action_id, known)}")
            continue
        written = [wanted] if isinstance(wanted, str) else wanted
        if not isinstance(written, list) or not all(isinstance(key, str) for key in written):
            problems.append(f"{action_id}: must be a key, or a list of keys")
            continue
        problems += [f"{action_id}: there is no key {key!r}" for key in written if not is_key(key)]
        keys[action_id] = tuple(key for key in written if is_key(key))
    problems += clashes(ACTIONS, keys)
    if problems:
        raise KeymapError(problems)
    return Keymap(keys)


def clashes(actions: Sequence[Action], keys: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence for each key that a scope binds twice."""
    problems = []
    for scope in SCOPES:
        taken: dict[str, str] = {}
        for action in actions:
            if action.scope == scope:
                for key in keys.get(action.id, action.keys):
                    other = taken.setdefault(textual_key(key), action.id)
                    if other != action.id:
                        problems.append(f"{key!r} is bound to both {other} and {action.id}: change one")
    return problems


def is_key(key: str) -> bool:
    """Whether ``key`` names one: a character, a name (``f1``, ``pageup``), or modifiers before either."""
    *modifiers, base = key.split("+") if len(key) > 1 else [key]
    return set(modifiers) <= _MODIFIERS and ((len(base) == 1 and base.isprintable()) or base in _NAMES)


def textual_key(key: str) -> str:
    """``?`` → ``question_mark``: the name in Textual's key events."""
    return _character_to_key(key) if len(key) == 1 else key


def shown_key(key: str) -> str:
    return _SHORTER.get(key, key)


def _nearest(action_id: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(action_id, known, n=1, cutoff=0.5)
    return f": did you mean {near[0]!r}?" if near else ""
