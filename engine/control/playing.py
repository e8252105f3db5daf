"""A run that is played by hand: told what to do through the socket that it names in its folder.

See :mod:`engine.store.play` for what is said.
"""

from __future__ import annotations

import socket

import msgspec

from engine.control.queue_reports import PlayReport
from engine.control.reports import ConflictError, ControlError, RefusedError, StartRequest
from engine.graph.model import Problem
from engine.store.play import PlayAddress, PlayRequest, PlayState
from engine.store.rundir import RunDir, RunDirError, read_json
from engine.store.runs import view_run

ANSWER_SEC = 10.0


def one_episode(request: StartRequest) -> StartRequest:
    """The request for a play: one episode, by one worker, without a time limit. RefusedError where it names
    more."""
    asked = msgspec.structs.replace(
        request, worker_count=1, repeats=1, retries=0, until_width=None, timeout_sec=None
    )
    if asked.episode_indices is None:
        asked.episode_count = 1
    elif len(asked.episode_indices) > 1:
        problem = Problem("bad-request", "episode_indices", "names more than one", "name the one to play")
        raise RefusedError([problem])
    return asked


def state(run: RunDir) -> PlayReport:
    """How it stands; before and after it runs, that it does not wait."""
    return _report(run, _ask(run, PlayRequest(do="state")))


def step(run: RunDir, steps: int) -> PlayReport:
    """Let it take its next steps. ConflictError where it does not wait to be told."""
    return _tell_one_that_waits(run, PlayRequest(do="step", n=steps))


def go_on(run: RunDir) -> PlayReport:
    """Let it go on to its end. ConflictError where it does not wait to be told."""
    return _tell_one_that_waits(run, PlayRequest(do="run"))


def stop(run: RunDir) -> bool:
    """End it; False where it does not listen."""
    return _ask(run, PlayRequest(do="stop")) is not None


def _tell_one_that_waits(run: RunDir, what: PlayRequest) -> PlayReport:
    before = _ask(run, PlayRequest(do="state"))
    if before is None or not before.waiting:
        raise ConflictError(f"run {run.run_id} is {_standing(run, before)}: it does not wait to be told")
    after = _ask(run, what)
    if after is not None and after.error:
        raise ConflictError(f"run {run.run_id}: {after.error}")
    return _report(run, after)


def _standing(run: RunDir, found: PlayState | None) -> str:
    status = view_run(run).status
    return f"{status}, at step {found.step}" if found else status


def _report(run: RunDir, found: PlayState | None) -> PlayReport:
    told = found or PlayState(waiting=False)
    return PlayReport(
        run_id=run.run_id,
        status=view_run(run).status,
        waiting=told.waiting,
        step=told.step,
        budget=told.budget,
        node=told.node,
    )


def _ask(run: RunDir, what: PlayRequest) -> PlayState | None:
    """Its answer; None where nobody listens: it waits in the queue, is starting, or is over."""
    if run.read_job().kind != "play":
        raise ConflictError(f"run {run.run_id} is not played by hand")
    if run.is_done():
        return None
    try:
        address = read_json(run.control, PlayAddress).socket
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SEC)
            connection.connect(address)
            connection.sendall(msgspec.json.encode(what) + b"\n")
            with connection.makefile("rb") as lines:
                return msgspec.json.decode(lines.readline(), type=PlayState)
    except (RunDirError, FileNotFoundError, ConnectionError):
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ControlError(f"run {run.run_id} cannot be told anything: {error}") from None
