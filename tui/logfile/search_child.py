"""Searches a log, line by line. Run by its path, as a process of its own, on the standard library alone.

Arguments: path, first byte, number of the row there, bytes to search, pattern, ``i`` or empty (ignore case),
``r`` or empty (a regex). Prints lines ``bytes-so-far row row …``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

_REPORT_BYTES = 8 << 20


def main(
    path: str, start: str, first_row: str, size: str, pattern: str, ignore_case: str, regex: str
) -> None:
    matches = _matcher(os.fsencode(pattern), bool(ignore_case), bool(regex))
    left, done, reported = int(size), 0, 0
    found: list[int] = []
    with open(path, "rb") as file:
        file.seek(int(start))
        for row, line in enumerate(file, int(first_row)):
            if done >= left:
                break
            done += len(line)
            if matches(line):
                found.append(row)
            if done - reported >= _REPORT_BYTES:
                _report(done, found)
                reported, found = done, []
    _report(done, found)


def _matcher(pattern: bytes, ignore_case: bool, regex: bool) -> Callable[[bytes], object]:
    if regex:
        return re.compile(pattern, re.IGNORECASE if ignore_case else 0).search
    if ignore_case:
        small = pattern.lower()
        return lambda line: small in line.lower()
    return lambda line: pattern in line


def _report(done: int, found: list[int]) -> None:
    sys.stdout.write(" ".join(map(str, (done, *found))) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
