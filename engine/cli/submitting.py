"""Running a command that submits: it is told where, and its runs are cancelled when it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from engine.cli.app import INTERRUPTED
from engine.cli.follow import cancel_all, ctrl_c_cancels

if TYPE_CHECKING:
    from engine.cli.submission_proxy import Upstream
    from engine.control.protocol import Control


def run_submitter(control: Control, words: Sequence[str], fields: Mapping[str, Any]) -> int:
    """Run ``words`` to their end; their exit code, 128 + n for signal n, 130 where they were interrupted.

    Their BACKEND_URL (AGENTCANVAS_BACKEND_URL, too) and EVALTOWER_TOKEN lead to the backend by an address
    that adds ``fields`` to what is submitted. An end of their own leaves what they submitted as it is.
    """
    from engine.cli.submission_proxy import SubmissionProxy

    with SubmissionProxy(_upstream(control), fields) as proxy:
        environment = {
            **os.environ,
            "BACKEND_URL": proxy.url,
            "AGENTCANVAS_BACKEND_URL": proxy.url,
            "EVALTOWER_TOKEN": proxy.secret,
        }
        with ctrl_c_cancels(control, lambda: tuple(proxy.runs)) as interrupts:
            try:
                child = subprocess.Popen(words, env=environment)
            except OSError as error:
                raise click.UsageError(f"{words[0]} cannot be run: {error.strerror}") from None
            try:
                code = _wait(child, interrupts)
            except SystemExit:  # SIGTERM, SIGHUP
                child.terminate()
                cancel_all(control, proxy.runs)
                raise
        if interrupts or code == -signal.SIGINT:
            cancel_all(control, proxy.runs, 0.0 if len(interrupts) > 1 else None)
            return INTERRUPTED
        return code if code >= 0 else 128 - code


def _wait(child: subprocess.Popen[bytes], interrupts: Sequence[int]) -> int:
    """The child's code. A terminal tells it of Ctrl-C, else it is told here; at the second it is killed."""
    told = 0
    while True:
        try:
            return child.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
        if len(interrupts) > told:
            told = len(interrupts)
            if told > 1:
                child.kill()
            elif not sys.stdin.isatty():
                child.send_signal(signal.SIGINT)


def _upstream(control: Control) -> Upstream:
    from engine.cli.submission_proxy import Upstream
    from engine.control.reports import NoBackendError

    backend = control.backend()
    if backend.socket:
        return Upstream(socket=backend.socket)
    if not backend.url:
        raise NoBackendError("the backend has no address at which a command could submit")
    token = control.root / "outputs" / "token"
    return Upstream(url=backend.url, token=token.read_text().strip() if token.exists() else "")
