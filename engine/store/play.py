"""How a run of kind ``play`` is told what to do: JSON lines over a Unix socket of its user's own.

One line is a PlayRequest, answered by one line, a PlayState. The socket's path is in the run's control.json,
which is there while somebody listens.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class PlayAddress(msgspec.Struct, kw_only=True):
    """control.json. socket: the path of a Unix socket, mode 0600."""

    socket: str


class PlayRequest(msgspec.Struct, kw_only=True):
    """``step``: take the next ``n`` steps of the root loop, refused unless it waits. ``run``: go on to the
    end. ``stop``: end as cancelled. ``state``: nothing."""

    do: Literal["step", "run", "stop", "state"]
    n: Annotated[int, msgspec.Meta(ge=1)] = 1


class PlayState(msgspec.Struct, kw_only=True):
    """How it stands once the request was taken. waiting: before root step ``step``, counted from 0, of at
    most ``budget``. node: the one that fires, or is to. error: why the request was refused; empty where not.
    """

    waiting: bool
    step: int = 0
    budget: int | None = None
    node: str = ""
    error: str = ""
