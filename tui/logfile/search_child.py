"""Searches a log, line by line. Run by its path, as a process of its own, on the standard library alone.

Arguments: path, first byte, number of the row there, bytes to search, seconds that _REPORT_BYTES may take,
and terms, all of which must hold of a row: ``+`` or ``-`` (in the line, not in the line), ``i`` or ``.``
(case is ignored), ``r`` or ``.`` (a regex), and the pattern. Prints lines ``bytes-so-far row row …``.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable

_REPORT_BYTES = 8 << 20


def main(path: str, start: str, first_row: str, size: str, seconds: str, *terms: str) -> None:
    wanted = [_matcher(term) for term in terms if term[0] == "+"]
    unwanted = [_matcher(term) for term in terms if term[0] == "-"]
    left, done, reported = int(size), 0, 0
    found: list[int] = []
    signal.setitimer(signal.ITIMER_REAL, float(seconds))  # whose signal ends this process
    with open(path, "rb") as file:
        file.seek(int(start))
        for row, line in enumerate(file, int(first_row)):
            if done >= left:
                break
            done += len(line)
            if all(holds(line) for holds in wanted) and not any(holds(line) for holds in unwanted):
                found.append(row)
            if done - reported >= _REPORT_BYTES:
                _report(done, found)
                reported, found = done, []
                signal.setitimer(signal.ITIMER_REAL, float(seconds))
    signal.setitimer(signal.ITIMER_REAL, 0)
    _report(done, found)


def _matcher(term: str) -> Callable[[bytes], object]:
    ignores_case, is_regex, pattern = term[1] == "i", term[2] == "r", os.fsencode(term[3:])
    if is_regex:
        return re.compile(pattern, re.IGNORECASE if ignores_case else 0).search
    if ignores_case:
        small = pattern.lower()
        return lambda line: small in line.lower()
    return lambda line: pattern in line


def _report(done: int, found: list[int]) -> None:
    sys.stdout.write(" ".join(map(str, (done, *found))) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
