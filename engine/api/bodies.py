"""What requests hold. A field of a body that is none of these is refused: a mistyped one would go unheard."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from engine.control.reports import Sources, StartRequest
from engine.control.requests import request_problems
from engine.graph.model import Problem
from engine.scheduling.need import Priority
from engine.store.records import RunStatus

MOST = 2**53
"""No integer may be larger: beyond it, not every reader of JSON keeps one as it is."""

AtLeastOne = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
ZeroOrMore = Annotated[int, msgspec.Meta(ge=0, le=MOST)]


class Body(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A body's fields; by itself, of a route that takes none."""


class StartBody(StartRequest, kw_only=True, forbid_unknown_fields=True):
    """A run to queue. Either ``graph_name`` or ``graph`` is needed.

    via_subprocess: accepted, and changes nothing. max_steps: the old name of step_budget.
    """

    graph_name: str = ""
    via_subprocess: bool = True
    max_steps: int | None = None

    def request(self) -> StartRequest:
        """What control is asked for."""
        fields = {name: getattr(self, name) for name in StartRequest.__struct_fields__}
        if self.step_budget is None:
            fields["step_budget"] = self.max_steps
        return StartRequest(**fields)

    def problems(self) -> list[Problem]:
        """What is wrong with it, whatever its graph."""
        return request_problems(self.request())


class PlayBody(StartBody, kw_only=True):
    """One episode to play by hand. episode: its index; None is the first that the request names."""

    episode: ZeroOrMore | None = None

    def request(self) -> StartRequest:
        asked = super().request()
        if self.episode is not None:
            asked.episode_indices = [self.episode]
        return asked


class CancelBody(Body, kw_only=True):
    """grace_sec: seconds between asking the run to end and killing it; None is as configured."""

    grace_sec: Annotated[float, msgspec.Meta(ge=0)] | None = None


class ResumeBody(Body, kw_only=True):
    """errors: play the episodes of class ``infra`` again, too."""

    errors: bool = False


class RescoreBody(Body, kw_only=True):
    """scoring: as of a start; null is what the run was scored with. caller_secrets: as of a start."""

    scoring: dict[str, Any] | None = None
    caller_secrets: list[str] = []


class MoveBody(Body, kw_only=True):
    """position: from 1; beyond the end is the end."""

    position: AtLeastOne


class PriorityBody(Body, kw_only=True):
    priority: Priority


class StepBody(Body, kw_only=True):
    """steps: of the root loop."""

    steps: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1


class StopBackendBody(Body, kw_only=True):
    """cancel: end the runs first; else they have the orphans' grace."""

    cancel: bool = False


class IntrospectBody(Body, kw_only=True):
    """workspaces, active_workspace_dir, servers: as of a start."""

    graph_name: str
    workspaces: list[str] = []
    active_workspace_dir: str | None = None
    servers: dict[str, str] = {}

    @property
    def sources(self) -> Sources:
        return Sources(
            workspaces=self.workspaces,
            active_workspace_dir=self.active_workspace_dir,
            servers=self.servers,
        )


class SourcesQuery(msgspec.Struct, kw_only=True):
    """workspaces, active_workspace_dir: as of a start. servers: each ``NODESET=URL``."""

    workspaces: list[str] = []
    active_workspace_dir: str | None = None
    servers: list[Annotated[str, msgspec.Meta(pattern="^[^=]+=.")]] = []

    @property
    def sources(self) -> Sources:
        return Sources(
            workspaces=self.workspaces,
            active_workspace_dir=self.active_workspace_dir,
            servers=dict(pair.split("=", 1) for pair in self.servers),
        )


class EstimateQuery(SourcesQuery, kw_only=True):
    graph_name: str
    worker_count: AtLeastOne = 1


class EstimateBody(IntrospectBody, kw_only=True):
    """Either ``graph_name`` or ``graph`` is needed. selectors: panel field → value."""

    graph_name: str = ""
    graph: dict[str, Any] | None = None
    worker_count: AtLeastOne = 1
    selectors: dict[str, Any] = {}


class RunsQuery(msgspec.Struct, kw_only=True):
    """limit: the most rows. before: only runs that are older than this one. graph: a saved graph's name."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000
    before: str | None = None
    status: RunStatus | None = None
    graph: str | None = None


class LogQuery(msgspec.Struct, kw_only=True):
    """offset: firings to pass over. limit: the most firings."""

    offset: ZeroOrMore = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 200


class CompareQuery(msgspec.Struct, kw_only=True):
    """runs: two or more, by commas; the first is what the others are compared with."""

    runs: str


class ReportQuery(msgspec.Struct, kw_only=True):
    """against: another run that it is compared with."""

    against: str | None = None


class VideoQuery(msgspec.Struct, kw_only=True):
    """node, port: whose images; None is the environment's, ``rgb`` where it has one. fps: frames a second.
    caption: instruction, step, action and reward below each."""

    format: Literal["mp4", "gif"] = "mp4"
    node: str | None = None
    port: str | None = None
    fps: Annotated[float, msgspec.Meta(ge=0.1, le=240)] | None = None
    caption: bool = True


class GraphBody(Body, kw_only=True):
    """graph: as it would be saved. The others: as of a start."""

    graph: dict[str, Any]
    workspaces: list[str] = []
    active_workspace_dir: str | None = None
    servers: dict[str, str] = {}
