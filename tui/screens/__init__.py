"""Every screen by its name, and who carries out the actions that open something: a line here is enough."""

from __future__ import annotations

from collections.abc import Mapping

VIEWS: Mapping[str, str] = {
    "home": "tui.screens.home:HomeView",
    "activity": "tui.screens.activity:ActivityView",
}
"""What :meth:`tui.app.ControlCentre.open_view` opens, by name: ``module:Class`` of a View."""

DOERS: Mapping[str, str] = {}
"""Action → ``module:function``, ``async def f(centre: ControlCentre) -> None``, for what no pane, view or the
app itself does. It may wait for dialogs (``await centre.ask(…)``): it runs beside the screen."""
