"""The routes of the queue, of what is played by hand, and of the machine and its backend."""

from __future__ import annotations

from engine.api import names
from engine.api.answers import (
    Ending,
    Health,
    Held,
    Nodeset,
    Paused,
    Placed,
    QueueAnswer,
    Started,
    queue_answer,
)
from engine.api.endpoint import Call
from engine.api.runs import asked_for
from engine.control.queue_reports import (
    BackendReport,
    EstimateReport,
    PlayReport,
    ResourcesReport,
    ServerReport,
)


def queue(call: Call) -> QueueAnswer:
    return queue_answer(call.control.queue())


def pause(call: Call) -> Paused:
    call.control.pause()
    return Paused(paused=True)


def unpause(call: Call) -> Paused:
    call.control.unpause()
    return Paused(paused=False)


def hold(call: Call) -> Held:
    call.control.hold(call.path["run_id"])
    return Held(run_id=call.path["run_id"], held=True)


def release(call: Call) -> Held:
    call.control.release(call.path["run_id"])
    return Held(run_id=call.path["run_id"], held=False)


def move(call: Call) -> Placed:
    run = call.path["run_id"]
    return Placed(run_id=run, position=call.control.move(run, call.body.position))


def prioritize(call: Call) -> Placed:
    run = call.path["run_id"]
    return Placed(run_id=run, position=call.control.prioritize(run, call.body.priority))


def estimate(call: Call) -> EstimateReport:
    graph = names.saved_graph(call.query.graph_name)
    return call.control.estimate(graph, call.query.worker_count, call.query.sources)


def estimate_graph(call: Call) -> EstimateReport:
    asked = call.body
    graph = asked.graph or names.saved_graph(asked.graph_name)
    return call.control.estimate(graph, asked.worker_count, asked.sources, asked.selectors)


def play(call: Call) -> Started:
    return Started(run_id=call.control.play(asked_for(call)))


def play_state(call: Call) -> PlayReport:
    return call.control.play_state(call.path["run_id"])


def play_step(call: Call) -> PlayReport:
    return call.control.play_step(call.path["run_id"], call.body.steps)


def play_run(call: Call) -> PlayReport:
    return call.control.play_run(call.path["run_id"])


def play_stop(call: Call) -> PlayReport:
    return call.control.play_stop(call.path["run_id"])


def nodesets(call: Call) -> list[Nodeset]:
    return [_nodeset(report) for report in call.control.servers()]


def load(call: Call) -> Nodeset:
    return _nodeset(call.control.load_server(call.path["name"]))


def unload(call: Call) -> Nodeset:
    return _nodeset(call.control.unload_server(call.path["name"]))


def _nodeset(report: ServerReport) -> Nodeset:
    fields = {name: getattr(report, name) for name in ServerReport.__struct_fields__}
    return Nodeset(**fields, loaded=report.loaded)


def resources(call: Call) -> ResourcesReport:
    return call.control.resources()


def backend(call: Call) -> BackendReport:
    return call.control.backend()


def stop_backend(call: Call) -> Ending:
    call.control.stop_backend(cancel=call.body.cancel)
    return Ending()


def health(call: Call) -> Health:
    return call.health
