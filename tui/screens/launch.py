"""The launch form: a saved graph, what its environment offers, and whether it would start now."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from engine.control.reports import ControlError, RefusedError
from tui.actions import Fact
from tui.arrangement import GRID_WIDTH
from tui.episode.inks import InkedLine, inked
from tui.graph_lines import about_run
from tui.launch_command import asked, command_of
from tui.launch_fields import Field, fields, problems, with_problems
from tui.launch_form import LaunchForm, Purpose, request_of
from tui.launch_inquiry import Inquiry
from tui.launch_scoring import asked_lines
from tui.models import Snapshot
from tui.rest_calls import API
from tui.screens.base import Copies, View
from tui.screens.log_tools import open_file
from tui.starting import last_values, remember, submit
from tui.widgets.form_view import FormView
from tui.widgets.lines_view import LinesView
from tui.widgets.menu import Item, Menu, matching

BUTTONS: dict[Purpose, str] = {"run": "Start the run", "play": "Play the episode"}


class LaunchView(View):
    """target: a saved graph. form: with what it begins. like: the run that it is a clone of."""

    view_name = "launch"
    purpose: ClassVar[Purpose] = "run"
    DEFAULT_CSS = """
    LaunchView Container { width: 100%; height: 1fr; layout: horizontal; }
    LaunchView Pane { width: 1fr; height: 100%; }
    LaunchView LinesView { display: none; border-left: solid $foreground 35%; }
    LaunchView Container.beside LinesView { display: block; }
    """

    def __init__(self, target: str = "", form: LaunchForm | None = None, like: str = "") -> None:
        super().__init__(target)
        self.form = form or LaunchForm(self.purpose)
        self.form_view = FormView(BUTTONS[self.purpose])
        self.preview = LinesView()
        self.area = Container(self.form_view, self.preview)
        self._given = form is not None
        self._like = like
        self._starting = False

    def body(self) -> ComposeResult:
        yield self.area

    @property
    def pane(self) -> FormView:
        return self.form_view

    def crumbs(self) -> str:
        what = "new run" if self.purpose == "run" else "play one episode"
        return f"{what} like {self._like}" if self._like else what

    def on_mount(self) -> None:
        if not self._given and self.target:
            self.form = self.form.with_graph(self.target, last_values(self.centre, self.target))
        self.inquiry = Inquiry(
            self.centre, lambda: self.form, self._answered, estimates=self.purpose == "run"
        )
        self._listing = self.inquiry.list_graphs(self.form)
        self._graph_changed()

    def on_resize(self, event: events.Resize) -> None:
        self.area.set_class(event.size.width >= GRID_WIDTH, "beside")
        self._redraw()

    def on_unmount(self) -> None:
        self.inquiry.close()

    def show(self, snapshot: Snapshot) -> None:
        super().show(snapshot)
        if self.inquiry.is_old(snapshot):
            self.inquiry.estimate_soon(self.form)

    async def take_key(self, event: events.Key) -> None:
        """A digit at a number begins to be typed. All other keys are as everywhere."""
        field, character = self.form_view.current, event.character or ""
        if not self.prompt.display and field is not None and field.kind == "number" and character.isdigit():
            self._type(field, character)
        else:
            await super().take_key(event)

    async def do(self, action_id: str) -> bool:
        field = self.form_view.current
        match action_id:
            case "form.change" if field is not None:
                self._change(field)
            case "form.change" | "form.start":
                self._start()
            case "form.next_value" | "form.previous_value":
                self._next(field, 1 if action_id == "form.next_value" else -1)
            case "form.clear":
                self._set(field, "")
            case "form.graph" if self.form.graph:
                self.centre.open_view("graph", f"graph:{self.form.graph}", graph=self.form.base.graph)
            case "form.editor":
                self.centre.spawn(self._edit_scoring())
            case "global.refetch":
                self._graph_changed()
            case "global.copy":
                self.centre.offer_copies(self._copies())
            case "global.save":
                self.centre.save_copy(self._copies())
            case _:
                moved = await super().do(action_id)
                self._redraw()
                return moved
        return True

    def facts(self) -> set[Fact]:
        return super().facts() | ({"row"} if self._copies() else set())

    def _copies(self) -> Copies:
        """What would be started; nothing where something is wrong with it."""
        if not self.form.graph or problems(self.form):
            return {}
        request = request_of(self.form)
        body, rest = asked(request), self.centre.rest
        command = command_of(request) if self.purpose == "run" else ""
        call = rest.call("POST", f"{API}/{'start' if self.purpose == 'run' else 'play'}", body)
        return {
            "copy.command": lambda: "\n".join(filter(None, [command, call])),
            "copy.json": lambda: body,
        }

    def _change(self, field: Field) -> None:
        if field.kind == "told":
            self.centre.tell(f"{field.label}: the graph says which")
        elif field.kind == "graph":
            self.centre.spawn(self._choose_graph(), opens=True)
        elif field.kind == "file":
            self.centre.spawn(self._choose_file(field), opens=True)
        elif field.options:
            self.centre.spawn(self._choose(field), opens=True)
        else:
            self._type(field)

    def _type(self, field: Field, typed: str | None = None) -> None:
        def changed(text: str) -> str:
            self._set(field, text if field.kind == "text" else text.strip())
            return next((one.problem for one in fields(self.form) if one.key == field.key), "")

        self.prompt.ask(f"{field.label}:", field.value, changed, typed)

    def _next(self, field: Field | None, by: int) -> None:
        values = [value for value, _ in field.options] if field is not None else []
        if field is not None and values:
            shown = field.value or field.default
            place = values.index(shown) if shown in values else -1 if by > 0 else 0
            chosen = values[(place + by) % len(values)]
            self._set(field, "" if chosen == field.default else chosen)

    def _set(self, field: Field | None, value: str) -> None:
        if field is None or field.kind in ("told", "graph"):
            return
        self.form = self.form.with_value(field.key, value)
        if self.purpose == "run" and not self._like:
            remember(self.centre, self.form)
        if field.key == "workers" or field.key.startswith("panel."):
            self.inquiry.estimate_soon(self.form)
        if field.key == "scoring":
            self.form = replace(self.form, scored=None)
            self.inquiry.ask_scoring(self.form)
        self._redraw()

    async def _choose_file(self, field: Field) -> None:
        """One of those that are known, or a path."""
        files = await asyncio.to_thread(self.inquiry.known_scoring)
        items = [Item(f"={value}", value) for value, _ in field.options]
        items += [Item(f"={path}", path) for path in files]
        title = f"{field.label}: choose, or type a file's path"
        chosen = await self.centre.ask(Menu(title, lambda typed: matching(items, typed), typed=""))
        if chosen is not None:
            value = chosen.id[1:] or chosen.typed.strip()
            self._set(field, "" if value == field.default else value)

    async def _edit_scoring(self) -> None:
        path = self.form.scored.path if self.form.scored is not None else None
        if path is None:
            self.centre.tell("no file says how it is scored")
            return
        await open_file(self.centre, path)
        self.inquiry.ask_scoring(self.form)

    async def _choose(self, field: Field) -> None:
        items = [
            Item(f"={value}", value, note=", ".join(filter(None, [note, *self._own(field, value)])))
            for value, note in field.options
        ]
        if field.default not in dict(field.options):
            items.insert(0, Item("=", field.default))
        chosen = await self.centre.ask(Menu(field.label, lambda typed: matching(items, typed), typed=""))
        if chosen is not None and chosen.id:
            value = chosen.id[1:]
            self._set(field, "" if value == field.default else value)

    def _own(self, field: Field, value: str) -> list[str]:
        return ["the default"] if value == field.default else []

    async def _choose_graph(self) -> None:
        await self._listing
        items = [Item(entry.name, entry.name, note=entry.description) for entry in self.inquiry.entries]
        title = "graphs: type to filter" if items else "no saved graph: type a file's path"
        chosen = await self.centre.ask(Menu(title, lambda typed: matching(items, typed), typed=""))
        name = (chosen.id or chosen.typed.strip()) if chosen is not None else ""
        if name and name != self.form.graph:
            self.form = self.form.with_graph(name, last_values(self.centre, name))
            self._like = ""
            self._graph_changed()

    def _graph_changed(self) -> None:
        self.target = self.form.graph
        self.form = replace(self.form, offer=None)
        self.inquiry.ask_about(self.form)
        self._redraw()
        self.bars_changed()

    def _answered(self) -> None:
        inquiry = self.inquiry
        self.form = replace(self.form, offer=inquiry.offer, asking=inquiry.asking, scored=inquiry.scored)
        self._redraw()

    def _start(self) -> None:
        if self.centre.read_only:
            self.centre.tell("start: the screen was started with --read-only")
            return
        wrong = next((field for field in fields(self.form) if field.problem and not self._told(field)), None)
        if wrong is not None:
            self.form_view.go_to(wrong.key)
            self._redraw()
            told = wrong.problem.partition("\n")[0]
            self.centre.tell(f"{wrong.label}: {told}", severity="warning")
        elif not self._starting:
            self._starting = True
            self._redraw()
            self.centre.spawn(self._submit())

    def _told(self, field: Field) -> bool:
        """Whether it was the backend that refused it, which may think better of it now."""
        return field.key in self.form.refused

    async def _submit(self) -> None:
        try:
            run_id = await submit(self.centre, self.form)
        except RefusedError as refused:
            self.form = with_problems(self.form, refused.problems)
            wrong = next((field for field in fields(self.form) if field.problem), None)
            if wrong is not None:
                self.form_view.go_to(wrong.key)
        except ControlError as error:
            self.centre.tell(f"not started: {error}", severity="error")
        else:
            if run_id is not None:
                self._started(run_id)
        finally:
            self._starting = False
            self._redraw()

    def _started(self, run_id: str) -> None:
        """Where the form is still looked at, on to what it started."""
        if self.purpose == "run" or self.centre.view is not self:
            self.centre.tell(f"{run_id} is queued")
        if self.centre.view is not self:
            return
        self.centre.go_home()
        if self.purpose == "play":
            self.centre.open_view("play", run_id)
        else:
            self.centre.home.activate("runs")
            self.centre.home.runs.seek(run_id)

    def _redraw(self) -> None:
        """What is to be said stands below the form, or beside it with a picture of what would run."""
        if not self.is_mounted:
            return
        self.form_view.give(fields(self.form))
        beside = self.area.has_class("beside")
        self.form_view.say([*self._about_field(), *([] if beside else [*self._machine(), *self._problems()])])
        if beside:
            command = command_of(request_of(self.form)) if not problems(self.form) else ""
            command = command if self.purpose == "run" else ""
            parts = [self._machine(), self._problems(), *about_run(command, self.inquiry.outline)]
            self.preview.give([line for part in parts if part for line in (*part, ())])

    def _machine(self) -> list[InkedLine]:
        resources = self.centre.snapshot.resources
        notes = (
            self.inquiry.about_machine(resources.gpus, resources.host.cpu_count)
            if resources
            else self.inquiry.about_machine((), None)
        )
        kept = inked(f"also taken over: {', '.join(self.form.kept)}", "dim")
        return [*notes, kept] if self.form.kept else notes

    def _problems(self) -> list[InkedLine]:
        """What the backend refused it for; else what is known of the graph."""
        refused = self.form.refused.get("")
        return [inked(line, "bad") for line in refused.split("\n")] if refused else self.inquiry.about_graph()

    def _about_field(self) -> list[InkedLine]:
        field = self.form_view.current
        if field is None:
            return [inked("starting…" if self._starting else "enter starts it", "dim")]
        if field.problem:
            return [inked(f"{field.label}: {line}", "bad") for line in field.problem.split("\n")]
        described = next((one.description for one in self.inquiry.entries if one.name == self.form.graph), "")
        asked = asked_lines(self.form.scored) if field.key == "scoring" and self.form.scored else []
        return [
            *asked,
            inked(
                described if field.kind == "graph" and described else f"{field.label}: {field.hint}", "dim"
            ),
        ]


class PlayLaunchView(LaunchView):
    """The same for one episode that is played by hand."""

    view_name = "launch_play"
    purpose: ClassVar[Purpose] = "play"
