"""The screen as it was left: what is kept of it, and how it is put back; and what happened meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from engine.figures import count
from tui import state_file
from tui.arrangement import ZOOMS
from tui.filtering import FilterError
from tui.models import Snapshot, age_sec, while_away
from tui.screens import VIEWS
from tui.screens.base import View
from tui.state_file import TableState, UiState
from tui.widgets.virtual_table import VirtualTable

if TYPE_CHECKING:
    from tui.app import ControlCentre
    from tui.screens.home import HomeView


def kept_state(centre: ControlCentre, home: HomeView) -> UiState:
    """The state as it is now. What others keep in it (logs, forms) stays."""
    views = [screen for screen in centre.screen_stack if isinstance(screen, View)]
    tables = {name: pane for name, pane in home.panes.items() if isinstance(pane, VirtualTable)}
    return msgspec.structs.replace(
        centre.state,
        views=(
            state_file.View(name="home", target=centre.store.selected or ""),
            *(
                state_file.View(name=view.view_name, target=view.target)
                for view in views[1:]
                if view.view_name in VIEWS
            ),
        ),
        tables=centre.state.tables
        | {name: TableState(filter=pane.model.filter, sort=pane.model.sort) for name, pane in tables.items()},
        panes={"active": list(home.panes).index(home.active), "zoom": ZOOMS.index(home.zoom)},
        marks={name: tuple(sorted(pane.model.marks)) for name, pane in tables.items() if pane.model.marks},
        compare=tuple(centre.compared),
        theme=centre.state.theme if centre.no_color else centre.drawing.theme,
        bandwidth=centre.bandwidth,
        left_at=centre.clock.now().isoformat(timespec="milliseconds"),
    )


def restore_home(centre: ControlCentre, home: HomeView) -> None:
    """Filters, orders, marks, sizes, and which pane has the keys."""
    state = centre.state
    centre.compared = list(state.compare)
    looked_at = next((view.target for view in state.views[:1]), "")
    home.runs.seek(looked_at)
    centre.select(looked_at or None)  # home itself is told nothing while another view lies on it
    for name, pane in home.panes.items():
        if isinstance(pane, VirtualTable):
            kept = state.tables.get(name, TableState())
            pane.model.set_sort(kept.sort or pane.model.sort)
            pane.model.marks = set(state.marks.get(name, ()))
            try:
                pane.set_filter(kept.filter)
            except FilterError:  # of a column that there is no more
                pass
    names = list(home.panes)
    place = state.panes.get("active", 0)
    home.zoom = ZOOMS[min(2, max(0, state.panes.get("zoom", 0)))]
    home.activate(names[place] if 0 <= place < len(names) else names[0])


def restore_views(centre: ControlCentre) -> None:
    """Those that lay on home."""
    for view in centre.state.views[1:]:
        if view.name in VIEWS:
            centre.open_view(view.name, view.target)


def tell_away(centre: ControlCentre, snapshot: Snapshot) -> None:
    """While you were away: what ended, and what the backend has to say, is in the activity log; a toast says
    how much."""
    left_at = centre.state.left_at
    away = age_sec(left_at, snapshot.now)
    if away is None:
        return
    lines = while_away(snapshot.runs, left_at, snapshot.now)
    notices = [text for text in (snapshot.backend.notices if snapshot.backend else ()) if text > left_at]
    for line in [*lines, *notices]:
        centre.activity.add(snapshot.now, line, who="backend", outcome="while you were away")
    ended = f"{count(len(lines), 'run')} ended" if lines else ""
    said = count(len(notices), "notice") if notices else ""
    if told := ", ".join(filter(None, (ended, said))):  # a line: whatever lies under it can be read
        centre.notify(f"{told} while away: @", timeout=10)
