"""Help, palette and command line: the same actions, found by where one is, by words, or by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.actions import Action
from tui.appearance import set_theme
from tui.keymap import textual_key
from tui.theme import THEMES
from tui.widgets.menu import Chosen, Item, Menu

if TYPE_CHECKING:
    from tui.app import ControlCentre
    from tui.screens.base import View

_ALIASES = {"q": "global.leave", "quit": "global.leave", "exit": "global.leave", "h": "global.help"}


@dataclass(frozen=True)
class Command:
    """A ``:`` command with an argument. values: those that can be completed."""

    name: str
    argument: str
    help: str
    values: Callable[[ControlCentre], Sequence[str]]
    carry_out: Callable[[ControlCentre, str], None]


def _go_to_run(centre: ControlCentre, wanted: str) -> None:
    found = [run for run in centre.snapshot.runs if wanted in (run.run_id, run.label)]
    found = found or [run for run in centre.snapshot.runs if run.run_id.startswith(wanted)]
    if not found:
        centre.tell(f"no run is called {wanted!r}", severity="warning")
    elif not centre.show_run(found[0].run_id):
        centre.tell(f"{found[0].run_id} is hidden by a filter: esc clears it", severity="warning")


def _filter(centre: ControlCentre, typed: str) -> None:
    pane = centre.view.pane if centre.view is not None else None
    if pane is None or pane.filter_text is None:
        centre.tell("nothing to filter here")
    elif problem := centre.try_filter(pane, typed):
        centre.tell(problem, severity="warning")


def _open_log(centre: ControlCentre, episode: str) -> None:
    detail = centre.snapshot.run
    if detail is None:
        centre.tell("no run is under the cursor")
    else:
        centre.open_log(detail.run_id, episode)


def _prioritize(centre: ControlCentre, priority: str) -> None:
    if centre.read_only:
        centre.tell("the screen was started with --read-only")
        return
    for run in centre.targets:
        centre.verb(
            lambda control, run=run: control.prioritize(run.run_id, priority),  # type: ignore[misc]
            f"give {run.run_id} priority {priority}",
        )


COMMANDS: tuple[Command, ...] = (
    Command("theme", "NAME", "Draw in this theme.", lambda centre: list(THEMES), set_theme),
    Command(
        "run",
        "ID",
        "Go to a run, by its id, a beginning of one, or its label.",
        lambda centre: [run.label or run.run_id for run in centre.snapshot.runs[:50]],
        _go_to_run,
    ),
    Command("filter", "TEXT", "Filter this view.", lambda centre: [], _filter),
    Command("log", "EPISODE", "Open the log of an episode of this run.", lambda centre: [], _open_log),
    Command(
        "priority",
        "P",
        "Give the run another place in the queue.",
        lambda centre: ["high", "normal", "low"],
        _prioritize,
    ),
)


async def help_here(centre: ControlCentre) -> None:
    """``?``: everything that can be done here; enter does it."""
    view = centre.view
    if view is not None:
        await _find(centre, Menu(f"help: {view.crumbs()}", lambda typed: help_items(view, typed), typed=""))


async def palette(centre: ControlCentre) -> None:
    view = centre.view
    if view is not None:
        await _find(centre, Menu("actions", lambda typed: palette_items(view, typed), typed=""))


async def command_line(centre: ControlCentre) -> None:
    view = centre.view
    if view is not None:
        menu = Menu(":", lambda typed: command_items(view, typed), typed="", bottom=True)
        await _find(centre, menu)


def help_items(view: View, typed: str) -> list[Item]:
    """In sections: what is there in this place first."""
    words = typed.lower().split()
    items: list[Item] = []
    for title, lines in view.centre.keymap.help(*view.scopes):
        found = [
            _item(view, line.action, line.keys)
            for line in lines
            if all(word in f"{line.action.help} {line.action.command} {line.keys}".lower() for word in words)
        ]
        items += [Item("", title), *found] if found else []
    return items


def palette_items(view: View, typed: str) -> list[Item]:
    keymap = view.centre.keymap
    return [_item(view, action, keymap.shown(action.id)) for action in keymap.commands(typed, *view.scopes)]


def command_items(view: View, typed: str) -> list[Item]:
    """Completions: of an argument where a command that takes one is typed, else of a command."""
    head, blank, argument = typed.lstrip().partition(" ")
    taking = next((command for command in COMMANDS if command.name == head), None)
    if taking is not None and blank:
        values = [value for value in taking.values(view.centre) if argument.lower() in value.lower()]
        return [Item(f":{head} {value}", f"{head} {value}") for value in values]
    commands = [
        Item(f":{command.name} ", f"{command.name} {command.argument}", note=command.help)
        for command in COMMANDS
        if command.name.startswith(head)
    ]
    keymap = view.centre.keymap
    actions = [
        Item(action.id, action.command, note=action.help, why_not=view.why_not(action) or "")
        for action in keymap.commands("", *view.scopes)
        if head in action.command and action.id != "global.command"
    ]
    starting = [item for item in actions if item.text.startswith(typed.strip())]
    return [*starting, *commands, *(item for item in actions if item not in starting)]


def _item(view: View, action: Action, shown: str) -> Item:
    return Item(action.id, action.help, shown=shown, why_not=view.why_not(action) or "")


async def _find(centre: ControlCentre, menu: Menu) -> None:
    chosen = await centre.ask(menu)
    if chosen is not None:
        await carry_out(centre, chosen)


async def carry_out(centre: ControlCentre, chosen: Chosen) -> None:
    """What was chosen, or typed in full."""
    typed = chosen.typed.strip()
    head, _, argument = typed.partition(" ")
    command = next((command for command in COMMANDS if command.name == head), None)
    action_id = _ALIASES.get(typed, chosen.id)
    if command is not None and argument and not action_id:
        command.carry_out(centre, argument.strip())
    elif action_id.startswith(":"):
        await _complete(centre, action_id[1:])
    elif action_id and centre.view is not None:
        await centre.view.carry_out(centre.keymap.by_id(action_id))
    elif typed:
        centre.tell(f"there is no command {typed!r}{_nearest(centre, typed)}", severity="warning")


async def _complete(centre: ControlCentre, text: str) -> None:
    """``theme colour-blind`` is carried out; ``theme `` is given back to be typed on."""
    head, _, argument = text.partition(" ")
    command = next(command for command in COMMANDS if command.name == head)
    view = centre.view
    if argument:
        command.carry_out(centre, argument)
    elif view is not None:
        menu = Menu(":", lambda typed: command_items(view, typed), typed=text, bottom=True)
        await _find(centre, menu)


def _nearest(centre: ControlCentre, typed: str) -> str:
    scopes = centre.view.scopes if centre.view is not None else ()
    names = [action.command for action in centre.keymap.commands("", *scopes)]
    near = difflib.get_close_matches(typed, names, n=1, cutoff=0.5)
    return f": did you mean {near[0]!r}?" if near else ": ? shows what there is"


def copy_items(centre: ControlCentre, offered: Sequence[str]) -> list[Item]:
    """The copy menu's lines for these actions, each with its key."""
    keymap = centre.keymap
    items = []
    for action_id in offered:
        keys = keymap.keys(action_id)
        action = keymap.by_id(action_id)
        key = textual_key(keys[0]) if keys else ""
        items.append(Item(action_id, action.help, key=key, shown=keymap.shown(action_id)))
    return items
