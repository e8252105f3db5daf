"""Every screen by its name, and who carries out the actions that open something: a line here is enough."""

from __future__ import annotations

from collections.abc import Mapping

VIEWS: Mapping[str, str] = {
    "home": "tui.screens.home:HomeView",
    "activity": "tui.screens.activity:ActivityView",
    "launch": "tui.screens.launch:LaunchView",
    "launch_play": "tui.screens.launch:PlayLaunchView",
    "play": "tui.screens.play:PlayView",
    "graph": "tui.screens.graph:GraphView",
    "log": "tui.screens.log:LogScreen",
    "scores": "tui.screens.scores:ScoresView",
    "trace": "tui.screens.trace:TraceView",
    "compare": "tui.screens.compare:CompareView",
    "servers": "tui.screens.servers:ServersView",
}
"""What :meth:`tui.app.ControlCentre.open_view` opens, by name: ``module:Class`` of a View."""

DOERS: Mapping[str, str] = {
    "global.help": "tui.finding:help_here",
    "global.command": "tui.finding:command_line",
    "global.palette": "tui.finding:palette",
    "global.low_bandwidth": "tui.appearance:toggle_bandwidth",
    "global.mouse": "tui.appearance:toggle_mouse",
    "global.mono": "tui.appearance:toggle_mono",
    "global.theme": "tui.appearance:choose_theme",
    "global.leave": "tui.leaving:leave",
    "global.interrupt": "tui.leaving:interrupt",
    "global.shutdown": "tui.leaving:shut_down",
    "global.play": "tui.starting:play",
    "global.graph": "tui.screens.graph:open_graph",
    "runs.new": "tui.starting:new_run",
    "runs.clone": "tui.starting:clone_run",
    "runs.cancel": "tui.ending:cancel",
    "runs.kill": "tui.ending:kill",
    "runs.resume": "tui.ending:resume",
    "runs.delete": "tui.ending:delete",
    "runs.rescore": "tui.rescoring:rescore",
    "scores.rescore": "tui.rescoring:rescore",
    "runs.pause": "tui.panes.run_verbs:toggle_pause",
    "runs.hold": "tui.panes.run_verbs:toggle_hold",
    "runs.queue_down": "tui.panes.run_verbs:queue_down",
    "runs.queue_up": "tui.panes.run_verbs:queue_up",
    "runs.compare_add": "tui.panes.run_verbs:compare_add",
    "runs.compare": "tui.screens.compare:open_compare",
    "global.servers": "tui.screens.servers:open_servers",
    "episodes.link": "tui.linking:toggle",
    "log.link": "tui.linking:toggle",
}
"""Action → ``module:function``, ``async def f(centre: ControlCentre) -> None``, for what no pane, view or the
app itself does. It may wait for dialogs (``await centre.ask(…)``): it runs beside the screen."""
