from __future__ import annotations

import time
from collections.abc import Callable

from engine.control.reader import Reader
from engine.control.reports import RunReport

DEADLINE_SEC = 60.0


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Until the condition holds; fails after a generous deadline."""
    ends = time.monotonic() + DEADLINE_SEC
    while not condition():
        assert time.monotonic() < ends, f"waited in vain for {what}"
        time.sleep(0.01)


def wait_until_over(control: Reader, run: str) -> RunReport:
    wait_for(lambda: control.show(run).is_over, f"the end of {run}")
    return control.show(run)


def wait_until_running(control: Reader, run: str) -> None:
    wait_for(lambda: control.show(run).summary.completed_count > 0, f"the first episode of {run}")
