"""Regular expressions of a request, over text that others wrote: one may take longer than anybody lives."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass

DEADLINE_SEC = 5.0
"""Of the processor's time, so that a busy machine makes no difference."""

_CHILD = """
import json, re, signal, sys
pattern, flags, text, seconds = json.load(sys.stdin)
signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
found = re.search(pattern, text, flags)
json.dump(found and [found[0], found.groups(), *found.span()], sys.stdout)
"""


class PatternTimeout(Exception):
    """The search took longer than any is given."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a pattern found: all of it, its groups, and where it begins and ends."""

    whole: str
    groups: tuple[str | None, ...]
    start: int
    end: int


async def search(
    pattern: str, text: str, flags: re.RegexFlag = re.NOFLAG, deadline_sec: float | None = None
) -> Found | None:
    """``re.search`` in a process that ends at its deadline, also where we are gone by then; cancelled, it is
    killed.

    Raises PatternTimeout, OSError where no process can be started, and RuntimeError where the search fails in
    another way.
    """
    deadline_sec = deadline_sec or DEADLINE_SEC
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _CHILD),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        asked = json.dumps([pattern, int(flags), text, deadline_sec]).encode()
        out, err = await child.communicate(asked)
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
    if child.returncode == -signal.SIGVTALRM:
        within = f"{deadline_sec:g} s, over {len(text)} characters"
        raise PatternTimeout(f"the regular expression {pattern!r} has found nothing within {within}")
    if child.returncode:
        lines = err.decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"its process ended with {child.returncode}"
        raise RuntimeError(f"the search for {pattern!r} failed: {why}")
    found = json.loads(out)
    return found and Found(found[0], tuple(found[1]), found[2], found[3])
