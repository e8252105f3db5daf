"""Every route, in the order of the documentation."""

from __future__ import annotations

from typing import Any

from engine.api import answers, bodies, events, exports, graphs, operating, runs
from engine.api.endpoint import Endpoint
from engine.control.comparing import CompareReport
from engine.control.queue_reports import (
    BackendReport,
    CancelReport,
    EstimateReport,
    GraphEntry,
    IntrospectReport,
    PlayReport,
    ResourcesReport,
)
from engine.store.records import EpisodeFile

EVAL = "/api/eval/v2"
RUN = f"{EVAL}/runs/{{run_id}}"
EPISODE = f"{RUN}/episodes/{{index}}"
PLAY = f"{EVAL}/play/{{run_id}}"
NODESETS = "/api/components/nodesets"

RUNS = (
    Endpoint("POST", f"{EVAL}/start", "Queue a run.", runs.start, answers.Started,
             body=bodies.StartBody, errors=(409,), slow=True),
    Endpoint("GET", f"{EVAL}/status", "The current run.", runs.current, answers.Current),
    Endpoint("GET", f"{EVAL}/episodes", "The current run's finished episodes.", runs.current_episodes,
             answers.CurrentEpisodes),
    Endpoint("POST", f"{EVAL}/stop", "Cancel the current run.", runs.stop_current, CancelReport,
             errors=(404, 409)),
    Endpoint("GET", f"{EVAL}/runs", "The runs, newest first.", runs.listed, answers.Runs,
             query=bodies.RunsQuery),
    Endpoint("GET", RUN, "A run as it stands, with its finished episodes.", runs.shown, answers.Run,
             errors=(404,)),
    Endpoint("DELETE", RUN, "Remove a run's folder.", runs.delete, answers.Deleted, errors=(404, 409)),
    Endpoint("GET", EPISODE, "A finished episode.", runs.episode, EpisodeFile, errors=(404, 409)),
    Endpoint("GET", f"{EPISODE}/log", "A page of an episode's firings.", runs.log_page, answers.LogPage,
             query=bodies.LogQuery, errors=(404,)),
    Endpoint("GET", f"{EPISODE}/assets/{{name}}", "An image or array of an episode.", runs.asset, None,
             errors=(404,), media="*/*"),
    Endpoint("GET", f"{RUN}/events", "A run's progress, as server-sent events.", None, None,
             errors=(404,), stream=events.serve, media="text/event-stream"),
    Endpoint("POST", f"{RUN}/cancel", "End a run, queued or running.", runs.cancel, CancelReport,
             body=bodies.CancelBody, errors=(404, 409)),
    Endpoint("POST", f"{RUN}/resume", "Queue a run again for the episodes that have no finished row.",
             runs.resume, answers.Queued, body=bodies.ResumeBody, errors=(404, 409)),
    Endpoint("POST", f"{RUN}/rescore", "Queue a run that has ended to be scored again; nothing is played.",
             runs.rescore, answers.Queued, body=bodies.RescoreBody, errors=(404, 409)),
    Endpoint("GET", f"{EVAL}/export/{{run_id}}", "A run with its episodes.", runs.shown, answers.Run,
             errors=(404,)),
    Endpoint("GET", f"{RUN}/report", "A run as a page that loads nothing.", exports.report, None,
             query=bodies.ReportQuery, errors=(404, 409), slow=True, media="text/html"),
    Endpoint("GET", f"{EPISODE}/video", "The frames of an episode's log, as MP4 or GIF.", exports.video, None,
             query=bodies.VideoQuery, errors=(404, 409), slow=True, media="*/*"),
    Endpoint("GET", f"{EVAL}/compare", "Runs compared by their episodes.", runs.compare, CompareReport,
             query=bodies.CompareQuery, errors=(404, 409)),
)  # fmt: skip

