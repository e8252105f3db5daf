"""Everything that a key, the palette, a ``:`` command or the help can do, as data.

A screen looks up the action of a key by :mod:`tui.keymap` and carries it out by its id. What an action needs
is named by *facts*; the screen says which of them are true now, and a missing one says why not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Scope = Literal["global", "runs", "episodes", "log", "lanes", "servers", "form", "play", "scores", "copy"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
SCOPE_TITLES: Mapping[Scope, str] = {
    "global": "Everywhere",
    "runs": "Runs and queue",
    "episodes": "Episodes",
    "log": "Log",
    "lanes": "Workers",
    "servers": "Shared servers",
    "form": "Form",
    "play": "Play by hand",
    "scores": "Scores and trace",
    "copy": "After y",
}

Fact = Literal[
    "writable",
    "run",
    "live run",
    "ended run",
    "queued run",
    "started run",
    "episode",
    "row",
    "opens",
    "filters",
    "faults",
    "filter",
    "mark",
    "view",
    "two runs",
    "scored",
    "shared nodeset",
    "loaded server",
    "match",
    "image",
    "file",
]
WHY_NOT: Mapping[Fact, str] = {
    "writable": "the screen was started with --read-only",
    "run": "no run is under the cursor",
    "live run": "the run is over",
    "ended run": "the run is not over",
    "queued run": "the run is not in the queue",
    "started run": "the run has not started",
    "episode": "no episode is under the cursor",
    "row": "nothing is under the cursor",
    "opens": "there is nothing to open here",
    "filters": "there is nothing to filter here",
    "faults": "nothing here can have failed",
    "filter": "there is no filter",
    "mark": "nothing is marked",
    "view": "there is no view to go back to",
    "two runs": "at least two runs must be in the comparison",
    "scored": "the episode is not scored",
    "shared nodeset": "every worker of a run has its own process of this nodeset",
    "loaded server": "it is not loaded",
    "match": "nothing was searched, or nothing matches",
    "image": "the row has no image",
    "file": "the row has no file",
}


@dataclass(frozen=True)
class Action:
    """id: ``scope.name``; the name, with spaces for ``_``, is the ``:`` command. keys: as people write them.

    label: for the footer, and empty for what it does not show. help: one sentence. needs: facts.
    """

    id: str
    keys: tuple[str, ...]
    help: str
    label: str = ""
    needs: tuple[Fact, ...] = ()

    @property
    def scope(self) -> Scope:
        return next(scope for scope in SCOPES if self.id.startswith(f"{scope}."))

    @property
    def command(self) -> str:
        return self.id.partition(".")[2].replace("_", " ")


def why_not(action: Action, facts: Collection[Fact]) -> str | None:
    """Why the action cannot be done now, in words; None if it can."""
    return next((WHY_NOT[need] for need in action.needs if need not in facts), None)


_CHANGES: tuple[Fact, ...] = ("writable", "run")

_GLOBAL = (
    Action("global.help", ("?", "f1"), "Show what can be done here; enter does it.", "help"),
    Action("global.command", (":",), "Type a command, with completion.", "cmd"),
    Action("global.palette", ("ctrl+p",), "Find an action by its name."),
    Action(
        "global.filter",
        ("/",),
        "Filter this view: a regex, !regex, field:value or field>value.",
        "filter",
        ("filters",),
    ),
    Action(
        "global.back",
        ("escape",),
        "Show all again that a filter or F hides, then close what is open, then go back. Never leaves.",
    ),
    Action("global.pane_runs", ("1",), "Go to the runs."),
    Action("global.pane_queue", ("2",), "Go to the queue."),
    Action("global.pane_workers", ("3",), "Go to the workers' lanes."),
    Action("global.pane_episodes", ("4",), "Go to the episodes."),
    Action("global.pane_metrics", ("5",), "Go to the metrics."),
    Action("global.pane_gpus", ("6",), "Go to the GPUs and the machine."),
    Action("global.pane_main", ("0",), "Go to the main pane."),
    Action("global.focus_next", ("tab",), "Go to the next pane."),
    Action("global.focus_previous", ("shift+tab",), "Go to the pane before."),
    Action("global.left", ("h", "left"), "Move left."),
    Action("global.down", ("j", "down"), "Move down."),
    Action("global.up", ("k", "up"), "Move up."),
    Action("global.right", ("l", "right"), "Move right."),
    Action("global.first", ("g", "home"), "Move to the first row."),
    Action("global.last", ("G", "end"), "Move to the last row."),
    Action("global.half_page_down", ("ctrl+d",), "Move down half a page."),
    Action("global.half_page_up", ("ctrl+u",), "Move up half a page."),
    Action("global.page_down", ("pagedown",), "Move down a page."),
    Action("global.page_up", ("pageup",), "Move up a page."),
    Action("global.open", ("enter",), "Open what is under the cursor.", "open", ("opens", "row")),
    Action("global.previous_view", ("backspace", "-"), "Go back to the view before.", "back", ("view",)),
    Action("global.bigger", ("+",), "Make the pane bigger: normal, half, full."),
    Action("global.smaller", ("_",), "Make the pane smaller: full, half, normal."),
    Action("global.sort", ("s",), "Choose the column to sort by; the one before breaks ties."),
    Action("global.reverse", ("S",), "Reverse the order."),
    Action("global.sort_left", (",",), "Sort by the column to the left."),
    Action("global.sort_right", (".",), "Sort by the column to the right."),
    Action("global.mark", ("space",), "Mark or unmark the row.", needs=("row",)),
    Action("global.mark_range", ("v",), "Mark from here to where the cursor goes.", needs=("row",)),
    Action("global.mark_all", ("*",), "Mark every row that the filter lets through.", needs=("row",)),
    Action("global.clear_marks", ("\\",), "Clear the marks.", needs=("mark",)),
    Action("global.copy", ("y",), "Copy: id, path, row, command or JSON.", "copy", ("row",)),
    Action("global.save", ("Y",), "Save what is under the cursor to a file.", needs=("row",)),
    Action("global.refetch", ("r",), "Read everything again."),
    Action("global.repaint", ("ctrl+l",), "Paint the whole screen again."),
    Action("global.activity", ("@",), "Show what was asked of the backend, by whom, and how it ended."),
    Action("global.faults", ("F",), "Show only what failed or is stalled.", "faults", ("faults",)),
    Action("global.low_bandwidth", ("b",), "Send less to the terminal: fewer updates, no images."),
    Action("global.mouse", ("m",), "Turn the mouse on or off; off, the terminal selects text."),
    Action("global.mono", ("M",), "Turn colours off or on."),
    Action("global.leave", ("q",), "Leave. Runs and queue go on; `evaltower` comes back to them.", "leave"),
    Action("global.interrupt", ("ctrl+c",), "Leave, if pressed twice."),
    Action("global.theme", (), "Choose the theme."),
    Action(
        "global.play", (), "Run one episode step by step; nothing else starts meanwhile.", needs=("writable",)
    ),
    Action("global.servers", (), "Show the shared model servers."),
    Action("global.graph", (), "Show the run's graph, or a saved one: nodes, wires and problems."),
    Action("global.shutdown", (), "End the backend, after a typed yes.", needs=("writable",)),
)

_RUNS = (
    Action("runs.new", ("n",), "Start a run of a saved graph.", "new", ("writable",)),
    Action("runs.clone", ("e",), "Start a run like this one, after edits.", needs=_CHANGES),
    Action(
        "runs.resume",
        ("R",),
        "Take up what failed, never ran or is not scored yet.",
        needs=(*_CHANGES, "ended run"),
    ),
    Action(
        "runs.rescore",
        ("A",),
        "Score again what has ended, without playing anything.",
        needs=(*_CHANGES, "ended run"),
    ),
    Action("runs.pause", ("p",), "Pause or go on: nothing new starts.", "pause", ("writable",)),
    Action("runs.hold", ("P",), "Hold this queued run back, or let it go.", needs=(*_CHANGES, "queued run")),
    Action("runs.cancel", ("x",), "Cancel: shows exactly what, and asks.", "cancel", (*_CHANGES, "live run")),
    Action("runs.kill", ("X",), "End at once, after its id was typed.", needs=(*_CHANGES, "live run")),
    Action(
        "runs.delete",
        ("D",),
        "Delete a run's folder, after its id was typed.",
        needs=(*_CHANGES, "ended run"),
    ),
    Action("runs.queue_down", ("J",), "Move down in the queue.", needs=(*_CHANGES, "queued run")),
    Action("runs.queue_up", ("K",), "Move up in the queue.", needs=(*_CHANGES, "queued run")),
    Action("runs.compare_add", ("c",), "Put into the comparison, or take out.", "compare", ("run",)),
    Action("runs.compare", ("C",), "Compare the runs chosen by c, paired by episode.", needs=("two runs",)),
)

_EPISODES = (
    Action("episodes.next_error", ("e",), "Go to the next episode that failed.", "next error"),
    Action("episodes.previous_error", ("E",), "Go to the failed episode before."),
    Action("episodes.next_warning", ("w",), "Go to the next episode with a warning."),
    Action("episodes.previous_warning", ("W",), "Go to the episode with a warning before."),
    Action("episodes.previous_episode", ("[",), "Go to the episode before.", needs=("episode",)),
    Action("episodes.next_episode", ("]",), "Go to the next episode.", needs=("episode",)),
    Action("episodes.follow", ("f",), "Stay on the newest episode, or stop."),
    Action("episodes.editor", ("o",), "Open the episode in $EDITOR or the pager.", needs=("episode",)),
    Action("episodes.scores", ("a",), "Show the scores, with their reasons.", "scores", ("scored",)),
    Action("episodes.trace", ("T",), "Show the events of the episode's trace.", needs=("episode",)),
    Action("episodes.link", ("L",), "Let the lanes follow the cursor, or stop."),
)

_LOG = (
    Action("log.next_error", ("e",), "Go to the next error.", "next error"),
    Action("log.previous_error", ("E",), "Go to the error before."),
    Action("log.next_warning", ("w",), "Go to the next warning."),
    Action("log.previous_warning", ("W",), "Go to the warning before."),
    Action("log.scores", ("a",), "Show the scores, with their reasons.", "scores", ("scored",)),
    Action("log.next_match", ("n",), "Go to the next match.", needs=("match",)),
    Action("log.previous_match", ("N",), "Go to the match before.", needs=("match",)),
    Action("log.only_matches", ("&",), "Show only the rows that match, or all.", needs=("match",)),
    Action("log.follow", ("f",), "Follow what is written, or stop.", "follow"),
    Action("log.timestamps", ("t",), "Show times, or hide them."),
    Action("log.wrap", ("alt+w",), "Wrap long lines, or cut them."),
    Action("log.previous_episode", ("[",), "Go to the failed episode before."),
    Action("log.next_episode", ("]",), "Go to the next failed episode.", "next episode"),
    Action("log.previous_step", ("{",), "Go to the step before."),
    Action("log.next_step", ("}",), "Go to the next step."),
    Action("log.image", ("i",), "Enlarge the image, or make it small again.", needs=("image",)),
    Action("log.editor", ("o",), "Open in $EDITOR or the pager.", needs=("file",)),
    Action("log.trace", ("T",), "Show the events of the episode's trace.", needs=("episode",)),
    Action("log.link", ("L",), "Let the lanes follow the cursor, or stop."),
    Action("log.diff", ("d",), "Show what changed since the step before.", "diff", ("row",)),
    Action(
        "log.filter",
        ("/",),
        "Search for a regex, hide by !regex, node:NAME, !node:NAME, step:3-9, ms>100, error, warning.",
        "filter",
        ("filters",),
    ),
)

_LANES = (
    Action("lanes.previous_episode", ("h", "left"), "Move to the episode before."),
    Action("lanes.next_episode", ("l", "right"), "Move to the next episode."),
    Action("lanes.screen_left", ("H",), "Move back by a screen."),
    Action("lanes.screen_right", ("L",), "Move on by a screen."),
    Action("lanes.zoom_in", ("z",), "Show less time, wider.", "zoom"),
    Action("lanes.zoom_out", ("Z",), "Show more time, narrower."),
    Action("lanes.now", (".",), "Move to now, and stay there.", "now"),
)

_SERVERS = (
    Action(
        "servers.load",
        ("l",),
        "Load the nodeset, and keep it until it is unloaded.",
        "load",
        ("writable", "shared nodeset"),
    ),
    Action(
        "servers.unload",
        ("u",),
        "Let the server go after its last user.",
        "unload",
        ("writable", "loaded server"),
    ),
)

_FORM = (
    Action(
        "form.change", ("enter",), "Change the value: type it, or choose; on the last line, start.", "change"
    ),
    Action("form.start", ("ctrl+g",), "Start what the form asks for.", "start", ("writable",)),
    Action("form.next_value", ("l", "right"), "Take the next value that is offered.", "next"),
    Action("form.previous_value", ("h", "left"), "Take the value before."),
    Action("form.editor", ("o",), "Open the file that says how it is scored in $EDITOR."),
    Action("form.graph", ("v",), "Show the chosen graph: nodes, wires and problems.", "graph"),
    Action("form.clear", ("d", "delete"), "Set the value back to its default.", "default"),
)

_PLAY = (
    Action("play.step", ("n", "space"), "Take the next step.", "step", ("writable", "live run")),
    Action("play.steps", ("N",), "Take the next ten steps.", "10 steps", ("writable", "live run")),
    Action("play.run", ("c",), "Go on to the end.", "go on", ("writable", "live run")),
    Action("play.stop", ("x",), "End it; what was played stays on disk.", "end", ("writable", "live run")),
)

_SCORES = (
    Action("scores.next_error", ("e",), "Go to the next thing that went wrong.", "next error"),
    Action("scores.previous_error", ("E",), "Go to the one before."),
    Action("scores.previous_episode", ("[",), "Go to the failed episode before."),
    Action("scores.next_episode", ("]",), "Go to the next failed episode.", "next episode"),
    Action("scores.scores", ("a",), "Show the scores.", "scores", ("scored",)),
    Action("scores.trace", ("T",), "Show the events of the trace.", "trace"),
    Action("scores.editor", ("o",), "Open the file in $EDITOR or the pager.", needs=("file",)),
    Action(
        "scores.rescore",
        ("A",),
        "Score the run again, without playing anything.",
        "score again",
        (*_CHANGES, "ended run"),
    ),
)

_COPY = (
    Action("copy.id", ("i",), "Copy the id."),
    Action("copy.path", ("p",), "Copy the path."),
    Action("copy.row", ("y",), "Copy the row as text."),
    Action("copy.command", ("r",), "Copy the command line and the REST call for it."),
    Action("copy.link", ("l",), "Copy where it was exported to."),
    Action("copy.json", ("j",), "Copy as JSON."),
    Action("copy.error", ("e",), "Copy the error."),
)

ACTIONS: tuple[Action, ...] = (
    *_GLOBAL,
    *_RUNS,
    *_EPISODES,
    *_LOG,
    *_LANES,
    *_SERVERS,
    *_FORM,
    *_PLAY,
    *_SCORES,
    *_COPY,
)
