"""Ask scan processes: several at a time, each until it has reported, died, or reached its deadline."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

import engine
from engine.components.scan import ScanReport, ScanRequest

_OUTPUT_KEPT = 4096
_READ = 1 << 20  # more than a pipe holds


def run_scans(requests: Sequence[ScanRequest], deadline: float) -> list[ScanReport]:
    """A report a request, in their order. ``deadline`` in seconds, of each process for itself.

    A process that fails to report yields a report with one error. None outlives the call.
    """
    parallel = len(os.sched_getaffinity(0))
    reports: dict[int, ScanReport] = {}
    waiting = deque(enumerate(requests))
    running: dict[int, _Scan] = {}
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                index, request = waiting.popleft()
                try:
                    running[index] = _Scan(request, deadline)
                except OSError as error:
                    reports[index] = ScanReport(errors=(f"its scan cannot be started: {error}",))
            _wait(running.values())
            for index, scan in list(running.items()):
                report = scan.report()
                if report is not None:
                    reports[index] = report
                    running.pop(index).close()
    finally:
        for scan in running.values():
            scan.close()
    return [reports[index] for index in range(len(requests))]


class _Scan:
    """One scan process, in a session of its own; what it prints is read, and its last lines kept."""

    def __init__(self, request: ScanRequest, deadline: float) -> None:
        self._deadline = deadline
        self._expires = time.monotonic() + deadline
        self._reported = b""
        self._printed = b""
        self._report_fd, report_end = os.pipe()
        question = os.memfd_create("scan-request")
        try:
            os.write(question, msgspec.json.encode(request))
            os.lseek(question, 0, os.SEEK_SET)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "engine.components.scan", str(report_end), str(deadline)],
                stdin=question,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(report_end,),
                start_new_session=True,
                env=_environment(),
            )
        except BaseException:
            os.close(self._report_fd)
            raise
        finally:
            os.close(question)
            os.close(report_end)
        assert self._process.stdout is not None
        self._output_fd = self._process.stdout.fileno()
        self._pidfd = os.pidfd_open(self._process.pid)
        self._open = {self._report_fd, self._output_fd}
        for fd in self._open:
            os.set_blocking(fd, False)

    def watched(self) -> set[int]:
        """Descriptors that become readable when there is something to do."""
        return {*self._open, self._pidfd}

    def remaining(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self._expires - time.monotonic())

    def report(self) -> ScanReport | None:
        """The report, or why there will be none; None while it may still come."""
        ended = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        self._reported += self._read(self._report_fd)
        self._printed = (self._printed + self._read(self._output_fd))[-_OUTPUT_KEPT:]
        line, newline, _ = self._reported.partition(b"\n")
        if newline:
            try:
                return msgspec.json.decode(line, type=ScanReport)
            except msgspec.MsgspecError as error:
                return self._failed(f"its scan reported nonsense: {error}")
        if ended is not None:
            return self._failed(f"importing it ended the process with {_cause(ended)}")
        if not self.remaining():
            late = self._failed(f"importing it took longer than {self._deadline:g} s")
            return msgspec.structs.replace(late, endless=True)
        return None

    def close(self) -> None:
        """End the process and its group. It is not reaped before, so that its id cannot be another's."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        os.close(self._report_fd)
        os.close(self._pidfd)

    def _read(self, fd: int) -> bytes:
        if fd not in self._open:
            return b""
        try:
            data = os.read(fd, _READ)
        except BlockingIOError:
            return b""
        if not data:
            self._open.remove(fd)
        return data

    def _failed(self, error: str) -> ScanReport:
        last = self._printed.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        return ScanReport(errors=(error + (f"; its last output: {last}" if last else ""),))


def _wait(scans: Collection[_Scan]) -> None:
    """Until one of them has something to say, or is past its deadline."""
    poll = select.poll()
    for scan in scans:
        for fd in scan.watched():
            poll.register(fd, select.POLLIN)
    poll.poll(1000 * min((scan.remaining() for scan in scans), default=0))


def _cause(ended: os.waitid_result) -> str:
    if ended.si_code == os.CLD_EXITED:
        return f"exit code {ended.si_status}"
    names = {int(known): known.name for known in signal.Signals}
    return f"signal {names.get(ended.si_status, 'without a name')} ({ended.si_status})"


def _environment() -> dict[str, str]:
    """Ours, with this very package first on the path of modules."""
    home = str(Path(engine.__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    return dict(os.environ, PYTHONPATH=os.pathsep.join([home, inherited] if inherited else [home]))