QUEUE = (
    Endpoint("GET", f"{EVAL}/queue", "Who waits, why, and what runs.", operating.queue, answers.QueueAnswer),
    Endpoint("POST", f"{EVAL}/queue/pause", "Start nothing more; what runs goes on.", operating.pause,
             answers.Paused),
    Endpoint("POST", f"{EVAL}/queue/resume", "End a pause.", operating.unpause, answers.Paused),
    Endpoint("POST", f"{RUN}/move", "Put a queued run at a position.", operating.move, answers.Placed,
             body=bodies.MoveBody, errors=(404, 409)),
    Endpoint("POST", f"{RUN}/priority", "Give a queued run another priority.", operating.prioritize,
             answers.Placed, body=bodies.PriorityBody, errors=(404, 409)),
    Endpoint("POST", f"{RUN}/hold", "Keep a queued run from starting.", operating.hold, answers.Held,
             errors=(404, 409)),
    Endpoint("POST", f"{RUN}/release", "Let a held run start.", operating.release, answers.Held,
             errors=(404, 409)),
    Endpoint("GET", f"{EVAL}/estimate", "What a run would need. Loads nothing.", operating.estimate,
             EstimateReport, query=bodies.EstimateQuery, errors=(404,), slow=True),
    Endpoint("POST", f"{EVAL}/estimate", "The same, also of a graph that is not saved.",
             operating.estimate_graph, EstimateReport, body=bodies.EstimateBody, errors=(404,), slow=True),
)  # fmt: skip

PLAYED = (
    Endpoint("POST", f"{EVAL}/play", "Queue one episode to be played by hand.", operating.play,
             answers.Started, body=bodies.PlayBody, errors=(409,), slow=True),
    Endpoint("GET", PLAY, "How a played run stands.", operating.play_state, PlayReport, errors=(404, 409)),
    Endpoint("POST", f"{PLAY}/step", "Let it take its next steps.", operating.play_step, PlayReport,
             body=bodies.StepBody, errors=(404, 409)),
    Endpoint("POST", f"{PLAY}/run", "Let it go on to its end.", operating.play_run, PlayReport,
             errors=(404, 409)),
    Endpoint("POST", f"{PLAY}/stop", "End it.", operating.play_stop, PlayReport, errors=(404, 409)),
)  # fmt: skip

GRAPHS = (
    Endpoint("GET", "/api/graphs", "The saved graphs.", graphs.listed, list[GraphEntry],
             query=bodies.SourcesQuery, slow=True),
    Endpoint("GET", "/api/graphs/{name}", "A saved graph.", graphs.saved, dict[str, Any], errors=(404,),
             slow=True),
    Endpoint("POST", "/api/graphs/validate", "Every problem of a graph, at once.", graphs.validate,
             answers.Validation, body=bodies.GraphBody, slow=True),
    Endpoint("POST", f"{EVAL}/introspect", "A graph's environment: splits, counts, metrics.",
             graphs.introspect, IntrospectReport, body=bodies.IntrospectBody, errors=(404, 409), slow=True),
)  # fmt: skip

MACHINE = (
    Endpoint("GET", NODESETS, "The nodesets, and which are loaded.", operating.nodesets,
             list[answers.Nodeset], slow=True),
    Endpoint("POST", f"{NODESETS}/{{name}}/load", "Load a shared nodeset, and keep it.", operating.load,
             answers.Nodeset, errors=(404, 409), slow=True),
    Endpoint("POST", f"{NODESETS}/{{name}}/unload", "Let a shared nodeset go after its last user.",
             operating.unload, answers.Nodeset, errors=(404, 409), slow=True),
    Endpoint("GET", "/api/system/resources", "GPUs and host: totals, used, by whom.", operating.resources,
             ResourcesReport),
    Endpoint("GET", "/api/system/backend", "Who owns the queue.", operating.backend, BackendReport),
    Endpoint("POST", "/api/system/backend/stop", "End the backend.", operating.stop_backend, answers.Ending,
             body=bodies.StopBackendBody),
    Endpoint("GET", "/api/health", "Who answers here; needs no token.", operating.health, answers.Health),
)  # fmt: skip

SECTIONS = {"Runs": RUNS, "Queue": QUEUE, "Played by hand": PLAYED, "Graphs": GRAPHS, "Machine": MACHINE}
ENDPOINTS = tuple(endpoint for section in SECTIONS.values() for endpoint in section)
